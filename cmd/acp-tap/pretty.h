/* pretty: a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/out.h"

/* out: what it is written to, for its colours and its width. NULL when out of memory. */
struct pretty *pretty_new(const struct out *, enum cli_color, bool fold);
void pretty_free(struct pretty *);

#endif
