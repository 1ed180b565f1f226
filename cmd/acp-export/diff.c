/* Writes the difference between two texts: the changed lines, with a few equal lines around them. */
#include "cmd/acp-export/transcript_parts.h"

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
};

static void
split(struct slice text, struct lines *to)
{
	struct slice line;
	uint64_t digest;

	for (; line_next(&text, &line); to->n++) {
		digest = digest_bytes(line);
		export_must(buf_add(&to->at, &line, sizeof(line)));
		export_must(buf_add(&to->digests, &digest, sizeof(digest)));
	}
}

static void
put(struct diff *d, char sign, struct slice text)
{
	export_must(json_format(d->to, "%b%b\n", slice(&sign, 1), text));
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

void
diff_make(struct buf *to, struct slice old, struct slice new)
{
	struct lines x = {0}, y = {0};
	struct diff d = {.to = to};
	const struct slice *a, *b;
	size_t *partner, i, j = 0, next;

	split(old, &x);
	split(new, &y);
	a = (const void *)x.at.p;
	b = (const void *)y.at.p;
	partner = transcript_new((x.n + 1) * sizeof(*partner));
	export_must(rows_match((const void *)x.digests.p, x.n, (const void *)y.digests.p, y.n, partner));
	for (i = 0; i <= x.n; i++) {
		/* Two different lines can have the same digest. */
		if (i < x.n && (partner[i] == ROWS_ALONE || !slice_eq(a[i], b[partner[i]]))) {
			end_run(&d, a, i, false);
			put(&d, DIFF_OLD, a[i]);
			continue;
		}
		for (next = i < x.n ? partner[i] : y.n; j < next; j++) {
			end_run(&d, a, i, false);
			put(&d, DIFF_NEW, b[j]);
		}
		d.same += i < x.n;
		j++;
	}
	end_run(&d, a, x.n, true);
	free(partner);
	buf_free(&x.at);
	buf_free(&x.digests);
	buf_free(&y.at);
	buf_free(&y.digests);
}
