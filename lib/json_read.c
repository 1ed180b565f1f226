#include "lib/json.h"

#include "lib/json_set.h"

enum json_type
json_type(struct slice value)
{
	if (value.n == 0)
		return JSON_NONE;
	switch (*value.p) {
	case 'n':
		return JSON_NULL;
	case 'f':
		return JSON_FALSE;
	case 't':
		return JSON_TRUE;
	case '"':
		return JSON_STRING;
	case '[':
		return JSON_ARRAY;
	case '{':
		return JSON_OBJECT;
	default:
		if (*value.p == '-' || (*value.p >= '0' && *value.p <= '9'))
			return JSON_NUMBER;
		return JSON_NONE;
	}
}

/* The end of the string at p. A quote ends it unless an odd number of backslashes stands before. */
static const char *
string_end(const char *p, const char *end)
{
	const char *begin = p + 1, *back;

	for (p = begin; p < end; p++) {
		p = memchr(p, '"', (size_t)(end - p));
		if (!p)
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

	while (p < end) {
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

static const char *
scalar_end(const char *p, const char *end)
{
	while (p < end && !json_is_space(*p) && *p != ',' && *p != '}' && *p != ']')
		p++;
	return p;
}

static const char *
value_end(const char *p, const char *end)
{
	if (p == end)
		return end;
	if (*p == '"')
		return string_end(p, end);
	if (*p == '{' || *p == '[')
		return container_end(p, end);
	return scalar_end(p, end);
}

bool
json_next(struct json_iter *it, struct slice *key, struct slice *value)
{
	const char *end, *p, *from;

	*key = (struct slice){0};
	*value = (struct slice){0};
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
	from = p;
	p = value_end(p, end);
	it->at = p;
	if (p == from) {
		*key = (struct slice){0};
		return false;
	}
	*value = slice_between(from, p);
	return true;
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
json_path(struct slice object, const char *path)
{
	const char *dot;

	for (; (dot = strchr(path, '.')) && object.p; path = dot + 1)
		object = get(object, slice_between(path, dot));
	return get(object, slice_of(path));
}
