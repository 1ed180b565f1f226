/* money: amounts with their currencies, as command lines have them: 1USD,5EUR; with periods, 20USD/day. */
#ifndef MONEY_H
#define MONEY_H

#include "lib/base/calendar.h"
#include "lib/base/decimal.h"

struct money {
	struct decimal amount;
	char *currency;
	enum calendar_period period;
};

/* Few enough for a bit of an unsigned each. */
enum { MONEY_MOST = 16 };
struct money_list {
	struct money at[MONEY_MOST];
	size_t n;
};

/* Reads what may follow an amount: nothing, /session, /day, /week or /month. False where it is none of these. */
bool money_period(struct slice text, enum calendar_period *);
/* Adds the amounts of a text to a list. 0; -1 where it is no good, and *why says so (NULL when out of memory). */
int money_read(struct money_list *, const char *text, bool periods, const char **why);
void money_free(struct money_list *);

#endif
