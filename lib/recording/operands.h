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
	size_t limit;        /* as recording_open has them */
	const char *hop;
	struct out *out;     /* printed before anything is waited for; reading ends where that fails; or NULL */
	bool events;         /* a file with records that are no messages has something in it, too */
	/* Of the file that is being read. */
	const char *name;
	bool first;          /* the record is its first, if only its RECORD_END */
	bool found;          /* a message in it */
	bool bad;            /* a line of it is no record */
	bool failed;         /* it could not be read to its end */
	bool left;           /* nothing more of it is wanted */
	/* Of all. */
	bool any;            /* something in one of them */
	int status;          /* so far: 0, EXIT_USAGE or EXIT_FAILED */
	struct recording *reader;
	bool fresh;          /* nothing of the file has been handed out */
	bool ended;          /* its RECORD_END has been handed out */
};

/*
 * The next record; RECORD_END is the end of a file, even of one that could not be read further. Blocks. False after the
 * last file, or where nothing can be printed any more.
 */
bool operands_next(struct operands *, struct record *);
/* Has all that was read been handed out, so that operands_next reads more? *fd is what to poll before that. */
bool operands_wait(struct operands *, int *fd);
/* Nothing more of this file is wanted: its RECORD_END comes next, and it counts as one with something in it. */
void operands_leave(struct operands *);
/* By errno: this file cannot be read further, or memory is out. RECORD_END comes next. */
void operands_fail(struct operands *);
/* Returns the exit status: that of nothing to read where no file had anything in it. */
int operands_close(struct operands *);

/*
 * For who adds up earlier output: calls fn with the lines of each file that are not empty, and at its end with p NULL; `first` as
 * above. fn returns 0, -1 with errno, or 1: *why says what is wrong, and the file is read no further.
 */
void operands_lines(struct operands *, int (*fn)(void *arg, struct slice line, const char **why), void *arg);
/* For who finds the lines itself: opens the next file. Its descriptor, or -1 after the last. */
int operands_open(struct operands *);
/* Reports a line that is no record; one without a number, by its offset. */
void operands_report(struct operands *, const struct record *);
/* The file has been read. */
void operands_judge(struct operands *);

#endif
