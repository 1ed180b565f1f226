/* The person at the terminal, who types a line where one is asked for, edited with readline, where that is there; and a conversation. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef HAVE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif

#include "cmd/acp-ask/ask.h"
#include "lib/base/text.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"

enum { HISTORY = 1000 };

void
talk_go_on(struct ask *a)
{
	if (!a->person.done)
		person_ask(a, slice_of(a->person.text.n ? ">> " : "> "));
}

/* A line was typed, or (ended) there will be none. */
static void
got_line(struct ask *a, struct slice line, bool ended)
{
	struct person *t = &a->person;
	bool more = line.n > 0 && line.p[line.n - 1] == '\\';

	a->show.prompts = ended;
	person_leave(a);
	if (a->asked) {
		answer_typed(a, line, ended);
		return;
	}
	put_slice(&t->text, slice(line.p, line.n - more));
	put_slice(&t->text, slice("\n", more));
	t->ended = ended;
	t->done = !more || ended;
	if (t->done)
		loop_stop(a->loop);
	talk_go_on(a);
}

#ifdef HAVE_READLINE

static struct ask *typing; /* readline calls us without an argument */
static char *history;      /* the path of the file */

static void
on_line(char *line)
{
	if (line && *line && !typing->asked)
		add_history(line);
	got_line(typing, slice_of(line ? line : ""), !line);
	free(line);
}

static void
on_typed(void *arg, short revents)
{
	(void)arg;
	(void)revents;
	rl_callback_read_char();
}

/* The commands of the agent that begin with this text, one at each call. */
static char *
next_command(const char *text, int state)
{
	static struct json_iter it;
	SCOPED struct buf room = {0};
	struct slice command;
	char *name;

	if (state == 0)
		it = (struct json_iter){.in = buf_slice(&typing->commands)};
	while (next_item(&it, &command)) {
		name = bytes_printf("/%s", plain_of(json_get(command, "name"), &room));
		if (name && strncmp(name, text, strlen(text)) == 0)
			return name;
		free(name);
	}
	return NULL;
}

static char **
complete(const char *text, int start, int end)
{
	(void)end;
	rl_attempted_completion_over = 1;
	return start == 0 && *text == '/' && !typing->asked ? rl_completion_matches(text, next_command) : NULL;
}

#else /* lines as the terminal gives them */

static void
on_typed(void *arg, short revents)
{
	struct ask *a = arg;
	char line[4096]; /* the longest */
	ssize_t n = read(a->person.fd.fd, line, sizeof(line));

	(void)revents;
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		got_line(a, slice(line, n > 0 ? (size_t)n - (line[n - 1] == '\n') : 0), n <= 0);
}

#endif

void
person_ask(struct ask *a, struct slice prompt)
{
	SCOPED struct buf plain = {0};

	need(text_plain(&plain, prompt));
	need(buf_string(&plain) ? 0 : -1);
	show_clear(a);
	a->show.prompts = a->person.asks = true;
#ifdef HAVE_READLINE
	rl_callback_handler_install(plain.p, on_line);
#else
	a->person.prompt.n = 0;
	put_slice(&a->person.prompt, buf_slice(&plain));
	cli_write_now(STDERR_FILENO, buf_slice(&plain));
#endif
	loop_watch(a->loop, &a->person.fd, POLLIN);
}

void
person_leave(struct ask *a)
{
	if (!a->person.asks)
		return;
	a->person.asks = false;
	loop_watch(a->loop, &a->person.fd, LOOP_PAUSED);
#ifdef HAVE_READLINE
	rl_callback_handler_remove();
#endif
	if (a->show.held.n)
		show_clear(a);
}

void
person_redraw(struct ask *a)
{
	if (!a->person.asks)
		return;
	a->show.prompts = true;
#ifdef HAVE_READLINE
	rl_on_new_line();
	rl_redisplay();
#else
	cli_write_now(STDERR_FILENO, buf_slice(&a->person.prompt));
#endif
}

void
person_open(struct ask *a)
{
	int fd = -1;

	if (a->talks)
		fd = proc_copy(STDIN_FILENO);
	else if (a->show.animated)
		fd = proc_claim(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
	a->person = (struct person){.fd = {.fd = fd, .events = LOOP_PAUSED, .ready = on_typed, .arg = a}, .done = true};
	if (fd < 0)
		return;
	loop_add_fd(a->loop, &a->person.fd);
	signal(SIGTTOU, SIG_IGN); /* so that the terminal can be given to another, and taken back */
#ifdef HAVE_READLINE
	history = directory_state("history", true);
	typing = a;
	rl_readline_name = tool_name;
	rl_catch_signals = 0;
	rl_instream = fdopen(dup(fd), "r");
	rl_outstream = stderr;
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n";
	need(history && rl_instream ? 0 : -1);
	if (a->talks)
		read_history(history);
#endif
}

bool
person_is_there(const struct ask *a)
{
	/* Whoever does not see a question cannot answer it. */
	return a->person.fd.fd >= 0 && a->show.animated;
}

void
person_close(struct ask *a)
{
	person_leave(a);
	if (!a->person.fd.added)
		return;
#ifdef HAVE_READLINE
	if (a->talks) {
		write_history(history);
		history_truncate_file(history, HISTORY);
	}
#endif
	loop_remove_fd(a->loop, &a->person.fd);
	proc_close(a->person.fd.fd);
}

/* --- a conversation --- */

void
talk_interrupt(struct ask *a)
{
	bool typed = false; /* else the terminal keeps what was */

#ifdef HAVE_READLINE
	typed = a->person.asks && rl_end > 0;
#endif
	if (!typed) {
		ask_over(a, !a->person.done ? 0 : 128 + SIGINT);
		return;
	}
	person_leave(a);
	talk_go_on(a);
}

void
talk_run(struct ask *a)
{
	struct person *t = &a->person;
	SCOPED struct buf text = {0};

	for (;;) {
		t->text.n = 0;
		t->done = false;
		if (!a->asked)
			talk_go_on(a);
		if (!ask_wait(a, &t->done) || t->ended)
			break;
		if (!slice_is_blank(buf_slice(&t->text)))
			prompt_run(a, string_in(&text, buf_slice(&t->text)), 0);
	}
	t->done = true;
	person_leave(a);
}
