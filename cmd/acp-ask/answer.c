/* Permission requests and elicitations: who responds to them, and how. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-ask/ask.h"
#include "cmd/acp-ask/form.h"
#include "lib/run/proc.h"

enum { REPLY_MOST = 4096 };

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

static struct slice
options_of(const struct question *q)
{
	return json_get(q->request.params, acp_options);
}

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

/* Selects an option, a JSON string; p NULL: the outcome is `cancelled`. */
static void
put_outcome(struct buf *result, struct slice option)
{
	need(option.p ? acp_put_selected(result, option) : buf_add_string(result, "{\"outcome\":{\"outcome\":\"cancelled\"}}"));
}

/* What rejects a request: the option that does; p NULL where it has none. */
static struct slice
rejection(struct slice params)
{
	struct slice id = acp_option_of_kind(params, "reject_once");

	return id.p ? id : acp_option_of_kind(params, "reject_always");
}

/* Appends the outcome that selects this option, reports it, and counts a rejection. */
static void
decide(struct ask *a, const struct msg *request, struct slice option, const char *by, struct buf *result)
{
	SCOPED struct buf room = {0};
	struct subject s = {0};
	struct json_iter it = {.in = json_get(request->params, acp_options)};
	struct slice key, one, kind = {0};

	if (!option.p)
		option = rejection(request->params);
	while (option.p && json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &one))
		if (!kind.p && json_string_eq(json_get(one, acp_option_id), option))
			kind = json_text(json_get(one, acp_option_kind), &room);
	if (!kind.p || (kind.n >= 6 && memcmp(kind.p, "reject", 6) == 0))
		a->rejected++;
	show_subject(a, request, &s);
	if (!a->options->quiet)
		show_note(a, "permission: %s: %.*s%s", s.title.p, kind.p ? (int)kind.n : 9, kind.p ? kind.p : "cancelled", by);
	subject_free(&s);
	put_outcome(result, option);
}

static void
decide_question(struct question *q, struct slice option, const char *by)
{
	struct buf result = {0};

	decide(q->ask, &q->request, option, by, &result);
	respond(q, &result);
}

/* --- a program --- */

/* The option whose id or kind this is. */
static struct slice
find_option(struct slice params, struct slice word)
{
	struct json_iter it = {.in = json_get(params, acp_options)};
	SCOPED struct buf text = {0};
	struct slice key, one, id, found = {0};

	need(buf_add_slice(&text, word));
	need(buf_string(&text) ? 0 : -1);
	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &one)) {
		id = json_get_string(one, acp_option_id);
		if (id.p && !found.p && json_string_is(id, text.p))
			found = id;
	}
	return found.p ? found : acp_option_of_kind(params, text.p);
}

/* It has exited, and what it printed has been read. */
static void
read_reply(struct question *q, int status)
{
	struct slice word = buf_slice(&q->reply), option = {0};

	while (word.n && (byte_is_space(word.p[word.n - 1])))
		word.n--;
	if (status == 0 && word.n)
		option = find_option(q->request.params, word);
	decide_question(q, option, option.p ? " (--permit-by)" : " (--permit-by failed)");
}

static bool
on_program_line(void *arg, enum input_got got, const struct line *line)
{
	struct question *q = arg;

	(void)got;
	if (q->reply.n + line->text.n < REPLY_MOST)
		need(buf_add_slice(&q->reply, line->text));
	return true;
}

static void
on_program(void *arg, enum endpoint_event event)
{
	struct question *q = arg;

	q->read |= event == ENDPOINT_ENDED;
	if (q->read && q->exited)
		read_reply(q, q->status);
}

static void
on_program_exit(void *arg, int status)
{
	struct question *q = arg;

	q->exited = true;
	q->status = status;
	endpoint_drain(&q->program);
	if (q->read)
		read_reply(q, status);
}

/* False: it could not be started. */
static bool
start_program(struct question *q)
{
	char **argv = proc_words(q->ask->options->permit_by);
	int theirs[2], ours[2];
	struct proc_fd fds[2];
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 2, .death_signal = SIGKILL};

	if (!argv || proc_pipes(2, theirs, ours) < 0) {
		free(argv);
		return false;
	}
	fds[0] = (struct proc_fd){theirs[0], STDIN_FILENO};
	fds[1] = (struct proc_fd){theirs[1], STDOUT_FILENO};
	q->child = (struct loop_child){.pid = proc_start(&spec, NULL), .ended = on_program_exit, .arg = q};
	free(argv);
	close(theirs[0]);
	close(theirs[1]);
	q->program = (struct endpoint){.line = on_program_line, .event = on_program, .arg = q};
	need(endpoint_open(&q->program, q->ask->loop, ours[1], ours[0], REPLY_MOST));
	if (q->child.pid < 0)
		return false;
	loop_add_child(q->ask->loop, &q->child);
	need(endpoint_put_line(&q->program, NULL, q->request.text, false));
	endpoint_finish(&q->program);
	return true;
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
	struct json_iter it = {.in = options_of(q)};
	SCOPED struct buf room = {0};
	struct subject s = {0};
	struct slice key, one, name;
	unsigned n = 0;

	if (q->form) {
		form_show(q->form, q->ask);
		return;
	}
	show_subject(q->ask, &q->request, &s);
	show_note(q->ask, "permission: %s", s.title.p);
	subject_free(&s);
	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &one)) {
		name = json_text(json_get(one, "name"), &room);
		show_note(q->ask, "  %u) %.*s", ++n, (int)name.n, name.p ? name.p : "");
	}
	show_prompt(q->ask, "number: ");
}

