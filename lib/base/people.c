#include "lib/base/people.h"

#include <stdio.h>

const char *
people_bytes(char to[PEOPLE_FIGURE], uint64_t n)
{
	static const char units[] = " KMGTPE";
	double v = (double)n;
	int i = 0;

	if (n < 1000) {
		snprintf(to, PEOPLE_FIGURE, "%u", (unsigned)n);
		return to;
	}
	for (; v >= 999.5; i++)
		v /= 1024;
	snprintf(to, PEOPLE_FIGURE, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[i]);
	return to;
}

const char *
people_count(char to[PEOPLE_FIGURE], uint64_t n)
{
	static const char units[] = " KMBT";
	double v = (double)n;
	int i = 0;

	if (n < 1000) {
		snprintf(to, PEOPLE_FIGURE, "%u", (unsigned)n);
		return to;
	}
	for (; v >= 999.5 && i < 4; i++)
		v /= 1000;
	if (v < 99.95 && !(i > 1 && (double)(uint64_t)v == v))
		snprintf(to, PEOPLE_FIGURE, "%.1f%c", v, units[i]);
	else
		snprintf(to, PEOPLE_FIGURE, "%.0f%c", v, units[i]);
	return to;
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
