/*
 * patience: how long a chain that is ending is waited for. While anything moves nobody is pressed;
 * where nothing has moved for the grace period some get SIGTERM, and 2 s later SIGKILL.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include "chain.h"

void patience_start(struct chain *);
/* The end begins, or has come further: all get the whole grace period again. */
void patience_renew(struct chain *);
/* Sends a component's group SIGTERM, and 2 s later SIGKILL; at once where it has had the first. */
void patience_press(struct component *);
/* The same for all that are left, now and again 2 s later (chain.forced is set). */
void patience_force(struct chain *);

#endif
