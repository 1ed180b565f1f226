/* What the agent may use: files (--fs) and commands (--terminal), below the session's directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"

enum { OUTPUT_MOST = 16 * 1024 * 1024, PIECE = 64 * 1024 };

/* --- files --- */

/* Responds with an error for this path. error: an errno. */
static void
refuse_path(struct ask *a, struct slice id, const char *path, int error)
{
	bool outside = error == EXDEV || error == ELOOP;

	ask_refuse(a, id, outside ? ACP_ERR_PARAMS : error == ENOENT ? ACP_ERR_NOT_FOUND : ACP_ERR_INTERNAL, "%s: %s", path,
		outside ? "outside of the session's directory" : strerror(error));
}

/* Makes the directories above a path that are missing. */
static void
make_parents(int root, const char *path)
{
	char *copy = strdup(path), *slash, *name;
	int at = dup(root);

	need(copy ? 0 : -1);
	for (name = copy; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		mkdirat(at, name, 0777);
		proc_close(at);
		at = system_open_beneath(root, copy, O_RDONLY | O_DIRECTORY, 0);
		*slash = '/';
	}
	proc_close(at);
	free(copy);
}

/* Opens an absolute path below the session's directory. -1 with errno; EXDEV, ELOOP: the path is outside of the directory. */
static int
open_below(const struct ask *a, const char *path, int flags)
{
	size_t n = strlen(a->cwd);
	const char *below = path + n;
	int root, fd;

	if (strncmp(path, a->cwd, n) != 0 || (*below && *below != '/' && n > 1)) {
		errno = EXDEV;
		return -1;
	}
	while (*below == '/')
		below++;
	root = open(a->cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = system_open_beneath(root, *below ? below : ".", flags | O_CLOEXEC, 0666);
	if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
		make_parents(root, below);
		fd = system_open_beneath(root, below, flags | O_CLOEXEC, 0666);
	}
	proc_close(root);
	return fd;
}

/* Reads a file into text, or (writes) writes text into the file. Returns 0 or an errno. */
static int
use_file(const struct ask *a, const char *path, bool writes, struct buf *text)
{
	int fd = open_below(a, path, (writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_NONBLOCK), error = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno;
	if (writes) {
		for (size_t at = 0; at < text->n && !error; at += n > 0 ? (size_t)n : 0) {
			n = write(fd, text->p + at, text->n - at);
			error = n < 0 && errno != EINTR ? errno : 0;
		}
	} else if (fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && buf_read_all(text, fd, a->options->line_limit / 2) < 0)) {
		error = errno;
	} else if (!S_ISREG(st.st_mode)) {
		error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	} else if (!json_utf8(buf_slice(text))) {
		error = EILSEQ;
	}
	return close(fd) < 0 && !error ? errno : error;
}

static void
serve_file(struct ask *a, const struct msg *m, bool writes)
{
	SCOPED struct buf path = {0}, text = {0}, result = {0};
	struct slice content = json_get_string(m->params, acp_content), name = json_get(m->params, "path"), left, line;
	uint64_t first, limit;
	int error = EINVAL;

	plain_of(name, &path);
	if (writes && content.p)
		need(json_unescape(content, &text));
	/* No path has a NUL. */
	if ((!writes || content.p) && (!path.n || json_string_is(name, path.p)))
		error = use_file(a, path.p, writes, &text);
	if (!writes && !error) {
		/* The lines from `first` on, at most `limit`. */
		if (!json_u64(json_get(m->params, "line"), &first))
			first = 1;
		if (!json_u64(json_get(m->params, "limit"), &limit))
			limit = UINT64_MAX;
		for (left = buf_slice(&text); first > 1 && line_next(&left, &line); first--)
			;
		for (content = left; limit > 0 && line_next(&left, &line); limit--)
			;
		content = slice_between(content.p, left.p);
	}
	need(json_format(&result, writes ? "{}" : "{\"content\":%j}", content));
	if (!a->options->quiet)
		show_note(a, "%s: %s%s%s", writes ? "write" : "read", path.p, error ? ": " : "", error ? strerror(error) : "");
	if (error)
		refuse_path(a, m->id, path.p, error);
	else
		ask_reply(a, m->id, buf_slice(&result));
}

