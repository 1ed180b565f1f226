#include "cmd/acp-replay/diff_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/recording.h"

static const char name[] = "acp-replay";

struct files {
	const struct diff_files_options *options;
	struct recording *recording[DIFF_SIDES];
	bool ended[DIFF_SIDES];
	struct ids *ids;
	struct normalize *normalize;
	struct report *report;
	struct diff *diff;
	int status;
};

/* --- what goes wrong --- */

static void
normalize_failed(void *arg, enum diff_side side, uint64_t line, const char *why)
{
	struct files *f = arg;

	cli_warn(name, "%s:%llu: --normalize: %s", f->options->path[side], (unsigned long long)line, why);
}

static int
tell_turn(void *arg, const struct diff_turn *t)
{
	struct files *f = arg;

	return report_turn(f->report, t);
}

/* What has failed is in errno; of a user's program it has been told. */
static int
failed(struct files *f)
{
	if (errno == EINVAL) {
		f->status = EXIT_USAGE;
	} else {
		cli_warn(name, "%s", strerror(errno));
		f->status = EXIT_FAILED;
	}
	return -1;
}

static int
put_bad(struct files *f, enum diff_side side, const struct record *r)
{
	cli_warn(name, "%s:%llu: %s at byte %zu: %s", f->options->path[side], (unsigned long long)r->number,
		r->torn ? "the last line is torn" : "not a record", r->error.at, r->error.what);
	if (r->torn)
		return 0;
	f->status = EXIT_USAGE;
	return -1;
}

/* --- reading --- */

static int
put_record(struct files *f, enum diff_side side, const struct record *r)
{
	int result = 0;

	switch (r->kind) {
	case RECORD_END:
		f->ended[side] = true;
		result = diff_end(f->diff, side);
		break;
	case RECORD_HEADER:
		result = diff_begin(f->diff, side);
		break;
	case RECORD_MESSAGE:
		result = diff_message(f->diff, side, r->from, &r->msg, r->number);
		break;
	case RECORD_NOISE:
		result = diff_noise(f->diff, side, r->from, r->text, r->number);
		break;
	case RECORD_LOST:
		cli_warn(name, "%s:%llu: records are missing here: %llu", f->options->path[side],
			(unsigned long long)r->number, (unsigned long long)r->count);
		break;
	case RECORD_BAD:
		return put_bad(f, side, r);
	default:
		break;
	}
	return result < 0 ? failed(f) : 0;
}

/* The side that has less to wait with, so that little is kept. */
static enum diff_side
next_side(const struct files *f)
{
	if (f->ended[DIFF_RECORDED])
		return DIFF_LIVE;
	if (f->ended[DIFF_LIVE])
		return DIFF_RECORDED;
	return diff_waiting(f->diff, DIFF_RECORDED) <= diff_waiting(f->diff, DIFF_LIVE) ? DIFF_RECORDED : DIFF_LIVE;
}

static int
read_all(struct files *f)
{
	enum diff_side side;
	struct record r;

	while (!f->ended[DIFF_RECORDED] || !f->ended[DIFF_LIVE]) {
		side = next_side(f);
		if (recording_next(f->recording[side], &r) < 0) {
			cli_warn(name, "%s: %s", f->options->path[side], strerror(errno));
			f->status = errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
			return -1;
		}
		if (put_record(f, side, &r) < 0)
			return -1;
	}
	return 0;
}

/* --- beginning and end --- */

static int
open_recording(struct files *f, enum diff_side side)
{
	const char *path = f->options->path[side];
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		f->recording[side] = recording_open(fd, f->options->limit, f->options->hop);
	if (f->recording[side] && f->options->environment)
		recording_use_environment(f->recording[side]);
	if (f->recording[side])
		return 0;
	cli_warn(name, "%s: %s", path, strerror(errno));
	f->status = EXIT_USAGE;
	return -1;
}

static int
compile(struct files *f)
{
	char *why;

	if (!f->options->normalize)
		return 0;
	f->normalize = normalize_new(f->options->normalize, &why);
	if (f->normalize)
		return 0;
	cli_warn(name, "--normalize: %s", why ? why : strerror(errno));
	f->status = why ? EXIT_USAGE : EXIT_FAILED;
	free(why);
	return -1;
}

static int
start(struct files *f)
{
	const struct diff_files_options *o = f->options;
	struct report_spec report = {.format = o->format, .fd = STDOUT_FILENO, .color = o->color,
		.name = {o->path[DIFF_RECORDED], o->path[DIFF_LIVE]}};
	struct diff_spec spec = {.match = o->match, .turn = tell_turn, .failed = normalize_failed, .arg = f};

	if (compile(f) < 0 || open_recording(f, DIFF_RECORDED) < 0 || open_recording(f, DIFF_LIVE) < 0)
		return -1;
	f->ids = ids_new(o->keep_paths);
	f->report = f->ids ? report_new(&report) : NULL;
	spec.ids = f->ids;
	spec.normalize = f->normalize;
	f->diff = f->report ? diff_new(&spec) : NULL;
	return f->diff ? 0 : failed(f);
}

int
diff_files(const struct diff_files_options *options)
{
	struct files f = {.options = options};

	if (start(&f) == 0 && read_all(&f) == 0) {
		if (report_end(f.report) < 0)
			failed(&f);
		else
			f.status = diff_count(f.diff) ? EXIT_NEGATIVE : 0;
	}
	diff_free(f.diff);
	report_free(f.report);
	normalize_free(f.normalize);
	ids_free(f.ids);
	recording_close(f.recording[DIFF_RECORDED]);
	recording_close(f.recording[DIFF_LIVE]);
	return f.status;
}
