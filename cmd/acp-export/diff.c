/* Differences between two texts, line by line. */
#include <stdlib.h>

#include "cmd/acp-export/page.h"
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

static struct slice
next_line(const char **p, const char *end)
{
	const char *from = *p, *newline = memchr(from, '\n', (size_t)(end - from));

	*p = newline ? newline + 1 : end;
	return slice_between(from, newline ? newline : end);
}

static int
split(struct slice text, struct lines *to)
{
	const char *p = text.p, *end = text.p + text.n;
	struct slice line;
	uint64_t digest;

	for (; p < end; to->n++) {
		line = next_line(&p, end);
		digest = digest_bytes(line);
		if (buf_add(&to->at, &line, sizeof(line)) < 0 || buf_add(&to->digests, &digest, sizeof(digest)) < 0)
			return -1;
	}
	return 0;
}

static void
add(struct diff *d, enum diff_mark mark, struct slice text)
{
	struct diff_line line = {.mark = mark, .text = text};

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
		for (run = 0; i + run < n && line[i + run].mark == DIFF_SAME; run++)
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
		line[to++] = (struct diff_line){.mark = DIFF_GAP, .skipped = run - head - tail};
		memmove(&line[to], &line[i + run - tail], tail * sizeof(*line));
		to += tail;
	}
	d->lines.n = to * sizeof(*line);
}

static void
put(struct page *p, struct slice path, struct diff *d)
{
	p->failed |= d->failed;
	p->paint->diff(p, path, (const void *)d->lines.p, d->lines.n / sizeof(struct diff_line));
	buf_free(&d->lines);
}

void
diff_put(struct page *p, struct slice path, struct slice old, struct slice new)
{
	struct lines a = {0}, b = {0};
	struct diff d = {0};

	if (split(old, &a) < 0 || split(new, &b) < 0)
		d.failed = true;
	else
		compare(&d, &a, &b);
	leave_out(&d);
	put(p, path, &d);
	buf_free(&a.at);
	buf_free(&a.digests);
	buf_free(&b.at);
	buf_free(&b.digests);
}

void
diff_put_patch(struct page *p, struct slice text)
{
	const char *at = text.p, *end = text.p + text.n;
	struct diff d = {0};
	struct slice line;

	while (at < end) {
		line = next_line(&at, end);
		if (line.n && strchr("+-", line.p[0]))
			add(&d, line.p[0] == '+' ? DIFF_NEW : DIFF_OLD, slice(line.p + 1, line.n - 1));
		else
			add(&d, DIFF_SAME, line.n && line.p[0] == ' ' ? slice(line.p + 1, line.n - 1) : line);
	}
	put(p, slice(NULL, 0), &d);
}
