/* --terminal: commands that the agent runs, in the session's directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

enum { OUTPUT_MOST = 16 * 1024 * 1024, PIECE = 64 * 1024 };

struct terminal {
	struct terminal *prev, *next;
	struct ask *ask;
	uint64_t number;
	struct loop_child child;
	struct loop_fd fd;
	struct buf output;
	size_t limit;           /* bytes of it that are kept, the last */
	bool truncated, exited;
	int status;
	struct buf waiting;     /* ids of requests that wait for the end, a newline after each */
};

static void
free_terminal(struct terminal *t)
{
	DL_DELETE(t->ask->terminals, t);
	if (t->fd.added)
		loop_remove_fd(t->ask->loop, &t->fd);
	proc_close(t->fd.fd);
	proc_signal(t->child.pid, SIGKILL);
	if (t->child.added)
		loop_reap(t->ask->loop, &t->child);
	buf_free(&t->output);
	buf_free(&t->waiting);
	free(t);
}

void
terminals_close(struct ask *a)
{
	while (a->terminals)
		free_terminal(a->terminals);
}

/* --- its output --- */

/* Keeps the last bytes, from the beginning of a character on. */
static void
cut(struct terminal *t)
{
	size_t from = t->output.n > t->limit ? t->output.n - t->limit : 0;

	while (from && from < t->output.n && ((unsigned char)t->output.p[from] & 0xc0) == 0x80)
		from++;
	if (from)
		memmove(t->output.p, t->output.p + from, t->output.n - from);
	t->output.n -= from;
	t->truncated |= from > 0;
}

static bool
read_output(struct terminal *t)
{
	ssize_t n;

	need(buf_reserve(&t->output, PIECE));
	n = read(t->fd.fd, t->output.p + t->output.n, PIECE);
	if (n > 0)
		t->output.n += (size_t)n;
	if (t->output.n > 2 * t->limit + PIECE)
		cut(t);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		loop_remove_fd(t->ask->loop, &t->fd);
		t->fd.fd = proc_close(t->fd.fd);
	}
	return n > 0;
}

static void
on_output(void *arg, short revents)
{
	(void)revents;
	read_output(arg);
}

/* --- its end --- */

static void
put_status(const struct terminal *t, struct buf *to)
{
	const char *name = WIFSIGNALED(t->status) ? proc_signal_name(WTERMSIG(t->status)) : NULL;

	if (WIFSIGNALED(t->status))
		need(buf_printf(to, "{\"exitCode\":null,\"signal\":\"%s%s\"}", name ? "SIG" : "", name ? name : "unknown"));
	else
		need(buf_printf(to, "{\"exitCode\":%d,\"signal\":null}", WEXITSTATUS(t->status)));
}

static void
on_exit_of_command(void *arg, int status)
{
	struct terminal *t = arg;
	const char *p = t->waiting.p, *end = p + t->waiting.n, *newline;

	t->exited = true;
	t->status = status;
	/* What it has written is there; who it started may hold the pipe open. */
	while (t->fd.fd >= 0 && poll(&(struct pollfd){.fd = t->fd.fd, .events = POLLIN}, 1, 0) == 1 && read_output(t))
		;
	for (; p < end; p = newline + 1) {
		struct buf result = {0};

		newline = memchr(p, '\n', (size_t)(end - p));
		put_status(t, &result);
		ask_reply(t->ask, slice_between(p, newline), &result);
	}
	t->waiting.n = 0;
}

/* --- beginning --- */

/* Appends the strings of an array (or NAME=VALUE of one of variables) to a list that ends with NULL. */
static char **
add_words(char **list, struct slice array)
{
	struct json_iter it = {.in = array};
	struct slice key, item;
	size_t n = 0;

	while (list && list[n])
		n++;
	while (json_type(array) == JSON_ARRAY && json_next(&it, &key, &item)) {
		struct buf word = {0};

		if (json_type(item) == JSON_OBJECT) {
			keep_string(&word, json_get(item, "name"));
			need(buf_add(&word, "=", 1));
			item = json_get(item, "value");
		}
		if (json_type(item) == JSON_STRING)
			need(json_unescape(item, &word));
		need(buf_string(&word) ? 0 : -1);
		list = cli_grow(tool_name, list, n, sizeof(*list));
		list[n++] = word.p;
	}
	list = cli_grow(tool_name, list, n, sizeof(*list));
	list[n] = NULL;
	return list;
}

static void
free_words(char **list)
{
	for (char **word = list; *word; word++)
		free(*word);
	free(list);
}

