/*
 * json: reads JSON text in place: builds nothing, copies nothing. Results are slices of the text. The slice of a value is its exact text,
 * of a string with its quotes.
 */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum { JSON_DEPTH = 1024 }; /* the deepest nesting of a message */

/* clang-format off */
enum json_type { JSON_NONE, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
/* clang-format on */

struct json_error {
	size_t at;        /* 1-based byte */
	const char *what; /* "expected a value" */
};

/* The names of wanted members: plain ASCII without quotes and backslashes, of at most 15 bytes. */
struct json_keys {
	size_t n;
	char name[16][16];
};

/*
 * Checks that text is one JSON value by RFC 8259, in UTF-8 (RFC 3629), nested at most depth deep (and at most 4096). White space around
 * it is allowed. Of an object, puts the values of the members that keys names (compared unescaped) into values; p is NULL for an absent
 * member. A wanted member that occurs twice is an error.
 * Returns the type of the value; JSON_NONE on error, with *error filled in, if error is not NULL.
 */
enum json_type json_members(struct slice text, unsigned depth, const struct json_keys *keys,
	struct slice *values, struct json_error *error);
/* As json_members, with nkeys keys as strings, which each call copies. */
enum json_type json_scan(struct slice text, unsigned depth, const char *const *keys, size_t nkeys,
	struct slice *values, struct json_error *error);

/*
 * The functions from here on read values that json_scan has accepted, or parts of them. For other bytes their results are unspecified, but
 * they read nothing outside of the slice.
 */
enum json_type json_type(struct slice value);

/*
 * Walks through an object or array. The caller sets `in` of the iterator, and zeroes the rest. json_next returns false at the end. key:
 * with its quotes; empty at the end and for arrays.
 */
struct json_iter {
	struct slice in;
	const char *at;
};
bool json_next(struct json_iter *, struct slice *key, struct slice *value);
/* As json_next, for the next element of an array. False also if the value is not an array. */
bool json_item(struct json_iter *, struct slice *item);

/*
 * json_next in two steps, so that a caller can enter a value without a search for its end: json_step goes to the next member's value; then
 * call json_value, or json_enter (false: it is no container), walk to the end of *in, and call json_leave.
 */
bool json_step(struct json_iter *, struct slice *key);
struct slice json_value(struct json_iter *);
bool json_enter(const struct json_iter *, struct json_iter *in);
void json_leave(struct json_iter *, const struct json_iter *in);
/* Walks to the end of an object, and sets values as json_scan does. False: a wanted member occurs twice; the first one counts. */
bool json_pick(struct json_iter *, const char *const *keys, size_t nkeys, struct slice *values);

/* The value of an object's first member with this name (compared unescaped); p NULL: there is none, or this is no object. */
struct slice json_get(struct slice object, const char *key);
/* As json_get, for a member that is a string; else p NULL. */
struct slice json_get_string(struct slice object, const char *key);
/* As json_get, along a path of names: "update.sessionUpdate". */
struct slice json_path(struct slice object, const char *path);
/* Is the object or array empty? */
bool json_is_empty(struct slice container);

/* Is a JSON string, unescaped, equal to plain UTF-8 text (_slice: to another JSON string)? False if a value is no string. */
bool json_string_is(struct slice string, const char *text);
bool json_string_is_slice(struct slice string, struct slice text);
bool json_string_eq(struct slice a, struct slice b);
/* Is a JSON string one of these plain words, with NULL at the end? */
bool json_string_in(struct slice string, const char *const *words);
/* The plain text of a string: a slice of it, or, with escapes, in room, which is emptied first. p NULL: no string, or out of memory. */
struct slice json_text(struct slice string, struct buf *room);
/* As json_text, but for comparisons only: a lone surrogate becomes three bytes that are not UTF-8, so that it equals nothing else. */
struct slice json_exact(struct slice string, struct buf *room);
/* Appends the plain text of a string; a lone surrogate becomes U+FFFD. 0, or -1 out of memory. */
int json_unescape(struct slice string, struct buf *to);
/*
 * Appends text as a JSON string with its quotes; each byte that is not UTF-8 becomes U+FFFD. 0, or -1 out of memory.
 */
int json_quote(struct slice text, struct buf *to);
/*
 * Appends a format: %s is a string, %u a uint64_t, %b the bytes of a slice, %t a slice as plain text (text_plain), %j a slice as a JSON
 * string. There are no other conversions. scripts/formats checks the types, because no compiler does. 0, or -1 out of memory.
 */
int json_format(struct buf *to, const char *format, ...);
/*
 * Appends a member with a value, JSON text, to an object without its end, with a comma unless it is the first member. value.p NULL:
 * appends nothing. name: plain ASCII without quotes and backslashes. 0, or -1 out of memory.
 */
int json_add_member(struct buf *to, const char *name, struct slice value);
/*
 * Appends JSON text for people: each member or element on a line, indented, and the margin before each line but the first; unless the
 * text would become much longer. put appends a key or value as it is written: buf_add_slice, or a function that makes it safe to print.
 * 0, or -1 out of memory.
 */
int json_indent(struct buf *to, struct slice json, size_t margin, int (*put)(struct buf *, struct slice));
/* Appends an object with these members. The last one has no name. 0, or -1 out of memory. */
struct json_member {
	const char *name;
	struct slice value;
};
int json_add_object(struct buf *to, const struct json_member *);
/* Can these bytes, which may be any, stand between the quotes of a string? */
bool json_is_inside(struct slice);
/* Is this text UTF-8 (RFC 3629)? */
bool json_utf8(struct slice text);
/* Is the number an integer from 0 to 2^64-1, in any spelling (5.3e4)? Then sets *value. */
bool json_u64(struct slice number, uint64_t *value);
/*
 * Appends the same key for all spellings of a number ("1", "1.0", "10e-1"): an optional '-', digits without zeros at either end, 'e', the
 * exponent; for zero "0e0". *integer: is it one? 0; -1 out of memory, or if the exponent is beyond +-10^9.
 */
int json_number_key(struct slice number, struct buf *to, bool *integer);

#endif
