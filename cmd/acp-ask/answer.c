/* Permission requests and elicitations: who responds to them, and how. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

enum { REPLY_MOST = 4096, PROGRAMS = 8 };

/* A request that waits for a person or a program. */
struct question {
	struct question *prev, *next;
	struct ask *ask;
	struct buf line;        /* the request */
	struct msg request;     /* in it */
	struct form *form;      /* an elicitation; NULL: a permission request */
	struct loop_timer timer;
	/* --permit-by */
	struct endpoint program;
	struct loop_child child;
	struct buf reply;
	bool exited, read;
	int status;
};

/* --- responses --- */

static void
free_question(struct question *q)
{
	struct ask *a = q->ask;

	if (a->person.asked == q)
		a->person.asked = NULL;
	DL_DELETE(a->questions, q);
	loop_remove_timer(a->loop, &q->timer);
	endpoint_close(&q->program);
	if (q->child.added) {
		proc_signal(q->child.pid, SIGKILL);
		loop_reap(a->loop, &q->child);
	}
	form_free(q->form);
	buf_free(&q->line);
	buf_free(&q->reply);
	free(q);
}

static void ask_person(struct ask *);

/* Responds, and goes on to what the person is to be asked next. */
static void
respond(struct question *q, struct buf *result)
{
	struct ask *a = q->ask;

	ask_reply(a, q->request.id, result);
	free_question(q);
	ask_person(a);
}

static void
cancel(struct question *q, struct buf *result)
{
	put(result, q->form ? "{\"action\":\"cancel\"}" : "{\"outcome\":{\"outcome\":\"cancelled\"}}");
}

/* The first option of a request that has this member; p NULL: it has none. */
static struct slice
find_option(const struct msg *request, const char *member, const char *value)
{
	struct json_iter it = {.in = json_get(request->params, acp_options)};
	struct slice option;

	while (next_item(&it, &option))
		if (json_get_string(option, acp_option_id).p && json_string_is(json_get(option, member), value))
			return option;
	return slice(NULL, 0);
}

/* Responds with this option, or (p NULL) the one that rejects; reports it, and counts a rejection. */
static void
decide(struct question *q, struct slice option, const char *by)
{
	SCOPED struct buf room = {0}, title = {0};
	struct buf result = {0};
	const char *kind = "cancelled";

	if (!option.p)
		option = find_option(&q->request, acp_option_kind, "reject_once");
	if (!option.p)
		option = find_option(&q->request, acp_option_kind, "reject_always");
	if (option.p) {
		kind = plain_of(json_get(option, acp_option_kind), &room);
		need(acp_put_selected(&result, json_get(option, acp_option_id)));
	} else {
		cancel(q, &result);
	}
	if (!option.p || strncmp(kind, "reject", 6) == 0)
		q->ask->rejected++;
	if (!q->ask->options->quiet)
		show_note(q->ask, "permission: %s: %s%s", show_known(q->ask, &q->request, "title", &title), kind, by);
	respond(q, &result);
}

/* --- a program --- */

static void start_programs(struct ask *);

/* Decides, if it has exited, and what it printed has been read. */
static void
read_reply(struct question *q)
{
	struct ask *a = q->ask;
	struct slice option = {0};
	const char *word;

	if (!q->read || !q->exited)
		return;
	while (q->reply.n && byte_is_space(q->reply.p[q->reply.n - 1]))
		q->reply.n--;
	word = buf_string(&q->reply);
	need(word ? 0 : -1);
	if (q->status == 0)
		option = find_option(&q->request, acp_option_id, word);
	if (q->status == 0 && !option.p)
		option = find_option(&q->request, acp_option_kind, word);
	decide(q, option, option.p ? " (--permit-by)" : " (--permit-by failed)");
	start_programs(a);
}

static bool
on_program_line(void *arg, enum input_got got, const struct line *line)
{
	struct question *q = arg;

	(void)got;
	if (q->reply.n + line->text.n < REPLY_MOST)
		put_slice(&q->reply, line->text);
	return true;
}

static void
on_program(void *arg, enum endpoint_event event)
{
	struct question *q = arg;

	q->read |= event == ENDPOINT_ENDED;
	read_reply(q);
}

static void
on_program_exit(void *arg, int status)
{
	struct question *q = arg;

	q->exited = true;
	q->status = status;
	endpoint_drain(&q->program);
	read_reply(q);
}