/* --- commands --- */

struct terminal {
	struct terminal *prev, *next;
	struct ask *ask;
	char id[SLICE_DIGITS + 2];
	struct loop_child child;
	struct endpoint pipe;   /* its standard output and error */
	struct buf output;
	size_t limit;           /* how many of the last bytes of the output are kept */
	bool truncated;
	struct buf end;         /* how the command ended, as the agent gets it; empty: the command runs */
	struct buf waiting;     /* ids of requests that wait for the end, a newline after each */
};

static void
free_terminal(struct terminal *t)
{
	DL_DELETE(t->ask->terminals, t);
	endpoint_close(&t->pipe);
	if (t->child.added) {
		proc_signal(t->child.pid, SIGKILL);
		loop_reap(t->ask->loop, &t->child);
	}
	buf_free(&t->output);
	buf_free(&t->end);
	buf_free(&t->waiting);
	free(t);
}

void
offer_close(struct ask *a)
{
	while (a->terminals)
		free_terminal(a->terminals);
}

/* --- the output of a command --- */

/* Keeps the last bytes of the output, from the beginning of a character on. */
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
on_output(void *arg, enum input_got got, const struct line *line)
{
	struct terminal *t = arg;

	(void)got;
	put_slice(&t->output, line->text);
	if (t->output.n > 2 * t->limit + PIECE)
		cut(t);
	return true;
}

/* --- the end of a command --- */

/* Responds to the requests that wait for the end of a command, which has exited or will be killed. */
static void
on_exit_of_command(void *arg, int status)
{
	struct terminal *t = arg;
	const char *signal = WIFSIGNALED(status) ? proc_signal_name(WTERMSIG(status)) : NULL;
	struct slice left = buf_slice(&t->waiting), id;

	/* All output of the command can be read now. The pipe may stay open: processes that the command started may hold it. */
	endpoint_read_now(&t->pipe, false);
	if (WIFSIGNALED(status))
		need(json_format(&t->end, "{\"exitCode\":null,\"signal\":\"%s%s\"}", signal ? "SIG" : "",
			signal ? signal : "unknown"));
	else
		need(json_format(&t->end, "{\"exitCode\":%u,\"signal\":null}", (uint64_t)WEXITSTATUS(status)));
	while (line_next(&left, &id))
		ask_reply(t->ask, id, buf_slice(&t->end));
	t->waiting.n = 0;
}

/* --- the beginning of a command --- */

/* Starts the command in the directory. 0, or -1 with errno. */
static int
start(struct terminal *t, char *const *argv, char *const *env, int directory)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fds[2] = {-1, -1};
	struct proc_spec spec = {.argv = argv, .nfds = 3, .death_signal = SIGKILL, .directory = directory, .variables = env};

	if (null < 0 || proc_pipe(fds) < 0)
		return proc_close(null);
	spec.fds = (struct proc_fd[]){{null, STDIN_FILENO}, {fds[1], STDOUT_FILENO}, {fds[1], STDERR_FILENO}};
	t->child = (struct loop_child){.pid = proc_start(&spec, NULL), .ended = on_exit_of_command, .arg = t};
	proc_close(null);
	proc_close(fds[1]);
	if (t->child.pid < 0)
		return proc_close(fds[0]);
	loop_add_child(t->ask->loop, &t->child);
	t->pipe = (struct endpoint){.line = on_output, .arg = t};
	need(endpoint_open(&t->pipe, t->ask->loop, fds[0], -1, 0));
	return 0;
}

