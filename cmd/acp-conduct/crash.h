/* crash: how often components may die (--restarts). */
#ifndef CRASH_H
#define CRASH_H

#include "chain.h"

/* Counts a death. Has it died more often than it may, in the time that counts? */
bool crash_too_often(struct component *);

#endif
