#include "crash.h"

#include <stdlib.h>

bool
crash_too_often(struct component *c)
{
	struct chain *ch = c->chain;
	uint64_t now = loop_clock();
	size_t i, n = 0;

	for (i = 0; i < c->ndeaths; i++)
		if (now - c->deaths[i] < ch->window)
			c->deaths[n++] = c->deaths[i];
	c->ndeaths = n;
	if (n >= ch->restarts)
		return true;
	if (!c->deaths) {
		c->deaths = calloc(ch->restarts, sizeof(*c->deaths));
		if (!c->deaths)
			return true;
	}
	c->deaths[c->ndeaths++] = now;
	return false;
}
