#include "cmd/acp-tap/redact.h"

#include <stdlib.h>
#include <strings.h>

static const char redacted[] = "\"<redacted>\"";

/* What is to be done with a value, by where it stands. */
enum zone {
	ZONE_OPEN,
	ZONE_NAMED,  /* a string here is a secret */
	ZONE_LIST,   /* headers or env: all below is, but for the names in an array of pairs */
	ZONE_PAIR,   /* an object in such an array */
	ZONE_SECRET, /* all here and below */
};

struct name {
	const char *name;
	enum zone zone;
};

/* Members of any object, as a whole and in any case. */
static const struct name names[] = {
	{"headers", ZONE_LIST},
	{"env", ZONE_LIST},
	{"proxyConfig", ZONE_SECRET},
	{"authorization", ZONE_NAMED},
	{"proxy-authorization", ZONE_NAMED},
	{"cookie", ZONE_NAMED},
	{"set-cookie", ZONE_NAMED},
	{"x-api-key", ZONE_NAMED},
	{"api-key", ZONE_NAMED},
	{"api_key", ZONE_NAMED},
	{"apikey", ZONE_NAMED},
	{"proxy_key", ZONE_NAMED},
	{"x-auth-token", ZONE_NAMED},
	{"token", ZONE_NAMED},
	{"access_token", ZONE_NAMED},
	{"refresh_token", ZONE_NAMED},
	{"password", ZONE_NAMED},
	{"secret", ZONE_NAMED},
};

/* The longest of them with every byte as \u0000, and its quotes. */
enum { NAME_MOST = 19 * 6 + 2 };

/* Where the walk is in an object or array that it has not left yet. */
struct level {
	bool object;
	enum zone zone;
};

struct walk {
	const char *p, *end;
	struct level levels[JSON_DEPTH + 2]; /* a batch, and what is in it */
	size_t depth;
};

static enum zone
zone_of_name(struct slice plain)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == plain.n && strncasecmp(names[i].name, plain.p, plain.n) == 0)
			return names[i].zone;
	return ZONE_OPEN;
}

/* The zone of a member's value in an open object. 0, or -1 out of memory. */
static int
zone_of_key(struct redact *r, struct slice key, enum zone *zone)
{
	*zone = ZONE_OPEN;
	if (key.n > NAME_MOST)
		return 0;
	if (!memchr(key.p, '\\', key.n)) {
		*zone = zone_of_name(slice(key.p + 1, key.n - 2));
		return 0;
	}
	r->name.n = 0;
	if (json_unescape(key, &r->name) < 0)
		return -1;
	*zone = zone_of_name(buf_slice(&r->name));
	return 0;
}

static int
zone_of_member(struct redact *r, const struct level *in, struct slice key, const char *value, enum zone *zone)
{
	*zone = ZONE_SECRET;
	if (in->zone == ZONE_OPEN || in->zone == ZONE_NAMED)
		return zone_of_key(r, key, zone);
	if (in->zone == ZONE_PAIR && *value == '"' && json_string_is(key, "name"))
		*zone = ZONE_OPEN;
	return 0;
}

static enum zone
zone_of_element(const struct level *in, const char *value)
{
	switch (in->zone) {
	case ZONE_OPEN:
	case ZONE_NAMED:
		return ZONE_OPEN;
	case ZONE_LIST:
		return *value == '{' ? ZONE_PAIR : ZONE_SECRET;
	default:
		return ZONE_SECRET;
	}
}

static void
skip(struct walk *w)
{
	while (w->p < w->end && strchr(" \t\r\n,:", *w->p))
		w->p++;
}

static struct slice
take_string(struct walk *w)
{
	const char *from = w->p++;

	while (w->p < w->end && *w->p != '"')
		w->p += *w->p == '\\' ? 2 : 1;
	w->p = w->p < w->end ? w->p + 1 : w->end;
	return slice_between(from, w->p);
}

static struct slice
take_scalar(struct walk *w)
{
	const char *from = w->p;

	if (*from == '"')
		return take_string(w);
	while (w->p < w->end && !strchr(" \t\r\n,:]}", *w->p))
		w->p++;
	return slice_between(from, w->p);
}

static int
replace(struct redact *r, struct slice value)
{
	size_t cap = r->cap ? r->cap * 2 : 16;
	struct splice *s;

	if (r->n == r->cap) {
		s = reallocarray(r->splices, cap, sizeof(*s));
		if (!s)
			return -1;
		r->splices = s;
		r->cap = cap;
	}
	r->splices[r->n++] = (struct splice){value.p, value.p + value.n, slice_of(redacted)};
	return 0;
}

static int
take_value(struct redact *r, struct walk *w, enum zone zone)
{
	struct slice value;
	bool string = *w->p == '"';

	if (*w->p == '{' || *w->p == '[') {
		if (w->depth == sizeof(w->levels) / sizeof(w->levels[0]))
			return -1;
		w->levels[w->depth++] = (struct level){*w->p++ == '{', zone};
		return 0;
	}
	value = take_scalar(w);
	if (zone != ZONE_SECRET && !(string && (zone == ZONE_NAMED || zone == ZONE_LIST)))
		return 0;
	return slice_is(value, redacted) ? 0 : replace(r, value);
}

/* Notes what is to be replaced in one JSON text that has been accepted. */
static int
walk(struct redact *r, struct slice text)
{
	struct walk w = {.p = text.p, .end = text.p + text.n};
	const struct level *in;
	enum zone zone = ZONE_OPEN;
	struct slice key;

	do {
		skip(&w);
		if (w.p >= w.end)
			break;
		if (*w.p == '}' || *w.p == ']') {
			w.p++;
			w.depth--;
			continue;
		}
		if (w.depth) {
			in = &w.levels[w.depth - 1];
			key = in->object ? take_string(&w) : slice(NULL, 0);
			skip(&w);
			if (!in->object)
				zone = zone_of_element(in, w.p);
			else if (zone_of_member(r, in, key, w.p, &zone) < 0)
				return -1;
		}
		if (take_value(r, &w, zone) < 0)
			return -1;
	} while (w.depth);
	return 0;
}

static int
walk_message(struct redact *r, struct slice text)
{
	size_t before = r->n;

	if (walk(r, text) < 0)
		return -1;
	r->values += r->n - before;
	r->messages += r->n > before;
	return 0;
}

/* Each entry is a message of its own. */
static int
walk_batch(struct redact *r, struct slice line)
{
	struct json_iter it = {.in = line};
	struct slice key, value;

	while (*it.in.p != '[') {
		it.in.p++;
		it.in.n--;
	}
	while (json_next(&it, &key, &value))
		if (walk_message(r, value) < 0)
			return -1;
	return 0;
}

int
redact_line(struct redact *r, struct slice line, bool batch, struct slice *result)
{
	*result = line;
	r->n = 0;
	if ((batch ? walk_batch(r, line) : walk_message(r, line)) < 0)
		return -1;
	if (r->n == 0)
		return 0;
	r->text.n = 0;
	if (splice_write(line, r->splices, r->n, &r->text) < 0)
		return -1;
	*result = buf_slice(&r->text);
	return 0;
}

void
redact_free(struct redact *r)
{
	buf_free(&r->text);
	buf_free(&r->name);
	free(r->splices);
	*r = (struct redact){0};
}
