#include "lib/match/align.h"

#include <stdlib.h>

/* What a pair is worth. One that is the same is worth more than any number of those that are alike around it can take. */
enum { SAME = 8, SHAPED = 3, ALIKE = 2 };

enum step { PAIR, SKIP_A, SKIP_B };

bool
align_same(const struct mark *a, const struct mark *b)
{
	return a->head == b->head && a->shape == b->shape && a->content == b->content;
}

static uint32_t
worth(const struct mark *a, const struct mark *b)
{
	if (a->head != b->head)
		return 0;
	if (a->shape != b->shape)
		return ALIKE;
	return a->content == b->content ? SAME : SHAPED;
}

/* The best that comes of the rests of both rows; steps[i * m + j] says how it begins. */
static int
weigh(const struct mark *a, size_t n, const struct mark *b, size_t m, unsigned char *steps)
{
	/* best[j]: of a from i on and b from j on; below it has that of i + 1. */
	uint32_t *best = calloc(m + 1, sizeof(*best)), diagonal, below, pair;
	size_t i, j;

	if (!best)
		return -1;
	for (i = n; i-- > 0;) {
		diagonal = 0;
		for (j = m; j-- > 0;) {
			below = best[j];
			pair = worth(&a[i], &b[j]);
			pair = pair ? pair + diagonal : 0;
			if (pair >= below && pair >= best[j + 1] && pair > 0) {
				best[j] = pair;
				steps[i * m + j] = PAIR;
			} else if (below >= best[j + 1]) {
				steps[i * m + j] = SKIP_A;
			} else {
				best[j] = best[j + 1];
				steps[i * m + j] = SKIP_B;
			}
			diagonal = below;
		}
	}
	free(best);
	return 0;
}

static void
follow(const unsigned char *steps, size_t n, size_t m, size_t *partner)
{
	size_t i = 0, j = 0;

	while (i < n && j < m) {
		switch (steps[i * m + j]) {
		case PAIR:
			partner[i++] = j++;
			break;
		case SKIP_A:
			i++;
			break;
		default:
			j++;
		}
	}
}

int
align(const struct mark *a, size_t n, const struct mark *b, size_t m, size_t *partner)
{
	unsigned char *steps;
	size_t i;
	int r;

	for (i = 0; i < n; i++)
		partner[i] = ALIGN_ALONE;
	while (n > 0 && m > 0 && align_same(&a[n - 1], &b[m - 1]))
		partner[--n] = --m;
	if (n == 0 || m == 0)
		return 0;
	steps = malloc(n * m);
	r = steps ? weigh(a, n, b, m, steps) : -1;
	if (r == 0)
		follow(steps, n, m, partner);
	free(steps);
	return r;
}
