/*
 * The JSON scanner over any bytes. Not only that it survives: all sets of instructions say the
 * same; what is right can be walked down to its scalars; quoting and unescaping undo each other;
 * numbers keep their value.
 */
#include <stdlib.h>

#include "lib/json/json_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { KEYS = 6 };
static const struct json_keys keys = {KEYS, {"jsonrpc", "id", "method", "params", "result", "error"}};

static void
must(bool ok)
{
	if (!ok)
		abort();
}

struct said {
	enum json_type type;
	struct slice values[KEYS];
	struct json_error error;
};

static struct said
scan_by(const struct json_set *set, struct slice text, unsigned depth)
{
	struct said s = {0};

	s.type = json_members_by(set, text, depth, &keys, s.values, &s.error);
	return s;
}

static void
sets_agree(struct slice text, unsigned depth)
{
	struct said first = scan_by(json_set_here(), text, depth), other;

	for (const struct json_set *set = json_set_here(); set++->scan;) {
		if (!set->here())
			continue;
		other = scan_by(set, text, depth);
		must(other.type == first.type);
		if (first.type == JSON_NONE) {
			must(other.error.at == first.error.at &&
				strcmp(other.error.what, first.error.what) == 0);
			must(first.error.at >= 1 && first.error.at <= text.n + 1);
			continue;
		}
		for (int k = 0; k < KEYS; k++)
			must(other.values[k].p == first.values[k].p &&
				other.values[k].n == first.values[k].n);
	}
}

static void
number_keeps(struct slice number)
{
	struct buf key = {0}, again = {0};
	bool integer, same;
	uint64_t value, v;
	bool small = json_u64(number, &value);

	if (json_number_key(number, &key, &integer) == 0) {
		must(!small || integer);
		must(json_number_key(buf_slice(&key), &again, &same) == 0);
		must(same == integer && slice_eq(buf_slice(&key), buf_slice(&again)));
		must(json_u64(buf_slice(&key), &v) == small && (!small || v == value));
	}
	buf_free(&key);
	buf_free(&again);
}

static void
string_keeps(struct slice string)
{
	struct buf plain = {0}, quoted = {0};

	must(json_unescape(string, &plain) == 0 && json_utf8(buf_slice(&plain)));
	must(json_quote(buf_slice(&plain), &quoted) == 0);
	must(json_string_eq(string, buf_slice(&quoted)) &&
		json_string_eq(buf_slice(&quoted), string));
	if (plain.n == 0 || !memchr(plain.p, 0, plain.n))
		must(buf_string(&plain) && json_string_is(string, plain.p));
	buf_free(&plain);
	buf_free(&quoted);
}

/* Every value in value is right by itself, and nothing lies between them but white space and
 * punctuation. */
static void
walk(struct slice value, unsigned depth)
{
	struct json_iter it = {.in = value};
	const char *end = value.p;
	struct json_error error;
	struct slice key, inner, none[1];

	if (json_type(value) == JSON_NUMBER)
		number_keeps(value);
	if (json_type(value) == JSON_STRING)
		string_keeps(value);
	while (json_next(&it, &key, &inner)) {
		must(json_scan(inner, JSON_DEPTH, NULL, 0, none, &error) == json_type(inner));
		must(inner.p > end && inner.p + inner.n < value.p + value.n);
		for (const char *p = end; p < (key.p ? key.p : inner.p); p++)
			must(strchr("{[, \t\r\n", *p) != NULL);
		end = inner.p + inner.n;
		if (key.p)
			string_keeps(key);
		if (depth > 0)
			walk(inner, depth - 1);
	}
	if (json_type(value) == JSON_OBJECT || json_type(value) == JSON_ARRAY)
		for (const char *p = end; p < value.p + value.n; p++)
			must(strchr("{}[] \t\r\n", *p) != NULL);
}

/* What was never scanned: nothing outside is read (the sanitizer sees to that), and every walk
 * ends. */
static void
survive(struct slice text)
{
	struct json_iter it = {.in = text};
	struct buf out = {0};
	struct slice key, value;
	size_t steps = 0;
	uint64_t number;
	bool integer;

	while (json_next(&it, &key, &value))
		must(++steps <= text.n);
	json_get(text, "id");
	json_path(text, "params.update");
	json_string_is(text, "id");
	json_string_eq(text, slice_of("\"\\u0069d\""));
	json_u64(text, &number);
	json_number_key(text, &out, &integer);
	json_unescape(text, &out);
	buf_free(&out);
}

/* Quoted, any bytes are a right string; unescaped, they are back if they were UTF-8. */
static void
round_trip(struct slice text)
{
	struct buf quoted = {0}, back = {0};
	struct json_error error;
	struct slice none[1];

	must(json_quote(text, &quoted) == 0);
	must(json_scan(buf_slice(&quoted), 0, NULL, 0, none, &error) == JSON_STRING);
	must(json_unescape(buf_slice(&quoted), &back) == 0);
	must(json_utf8(buf_slice(&back)));
	if (json_utf8(text))
		must(slice_eq(buf_slice(&back), text));
	buf_free(&quoted);
	buf_free(&back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct json_error error;
	struct slice text, none[1];
	char *copy = malloc(n + 1), *at;
	enum json_type type;

	must(copy != NULL);
	/* At the end of its own memory, where a byte too many is seen. */
	at = copy + 1;
	memcpy(at, data, n);
	text = slice(at, n);
	sets_agree(text, JSON_DEPTH);
	sets_agree(text, 3);
	type = json_scan(text, JSON_DEPTH, NULL, 0, none, &error);
	if (type != JSON_NONE) {
		while (byte_is_space(*text.p))
			text = slice(text.p + 1, text.n - 1);
		while (byte_is_space(text.p[text.n - 1]))
			text.n--;
		must(json_type(text) == type);
		walk(text, 30);
	}
	survive(slice(at, n));
	round_trip(slice(at, n));
	free(copy);
	return 0;
}
