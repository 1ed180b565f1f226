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
	need(line ? buf_add_string(&talk.line, line) : 0);
	free(line);
	loop_stop(talk.ask->loop);
}

static void
begin_line(const char *prompt)
{
	rl_callback_handler_install(prompt, on_line);
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
	SCOPED struct buf name = {0};
	struct slice key, command;

	if (state == 0)
		it = (struct json_iter){.in = buf_slice(&talk.ask->commands)};
	while (talk.ask->commands.n && json_next(&it, &key, &command)) {
		name.n = 0;
		need(buf_add(&name, "/", 1));
		need(json_unescape(json_get_string(command, "name"), &name));
		need(buf_string(&name) ? 0 : -1);
		if (strncmp(name.p, text, strlen(text)) == 0)
			return strdup(name.p);
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

static void
open_lines(const char *history)
{
	rl_readline_name = tool_name;
	rl_catch_signals = 0;
	rl_instream = stdin;
	rl_outstream = stderr;
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n";
	read_history(history);
}

static void
close_lines(const char *history)
{
	write_history(history);
	history_truncate_file(history, HISTORY);
	clear_history();
}

static void
discard_line(void)
{
	rl_callback_handler_remove();
}

static bool
has_typed(void)
{
	return rl_end > 0;
}

void
talk_yield(bool yields)
{
	if (!talk.reading)
		return;
	loop_watch(talk.ask->loop, &talk.fd, yields ? LOOP_PAUSED : POLLIN);
	if (yields)
		rl_deprep_terminal();
	else
		rl_prep_terminal(1);
	if (!yields)
		rl_forced_update_display();
}

void
talk_redraw(void)
{
	if (talk.reading && !talk.ask->person.asked) {
		rl_on_new_line();
		rl_redisplay();
	}
}

#else /* lines as the terminal gives them */

static void
begin_line(const char *prompt)
{
	show_prompt(talk.ask, prompt);
}

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
		need(buf_add(&talk.line, text, (size_t)n));
	talk.ended = n <= 0;
	talk.done = talk.ended || talk.line.p[talk.line.n - 1] == '\n';
	if (talk.done && talk.line.n && talk.line.p[talk.line.n - 1] == '\n')
		talk.line.n--;
	talk.ask->show.prompts = talk.ended;
	if (talk.done)
		loop_stop(talk.ask->loop);
}

static void
open_lines(const char *history)
{
	(void)history;
}

static void
close_lines(const char *history)
{
	(void)history;
}

static void
discard_line(void)
{
}

static bool
has_typed(void)
{
	return false;
}

void
talk_yield(bool yields)
{
	if (talk.reading)
		loop_watch(talk.ask->loop, &talk.fd, yields ? LOOP_PAUSED : POLLIN);
}

void
talk_redraw(void)
{
	if (talk.reading && !talk.ask->person.asked)
		show_prompt(talk.ask, first_prompt);
}

#endif

/* --- the conversation --- */

void
talk_interrupt(struct ask *a)
{
	if (!talk.reading || !has_typed()) {
		ask_over(a, talk.reading ? 0 : 128 + SIGINT);
		return;
	}
	discard_line();
	cli_write_now(STDERR_FILENO, slice("\n", 1));
	begin_line(first_prompt);
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
		if (!talk.done)
			discard_line();
		if (!talk.done || talk.ended)
			return false;
		more = talk.line.n > 0 && talk.line.p[talk.line.n - 1] == '\\';
		need(buf_add(text, talk.line.p, talk.line.n - more));
		need(more ? buf_add(text, "\n", 1) : 0);
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
	open_lines(history);
	loop_add_fd(a->loop, &talk.fd);
	while (!a->over && read_text(a, &text)) {
		if (slice_is_blank(buf_slice(&text)))
			continue;
#ifdef HAVE_READLINE
		add_history(buf_string(&text));
#endif
		blocks = (struct buf){0};
		need(buf_add(&blocks, "[", 1));
		need(acp_put_text_block(&blocks, buf_slice(&text)));
		need(buf_add(&blocks, "]", 1));
		prompt_begin(a, &blocks);
		prompt_end(a);
	}
	show_clear(a);
	loop_remove_fd(a->loop, &talk.fd);
	close_lines(history);
	free(history);
	buf_free(&talk.line);
}
