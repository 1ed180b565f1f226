/*
 * Reads any bytes as two recordings, one behind the other, and compares them. Each is the same as itself
 * at every level; and two that are the same at one level are so at the levels below, both ways round.
 */
#include "cmd/acp-replay/report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/recording.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { LIMIT = 1024 * 1024 };

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static struct recording *
open_bytes(struct slice s)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct recording *rec;

	expect(fd >= 0 && write(fd, s.p, s.n) == (ssize_t)s.n && lseek(fd, 0, SEEK_SET) == 0);
	rec = recording_open(fd, LIMIT, NULL);
	expect(rec != NULL);
	return rec;
}

static int
tell(void *report, const struct diff_turn *t)
{
	for (size_t i = 0; i < t->nfound; i++) {
		const struct found *f = t->found[i];

		expect(f->line[DIFF_RECORDED] || f->line[DIFF_LIVE]);
		expect(f->value[DIFF_RECORDED].p || f->value[DIFF_LIVE].p);
		expect(i == 0 || t->found[i - 1]->place <= f->place);
	}
	return report_turn(report, t);
}

static bool
step(struct diff *d, enum diff_side side, struct recording *rec)
{
	struct record r;

	expect(recording_next(rec, &r) == 0);
	if (r.kind == RECORD_MESSAGE)
		expect(diff_message(d, side, r.from, &r.msg, r.number) == 0);
	else if (r.kind == RECORD_NOISE)
		expect(diff_noise(d, side, r.from, r.text, r.number) == 0);
	else if (r.kind == RECORD_HEADER)
		expect(diff_begin(d, side) == 0);
	else if (r.kind == RECORD_END)
		expect(diff_end(d, side) == 0);
	return r.kind != RECORD_END;
}

static uint64_t
differences(struct slice a, struct slice b, enum match match, int nowhere)
{
	struct report_spec spec = {.format = (enum report_format)((unsigned)match % 3), .fd = nowhere, .name = {"a", "b"}};
	struct recording *x = open_bytes(a), *y = open_bytes(b);
	struct report *report = report_new(&spec);
	struct ids *ids = ids_new(false);
	struct diff_spec how = {.match = match, .ids = ids, .turn = tell, .arg = report};
	struct diff *d = diff_new(&how);
	bool more_a = true, more_b = true;
	uint64_t n;

	expect(report && ids && d);
	while (more_a || more_b) {
		if (more_a && (!more_b || diff_waiting(d, DIFF_RECORDED) <= diff_waiting(d, DIFF_LIVE)))
			more_a = step(d, DIFF_RECORDED, x);
		else
			more_b = step(d, DIFF_LIVE, y);
	}
	expect(diff_waiting(d, DIFF_RECORDED) == 0 && diff_waiting(d, DIFF_LIVE) == 0);
	expect(report_end(report) == 0);
	n = diff_count(d);
	diff_free(d);
	ids_free(ids);
	report_free(report);
	recording_close(x);
	recording_close(y);
	return n;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char between[] = "\n====\n";
	const char *p = (const char *)data, *cut = memmem(p, size, between, sizeof(between) - 1);
	struct slice a = slice_between(p, cut ? cut : p + size), b = cut ? slice_between(cut + sizeof(between) - 1, p + size) : a;
	static int nowhere = -1;
	bool same = false;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int match = MATCH_EXACT; match >= MATCH_METHOD; match--) {
		uint64_t n;

		expect(differences(a, a, (enum match)match, nowhere) == 0);
		n = differences(a, b, (enum match)match, nowhere);
		/* (What is aside has types at `shape`, and does not matter at `params`.) */
		expect(!same || n == 0 || match == MATCH_SHAPE);
		same = n == 0;
	}
	return 0;
}
