/*
 * json: looks at JSON text where it lies. Nothing is built, nothing is copied. Results are slices of the text; a value's slice is
 * its exact text (a string's with its quotes).
 */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum { JSON_DEPTH = 1024 }; /* how deep a message may nest */

/* clang-format off */
enum json_type { JSON_NONE, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
/* clang-format on */

struct json_error {
	size_t at;        /* 1-based byte */
	const char *what; /* "expected a value" */
};

/* Names of members to be found: plain ASCII without quotes or backslashes, up to 15 bytes long. */
struct json_keys {
	size_t n;
	char name[16][16];
};

/*
 * Checks that text is one JSON value by RFC 8259, in UTF-8 (RFC 3629) throughout, nested at most
 * depth deep (but never more than 4096), and, where it is an object, puts the values of its members
 * named by keys into values (keys->n of them); what is absent gets a slice with p NULL. White space
 * around the value is allowed. Keys compare unescaped. A member of keys that occurs twice is an
 * error.
 * Returns the type of the value, JSON_NONE on error with *error filled in, where it is not NULL.
 */
enum json_type json_members(struct slice text, unsigned depth, const struct json_keys *keys,
	struct slice *values, struct json_error *error);
/* The same with the keys as strings (nkeys of them), which have to be copied each time. */
enum json_type json_scan(struct slice text, unsigned depth, const char *const *keys, size_t nkeys,
	struct slice *values, struct json_error *error);

/*
 * All below reads values that json_scan has accepted, or parts of them; on other bytes the results
 * are unspecified, but nothing outside the slice is read.
 */
enum json_type json_type(struct slice value);

/*
 * Walks an object or array. Zero the iterator but for `in`. Returns false at the end; key is then
 * and for arrays empty. Keys are slices with their quotes.
 */
struct json_iter {
	struct slice in;
	const char *at;
};
bool json_next(struct json_iter *, struct slice *key, struct slice *value);

/*
 * The same in two steps, to go into a value without looking for its end first: json_step goes to the value of the next member;
 * then comes json_value, or json_enter (false: it is no container), all of *in, and json_leave.
 */
bool json_step(struct json_iter *, struct slice *key);
struct slice json_value(struct json_iter *);
bool json_enter(const struct json_iter *, struct json_iter *in);
void json_leave(struct json_iter *, const struct json_iter *in);
/* Walks what is left of an object and takes json_scan's values. False where a member occurs twice (the first counts). */
bool json_pick(struct json_iter *, const char *const *keys, size_t nkeys, struct slice *values);

/* The value of an object's first member of that name (unescaped); p is NULL where there is none, or it is no object. */
struct slice json_get(struct slice object, const char *key);
/* The same where it is a string. */
struct slice json_get_string(struct slice object, const char *key);
/* The same along a path of names with dots between: "update.sessionUpdate". */
struct slice json_path(struct slice object, const char *path);
/* Has the object or array nothing in it? */
bool json_is_empty(struct slice container);

/* Compares a JSON string, unescaped, with plain UTF-8 text, or with another JSON string. False where a value is no string. */
bool json_string_is(struct slice string, const char *text);
bool json_string_is_slice(struct slice string, struct slice text);
bool json_string_eq(struct slice a, struct slice b);
/* Is it one of these words, the last of which is NULL? */
bool json_string_in(struct slice string, const char *const *words);
/* The text of a string: where it lies, or where it has escapes in room, emptied first. p NULL: no string, or out of memory. */
struct slice json_text(struct slice string, struct buf *room);
/* Appends the text of a string; a lone surrogate becomes U+FFFD. 0, or -1 out of memory. */
int json_unescape(struct slice string, struct buf *to);
/*
 * Appends text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD each.
 * 0, or -1 out of memory.
 */
int json_quote(struct slice text, struct buf *to);
/*
 * Appends a format, in which %s is a string, %u a uint64_t, %b a slice as it is, %t one as plain text (text_plain), and %j one as a
 * JSON string. Nothing else begins with %. scripts/formats checks the types, as no compiler does. 0, or -1 out of memory.
 */
int json_format(struct buf *to, const char *format, ...);
/*
 * Appends a member, JSON text, to an object that is being written: with a comma before it, unless it is the first. p NULL: appends
 * nothing. name: plain ASCII without quotes or backslashes. 0, or -1 out of memory.
 */
int json_add_member(struct buf *to, const char *name, struct slice value);
/*
 * Appends JSON text for people: a member or element on each line, indented, and the margin before each line but the first; not
 * where that would make it much longer. put appends a key or value, spelled as it is: buf_add_slice, or what makes it safe to
 * print. 0, or -1 out of memory.
 */
int json_indent(struct buf *to, struct slice json, size_t margin, int (*put)(struct buf *, struct slice));
/* Appends an object with such members; one without a name ends them. */
struct json_member {
	const char *name;
	struct slice value;
};
int json_add_object(struct buf *to, const struct json_member *);
/* Of any bytes: are these what may stand between the quotes of a string? */
bool json_is_inside(struct slice);
/* Is this text UTF-8 (RFC 3629)? */
bool json_utf8(struct slice text);
/* An integer from 0 to 2^64-1, however it is spelled (5.3e4): true, and its value. */
bool json_u64(struct slice number, uint64_t *value);
/*
 * Appends one spelling for all spellings of the same number ("1", "1.0", "10e-1"), exactly: an
 * optional '-', digits without zeros at either end, 'e', exponent; zero is "0e0". *integer says
 * whether it is one. 0, or -1 out of memory or where the exponent is beyond +-10^9.
 */
int json_number_key(struct slice number, struct buf *to, bool *integer);

#endif
