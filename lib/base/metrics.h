/* metrics: appends metrics in Prometheus' text format. All functions return 0, or -1 out of memory. */
#ifndef METRICS_H
#define METRICS_H

#include "lib/base/bytes.h"

struct metrics_label {
	const char *name;
	struct slice value;
};

/* Appends the HELP and TYPE lines, which come before the values of a metric. */
int metrics_head(struct buf *to, const char *name, const char *type, const char *help);
/*
 * Appends a metric's name, labels and a blank; the caller appends a value and a newline. A label with name NULL ends the labels. Control
 * characters of a value are written by name, because a terminal might obey them.
 */
int metrics_labels(struct buf *to, const char *name, const struct metrics_label *);

#endif
