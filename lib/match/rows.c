#include "lib/match/rows.h"

#include <stdbool.h>
#include <stdlib.h>

/* If the lengths of two rows multiply to at most this, the most pairs are found. */
enum { CELLS = 256 * 1024 };

/* A number of a row, and its index. */
struct entry {
	uint64_t key;
	size_t at;
};

static int
by_key(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Sorts a row by its numbers, equal ones by their index. The caller frees the result. NULL out of memory. */
static struct entry *
sorted(const uint64_t *row, size_t n)
{
	/* Without a spare entry, so that a sanitizer sees each access beyond the end. */
	struct entry *e = calloc(n ? n : 1, sizeof(*e));

	for (size_t i = 0; e && i < n; i++)
		e[i] = (struct entry){row[i], i};
	if (e)
		qsort(e, n, sizeof(*e), by_key);
	return e;
}

static size_t
run_length(const struct entry *e, size_t n)
{
	size_t k = 1;

	while (k < n && e[k].key == e[0].key)
		k++;
	return k;
}

/* Pairs the numbers that occur once in each row. False: out of memory. */
static bool
pair_unique(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	struct entry *x = sorted(a, n), *y = sorted(b, m);
	size_t i = 0, j = 0, k, l;
	uint64_t key;

	while (x && y && i < n && j < m) {
		key = x[i].key;
		k = run_length(x + i, n - i);
		l = run_length(y + j, m - j);
		if (key == y[j].key && k == 1 && l == 1)
			partner[x[i].at] = y[j].at;
		i += key <= y[j].key ? k : 0;
		j += key >= y[j].key ? l : 0;
	}
	free(x);
	free(y);
	return x && y;
}

int
rows_rising(size_t *rising, size_t n)
{
	/* ends[l]: the index of the least number that ends a rising row of length l + 1; before[i]: the index before i in its row. */
	size_t *ends = calloc(n ? n : 1, sizeof(*ends)), *before = calloc(n ? n : 1, sizeof(*before));
	size_t length = 0, low, high, middle, last, at;

	for (size_t i = 0; ends && before && i < n; i++) {
		if (rising[i] == ROWS_ALONE)
			continue;
		for (low = 0, high = length; low < high;) {
			middle = low + (high - low) / 2;
			if (rising[ends[middle]] < rising[i])
				low = middle + 1;
			else
				high = middle;
		}
		before[i] = low ? ends[low - 1] : ROWS_ALONE;
		ends[low] = i;
		length += low == length;
	}
	last = ends && before && length ? ends[length - 1] : ROWS_ALONE;
	for (at = n; ends && before && at-- > 0;) {
		if (at == last)
			last = before[at];
		else
			rising[at] = ROWS_ALONE;
	}
	free(ends);
	free(before);
	return ends && before ? 0 : -1;
}

/* Pairs as many equal numbers as possible, in their order. 0, or -1 out of memory. */
static int
match_window(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	/* most[i * w + j]: the most pairs of a from i on with b from j on. */
	const size_t w = m + 1;
	uint32_t *most = calloc((n + 1) * w, sizeof(*most)), *at;
	size_t i, j;

	if (!most)
		return -1;
	for (i = n; i-- > 0;) {
		for (j = m; j-- > 0;) {
			at = &most[i * w + j];
			if (a[i] == b[j])
				*at = at[w + 1] + 1;
			else
				*at = at[w] > at[1] ? at[w] : at[1];
		}
	}
	for (i = j = 0; i < n && j < m;) {
		at = &most[i * w + j];
		if (a[i] == b[j])
			partner[i++] = j++;
		else if (at[w] >= at[1])
			i++;
		else
			j++;
	}
	free(most);
	return 0;
}

int
rows_fill(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	size_t from = 0, across = 0, i, j;

	if (rows_rising(partner, n) < 0)
		return -1;
	for (i = 0; i <= n; i++) {
		if (i < n && partner[i] == ROWS_ALONE)
			continue;
		j = i < n ? partner[i] : m;
		if (rows_match(a + from, i - from, b + across, j - across, partner + from) < 0)
			return -1;
		for (; from < i; from++)
			if (partner[from] != ROWS_ALONE)
				partner[from] += across;
		from = i + 1;
		across = j + 1;
	}
	return 0;
}

/* Divides the rows at the numbers that occur once in each. Without such numbers, pairs equal ones, and keeps those that rise. */
static int
divide(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	if (!pair_unique(a, n, b, m, partner))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (partner[i] != ROWS_ALONE)
			return rows_fill(a, n, b, m, partner);
	return rows_match_any(a, n, b, m, partner) < 0 ? -1 : rows_rising(partner, n);
}

int
rows_match(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	size_t i, first = 0;
	int r;

	for (i = 0; i < n; i++)
		partner[i] = ROWS_ALONE;
	for (; first < n && first < m && a[first] == b[first]; first++)
		partner[first] = first;
	while (n > first && m > first && a[n - 1] == b[m - 1])
		partner[--n] = --m;
	n -= first;
	m -= first;
	if (n == 0 || m == 0)
		return 0;
	if (m <= CELLS / n)
		r = match_window(a + first, n, b + first, m, partner + first);
	else
		r = divide(a + first, n, b + first, m, partner + first);
	for (i = first; i < first + n; i++)
		if (partner[i] != ROWS_ALONE)
			partner[i] += first;
	return r;
}

int
rows_match_any(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner)
{
	struct entry *x = sorted(a, n), *y = sorted(b, m);
	unsigned char *paired = calloc(m ? m : 1, 1);
	size_t i, j = 0;

	for (i = 0; paired && i < n; i++)
		if (partner[i] != ROWS_ALONE)
			paired[partner[i]] = 1;
	for (i = 0; x && y && paired && i < n && j < m;) {
		if (partner[x[i].at] != ROWS_ALONE || x[i].key < y[j].key)
			i++;
		else if (paired[y[j].at] || x[i].key > y[j].key)
			j++;
		else
			partner[x[i++].at] = y[j++].at;
	}
	free(x);
	free(y);
	free(paired);
	return x && y && paired ? 0 : -1;
}
