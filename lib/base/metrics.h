/* metrics: Prometheus' text format. All return 0, or -1 out of memory. */
#ifndef METRICS_H
#define METRICS_H

#include "lib/base/bytes.h"

struct metrics_label {
	const char *name;
	struct slice value;
};

/* What comes before the values of a metric. */
int metrics_head(struct buf *to, const char *name, const char *type, const char *help);
/* A metric's name and labels: its value and a newline have to follow. A label without a name ends them. */
int metrics_labels(struct buf *to, const char *name, const struct metrics_label *);

#endif
