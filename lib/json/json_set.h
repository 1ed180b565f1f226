/*
 * json_set: the parts of the JSON scanner; for lib/json and its tests only.
 *
 * json_plain scans byte by byte, and finds the error and its place. The sets of wide instructions only accept texts, fast; a text that
 * such a set does not accept, valid or not, goes to json_plain. So all machines report the same errors, and a wide scan needs no error
 * handling.
 */
#ifndef JSON_SET_H
#define JSON_SET_H

#include "lib/json/json.h"

enum {
	JSON_DEPTH_MOST = 4096, /* the deepest nesting that a caller may allow */
};

/* The members that a caller wants, and the places for their values. */
struct json_want {
	const struct json_keys *keys;
	struct slice *values;
};

/* The compiler must make one function of many, so that the words of a block stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* The classes of the 64 bytes of a block: a bit for each byte. */
struct json_classes {
	uint64_t quote, backslash, blank;
	uint64_t separators; /* blanks and "{}[],:" */
	uint64_t unprintable; /* below 0x20, or not ASCII; separators may have some of these bytes, too, wrongly */
};

/* The kinds of 64 tokens: a bit for each token. */
struct json_kinds {
	uint64_t open, close; /* brackets of either kind */
	uint64_t brace;       /* { and }; undefined for tokens that are no brackets */
	uint64_t comma, colon, quote;
};

/*
 * A scan with wide instructions. Returns the type of a valid text, and fills in the wanted values, which must be empty before; or JSON_NONE
 * for a text that may be valid or not; then the values are undefined.
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

/* All sets, the fastest first, and last the one with the name "portable". */
extern const struct json_set json_sets[];
/* The fastest set of this machine. */
const struct json_set *json_set_here(void);
/* json_members by this set, which the machine must have. */
enum json_type json_members_by(const struct json_set *, struct slice text, unsigned depth, const struct json_keys *keys,
	struct slice *values, struct json_error *error);

/* Scans byte by byte. The values must be empty before. */
enum json_type json_plain(
	struct slice text, unsigned depth, const struct json_want *, struct json_error *error);

/* The index of the key that this valid string with its quotes is; -1: none. */
int json_want_key(const struct json_want *, struct slice string);

/* The end of the number at p; NULL if it is malformed, with *stop at the wrong byte. */
const char *json_number_end(const char *p, const char *end, const char **stop);
/* The end of the escape whose backslash is at p; NULL if it is malformed, with *stop at the wrong byte. */
const char *json_escape_end(const char *p, const char *end, const char **stop);

static inline const char *
json_skip_space(const char *p, const char *end)
{
	while (p < end && byte_is_space(*p))
		p++;
	return p;
}

#endif
