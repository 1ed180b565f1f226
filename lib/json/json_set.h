/*
 * json_set: what the parts of the JSON scanner share; for lib/json and its tests only.
 *
 * There is one scanner that says what is wrong and where, byte by byte: json_plain. The sets of
 * wide instructions only say yes, fast; where one says no (and it may say no to anything),
 * json_plain is asked. So the errors are the same everywhere, and a wide scan carries no error
 * handling.
 */
#ifndef JSON_SET_H
#define JSON_SET_H

#include "lib/json/json.h"

enum {
	JSON_DEPTH_MOST = 4096, /* the deepest nesting a caller may ask for */
};

/* The members that a caller wants, and where their values go. */
struct json_want {
	const struct json_keys *keys;
	struct slice *values;
};

/* One function out of many small ones, so that the words of a block stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* What the 64 bytes of a block are, a bit for each. */
struct json_classes {
	uint64_t quote, backslash, blank;
	uint64_t separators; /* blanks and "{}[],:", all that may stand outside of other tokens */
	uint64_t unprintable; /* below 0x20, or not ASCII; the separators may contain some of these by mistake */
};

/* What 64 tokens are, a bit for each. */
struct json_kinds {
	uint64_t open, close; /* brackets of either kind */
	uint64_t brace;       /* { and }; of what is no bracket undefined */
	uint64_t comma, colon, quote;
};

/*
 * A scan with wide instructions: the type of the text, which is right JSON, and the wanted values, which are empty before.
 * Or JSON_NONE: it may be either; the values are undefined then.
 */
enum json_type json_scan_avx512(struct slice text, unsigned depth, const struct json_want *);
enum json_type json_scan_avx2(struct slice text, unsigned depth, const struct json_want *);
enum json_type json_scan_sse4(struct slice text, unsigned depth, const struct json_want *);
enum json_type json_scan_neon(struct slice text, unsigned depth, const struct json_want *);

struct json_set {
	const char *name;
	bool (*here)(void); /* does this machine have it? */
	enum json_type (*scan)(struct slice text, unsigned depth, const struct json_want *); /* NULL: portable */
};

/* All sets, the best first; the last is the portable one, whose name is "portable". */
extern const struct json_set json_sets[];
/* The best that this machine has. */
const struct json_set *json_set_here(void);
/* json_members with a set that this machine has. */
enum json_type json_members_by(const struct json_set *, struct slice text, unsigned depth, const struct json_keys *keys,
	struct slice *values, struct json_error *error);

/* json_scan, byte by byte; the values are empty before. */
enum json_type json_plain(
	struct slice text, unsigned depth, const struct json_want *, struct json_error *error);

/* Which key is this (a string with its quotes, checked)? -1: none of them. */
int json_want_key(const struct json_want *, struct slice string);

/* The end of the number at p; NULL where there is none, with *stop the byte that is wrong. */
const char *json_number_end(const char *p, const char *end, const char **stop);
/* The end of the escape at p, a backslash; NULL and *stop as above. */
const char *json_escape_end(const char *p, const char *end, const char **stop);

static inline const char *
json_skip_space(const char *p, const char *end)
{
	while (p < end && byte_is_space(*p))
		p++;
	return p;
}

#endif
