#include "lib/base/money.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool
money_period(struct slice text, enum calendar_period *period)
{
	*period = CALENDAR_ALWAYS;
	if (text.n == 0 || slice_is(text, "/session"))
		return true;
	for (*period = CALENDAR_DAY; calendar_names[*period]; ++*period)
		if (text.p[0] == '/' && slice_is(slice(text.p + 1, text.n - 1), calendar_names[*period]))
			return true;
	return false;
}

int
money_read(struct money_list *list, const char *text, bool periods, const char **why)
{
	const char *p = text, *unit, *end, *next;
	struct money *m;

	for (;; p = next + 1) {
		*why = "too many amounts";
		if (list->n == MONEY_MOST)
			return -1;
		m = &list->at[list->n];
		unit = p + strspn(p, "0123456789.");
		end = unit + strcspn(unit, "/,");
		next = end + strcspn(end, ",");
		*why = periods ? "expected amounts with their currencies, such as 5USD,20USD/day" : "expected amounts with their currencies, such as 1USD,5EUR";
		if (end == unit || !decimal_parse(slice_between(p, unit), &m->amount) || !money_period(slice_between(end, next), &m->period)
			|| (next > end && !periods))
			return -1;
		*why = NULL;
		list->n++; /* from here on money_free frees it */
		m->currency = strndup(unit, (size_t)(end - unit));
		if (!m->currency)
			return -1;
		/* Three letters are a code of ISO 4217, which has capitals. */
		for (char *c = m->currency; end - unit == 3 && *c; c++)
			*c = (char)toupper((unsigned char)*c);
		if (*next == '\0')
			return 0;
	}
}

void
money_free(struct money_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->at[i].currency);
	list->n = 0;
}
