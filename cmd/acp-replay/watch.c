#include "cmd/acp-replay/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/log.h"
#include "lib/loop.h"

static const char name[] = "acp-replay";

struct watch {
	const struct watch_options *options;
	struct ids *ids;
	struct report *report;
	struct diff *diff;      /* NULL: nothing is compared (any more) */
	bool unusable;          /* --normalize has failed on a message */
	struct log *log;        /* NULL: nothing is written down */
	char *target, *copy;    /* --update: the recording, and what is to take its place */
	char *pattern;          /* the name of the log, as strftime wants it */
	bool several;           /* the recording has other hops, too */
	uint64_t began;         /* us, on the loop's clock */
	uint64_t number;        /* of the record that was written last */
	struct buf text;
};

/* --- where it is written --- */

static int
begin_log(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct watch *w = arg;
	struct timespec now;

	if (resumed)
		return recording_put_lost(to, loop_clock() - w->began, -1, ACP_UNKNOWN, lost, why);
	clock_gettime(CLOCK_REALTIME, &now);
	return recording_put_header(to, (double)now.tv_sec + (double)now.tv_nsec / 1e9, "acp-replay " VERSION,
		w->options->command, NULL);
}

/* A name with nothing in it that strftime would take for its own. NULL out of memory. */
static char *
plain_name(const char *path)
{
	struct buf b = {0};

	for (; *path; path++)
		if (buf_add(&b, *path == '%' ? "%%" : path, *path == '%' ? 2 : 1) < 0)
			break;
	if (!*path && buf_string(&b))
		return b.p;
	buf_free(&b);
	return NULL;
}

