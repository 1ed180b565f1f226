/* Records the play. acp-diff compares this recording with the one that is played. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/acp-replay/player.h"
#include "lib/base/cli.h"
#include "lib/run/log.h"
#include "lib/run/proc.h"
#include "lib/run/replace.h"

struct recorder {
	const struct replay_options *options;
	struct log *log;
	struct replace file;    /* --update: the recording */
	int fd;                 /* --check: the file that is written; -1: it has a name */
	char *inputs[2];        /* the recording */
	char *scratch;          /* the name of the written file; or NULL */
	bool any;               /* a record was written */
	uint64_t began;         /* us, on the loop's clock */
};

/* --- the file --- */

static int
begin_log(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct recorder *r = arg;
	struct timespec now;

	if (resumed)
		return recording_put(to, -1, &(struct record){.kind = RECORD_LOST, .t = loop_clock() - r->began, .count = lost,
			.text = slice_of(why)});
	clock_gettime(CLOCK_REALTIME, &now);
	return recording_put_header(to, (double)now.tv_sec + (double)now.tv_nsec / 1e9, "acp-replay " VERSION,
		r->options->command, NULL);
}

static int
open_files(struct recorder *r, char **why)
{
	const struct replay_options *o = r->options;
	const char *directory = getenv("TMPDIR");
	struct log_spec spec = {.path = o->record, .plain = true, .begin = begin_log, .arg = r, .inputs = r->inputs};

	if (o->update) {
		if (replace_open(&r->file, o->path, NULL, why) < 0 || replace_begin(&r->file, 0600) < 0 ||
			(r->fd = open(r->file.copy, O_RDONLY | O_CLOEXEC)) < 0)
			return -1;
		spec.path = r->file.copy;
	} else if (!o->record) {
		spec.path = r->scratch = bytes_printf("%s/acp-replay.XXXXXX", directory && *directory ? directory : "/tmp");
		r->fd = r->scratch ? mkostemp(r->scratch, O_CLOEXEC) : -1;
		if (r->fd < 0)
			return -1;
	}
	r->log = log_open(&spec, why);
	if (r->scratch)
		unlink(r->scratch);
	return r->log ? 0 : -1;
}

int
recorder_new(const struct replay_options *o, struct recorder **made)
{
	struct recorder *r = *made = calloc(1, sizeof(*r));
	char *why = NULL;

	if (r) {
		*r = (struct recorder){.options = o, .fd = -1, .inputs = {(char *)(size_t)o->path}, .began = loop_clock()};
		if (open_files(r, &why) == 0)
			return 0;
	}
	if (why)
		cli_warn(replay_name, "%s", why);
	else
		cli_warn(replay_name, "%s: %s", o->path, strerror(errno));
	free(why);
	return -1;
}

void
recorder_free(struct recorder *r)
{
	if (!r)
		return;
	if (r->log)
		log_close(r->log, 0);
	replace_close(&r->file);
	proc_close(r->fd);
	free(r->scratch);
	free(r);
}

/* --- records --- */

void
recorder_put(struct recorder *r, enum record_kind kind, enum acp_side from, struct slice line)
{
	struct record record = {.kind = kind, .from = from, .count = 1, .text = line};

	if (!r)
		return;
	record.t = loop_clock() - r->began;
	if (kind == RECORD_MESSAGE)
		recording_put_message(log_buf(r->log), record.t, -1, from, line);
	else
		recording_put(log_buf(r->log), -1, &record);
	log_end_record(r->log);
	r->any |= kind == RECORD_MESSAGE || kind == RECORD_NOISE;
}

void
recorder_exit(struct recorder *r, int status)
{
	if (!r)
		return;
	recording_put(log_buf(r->log), -1, &(struct record){.kind = RECORD_EXIT, .t = loop_clock() - r->began, .status = status});
	log_end_record(r->log);
}

void
recorder_flush(struct recorder *r)
{
	if (r && log_flush(r->log) < 0)
		cli_warn(replay_name, "%s: %s", log_name(r->log), log_why(r->log));
}

/* --- the end --- */

/* Runs acp-diff from our directory. Returns its exit status. */
static int
compare(const struct recorder *r)
{
	const struct replay_options *o = r->options;
	const char *argv[16] = {"acp-diff", "--format", replay_formats[o->format], "--match", match_names[o->match], "--label",
		o->command ? o->command[0] : acp_side_name(acp_other_side(o->us))};
	/* Without a command, messages go to standard output, so the report goes to standard error. */
	struct proc_fd fds[2] = {{r->fd, STDIN_FILENO}, {o->command ? STDOUT_FILENO : STDERR_FILENO, STDOUT_FILENO}};
	struct proc_spec spec = {.argv = (char *const *)(size_t)argv, .fds = r->fd < 0 ? fds + 1 : fds,
		.nfds = r->fd < 0 ? 1 : 2, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;
	size_t n = 7;
	pid_t pid;
	int status;

	if (o->program) {
		argv[n++] = "--normalize";
		argv[n++] = o->program;
	}
	if (o->keep_paths)
		argv[n++] = "--keep-paths";
	if (o->environment)
		argv[n++] = "--env";
	argv[n++] = "--";
	argv[n++] = o->path;
	argv[n++] = r->fd < 0 ? o->record : "-";
	pid = proc_start(&spec, &stage);
	if (pid < 0)
		return cli_not_started(replay_name, argv[0], stage == PROC_EXEC, errno);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return proc_status(status);
}

static bool
has_comments(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (f && !found && getline(&line, &size, f) >= 0)
		found = line[strspn(line, " \t")] == '#';
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Replaces the recording by the written one, unless `why` forbids it. Returns the exit status. */
static int
update(struct recorder *r, bool passed, const char *why)
{
	if (!passed)
		why = "the session did not pass";
	else if (!why && has_comments(r->options->path))
		why = "it has comments, which would be lost";
	if (why) {
		cli_warn(replay_name, "%s: not updated: %s", r->options->path, why);
		return passed ? EXIT_USAGE : 0;
	}
	if (replace_end(&r->file, true) == 0)
		return 0;
	cli_warn(replay_name, "%s: not updated: %s", r->options->path, strerror(errno));
	return EXIT_FAILED;
}

int
recorder_end(struct recorder *r, bool passed, const char *kept)
{
	const struct replay_options *o = r ? r->options : NULL;
	int lost, differs = 0, updated = 0;

	if (!r)
		return 0;
	lost = log_close(r->log, -1);
	r->log = NULL;
	if (lost < 0) {
		cli_warn(replay_name, "%s: the recording is incomplete: %s", o->update ? o->path : o->record ? o->record : "--check", strerror(errno));
		return EXIT_FAILED;
	}
	if (o->check)
		differs = r->any ? compare(r) : EXIT_NEGATIVE;
	if (o->update && differs <= EXIT_NEGATIVE)
		updated = update(r, passed && differs == 0, kept);
	return differs ? differs : updated;
}
