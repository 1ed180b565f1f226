#include "lib/base/people.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes n divided by a power of step, and the power's letter. Figures below limit have a decimal; round: whole millions do not. */
static const char *
put_figure(char to[PEOPLE_FIGURE], uint64_t n, double step, const char *letters, double limit, bool round)
{
	double v = (double)n;
	int i = 0;

	if (n < 1000) {
		snprintf(to, PEOPLE_FIGURE, "%u", (unsigned)n);
		return to;
	}
	for (; v >= 999.5 && letters[i + 1]; i++)
		v /= step;
	snprintf(to, PEOPLE_FIGURE, v < limit && !(round && i > 1 && (double)(uint64_t)v == v) ? "%.1f%c" : "%.0f%c", v, letters[i]);
	return to;
}

const char *
people_bytes(char to[PEOPLE_FIGURE], uint64_t n)
{
	return put_figure(to, n, 1024, " KMGTPE", 9.95, false);
}

const char *
people_count(char to[PEOPLE_FIGURE], uint64_t n)
{
	return put_figure(to, n, 1000, " KMBT", 99.95, true);
}

const char *
people_duration(char to[PEOPLE_FIGURE], uint64_t us)
{
	unsigned long long s = us / 1000000;

	if (us < 9950)
		snprintf(to, PEOPLE_FIGURE, "%.1f ms", (double)us / 1e3);
	else if (us < 999500)
		snprintf(to, PEOPLE_FIGURE, "%llu ms", (unsigned long long)(us + 500) / 1000);
	else if (us < 59950000)
		snprintf(to, PEOPLE_FIGURE, "%.1f s", (double)us / 1e6);
	else if (s < 3600)
		snprintf(to, PEOPLE_FIGURE, "%llum%02llus", s / 60, s % 60);
	else if (s < 360000)
		snprintf(to, PEOPLE_FIGURE, "%lluh%02llum", s / 3600, s / 60 % 60);
	else
		snprintf(to, PEOPLE_FIGURE, "%llud", s / 86400);
	return to;
}
