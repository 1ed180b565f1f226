/* A conversation: each line that a person types is a prompt. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef HAVE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif

#include "cmd/acp-ask/ask.h"
#include "lib/run/directory.h"

enum { HISTORY = 1000 };
static const char first_prompt[] = "> ", next_prompt[] = ">> ";

/* readline calls us without an argument. */
static struct talk {
	struct ask *ask;
	struct loop_fd fd;      /* standard input */
	struct buf line;        /* that was read */
	bool reading, done, ended;
} talk;

/* --- lines --- */

#ifdef HAVE_READLINE

static void
on_line(char *line)
{
	rl_callback_handler_remove();
	talk.done = true;
	talk.ended = !line;
	put_slice(&talk.line, slice_of(line ? line : ""));
	free(line);
	loop_stop(talk.ask->loop);
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
		it = (struct json_iter){.in = buf_slice(&talk.ask->commands)};
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
	if (start > 0 || *text != '/')
		return NULL;
	rl_attempted_completion_over = 1;
	return rl_completion_matches(text, next_command);
}

#else /* lines as the terminal gives them */

static void
on_typed(void *arg, short revents)
{
	char text[4096];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	(void)arg;
	(void)revents;
	if (n < 0 && errno == EINTR)
		return;
	if (n > 0)
		put_slice(&talk.line, slice(text, (size_t)n));
	talk.ended = n <= 0;
	talk.done = talk.ended || text[n - 1] == '\n';
	talk.line.n -= talk.done && !talk.ended;
	talk.ask->show.prompts = talk.ended;
	if (talk.done)
		loop_stop(talk.ask->loop);
}

#endif

static void
begin_line(const char *prompt)
{
#ifdef HAVE_READLINE
	rl_callback_handler_install(prompt, on_line);
#else
	show_prompt(talk.ask, slice_of(prompt));
#endif
}

void
talk_yield(bool yields)
{
	if (!talk.reading)
		return;
	loop_watch(talk.ask->loop, &talk.fd, yields ? LOOP_PAUSED : POLLIN);
#ifdef HAVE_READLINE
	if (yields) {
		rl_deprep_terminal();
	} else {
		rl_prep_terminal(1);
		rl_forced_update_display();
	}
#endif
}

void
talk_redraw(void)
{
	if (!talk.reading || talk.ask->person.asked)
		return;
#ifdef HAVE_READLINE
	rl_on_new_line();
	rl_redisplay();
#else
	begin_line(first_prompt);
#endif
}

/* --- the conversation --- */

void
talk_interrupt(struct ask *a)
{
#ifdef HAVE_READLINE
	if (talk.reading && rl_end > 0) {
		rl_callback_handler_remove();
		cli_write_now(STDERR_FILENO, slice("\n", 1));
		begin_line(first_prompt);
		return;
	}
#endif
	ask_over(a, talk.reading ? 0 : 128 + SIGINT);
}

/* Reads a line, which ends with a newline that is none if \ stands before it. False: that was the end. */
static bool
read_text(struct ask *a, struct buf *text)
{
	bool more = true;

	for (text->n = 0; more;) {
		talk.line.n = 0;
		talk.done = talk.ended = false;
		talk.reading = true;
		loop_watch(a->loop, &talk.fd, POLLIN);
		show_clear(a);
		begin_line(text->n ? next_prompt : first_prompt);
		ask_wait(a, &talk.done);
		talk.reading = false;
		loop_watch(a->loop, &talk.fd, LOOP_PAUSED);
#ifdef HAVE_READLINE
		if (!talk.done)
			rl_callback_handler_remove();
#endif
		if (!talk.done || talk.ended)
			return false;
		more = talk.line.n > 0 && talk.line.p[talk.line.n - 1] == '\\';
		put_slice(text, slice(talk.line.p, talk.line.n - more));
		put_slice(text, slice("\n", more));
	}
	return true;
}

void
talk_run(struct ask *a)
{
	SCOPED struct buf text = {0};
	char *history = directory_state("history", true);
	struct buf blocks;

	need(history ? 0 : -1);
	talk = (struct talk){.ask = a, .fd = {.fd = STDIN_FILENO, .events = LOOP_PAUSED, .ready = on_typed, .arg = a}};
	a->talks = true;
#ifdef HAVE_READLINE
	rl_readline_name = tool_name;
	rl_catch_signals = 0;
	rl_instream = stdin;
	rl_outstream = stderr;
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n";
	read_history(history);
#endif
	loop_add_fd(a->loop, &talk.fd);
	while (!a->over && read_text(a, &text)) {
		if (slice_is_blank(buf_slice(&text)))
			continue;
#ifdef HAVE_READLINE
		add_history(buf_string(&text));
#endif
		blocks = (struct buf){0};
		put(&blocks, "[");
		need(acp_put_text_block(&blocks, buf_slice(&text)));
		put(&blocks, "]");
		prompt_begin(a, &blocks);
		prompt_end(a);
	}
	show_clear(a);
	loop_remove_fd(a->loop, &talk.fd);
#ifdef HAVE_READLINE
	write_history(history);
	history_truncate_file(history, HISTORY);
	clear_history();
#endif
	free(history);
	buf_free(&talk.line);
}
