/* align: what is missing is missing, and all else finds its partner. */
#include "lib/match/align.h"

#include <stdlib.h>

#include "tests/unit/check.h"

/*
 * Marks of a text: a letter's case is its content, the letter its shape; vowels and consonants never belong
 * together.
 */
static size_t
read_marks(const char *text, struct mark *marks)
{
	size_t n = 0;

	for (; text[n]; n++)
		marks[n] = (struct mark){strchr("aeiouAEIOU", text[n]) != NULL, (uint64_t)(text[n] | 32), (uint64_t)text[n]};
	return n;
}

/* For each of a its partner in b, or '-'. */
static const char *
partners(const char *a, const char *b)
{
	static char text[64];
	struct mark x[64], y[64];
	size_t n = read_marks(a, x), m = read_marks(b, y), partner[64];

	CHECK(align(x, n, y, m, partner) == 0);
	for (size_t i = 0; i < n; i++)
		text[i] = partner[i] == ALIGN_ALONE ? '-' : b[partner[i]];
	text[n] = '\0';
	return text;
}

static void
test_most(void)
{
	static struct mark a[ALIGN_MOST], b[ALIGN_MOST];
	static size_t partner[ALIGN_MOST];
	size_t alone = 0;

	for (uint64_t i = 0; i < ALIGN_MOST; i++) {
		a[i] = (struct mark){1, i, i};
		b[i] = (struct mark){1, i + 1, i + 1};
	}
	CHECK(align(a, ALIGN_MOST, b, ALIGN_MOST, partner) == 0);
	for (size_t i = 0; i < ALIGN_MOST; i++)
		alone += partner[i] == ALIGN_ALONE;
	CHECK(alone == 1 && partner[0] == ALIGN_ALONE && partner[1] == 0);
}

int
main(void)
{
	CHECK_STR(partners("bcd", "bcd"), "bcd");
	CHECK_STR(partners("", "bcd"), "");
	CHECK_STR(partners("bcd", ""), "---");
	CHECK_STR(partners("bcdf", "bdf"), "b-df");
	CHECK_STR(partners("bdf", "bcdf"), "bdf");
	/* Another content is better than none, another shape too, another head never. */
	CHECK_STR(partners("bcd", "bCd"), "bCd");
	CHECK_STR(partners("bcd", "bfd"), "bfd");
	CHECK_STR(partners("bad", "bfd"), "b-d");
	/* Which of several: the one that is most like it. */
	CHECK_STR(partners("bCd", "bfcd"), "bcd");
	CHECK_STR(partners("bcfd", "bFd"), "b-Fd");
	/* What is the same goes before what is alike. */
	CHECK_STR(partners("cdfgh", "dfgh"), "-dfgh");
	CHECK_STR(partners("bbbbc", "bcbbbb"), "bbbbb");
	test_most();
	return check_done();
}