/* A new file beside the recording, with its mode. 0, or -1 with errno. */
static int
open_copy(struct watch *w)
{
	struct buf b = {0};
	struct stat st;
	int fd;

	w->target = realpath(w->options->path, NULL);
	if (!w->target || stat(w->target, &st) < 0 || access(w->target, W_OK) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	if (buf_printf(&b, "%s.XXXXXX", w->target) < 0 || !(w->copy = buf_string(&b))) {
		buf_free(&b);
		return -1;
	}
	fd = mkostemp(w->copy, O_CLOEXEC);
	if (fd < 0 || fchmod(fd, st.st_mode & 07777) < 0)
		return -1;
	close(fd);
	return 0;
}

static int
open_log(struct watch *w, const char **what)
{
	const struct watch_options *o = w->options;
	struct log_spec spec = {.begin = begin_log, .arg = w};
	char *opened = NULL;

	if (!o->record && !o->update)
		return 0;
	*what = o->update ? o->path : o->record;
	if (o->update && open_copy(w) < 0)
		return -1;
	w->pattern = plain_name(o->update ? w->copy : o->record);
	if (!w->pattern)
		return -1;
	spec.path = w->pattern;
	w->log = log_open(&spec, &opened);
	if (!w->log)
		free(opened);
	return w->log ? 0 : -1;
}

/* Puts what was written in the place of the recording: whole, or not at all. 0, or -1 with errno. */
static int
replace(struct watch *w)
{
	char *slash = strrchr(w->target, '/');
	int fd = open(w->copy, O_RDONLY | O_CLOEXEC), r;

	r = fd < 0 ? -1 : fsync(fd);
	if (fd >= 0)
		close(fd);
	if (r < 0 || rename(w->copy, w->target) < 0)
		return -1;
	free(w->copy);
	w->copy = NULL;
	/* Its name has to last, too. */
	*slash = '\0';
	fd = open(slash == w->target ? "/" : w->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (fd < 0)
		return 0;
	fsync(fd);
	close(fd);
	return 0;
}

/* --- comparing --- */

static int
tell_turn(void *arg, const struct diff_turn *t)
{
	struct watch *w = arg;

	return report_turn(w->report, t);
}

static void
normalize_failed(void *arg, enum diff_side side, uint64_t line, const char *why)
{
	struct watch *w = arg;

	cli_warn(name, "%s:%llu: --normalize: %s", side == DIFF_LIVE ? w->options->live : w->options->path,
		(unsigned long long)line, why);
}

/* A user's program that fails ends the comparison, not the session. */
static int
judge(struct watch *w, int result)
{
	if (result == 0 || errno != EINVAL)
		return result;
	w->unusable = true;
	diff_free(w->diff);
	w->diff = NULL;
	return 0;
}

static int
open_diff(struct watch *w)
{
	const struct watch_options *o = w->options;
	const struct report_spec report = {.format = o->format, .fd = o->fd, .color = o->color, .name = {o->path, o->live}};
	struct diff_spec spec = {.match = o->match, .normalize = o->normalize, .turn = tell_turn, .failed = normalize_failed,
		.arg = w};

	if (!o->compare)
		return 0;
	w->report = report_new(&report);
	spec.ids = w->ids = ids_new(o->keep_paths);
	if (!w->report || !w->ids)
		return -1;
	w->diff = diff_new(&spec);
	return w->diff ? 0 : -1;
}

struct watch *
watch_new(const struct watch_options *o, const char **what)
{
	struct watch *w = calloc(1, sizeof(*w));
	int error;

	*what = o->path;
	if (!w)
		return NULL;
	w->options = o;
	w->began = loop_clock();
	w->number = 1; /* the header */
	if (open_diff(w) == 0 && open_log(w, what) == 0)
		return w;
	error = errno;
	watch_free(w);
	errno = error;
	return NULL;
}

void
watch_free(struct watch *w)
{
	if (!w)
		return;
	if (w->log)
		log_close(w->log, 0);
	if (w->copy)
		unlink(w->copy);
	free(w->copy);
	free(w->target);
	free(w->pattern);
	diff_free(w->diff);
	report_free(w->report);
	ids_free(w->ids);
	buf_free(&w->text);
	free(w);
}

/* --- what happens --- */

int
watch_recorded(struct watch *w, const struct record *r)
{
	w->several |= r->at.p != NULL;
	if (!w->diff)
		return 0;
	switch (r->kind) {
	case RECORD_HEADER:
		return judge(w, diff_begin(w->diff, DIFF_RECORDED));
	case RECORD_MESSAGE:
		return judge(w, diff_message(w->diff, DIFF_RECORDED, r->from, &r->msg, r->number));
	case RECORD_NOISE:
		return judge(w, diff_noise(w->diff, DIFF_RECORDED, r->from, r->text, r->number));
	default:
		return 0;
	}
}

/* Writes what is in text down. */
static void
put(struct watch *w, int failed)
{
	if (failed == 0)
		log_add(w->log, buf_slice(&w->text));
	w->text.n = 0;
}

static uint64_t
now(const struct watch *w)
{
	return loop_clock() - w->began;
}

int
watch_live(struct watch *w, enum acp_side from, struct slice line)
{
	struct json_error error;
	struct msg m;
	bool noise = msg_scan(line, &m, &error) == MSG_NOISE;

	w->number++;
	if (w->log && noise)
		put(w, recording_put_noise(&w->text, now(w), -1, from, line));
	else if (w->log)
		put(w, recording_put_message(&w->text, now(w), -1, from, line));
	if (!w->diff)
		return 0;
	if (noise)
		return judge(w, diff_noise(w->diff, DIFF_LIVE, from, line, w->number));
	return judge(w, diff_message(w->diff, DIFF_LIVE, from, &m, w->number));
}

int
watch_stderr(struct watch *w, struct slice line)
{
	w->number++;
	if (w->log)
		put(w, recording_put_stderr(&w->text, now(w), -1, ACP_AGENT, line));
	return 0;
}

int
watch_lost(struct watch *w, enum acp_side from)
{
	w->number++;
	if (w->log)
		put(w, recording_put_lost(&w->text, now(w), -1, from, 1, "longer than the limit"));
	return 0;
}

int
watch_eof(struct watch *w, enum acp_side from)
{
	w->number++;
	if (w->log)
		put(w, recording_put_eof(&w->text, now(w), -1, from, false));
	return 0;
}

int
watch_exit(struct watch *w, int status)
{
	w->number++;
	if (w->log)
		put(w, recording_put_exit(&w->text, now(w), -1, status));
	return 0;
}

void
watch_flush(struct watch *w)
{
	if (w->log && log_flush(w->log) < 0)
		cli_warn(name, "%s: %s", log_name(w->log), log_why(w->log));
}

/* --- the end --- */

/* 0, 1 where something differs, 2 where the comparison could not be made, or 125. */
static int
end_diff(struct watch *w)
{
	if (w->unusable)
		return EXIT_USAGE;
	if (!w->diff)
		return 0;
	if (judge(w, diff_end(w->diff, DIFF_RECORDED)) < 0 || (w->diff && judge(w, diff_end(w->diff, DIFF_LIVE)) < 0) ||
		(w->diff && report_end(w->report) < 0)) {
		cli_warn(name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	if (w->unusable)
		return EXIT_USAGE;
	return diff_count(w->diff) > 0 ? EXIT_NEGATIVE : 0;
}

/* Closes what was written, and puts it in its place where it may have it. An exit status. */
static int
end_log(struct watch *w, bool replaces)
{
	const char *why = NULL;
	int r;

	if (!w->log)
		return 0;
	r = log_close(w->log, -1);
	w->log = NULL;
	if (r < 0) {
		cli_warn(name, "%s: not all was recorded: %s", w->options->update ? w->options->path : w->options->record,
			strerror(errno));
		return EXIT_FAILED;
	}
	if (!w->options->update)
		return 0;
	if (!replaces)
		why = "something differs";
	else if (w->several)
		why = "it has several hops, and what was played is one";
	if (why) {
		cli_warn(name, "%s: not updated: %s", w->options->path, why);
		return replaces ? EXIT_USAGE : 0;
	}
	if (replace(w) == 0)
		return 0;
	cli_warn(name, "%s: not updated: %s", w->options->path, strerror(errno));
	return EXIT_FAILED;
}

int
watch_end(struct watch *w, bool played)
{
	int differs = end_diff(w), lost = end_log(w, played && differs == 0);

	return differs ? differs : lost;
}
