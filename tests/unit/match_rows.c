/* rows: what is the same finds its partner, in order, however long the rows are. */
#include "lib/match/rows.h"

#include <stdlib.h>

#include "tests/unit/check.h"

enum { MANY = 100000 };

/* For each letter of a its partner in b, or '-'; then the same in any order. */
static const char *
partners(const char *a, const char *b, bool any)
{
	static char text[64];
	uint64_t x[64] = {0}, y[64] = {0};
	size_t n = strlen(a), m = strlen(b), partner[64];

	for (size_t i = 0; i < n; i++)
		x[i] = (uint64_t)a[i];
	for (size_t j = 0; j < m; j++)
		y[j] = (uint64_t)b[j];
	CHECK(rows_match(x, n, y, m, partner) == 0);
	if (any)
		CHECK(rows_match_any(x, n, y, m, partner) == 0);
	for (size_t i = 0; i < n; i++) {
		CHECK(partner[i] == ROWS_ALONE || b[partner[i]] == a[i]);
		text[i] = partner[i] == ROWS_ALONE ? '-' : b[partner[i]];
	}
	text[n] = '\0';
	return text;
}

static const char *
rising(const char *digits)
{
	static char text[64];
	size_t place[64] = {0}, n = strlen(digits);

	for (size_t i = 0; i < n; i++)
		place[i] = digits[i] == '-' ? ROWS_ALONE : (size_t)digits[i];
	CHECK(rows_rising(place, n) == 0);
	for (size_t i = 0; i < n; i++)
		text[i] = place[i] == ROWS_ALONE ? '-' : digits[i];
	text[n] = '\0';
	return text;
}

/* How many of n numbers have no partner, where b lacks every step-th of a; kinds: so many different numbers. */
static size_t
alone(size_t n, size_t step, uint64_t kinds)
{
	uint64_t *a = calloc(n, sizeof(*a)), *b = calloc(n, sizeof(*b));
	size_t *partner = calloc(n, sizeof(*partner)), m = 0, without = 0, last = 0;

	if (!a || !b || !partner)
		abort();
	for (size_t i = 0; i < n; i++) {
		a[i] = i * 2654435761u % kinds;
		if (i % step)
			b[m++] = a[i];
	}
	CHECK(rows_match(a, n, b, m, partner) == 0);
	for (size_t i = 0; i < n; i++) {
		if (partner[i] == ROWS_ALONE) {
			without++;
			continue;
		}
		CHECK(partner[i] < m && a[i] == b[partner[i]] && (last == 0 || partner[i] >= last));
		last = partner[i] + 1;
	}
	free(a);
	free(b);
	free(partner);
	return without;
}

/* Equal numbers between different ones, of which b lacks the first: as long rows, divided by what occurs once in each. */
static void
test_divided(void)
{
	uint64_t *a = calloc(2 * MANY, sizeof(*a)), *b = calloc(2 * MANY, sizeof(*b));
	size_t *partner = calloc(2 * MANY, sizeof(*partner)), m = 0, without = 0;

	if (!a || !b || !partner)
		abort();
	for (size_t i = 0; i < 2 * MANY; i++) {
		a[i] = i % 2 ? 7 : 1000 + i;
		if (i != 1)
			b[m++] = a[i];
	}
	CHECK(rows_match(a, 2 * MANY, b, m, partner) == 0);
	for (size_t i = 0; i < 2 * MANY; i++)
		without += partner[i] == ROWS_ALONE;
	CHECK(without == 1 && partner[1] == ROWS_ALONE);
	free(a);
	free(b);
	free(partner);
}

int
main(void)
{
	test_divided();
	CHECK_STR(partners("", "abc", false), "");
	CHECK_STR(partners("abc", "", false), "---");
	CHECK_STR(partners("abc", "abc", false), "abc");
	CHECK_STR(partners("abcd", "abd", false), "ab-d");
	CHECK_STR(partners("abd", "abcd", false), "abd");
	CHECK_STR(partners("xaby", "pabq", false), "-ab-");
	CHECK_STR(partners("abcde", "bcdea", false), "-bcde");
	CHECK_STR(partners("abcde", "bcdea", true), "abcde");
	CHECK_STR(partners("aab", "bab", true), "-ab");
	CHECK_STR(rising("123"), "123");
	CHECK_STR(rising("312"), "-12");
	CHECK_STR(rising("23-14"), "23--4");
	CHECK_STR(rising(""), "");
	/* What occurs once divides long rows. */
	CHECK(alone(MANY, 7, UINT64_MAX) == (MANY + 6) / 7);
	CHECK(alone(MANY, MANY, UINT64_MAX) == 1);
	/* Where nothing does, none is lost that is the only one of its kind. */
	CHECK(alone(MANY, 10, 1) == MANY / 10);
	return check_done();
}
