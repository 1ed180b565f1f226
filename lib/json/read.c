/* Steps through valid JSON. Copies nothing, and checks nothing again. */
#include "lib/json/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lib/json/json_set.h"

enum { NEAR = 128 };

enum json_type
json_type(struct slice value)
{
	static const unsigned char types[256] = {['n'] = JSON_NULL, ['f'] = JSON_FALSE, ['t'] = JSON_TRUE, ['-'] = JSON_NUMBER,
		['"'] = JSON_STRING, ['['] = JSON_ARRAY, ['{'] = JSON_OBJECT};

	if (value.n == 0)
		return JSON_NONE;
	return byte_is_digit(*value.p) ? JSON_NUMBER : types[(unsigned char)*value.p];
}

/* The next quote; or a place before it with fewer than 16 bytes to the end. */
static const char *
leap_to_quote(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"');
	int found = 0;

	for (; end - p >= 16; p += 16) {
		found = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), quote));
		if (found)
			return p + __builtin_ctz((unsigned)found);
	}
#else
	(void)end;
#endif
	return p;
}

/* The next quote or bracket. */
static const char *
skip_to_quote_or_bracket(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	__m128i v, folded;
	int found;

	for (; end - p >= 16; p += 16) {
		v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* [ is { then, and ] is } */
		folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
		v = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)));
		found = _mm_movemask_epi8(v);
		if (found)
			return p + __builtin_ctz((unsigned)found);
	}
#else
	(void)end;
#endif
	return p;
}

/* Most strings end within a few bytes, for which memchr takes too long to begin. */
static const char *
find_quote(const char *p, const char *end)
{
	const char *near = end - p > NEAR ? p + NEAR : end;

	for (p = leap_to_quote(p, near); p < near && *p != '"'; p++)
		;
	if (p < near || near == end)
		return p;
	p = memchr(near, '"', (size_t)(end - near));
	return p ? p : end;
}

/* The end of the string at p. A quote ends it unless an odd number of backslashes precedes it. */
static const char *
string_end(const char *p, const char *end)
{
	const char *begin = p + 1, *back;

	for (p = begin; p < end; p++) {
		p = find_quote(p, end);
		if (p == end)
			return end;
		for (back = p; back > begin && back[-1] == '\\'; back--)
			;
		if ((p - back) % 2 == 0)
			return p + 1;
	}
	return end;
}

static const char *
container_end(const char *p, const char *end)
{
	size_t depth = 0;

	while ((p = skip_to_quote_or_bracket(p, end)) < end) {
		switch (*p) {
		case '"':
			p = string_end(p, end);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return p + 1;
			break;
		}
		p++;
	}
	return end;
}

bool
json_step(struct json_iter *it, struct slice *key)
{
	const char *end, *p, *from;

	*key = (struct slice){0};
	if (it->in.n == 0 || (*it->in.p != '{' && *it->in.p != '['))
		return false;
	end = it->in.p + it->in.n;
	p = json_skip_space(it->at ? it->at : it->in.p + 1, end);
	if (p < end && *p == ',')
		p = json_skip_space(p + 1, end);
	if (*it->in.p == '{' && p < end && *p == '"') {
		from = p;
		p = string_end(p, end);
		*key = slice_between(from, p);
		p = json_skip_space(p, end);
		if (p < end && *p == ':')
			p = json_skip_space(p + 1, end);
	}
	it->at = p;
	if (p < end && *p != ',' && *p != '}' && *p != ']')
		return true;
	*key = (struct slice){0};
	return false;
}

struct slice
json_value(struct json_iter *it)
{
	const char *from = it->at, *end = it->in.p + it->in.n, *p = from;

	if (p < end && *p == '"')
		p = string_end(p, end);
	else if (p < end && (*p == '{' || *p == '['))
		p = container_end(p, end);
	else
		while (p < end && !byte_is_space(*p) && *p != ',' && *p != '}' && *p != ']')
			p++;
	it->at = p;
	return slice_between(from, p);
}

bool
json_enter(const struct json_iter *it, struct json_iter *in)
{
	*in = (struct json_iter){.in = slice_between(it->at, it->in.p + it->in.n)};
	return *it->at == '{' || *it->at == '[';
}

void
json_leave(struct json_iter *it, const struct json_iter *in)
{
	it->at = in->at < it->in.p + it->in.n ? in->at + 1 : in->at;
}

bool
json_next(struct json_iter *it, struct slice *key, struct slice *value)
{
	*value = (struct slice){0};
	if (!json_step(it, key))
		return false;
	*value = json_value(it);
	return true;
}

bool
json_item(struct json_iter *it, struct slice *item)
{
	struct slice key;

	return json_type(it->in) == JSON_ARRAY && json_next(it, &key, item);
}

/* The index of the key that is this name; nkeys: none. Most names have no escapes, and differ in their first byte. */
static size_t
which(const char *const *keys, size_t nkeys, struct slice name)
{
	const char *text;
	size_t n, i;

	if (name.n <= 2)
		return nkeys;
	text = name.p + 1;
	n = name.n - 2;
	for (i = 0; i < nkeys; i++)
		if (keys[i][0] == *text && strncmp(keys[i], text, n) == 0 && keys[i][n] == '\0')
			return i;
	if (!memchr(text, '\\', n))
		return nkeys;
	for (i = 0; i < nkeys && !json_string_is(name, keys[i]); i++)
		;
	return i;
}

bool
json_pick(struct json_iter *it, const char *const *keys, size_t nkeys, struct slice *values)
{
	struct slice name, value;
	bool once = true;
	size_t i;

	for (i = 0; i < nkeys; i++)
		values[i] = (struct slice){0};
	while (json_next(it, &name, &value)) {
		i = which(keys, nkeys, name);
		if (i == nkeys)
			continue;
		once &= values[i].p == NULL;
		if (!values[i].p)
			values[i] = value;
	}
	return once;
}

static struct slice
get(struct slice object, struct slice key)
{
	struct json_iter it = {.in = object};
	struct slice name, value;

	if (json_type(object) == JSON_OBJECT)
		while (json_next(&it, &name, &value))
			if (json_string_is_slice(name, key))
				return value;
	return (struct slice){0};
}

struct slice
json_get(struct slice object, const char *key)
{
	return get(object, slice_of(key));
}

struct slice
json_get_string(struct slice object, const char *key)
{
	struct slice value = json_get(object, key);

	return json_type(value) == JSON_STRING ? value : (struct slice){0};
}

bool
json_is_empty(struct slice container)
{
	struct json_iter it = {.in = container};
	struct slice key, value;

	return !json_next(&it, &key, &value);
}

struct slice
json_path(struct slice object, const char *path)
{
	const char *dot;

	for (; (dot = strchr(path, '.')) && object.p; path = dot + 1)
		object = get(object, slice_between(path, dot));
	return get(object, slice_of(path));
}
