/* The changed lines between two texts, with a few unchanged ones around them. */
#include "cmd/acp-export/transcript.h"

#include <stdlib.h>

#include "lib/match/digest.h"
#include "lib/match/rows.h"

enum { AROUND = 3 };

/* Of a text. */
struct lines {
	struct buf at, digests; /* n struct slice, n uint64_t */
	size_t n;
};

struct diff {
	struct buf lines; /* struct diff_line */
	bool failed;      /* out of memory */
};

static int
split(struct slice text, struct lines *to)
{
	const char *p = text.p, *end = text.p + text.n, *newline;
	struct slice line;
	uint64_t digest;

	for (; p < end; p = newline + (newline < end), to->n++) {
		newline = memchr(p, '\n', (size_t)(end - p));
		newline = newline ? newline : end;
		line = slice_between(p, newline);
		digest = digest_bytes(line);
		if (buf_add(&to->at, &line, sizeof(line)) < 0 || buf_add(&to->digests, &digest, sizeof(digest)) < 0)
			return -1;
	}
	return 0;
}

static void
add(struct diff *d, enum diff_sign sign, struct slice text)
{
	struct diff_line line = {.sign = sign, .text = text};

	d->failed |= buf_add(&d->lines, &line, sizeof(line)) < 0;
}

static void
compare(struct diff *d, const struct lines *old, const struct lines *new)
{
	const struct slice *a = (const void *)old->at.p, *b = (const void *)new->at.p;
	size_t *partner = calloc(old->n + 1, sizeof(*partner)), i, j = 0, to;

	d->failed |= !partner || rows_match((const void *)old->digests.p, old->n, (const void *)new->digests.p, new->n, partner) < 0;
	for (i = 0; !d->failed && i <= old->n; i++) {
		/* Lines that differ may have one digest. */
		if (i < old->n && (partner[i] == ROWS_ALONE || !slice_eq(a[i], b[partner[i]]))) {
			add(d, DIFF_OLD, a[i]);
			continue;
		}
		for (to = i < old->n ? partner[i] : new->n; j < to; j++)
			add(d, DIFF_NEW, b[j]);
		if (i < old->n)
			add(d, DIFF_SAME, a[i]);
		j++;
	}
	free(partner);
}

/* Of a long run of equal lines only those next to a change stay. */
static void
leave_out(struct diff *d)
{
	struct diff_line *line = (void *)d->lines.p;
	size_t n = d->lines.n / sizeof(*line), i, run, to = 0, head, tail;

	for (i = 0; i < n; i += run) {
		for (run = 0; i + run < n && line[i + run].sign == DIFF_SAME; run++)
			;
		head = i ? AROUND : 0;
		tail = i + run < n ? AROUND : 0;
		if (run <= head + tail + 1) {
			run = run ? run : 1;
			memmove(&line[to], &line[i], run * sizeof(*line));
			to += run;
			continue;
		}
		memmove(&line[to], &line[i], head * sizeof(*line));
		to += head;
		line[to++] = (struct diff_line){.sign = DIFF_GAP, .skipped = run - head - tail};
		memmove(&line[to], &line[i + run - tail], tail * sizeof(*line));
		to += tail;
	}
	d->lines.n = to * sizeof(*line);
}

int
diff_make(struct buf *to, struct slice old, struct slice new)
{
	struct lines a = {0}, b = {0};
	struct diff d = {0};
	const struct diff_line *line, *end;

	if (split(old, &a) < 0 || split(new, &b) < 0)
		d.failed = true;
	else
		compare(&d, &a, &b);
	leave_out(&d);
	line = (const void *)d.lines.p;
	for (end = line + d.lines.n / sizeof(*line); !d.failed && line < end; line++)
		d.failed = buf_printf(to, "%c", line->sign) < 0 ||
			(line->sign == DIFF_GAP ? buf_printf(to, "%zu", line->skipped) : buf_add_slice(to, line->text)) < 0 ||
			buf_add(to, "\n", 1) < 0;
	buf_free(&d.lines);
	buf_free(&a.at);
	buf_free(&a.digests);
	buf_free(&b.at);
	buf_free(&b.digests);
	return d.failed ? -1 : 0;
}