static void
on_question_timer(void *arg)
{
	struct question *q = arg;
	struct buf result = {0};

	if (q->form) {
		need(buf_add_string(&result, "{\"action\":\"cancel\"}"));
		respond(q, &result);
		return;
	}
	decide_question(q, slice(NULL, 0), " (--permit-timeout)");
}

/* Shows the next question, if none is shown. */
static void
ask_person(struct ask *a)
{
	struct question *q;

	if (!answer_person(a))
		return;
	loop_watch(a->loop, &a->person.fd, LOOP_PAUSED);
	for (q = a->questions; q && q->child.added; q = q->next)
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
	struct json_iter it = {.in = options_of(q)};
	struct slice key, one, option = {0};
	struct buf result = {0};
	uint64_t n = 0;
	const char *p = typed.p, *end = p + typed.n;

	if (q->form) {
		if (form_read(q->form, typed, ended, &result))
			respond(q, &result);
		else
			form_show(q->form, q->ask);
		return;
	}
	if (!ended && (!bytes_number(&p, end, 9, &n) || p != end))
		n = 0;
	while (n && json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &one))
		if (--n == 0)
			option = json_get_string(one, acp_option_id);
	if (option.p || ended)
		decide_question(q, option, "");
	else
		show_prompt(q->ask, "number: ");
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

/* The first rule that applies: by the kind of the tool call, its name or its title. */
static const struct permit *
rule_for(const struct ask *a, const struct msg *m)
{
	const struct permit *found = NULL, *p = a->options->permits, *end = p + a->options->npermits;
	struct subject s = {0};

	for (show_subject(a, m, &s); !found && p < end; p++)
		if (fnmatch(p->pattern, s.kind.p, 0) == 0 || fnmatch(p->pattern, s.name.p, 0) == 0 || fnmatch(p->pattern, s.title.p, 0) == 0)
			found = p;
	subject_free(&s);
	return found;
}

static struct question *
new_question(struct ask *a, const struct msg *m)
{
	struct question *q = calloc(1, sizeof(*q));

	need(q ? 0 : -1);
	q->ask = a;
	q->timer = (struct loop_timer){.expired = on_question_timer, .arg = q};
	need(buf_add_slice(&q->line, m->text));
	msg_scan(buf_slice(&q->line), &q->request, NULL);
	DL_APPEND(a->questions, q);
	return q;
}

void
answer_permission(struct ask *a, const struct msg *m)
{
	const struct permit *rule = rule_for(a, m);
	struct buf result = {0};
	struct question *q;

	if (a->stopping) {
		put_outcome(&result, slice(NULL, 0));
	} else if (rule) {
		struct slice option = acp_option_of_kind(m->params, rule->kind);

		decide(a, m, option, option.p ? " (--permit)" : " (--permit: no such option)", &result);
	} else if (a->options->permit_by) {
		q = new_question(a, m);
		if (start_program(q)) {
			if (a->options->permit_timeout)
				loop_add_timer(a->loop, &q->timer, a->options->permit_timeout);
			return;
		}
		decide_question(q, slice(NULL, 0), " (--permit-by failed)");
		return;
	} else if (answer_person(a)) {
		new_question(a, m);
		ask_person(a);
		return;
	} else {
		decide(a, m, slice(NULL, 0), " (there is no terminal)", &result);
	}
	ask_reply(a, m->id, &result);
}

void
answer_form(struct ask *a, const struct msg *m)
{
	struct form *f = form_new(m->params);
	struct buf result = {0};
	struct question *q;

	if (f && !a->stopping && a->options->form && !form_fill(f, buf_slice(&a->form), &result)) {
		show_note(a, "acp-ask: --form %s does not have what is asked for", a->options->form);
		ask_fail(a, EXIT_NEGATIVE);
	} else if (f && !a->stopping && !a->options->form && answer_person(a)) {
		form_free(f);
		q = new_question(a, m);
		q->form = form_new(q->request.params);
		ask_person(a);
		return;
	}
	form_free(f);
	if (!result.n)
		need(buf_add_string(&result, "{\"action\":\"cancel\"}"));
	ask_reply(a, m->id, &result);
}

void
answer_forget(struct ask *a, struct slice id)
{
	struct question *q, *next;

	DL_FOREACH_SAFE(a->questions, q, next) {
		if (!msg_same_id(q->request.id, id))
			continue;
		ask_reply_error(a, q->request.id, ACP_ERR_CANCELLED, "cancelled");
		free_question(q);
	}
	ask_person(a);
}

void
answer_cancel(struct ask *a)
{
	struct question *q, *next;

	DL_FOREACH_SAFE(a->questions, q, next) {
		struct buf result = {0};

		if (q->form)
			need(buf_add_string(&result, "{\"action\":\"cancel\"}"));
		else
			put_outcome(&result, slice(NULL, 0));
		ask_reply(a, q->request.id, &result);
		free_question(q);
	}
	ask_person(a);
}
