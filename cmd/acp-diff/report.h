/* report: what a comparison has found, for people, programs and CI systems, on standard output. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-diff/diff.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT, FORMAT_GITHUB };

/* 0, or -1: why has been reported. */
int report_write(struct diff *, enum format, bool color);

#endif
