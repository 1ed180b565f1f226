/* calendar: dates as they are written, in UTC; and days, weeks and months of the local time zone. */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* Appends seconds since 1970 as 2026-11-20T15:56:02.123456Z; nothing where they are no date. 0, or -1 out of memory. */
int calendar_put_date(struct buf *, double when);
/* A date of RFC 3339 as seconds since 1970; 0 for what is none. */
double calendar_date(struct slice text);

/* ALWAYS: one that never ends. */
enum calendar_period { CALENDAR_ALWAYS, CALENDAR_DAY, CALENDAR_WEEK, CALENDAR_MONTH };
extern const char *const calendar_names[]; /* "", "day", "week", "month", NULL */
/* The local day of a time, as days since 1970; the first day of the week (Monday) or month that a day is in. */
int32_t calendar_day(double when);
int32_t calendar_first(enum calendar_period, int32_t day);
/* Appends a day: 2026-11-20. 0, or -1 out of memory. */
int calendar_put_day(struct buf *, int32_t day);

#endif