/* False: it could not be started. */
static bool
start_program(struct question *q)
{
	char **argv = proc_words(q->ask->options->permit_by);
	struct proc_spec spec = {.argv = argv, .death_signal = SIGKILL};
	int ours[2];

	q->child = (struct loop_child){.pid = argv ? proc_start_piped(&spec, 2, ours, NULL) : -1, .ended = on_program_exit, .arg = q};
	free(argv);
	if (q->child.pid < 0)
		return false;
	loop_add_child(q->ask->loop, &q->child);
	q->program = (struct endpoint){.line = on_program_line, .event = on_program, .arg = q};
	need(endpoint_open(&q->program, q->ask->loop, ours[1], ours[0], REPLY_MOST));
	need(endpoint_put_line(&q->program, NULL, q->request.text, false));
	endpoint_finish(&q->program);
	return true;
}

/* Starts the programs of the requests that wait for one, a few at a time: there may be a thousand. */
static void
start_programs(struct ask *a)
{
	struct question *q, *next;
	unsigned running = 0;

	DL_FOREACH(a->questions, q)
		running += q->child.added;
	DL_FOREACH_SAFE(a->questions, q, next) {
		if (running == PROGRAMS || !a->options->permit_by)
			return;
		if (q->form || q->child.added)
			continue;
		if (!start_program(q)) {
			decide(q, slice(NULL, 0), " (--permit-by failed)");
			continue;
		}
		running++;
		if (a->options->permit_timeout)
			loop_add_timer(a->loop, &q->timer, a->options->permit_timeout);
	}
}

/* --- a person --- */

bool
answer_person(const struct ask *a)
{
	return a->person.fd.fd >= 0;
}

static void
show_question(struct question *q)
{
	struct json_iter it = {.in = json_get(q->request.params, acp_options)};
	SCOPED struct buf room = {0};
	struct slice option;
	unsigned n = 0;

	if (q->form) {
		form_show(q->form, q->ask);
		return;
	}
	show_note(q->ask, "permission: %s", show_known(q->ask, &q->request, "title", &room));
	while (next_item(&it, &option))
		show_note(q->ask, "  %u) %s", ++n, plain_of(json_get(option, "name"), &room));
	show_prompt(q->ask, slice_of("number: "));
}

static void
on_question_timer(void *arg)
{
	struct question *q = arg;
	struct ask *a = q->ask;
	struct buf result = {0};

	if (!q->form) {
		decide(q, slice(NULL, 0), " (--permit-timeout)");
		start_programs(a);
		return;
	}
	cancel(q, &result);
	respond(q, &result);
}

/* Shows the next question, if none is shown. */
static void
ask_person(struct ask *a)
{
	struct question *q;

	if (!answer_person(a))
		return;
	loop_watch(a->loop, &a->person.fd, LOOP_PAUSED);
	for (q = a->questions; q && !q->form && a->options->permit_by; q = q->next)
		;
	if (!a->person.asked && q) {
		a->person.asked = q;
		a->person.typed.n = 0;
		show_question(q);
		if (a->options->permit_timeout)
			loop_add_timer(a->loop, &q->timer, a->options->permit_timeout);
	}
	talk_yield(a->person.asked);
	if (a->person.asked)
		loop_watch(a->loop, &a->person.fd, POLLIN);
}

/* A line that the person has typed; ended: there will be no more. */
static void
read_typed(struct question *q, struct slice typed, bool ended)
{
	struct json_iter it = {.in = json_get(q->request.params, acp_options)};
	const char *p = typed.p, *end = p + typed.n;
	struct slice one, option = {0};
	struct buf result = {0};
	uint64_t n = 0;

	if (q->form) {
		if (form_read(q->form, typed, ended, &result))
			respond(q, &result);
		else
			form_show(q->form, q->ask);
		return;
	}
	if (!ended && (!bytes_number(&p, end, 9, &n) || p != end))
		n = 0;
	while (n && next_item(&it, &one))
		if (--n == 0 && json_get_string(one, acp_option_id).p)
			option = one;
	if (option.p || ended)
		decide(q, option, "");
	else
		show_prompt(q->ask, slice_of("number: "));
}