static void
create(struct ask *a, const struct msg *m)
{
	SCOPED struct buf command = {0}, path = {0}, result = {0};
	struct terminal *t = calloc(1, sizeof(*t));
	char **env = words_new(NULL, json_get(m->params, "env")), **words, **argv;
	uint64_t limit;
	int directory;

	need(t ? 0 : -1);
	if (!json_u64(json_get(m->params, "outputByteLimit"), &limit) || limit > OUTPUT_MOST)
		limit = OUTPUT_MOST;
	*t = (struct terminal){.ask = a, .limit = (size_t)limit};
	snprintf(t->id, sizeof(t->id), "t%" PRIu64, ++a->id);
	DL_APPEND(a->terminals, t);
	plain_of(json_get(m->params, "command"), &command);
	plain_of(json_get(m->params, "cwd"), &path);
	/* A command without arguments may be a line for a shell. */
	words = words_new((char *const[]){command.p, NULL}, json_get(m->params, "args"));
	argv = words[1] ? words : proc_words(command.p);
	directory = open_below(a, path.n ? path.p : a->cwd, O_RDONLY | O_DIRECTORY);
	if (!argv || directory < 0 || start(t, argv, env, directory) < 0) {
		refuse_path(a, m->id, directory < 0 ? path.p : command.p, errno);
		free_terminal(t);
	} else {
		need(json_format(&result, "{\"terminalId\":\"%s\"}", t->id));
		if (!a->options->quiet)
			show_note(a, "terminal: %s", command.p);
		ask_reply(a, m->id, buf_slice(&result));
	}
	proc_close(directory);
	if (argv != words)
		free(argv);
	words_free(words);
	words_free(env);
}

static void
serve_terminal(struct ask *a, const struct msg *m, const char *does)
{
	struct slice id = json_get(m->params, "terminalId"), reply = slice_of("{}");
	SCOPED struct buf room = {0}, result = {0};
	struct terminal *t;

	DL_FOREACH(a->terminals, t)
		if (json_string_is(id, t->id))
			break;
	if (!t) {
		ask_refuse(a, m->id, ACP_ERR_NOT_FOUND, "there is no such terminal");
		return;
	}
	if (strcmp(does, "wait_for_exit") == 0) {
		if (!t->end.n) {
			need(json_format(&t->waiting, "%b\n", m->id));
			return;
		}
		reply = buf_slice(&t->end);
	} else if (strcmp(does, "output") == 0) {
		cut(t);
		put_object(&result, {"output", string_in(&room, buf_slice(&t->output))},
			{"truncated", slice_of(t->truncated ? "true" : "false")}, {"exitStatus", json_in(&t->end)});
		reply = buf_slice(&result);
	} else if (strcmp(does, "kill") == 0 && !t->end.n) {
		proc_signal(t->child.pid, SIGTERM);
	} else if (strcmp(does, "release") == 0) {
		if (!t->end.n)
			on_exit_of_command(t, SIGKILL);
		free_terminal(t);
	}
	ask_reply(a, m->id, reply);
}

bool
offer_cancel(struct ask *a, struct slice id)
{
	struct slice left, waits;
	struct terminal *t;

	DL_FOREACH(a->terminals, t)
		for (left = buf_slice(&t->waiting); line_next(&left, &waits);)
			if (msg_same_id(waits, id)) {
				ask_refuse(a, waits, ACP_ERR_CANCELLED, "cancelled");
				memmove(t->waiting.p + t->waiting.n - left.n - waits.n - 1, left.p, left.n);
				t->waiting.n -= waits.n + 1;
				return true;
			}
	return false;
}

void
offer_serve(struct ask *a, const struct msg *m)
{
	static const char *const uses[] = {"terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release", NULL};
	SCOPED struct buf room = {0};
	const char *method = plain_of(m->method, &room);

	if (a->options->fs && strcmp(method, "fs/read_text_file") == 0)
		serve_file(a, m, false);
	else if (a->options->fs == FS_WRITE && strcmp(method, "fs/write_text_file") == 0)
		serve_file(a, m, true);
	else if (a->options->terminal && strcmp(method, "terminal/create") == 0)
		create(a, m);
	else if (a->options->terminal && json_string_in(m->method, uses))
		serve_terminal(a, m, method + 9);
	else
		ask_refuse(a, m->id, ACP_ERR_METHOD, "%s: this client does not offer it", method);
}
