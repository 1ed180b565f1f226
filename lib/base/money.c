#include "lib/base/money.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int
money_read(struct money_list *list, const char *text, const char **why)
{
	const char *p = text, *unit, *end;
	struct money *m;

	for (;; p = end + 1) {
		*why = "too many amounts";
		if (list->n == MONEY_MOST)
			return -1;
		m = &list->at[list->n];
		unit = p + strspn(p, "0123456789.");
		end = unit + strcspn(unit, ",");
		*why = "expected amounts with their currencies, such as 1USD,5EUR";
		if (end == unit || !decimal_parse(slice_between(p, unit), &m->amount))
			return -1;
		*why = NULL;
		list->n++; /* from here on money_free frees it */
		m->currency = strndup(unit, (size_t)(end - unit));
		if (!m->currency)
			return -1;
		/* A code of ISO 4217. */
		for (char *c = m->currency; end - unit == 3 && *c; c++)
			*c = (char)toupper((unsigned char)*c);
		if (*end == '\0')
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