static void
on_person(void *arg, short revents)
{
	struct ask *a = arg;
	char text[4096];
	ssize_t n = read(a->person.fd.fd, text, sizeof(text));
	const char *newline;

	(void)revents;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	newline = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	if (n > 0)
		need(buf_add(&a->person.typed, text, newline ? (size_t)(newline - text) : (size_t)n));
	if (a->person.asked && (newline || n <= 0)) {
		SCOPED struct buf typed = a->person.typed;

		a->person.typed = (struct buf){0};
		a->show.prompts = !newline;
		read_typed(a->person.asked, buf_slice(&typed), n <= 0);
	}
}

void
answer_open(struct ask *a)
{
	/* Whoever does not see the question cannot answer it. */
	int fd = isatty(STDERR_FILENO) ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;

	a->person.fd = (struct loop_fd){.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 8) : -1, .events = LOOP_PAUSED, .ready = on_person, .arg = a};
	if (fd >= 0) {
		close(fd);
		loop_add_fd(a->loop, &a->person.fd);
		signal(SIGTTOU, SIG_IGN); /* so that the terminal can be given to another, and taken back */
	}
}

void
answer_close(struct ask *a)
{
	while (a->questions)
		free_question(a->questions);
	if (a->person.fd.added)
		loop_remove_fd(a->loop, &a->person.fd);
	proc_close(a->person.fd.fd);
	buf_free(&a->person.typed);
}

/* --- requests --- */

static struct question *
new_question(struct ask *a, const struct msg *m)
{
	struct question *q = calloc(1, sizeof(*q));

	need(q ? 0 : -1);
	q->ask = a;
	q->timer = (struct loop_timer){.expired = on_question_timer, .arg = q};
	put_slice(&q->line, m->text);
	msg_scan(buf_slice(&q->line), &q->request, NULL);
	DL_APPEND(a->questions, q);
	return q;
}

/* The first rule that applies: by the kind of the tool call, its name or its title. */
static const struct permit *
rule_for(const struct ask *a, const struct msg *m)
{
	static const char *const members[] = {"kind", "name", "title"};
	const struct permit *p = a->options->permits, *end = p + a->options->npermits;
	SCOPED struct buf room = {0};

	for (; p < end; p++)
		for (size_t i = 0; i < 3; i++)
			if (fnmatch(p->pattern, show_known(a, m, members[i], &room), 0) == 0)
				return p;
	return NULL;
}

void
answer_permission(struct ask *a, const struct msg *m)
{
	struct question *q = new_question(a, m);
	const struct permit *rule = rule_for(a, m);
	struct slice option = rule ? find_option(m, acp_option_kind, rule->kind) : slice(NULL, 0);
	struct buf result = {0};

	if (a->stopping) {
		cancel(q, &result);
		respond(q, &result);
	} else if (rule) {
		decide(q, option, option.p ? " (--permit)" : " (--permit: no such option)");
	} else if (a->options->permit_by) {
		start_programs(a);
	} else if (answer_person(a)) {
		ask_person(a);
	} else {
		decide(q, option, " (there is no terminal)");
	}
}

void
answer_form(struct ask *a, const struct msg *m)
{
	struct question *q = new_question(a, m);
	struct buf result = {0};
	bool filled;

	q->form = form_new(q->request.params);
	if (q->form && !a->stopping && !a->options->form && answer_person(a)) {
		ask_person(a);
		return;
	}
	filled = q->form && !a->stopping && a->options->form && form_fill(q->form, buf_slice(&a->form), &result);
	if (q->form && !a->stopping && a->options->form && !filled) {
		show_note(a, "acp-ask: --form %s does not have what is asked for", a->options->form);
		ask_fail(a, EXIT_NEGATIVE);
	}
	if (!filled)
		put(&result, "{\"action\":\"cancel\"}");
	respond(q, &result);
}

void
answer_cancel(struct ask *a, struct slice id)
{
	struct question *q, *next;

	DL_FOREACH_SAFE(a->questions, q, next) {
		struct buf result = {0};

		if (id.p && !msg_same_id(q->request.id, id))
			continue;
		if (id.p) {
			ask_refuse(a, id, ACP_ERR_CANCELLED, "cancelled");
		} else {
			cancel(q, &result);
			ask_reply(a, q->request.id, &result);
		}
		free_question(q);
	}
	start_programs(a);
	ask_person(a);
}
