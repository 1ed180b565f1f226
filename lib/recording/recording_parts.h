/* recording_parts: what the files of the recording module share: one for each shape that a line may have. */
#ifndef RECORDING_PARTS_H
#define RECORDING_PARTS_H

#include "lib/acp/shape.h"
#include "lib/run/input.h"
#include "lib/recording/recording.h"

struct recording {
	struct input in;
	bool environment;    /* ${NAME} in messages is replaced */
	struct buf expanded; /* a message in which it was */
	struct buf why;      /* an error that names a variable */
	struct buf text;     /* what had to be unescaped or rebuilt */
	struct shapes shapes;
	struct buf hops;     /* the last header's names of hops: a JSON array, or empty */
	const char *hop;
	bool asked;          /* for this hop: it is not the default */
	bool held;           /* a record was of a hop */
	struct buf others;   /* names and numbers of hops that were passed over */
	bool numbered;
	uint64_t hop_number;
	uint64_t offset;     /* of the line that is read next */
	uint64_t long_line;  /* bytes of one beyond the limit */
};

/* What becomes of a line: SKIPPED belongs to another hop, or is empty. */
enum outcome { NO_MEMORY = -1, READ, SKIPPED, OTHER_SHAPE };

/* The members that decide the shape of a line, and those of our own records. */
enum { HEADER, T, FROM, AT, MSG, NOISE, NOISE64, STDERR, STDERR64, EVENT, LINE, STARTED, HOPS, TYPE, TS, JSONRPC,
	MEMBERS };

/* Values (values.c). */
enum { RECORDING_SECOND = 1000000 };
/* The text of a JSON string, in rec->text. */
enum outcome recording_unescape(struct recording *, struct slice string, struct slice *text);
/* The record cannot be read, because of this slice of its line. */
enum outcome recording_bad(struct record *, struct slice at, const char *what);
/* Its text is a JSON string. */
enum outcome recording_text(struct recording *, struct record *, enum record_kind, struct slice string);
/* It is a message, or noise; text has been found, and is scanned here, once. */
enum outcome recording_message(struct recording *, struct record *, struct slice text);

/* SKIPPED, for a record of another hop, of this number (or NULL) and name (a JSON string, or p NULL): recording_missed lists them. */
enum outcome recording_other_hop(struct recording *, const uint64_t *number, struct slice name);

/* The shapes. Each reads a line that is an object, with the values of its members, or returns OTHER_SHAPE. */
/* Our own records (native.c). */
enum outcome recording_native(struct recording *, struct record *, const struct slice *v);
/* The beginning of a record as recording_put_message writes it, by comparing: text is its message, not scanned. False for others. */
bool recording_own_begin(struct record *);
/* Other people's (others.c). */
/* A message as a string: {"t","from","line"}. */
enum outcome recording_line_text(struct recording *, struct record *, const struct slice *v);
/* An event of the Rust conductor. */
enum outcome recording_trace(struct recording *, struct record *, const struct slice *v);
/* A line that is a message itself, or nothing that is known. */
enum outcome recording_bare(struct recording *, struct record *);

#endif
