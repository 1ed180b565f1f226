/* recording_parts: for the files of recording. There is a file for each group of shapes that a line may have. */
#ifndef RECORDING_PARTS_H
#define RECORDING_PARTS_H

#include "lib/acp/shape.h"
#include "lib/run/input.h"
#include "lib/recording/recording.h"

struct recording {
	struct input in;
	size_t limit;        /* bytes of a message at most */
	bool environment;    /* ${NAME} in messages is replaced */
	struct buf expanded; /* a message in which variables were replaced */
	struct buf why;      /* the text of an error that names a variable */
	struct buf text;     /* text that was unescaped or rebuilt */
	struct shapes shapes;
	struct buf hops;     /* the names of hops in the last header: a JSON array; or empty */
	const char *hop;
	bool asked;          /* the user chose a hop */
	bool held;           /* a record had a hop */
	struct buf others;   /* names and numbers of the hops that were skipped */
	bool numbered;
	uint64_t hop_number;
	uint64_t offset;     /* of the next line */
	uint64_t long_line;  /* bytes of the line that is beyond the limit; or 0 */
};

/* SKIPPED: the line is empty, or of another hop. OTHER_SHAPE: another function may read it. */
enum outcome { NO_MEMORY = -1, READ, SKIPPED, OTHER_SHAPE };

/* The members that decide the shape of a line, and those of our own records. */
enum { HEADER, T, FROM, AT, MSG, NOISE, NOISE64, STDERR, STDERR64, EVENT, LINE, STARTED, HOPS, TYPE, TS, JSONRPC,
	MEMBERS };

/* values.c */
enum { RECORDING_SECOND = 1000000, RECORDING_DIGITS = 12 /* of a whole number at most */ };
/* Reads seconds in digits, with or without decimals, as us, rounded down, and moves *p past them. False: a number in another form. */
bool recording_time(const char **p, const char *end, uint64_t *us);
/* Unescapes a JSON string. *text is in rec->text. */
enum outcome recording_unescape(struct recording *, struct slice string, struct slice *text);
/* Makes a RECORD_BAD, whose error is at this slice of the line. */
enum outcome recording_bad(struct record *, struct slice at, const char *what);
/* Makes a record of this kind, whose text is in a JSON string. */
enum outcome recording_text(struct recording *, struct record *, enum record_kind, struct slice string);
/* Makes a RECORD_MESSAGE or RECORD_NOISE of a text, which this function scans. */
enum outcome recording_message(struct recording *, struct record *, struct slice text);

/* Notes, for recording_missed, a hop that is not chosen: its number (or NULL) and name (a JSON string, or p NULL). Returns SKIPPED. */
enum outcome recording_other_hop(struct recording *, const uint64_t *number, struct slice name);

/* Each of these functions reads a line that is an object; v: the values of its members. */
/* native.c: our own records */
enum outcome recording_native(struct recording *, struct record *, const struct slice *v);
/* Reads the beginning of a record of recording_put_message: text is its message, not scanned. False: it is another record. */
bool recording_own_begin(struct record *);
/* others.c: records of other programs */
/* {"t","from","line"}, whose line is a string with a message */
enum outcome recording_line_text(struct recording *, struct record *, const struct slice *v);
/* an event of the Rust conductor */
enum outcome recording_trace(struct recording *, struct record *, const struct slice *v);
/* a message, or an unknown line */
enum outcome recording_bare(struct recording *, struct record *);

#endif
