/* calendar: reads and writes dates, in UTC; finds days, weeks and months of the local time zone. */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* Appends seconds since 1970 as 2026-11-20T15:56:02.123456Z; nothing if gmtime cannot convert them. 0, or -1 out of memory. */
int calendar_put_date(struct buf *, double when);
/* Reads a date of RFC 3339 as seconds since 1970; 0: wrong form. Ranges are not checked, and any end but an offset means UTC. */
double calendar_date(struct slice text);

/* CALENDAR_ALWAYS: a period that never ends. */
enum calendar_period { CALENDAR_ALWAYS, CALENDAR_DAY, CALENDAR_WEEK, CALENDAR_MONTH };
extern const char *const calendar_names[]; /* by period: "", "day", "week", "month", NULL */
/* Days count from 1970. calendar_day: the local day of a time. calendar_first: the first day of a day's week (Monday) or month. */
int32_t calendar_day(double when);
int32_t calendar_first(enum calendar_period, int32_t day);
/* Appends a day as 2026-11-20. 0, or -1 out of memory. */
int calendar_put_day(struct buf *, int32_t day);

#endif
