/*
 * operands: the recordings that a command line names, read one after the other. What is wrong with one of them is
 * reported here, in one wording for all tools, and counts for the exit status.
 */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "lib/recording/recording.h"
#include "lib/run/out.h"

struct operands {
	/* Set these to begin, and zero the others. */
	const char *tool;    /* its name, for diagnostics */
	char **files;        /* NULL-terminated */
	size_t limit;        /* of a line, for operands_lines */
	/* Of the file that is being read. */
	const char *name;
	bool first;          /* the line is its first, if only its end */
	bool found;          /* a message in it */
	bool bad;            /* a line of it is no record */
	bool failed;         /* it could not be read to its end */
	/* Of all. */
	bool any;            /* something in one of them */
	int status;          /* 0, EXIT_USAGE or EXIT_FAILED */
	bool fresh;          /* nothing of the file has been handed out */
};

/* Opens the next file. Its descriptor, or -1 after the last. */
int operands_open(struct operands *);
/* By errno: this file cannot be read further, or memory is out. */
void operands_fail(struct operands *);
/* Reports a line that is no record. */
void operands_report(struct operands *, const struct record *);
/* The file has been read. nothing: what is said where it has nothing in it, or NULL. */
void operands_judge(struct operands *, const char *nothing);
/* The exit status: that of nothing to read where no file had anything in it. */
int operands_status(const struct operands *);

/*
 * For tools that add up output: calls fn with the lines of each file that are not empty, and at its end with p NULL; `first` as
 * above. fn returns 0, -1 with errno, or 1: *why says what is wrong, and the file is read no further.
 */
void operands_lines(struct operands *, int (*fn)(void *arg, struct slice line, const char **why), void *arg);

#endif
