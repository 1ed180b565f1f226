#include "lib/base/calendar.h"

#include <math.h>
#include <time.h>

enum { DAY = 86400, MICROSECONDS = 1000000 };

const char *const calendar_names[] = {"", "day", "week", "month", NULL};

/* --- dates --- */

int
calendar_put_date(struct buf *to, double when)
{
	double whole = floor(when);
	long us = lround((when - whole) * (double)MICROSECONDS);
	time_t seconds = (time_t)whole + us / MICROSECONDS;
	char date[64];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return 0;
	return buf_printf(to, "%s.%06ldZ", date, us % MICROSECONDS);
}

static bool
two_digits(const char *p, int *to)
{
	*to = (p[0] - '0') * 10 + (p[1] - '0');
	return byte_is_digit(p[0]) && byte_is_digit(p[1]);
}

double
calendar_date(struct slice text)
{
	const char *p = text.p;
	struct tm tm = {0};
	int century, year, hours = 0, minutes = 0;
	double fraction = 0, unit = 1;
	size_t i = 19, n = text.n;

	if (n < 20 || p[4] != '-' || p[7] != '-' || p[13] != ':' || p[16] != ':' || !two_digits(p, &century)
		|| !two_digits(p + 2, &year) || !two_digits(p + 5, &tm.tm_mon)
		|| !two_digits(p + 8, &tm.tm_mday) || !two_digits(p + 11, &tm.tm_hour)
		|| !two_digits(p + 14, &tm.tm_min) || !two_digits(p + 17, &tm.tm_sec))
		return 0;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	if (p[i] == '.')
		for (i++; i < n && byte_is_digit(p[i]); i++)
			fraction += (p[i] - '0') * (unit /= 10);
	if (n - i == 6 && (p[i] == '+' || p[i] == '-')) {
		if (!two_digits(p + i + 1, &hours) || !two_digits(p + i + 4, &minutes))
			return 0;
		tm.tm_sec -= (p[i] == '-' ? -60 : 60) * (hours * 60 + minutes);
	}
	return (double)timegm(&tm) + fraction;
}

/* --- days --- */

int32_t
calendar_day(double when)
{
	time_t seconds = (time_t)floor(when);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return 0;
	return (int32_t)floor((when + (double)tm.tm_gmtoff) / (double)DAY);
}

int32_t
calendar_first(enum calendar_period period, int32_t day)
{
	time_t seconds = (time_t)day * DAY;
	struct tm tm;

	if (period == CALENDAR_ALWAYS)
		return 0;
	if (period == CALENDAR_DAY || !gmtime_r(&seconds, &tm))
		return day;
	return period == CALENDAR_WEEK ? day - (tm.tm_wday + 6) % 7 : day - tm.tm_mday + 1;
}

int
calendar_put_day(struct buf *to, int32_t day)
{
	time_t seconds = (time_t)day * DAY;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return 0;
	return buf_printf(to, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}