/* Starts the command in the directory. 0, or -1 with errno. */
static int
start(struct terminal *t, char *const *argv, char *const *env, int directory)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fds[2] = {-1, -1}, error;
	struct proc_fd map[3];
	struct proc_spec spec = {.argv = argv, .fds = map, .nfds = 3, .death_signal = SIGKILL, .directory = directory, .variables = env};

	if (null < 0 || proc_pipe(fds) < 0) {
		proc_close(null);
		return -1;
	}
	map[0] = (struct proc_fd){null, 0};
	map[1] = (struct proc_fd){fds[1], 1};
	map[2] = (struct proc_fd){fds[1], 2};
	t->child = (struct loop_child){.pid = proc_start(&spec, NULL), .ended = on_exit_of_command, .arg = t};
	error = errno;
	proc_close(null);
	proc_close(fds[1]);
	t->fd = (struct loop_fd){.fd = fds[0], .events = POLLIN, .ready = on_output, .arg = t};
	errno = error;
	return t->child.pid < 0 ? -1 : 0;
}

static void
create(struct ask *a, const struct msg *m)
{
	SCOPED struct buf command = {0}, path = {0};
	struct terminal *t = calloc(1, sizeof(*t));
	struct slice args = json_get(m->params, "args");
	char **argv = NULL, **env = add_words(NULL, json_get(m->params, "env"));
	struct buf result = {0};
	uint64_t limit;
	int directory;

	need(t ? 0 : -1);
	if (!json_u64(json_get(m->params, "outputByteLimit"), &limit) || limit > OUTPUT_MOST)
		limit = OUTPUT_MOST;
	*t = (struct terminal){.ask = a, .number = ++a->id, .limit = (size_t)limit, .fd.fd = -1};
	DL_APPEND(a->terminals, t);
	keep_string(&command, json_get(m->params, "command"));
	keep_string(&path, json_get(m->params, "cwd"));
	need(buf_string(&command) && buf_string(&path) ? 0 : -1);
	/* A command without arguments may be a line for a shell. */
	if (json_type(args) != JSON_ARRAY || json_is_empty(args)) {
		argv = proc_words(command.p);
	} else {
		argv = cli_grow(tool_name, NULL, 1, sizeof(*argv));
		argv[0] = strdup(command.p);
		argv[1] = NULL;
		need(argv[0] ? 0 : -1);
		argv = add_words(argv, args);
	}
	directory = files_open(a, path.n ? path.p : a->cwd.p, O_RDONLY | O_DIRECTORY);
	if (!argv || directory < 0 || start(t, argv, env, directory) < 0) {
		files_refuse(a, m->id, directory < 0 ? path.p : command.p, errno);
		free_terminal(t);
	} else {
		loop_add_child(a->loop, &t->child);
		loop_add_fd(a->loop, &t->fd);
		need(buf_printf(&result, "{\"terminalId\":\"t%" PRIu64 "\"}", t->number));
		if (!a->options->quiet)
			show_note(a, "terminal: %s", command.p);
		ask_reply(a, m->id, &result);
	}
	proc_close(directory);
	free_words(env);
	if (argv && json_type(args) == JSON_ARRAY && !json_is_empty(args))
		free_words(argv);
	else
		free(argv);
}

/* --- requests --- */

static struct terminal *
find(struct ask *a, struct slice id)
{
	SCOPED struct buf text = {0};
	struct terminal *t;

	keep_string(&text, id);
	need(buf_string(&text) ? 0 : -1);
	DL_FOREACH(a->terminals, t)
		if (*text.p == 't' && strtoull(text.p + 1, NULL, 10) == t->number)
			return t;
	return NULL;
}

void
terminal_serve(struct ask *a, const struct msg *m, struct slice method)
{
	struct terminal *t = find(a, json_get(m->params, "terminalId"));
	bool output = slice_is(method, "terminal/output"), waits = slice_is(method, "terminal/wait_for_exit");
	struct buf result = {0};

	if (slice_is(method, "terminal/create")) {
		create(a, m);
		return;
	}
	if (!t) {
		ask_reply_error(a, m->id, ACP_ERR_NOT_FOUND, "there is no such terminal");
		return;
	}
	if (waits && !t->exited) {
		need(buf_add_slice(&t->waiting, m->id));
		need(buf_add(&t->waiting, "\n", 1));
		return;
	}
	if (output) {
		cut(t);
		need(buf_add_string(&result, "{\"output\":"));
		need(json_quote(buf_slice(&t->output), &result));
		need(buf_printf(&result, ",\"truncated\":%s%s", t->truncated ? "true" : "false", t->exited ? ",\"exitStatus\":" : ""));
	}
	if (waits || (output && t->exited))
		put_status(t, &result);
	need(buf_add_string(&result, output ? "}" : waits ? "" : "{}"));
	if (slice_is(method, "terminal/kill") && !t->exited)
		proc_signal(t->child.pid, SIGTERM);
	else if (slice_is(method, "terminal/release"))
		free_terminal(t);
	ask_reply(a, m->id, &result);
}
