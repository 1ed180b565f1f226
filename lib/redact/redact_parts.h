/* redact_parts: what the files of redact share: the walk through JSON, the search in texts, and the names of secrets. */
#ifndef REDACT_PARTS_H
#define REDACT_PARTS_H

#include "lib/redact/redact.h"

/* Bytes of the text at hand that are to be replaced. */
struct redact_hit {
	size_t from, to;
	bool bare;           /* no string: the replacement brings its quotes */
	unsigned char depth; /* in how many strings within the line the text lies */
};

static inline struct redact_hit *
redact_hits(struct redact *r)
{
	return (void *)r->hits.p;
}

/* Notes a hit, in order: what lies before the end of the last one (from `first` on) is left out. 0, or -1 out of memory. */
int redact_hit(struct redact *, size_t first, struct redact_hit, enum redact_kind);

/* What a name says of its value. */
enum redact_name {
	REDACT_NAME_NONE,
	REDACT_NAME_TOKEN,  /* a secret, if it is a string: numbers count tokens */
	REDACT_NAME_SECRET, /* a secret: a string or number, or all of them below */
	REDACT_NAME_LIST,   /* headers or an environment: all below is secret, but for the names in an array of pairs */
	REDACT_NAME_ALL,    /* all below is secret */
};
/* A member, variable, option or header of that name. *environment: it is spelled as a variable of the environment is. */
enum redact_name redact_name(struct slice name, bool *environment);
/* Is it the name of one secret? */
bool redact_is_secret(struct slice name, bool *environment);

/* Notes what is secret in a text. argument: it is an element of an array, such as --token=VALUE. 0, or -1 out of memory. */
int redact_text(struct redact *, struct slice text, bool argument);

#endif
