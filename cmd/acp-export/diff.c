/* Writes the difference between two texts: the changed lines, with a few equal lines around them. */
#include "cmd/acp-export/transcript.h"

#include <stdlib.h>

#include "lib/match/digest.h"
#include "lib/match/rows.h"
#include "lib/run/input.h"

enum { AROUND = 3 };

/* The lines of a text. */
struct lines {
	struct buf at, digests; /* n struct slice, n uint64_t */
	size_t n;
};

/* The difference that is written. */
struct diff {
	struct buf *to;
	size_t same;  /* how many equal lines, since the last change, are not written yet */
	bool changed; /* there was a change before the equal lines */
	bool failed;  /* out of memory */
};

static int
split(struct slice text, struct lines *to)
{
	struct slice line;
	uint64_t digest;

	for (; line_next(&text, &line); to->n++) {
		digest = digest_bytes(line);
		if (buf_add(&to->at, &line, sizeof(line)) < 0 || buf_add(&to->digests, &digest, sizeof(digest)) < 0)
			return -1;
	}
	return 0;
}

static void
put(struct diff *d, char sign, struct slice text)
{
	d->failed |= buf_add(d->to, &sign, 1) < 0 || buf_add_slice(d->to, text) < 0 || buf_add(d->to, "\n", 1) < 0;
}

/* Writes the equal lines before lines[end]; a gap replaces those that are not close to a change. last: no change follows. */
static void
end_run(struct diff *d, const struct slice *lines, size_t end, bool last)
{
	size_t begin = end - d->same, head = begin + (d->changed ? AROUND : 0), tail = last ? 0 : AROUND;
	size_t skipped = end > head + tail + 1 ? end - head - tail : 0;
	char digits[SLICE_DIGITS];

	for (size_t i = begin; i < end; i++)
		if (i < head || i >= head + skipped)
			put(d, DIFF_SAME, lines[i]);
		else if (i == head)
			put(d, DIFF_GAP, slice_digits(skipped, digits));
	d->same = 0;
	d->changed = true;
}

static void
compare(struct diff *d, const struct lines *old, const struct lines *new)
{
	const struct slice *a = (const void *)old->at.p, *b = (const void *)new->at.p;
	size_t *partner = calloc(old->n + 1, sizeof(*partner)), i, j = 0, to;

	d->failed |= !partner || rows_match((const void *)old->digests.p, old->n, (const void *)new->digests.p, new->n, partner) < 0;
	for (i = 0; !d->failed && i <= old->n; i++) {
		/* Two different lines can have the same digest. */
		if (i < old->n && (partner[i] == ROWS_ALONE || !slice_eq(a[i], b[partner[i]]))) {
			end_run(d, a, i, false);
			put(d, DIFF_OLD, a[i]);
			continue;
		}
		for (to = i < old->n ? partner[i] : new->n; j < to; j++) {
			end_run(d, a, i, false);
			put(d, DIFF_NEW, b[j]);
		}
		d->same += i < old->n;
		j++;
	}
	end_run(d, a, old->n, true);
	free(partner);
}

int
diff_make(struct buf *to, struct slice old, struct slice new)
{
	struct lines a = {0}, b = {0};
	struct diff d = {.to = to};

	d.failed = split(old, &a) < 0 || split(new, &b) < 0;
	if (!d.failed)
		compare(&d, &a, &b);
	buf_free(&a.at);
	buf_free(&a.digests);
	buf_free(&b.at);
	buf_free(&b.digests);
	return -d.failed;
}
