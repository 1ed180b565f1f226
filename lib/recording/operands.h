/*
 * operands: reads the recordings of a command line one after the other. Reports their errors, in the same words for all tools, and finds
 * the exit status.
 */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "lib/recording/recording.h"
#include "lib/run/out.h"

struct operands {
	/* The caller sets these, and zeroes the others. */
	const char *tool;    /* its name, for diagnostics */
	char **files;        /* NULL-terminated */
	size_t limit;        /* of a line, for operands_lines */
	/* of the file that is being read */
	const char *name;
	bool first;          /* the line is the first of the file, or its end */
	bool found;          /* it has a message */
	bool bad;            /* it has a line that is no record */
	bool failed;         /* it could not be read to its end */
	/* of all files */
	bool any;            /* one of them was not empty */
	int status;          /* 0, EXIT_USAGE or EXIT_FAILED */
	bool fresh;          /* private: fn has got no line of the file */
};

/* Opens the next file. Returns its descriptor, or -1 after the last. */
int operands_open(struct operands *);
/* Reports by errno that the file cannot be read further, or that memory ran out. */
void operands_fail(struct operands *);
/* Reports a line that is no record. */
void operands_report(struct operands *, const struct record *);
/* Handles the end of a file. nothing: what to report if it was empty; or NULL. */
void operands_judge(struct operands *, const char *nothing);
/* The exit status; EXIT_USAGE also if all files were empty. */
int operands_status(const struct operands *);

/*
 * For tools that add up output: calls fn with each line that is not empty, and at a file's end with line.p NULL. fn returns 0, -1 with
 * errno, or 1 with the error in *why; then the rest of the file is skipped.
 */
void operands_lines(struct operands *, int (*fn)(void *arg, struct slice line, const char **why), void *arg);

#endif
