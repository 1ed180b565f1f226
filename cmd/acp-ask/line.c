/* The terminal at which a person types a line when acp-ask asks for one: edited with readline, in a build that has it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
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

#ifdef HAVE_READLINE

static struct ask *typing; /* an argument for the callbacks: readline passes none */
static char *history;      /* the path of the history file */
static int unsaved;        /* the number of lines that are not in that file yet */
static bool reading;       /* readline runs, and will empty the line when it returns */

static void
on_line(char *line)
{
	if (line && *line && !typing->asked) {
		add_history(line);
		unsaved++;
	}
	typing->line.got(typing, slice_of(line ? line : ""), !line);
	free(line);
}

static void
on_typed(void *arg, short revents)
{
	struct ask *a = arg;

	(void)revents;
	reading = true;
	rl_callback_read_char();
	reading = false;
	if (a->line.asks && !a->asked)
		line_take_kept(a);
}

/* Returns the next command of the agent that begins with this text. Leaves out names that might control the terminal. */
static char *
next_command(const char *text, int state)
{
	static struct json_iter it;
	SCOPED struct buf room = {0};
	struct slice command;

	if (state == 0)
		it = (struct json_iter){.in = buf_slice(&typing->commands)};
	while (json_item(&it, &command)) {
		SCOPED struct buf plain = {0};
		const char *name = plain_of(json_get(command, "name"), &room);

		need(text_plain(&plain, slice_of(name)));
		if (slice_is(buf_slice(&plain), name) && strncmp(name, text + 1, strlen(text + 1)) == 0)
			return bytes_printf("/%s", name);
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
	char line[4096]; /* the longest line of a terminal */
	ssize_t n = read(a->line.fd.fd, line, sizeof(line));

	(void)revents;
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		a->line.got(a, slice(line, n > 0 ? (size_t)n - (line[n - 1] == '\n') : 0), n <= 0);
}

#endif

bool
line_leave(struct ask *a)
{
	bool asks = a->line.asks;

	a->line.asks = false;
	if (!asks)
		return false;
	loop_set_events(a->loop, &a->line.fd, LOOP_PAUSED);
#ifdef HAVE_READLINE
	rl_callback_handler_remove();
#endif
	return true;
}

void
line_keep(struct ask *a)
{
#ifdef HAVE_READLINE
	if (line_has_text(a)) {
		free(a->line.kept);
		need((a->line.kept = strdup(rl_line_buffer)) ? 0 : -1);
	}
#else
	(void)a;
#endif
}

void
line_take_kept(struct ask *a)
{
#ifdef HAVE_READLINE
	if (!a->line.kept || reading)
		return;
	rl_insert_text(a->line.kept);
	rl_redisplay();
	free(a->line.kept);
	a->line.kept = NULL;
#else
	(void)a;
#endif
}

void
line_ask(struct ask *a, struct slice prompt)
{
	SCOPED struct buf plain = {0};

	need(text_plain(&plain, prompt));
	need(buf_string(&plain) ? 0 : -1);
	a->line.asks = true;
#ifdef HAVE_READLINE
	/* A background job stops here until it is in the foreground, before readline reads the terminal's settings. */
	signal(SIGTTOU, SIG_DFL);
	tcdrain(a->line.fd.fd);
	rl_callback_handler_install(plain.p, on_line);
	signal(SIGTTOU, SIG_IGN);
#else
	a->line.prompt.n = 0;
	put_slice(&a->line.prompt, buf_slice(&plain));
	line_redraw(a);
#endif
	loop_set_events(a->loop, &a->line.fd, POLLIN);
}

void
line_redraw(const struct ask *a)
{
#ifdef HAVE_READLINE
	(void)a;
	rl_on_new_line();
	rl_redisplay();
#else
	cli_write_now(STDERR_FILENO, buf_slice(&a->line.prompt));
#endif
}

void
line_resume(const struct ask *a)
{
#ifdef HAVE_READLINE
	if (!a->line.asks || tcgetpgrp(a->line.fd.fd) != getpgrp())
		return;
	rl_deprep_terminal();
	rl_prep_terminal(1);
	rl_forced_update_display();
#else
	(void)a;
#endif
}

bool
line_has_text(const struct ask *a)
{
#ifdef HAVE_READLINE
	return a->line.asks && rl_end > 0;
#else
	(void)a;
	return false; /* the terminal keeps what was typed */
#endif
}

void
line_open(struct ask *a, void (*got)(struct ask *, struct slice, bool))
{
	int fd = -1;

	if (a->talks)
		fd = proc_copy(STDIN_FILENO);
	else if (a->show.animated)
		fd = proc_move_high(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
	a->line = (struct typed_line){.fd = {.fd = fd, .events = LOOP_PAUSED, .ready = on_typed, .arg = a}, .got = got};
	if (fd < 0)
		return;
	loop_add_fd(a->loop, &a->line.fd);
	signal(SIGTTOU, SIG_IGN); /* so that the terminal can be given to another process, and taken back */
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

void
line_close(struct ask *a)
{
	if (!a->line.fd.added)
		return;
#ifdef HAVE_READLINE
	if (a->talks) {
		/* Appends, as another conversation may have added its lines; append_history does not make the file. */
		if (append_history(unsaved, history) != 0)
			write_history(history);
		history_truncate_file(history, HISTORY);
	}
#endif
	free(a->line.kept);
	loop_remove_fd(a->loop, &a->line.fd);
	proc_close(a->line.fd.fd);
}
