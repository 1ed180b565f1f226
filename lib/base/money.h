/* money: reads amounts with their currencies, as command lines have them: 1USD,5EUR; with periods, 20USD/day. */
#ifndef MONEY_H
#define MONEY_H

#include "lib/base/calendar.h"
#include "lib/base/decimal.h"

struct money {
	struct decimal amount;
	char *currency;
	enum calendar_period period;
};

/* The most amounts of a list, so that an unsigned has a bit for each. */
enum { MONEY_MOST = 16 };
struct money_list {
	struct money at[MONEY_MOST];
	size_t n;
};

/* Reads the period after an amount: nothing or /session (CALENDAR_ALWAYS), /day, /week or /month. False: another text. */
bool money_period(struct slice text, enum calendar_period *);
/* Adds the amounts of a text to a list. periods: amounts may have some. 0; -1 with a static text in *why (NULL: out of memory). */
int money_read(struct money_list *, const char *text, bool periods, const char **why);
void money_free(struct money_list *);

#endif
