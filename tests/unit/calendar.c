/* calendar: dates in UTC, and days, weeks and months of the local time zone. */
#include "lib/base/calendar.h"

#include <stdlib.h>
#include <time.h>

#include "tests/unit/check.h"

/* Days since 1970 by the proleptic Gregorian calendar: counted, not computed as in the module. */
static int32_t
count_days(int year, int month, int day)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int32_t n = day - 1 + before[month - 1];

	for (int y = 1970; y < year; y++)
		n += 365 + (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
	return n + (month > 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* Each half hour of three years, in zones with summer time and without, east and west, with half hours and a day that was left out. */
static void
test_days(void)
{
	static const char *const zones[] = {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "NST3:30NDT,M3.2.0,M11.1.0",
		"<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45", "<-12>12", "<+14>-14", "<-00>0<-01>,M3.5.0/24,M10.5.0/0"};
	struct tm tm;
	time_t t;

	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		setenv("TZ", zones[i], 1);
		tzset();
		for (t = 1704067200; t < 1704067200 + 3 * 366 * 86400; t += 1800) {
			localtime_r(&t, &tm);
			if (!CHECK(calendar_day((double)t + 0.25) == count_days(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday)))
				fprintf(stderr, "\t%s %lld\n", zones[i], (long long)t);
		}
	}
}

static void
test_firsts(void)
{
	/* 2026-11-24 is a Tuesday, 2026-03-01 a Sunday. */
	CHECK(calendar_first(CALENDAR_DAY, count_days(2026, 11, 24)) == count_days(2026, 11, 24));
	CHECK(calendar_first(CALENDAR_WEEK, count_days(2026, 11, 24)) == count_days(2026, 11, 23));
	CHECK(calendar_first(CALENDAR_WEEK, count_days(2026, 11, 23)) == count_days(2026, 11, 23));
	CHECK(calendar_first(CALENDAR_WEEK, count_days(2026, 3, 1)) == count_days(2026, 2, 23));
	CHECK(calendar_first(CALENDAR_MONTH, count_days(2024, 2, 29)) == count_days(2024, 2, 1));
	CHECK(calendar_first(CALENDAR_ALWAYS, 12345) == calendar_first(CALENDAR_ALWAYS, -9));
	CHECK(calendar_first(CALENDAR_WEEK, -3) == -3 && calendar_first(CALENDAR_WEEK, -4) == -10);
}

static void
test_dates(void)
{
	static const struct {
		const char *text;
		double when;
	} cases[] = {{"2026-11-20T15:56:02.123456Z", 1795190162.123456}, {"1970-01-01T00:00:01.000000Z", 1}};
	static const char *const none[] = {"", "2026-11-20", "2026-11-20 15:56", "2026/11/20T15:56:02Z", "2026-11-20T15:56:0xZ"};
	SCOPED struct buf to = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		to.n = 0;
		CHECK(calendar_put_date(&to, cases[i].when) == 0 && slice_is(buf_slice(&to), cases[i].text));
		CHECK(calendar_date(slice_of(cases[i].text)) == cases[i].when);
	}
	CHECK(calendar_date(slice_of("2026-11-20T17:26:02+01:30")) == 1795190162);
	CHECK(calendar_date(slice_of("2026-11-20T15:56:02-00:00")) == 1795190162);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(calendar_date(slice_of(none[i])) == 0);
	to.n = 0;
	CHECK(calendar_put_day(&to, count_days(2028, 2, 29)) == 0 && slice_is(buf_slice(&to), "2028-02-29"));
}

int
main(void)
{
	test_days();
	test_firsts();
	test_dates();
	return check_done();
}
