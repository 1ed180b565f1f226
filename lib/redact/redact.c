#include "lib/redact/redact.h"

#include <inttypes.h>

#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/redact/redact_parts.h"

/* What is to be done with a value, by where it stands. */
enum zone {
	ZONE_OPEN,
	ZONE_TOKEN,  /* strings here and below are secrets */
	ZONE_NAMED,  /* numbers, too */
	ZONE_LIST,   /* headers or env: all below is, but for the names in an array of pairs */
	ZONE_PAIR,   /* an object in such an array */
	ZONE_SECRET, /* all here and below */
	ZONE_FREE,   /* texts are left out, and here no string is a word of the protocol */
};

/* An object or array that the walk has not left yet. */
struct level {
	bool object;
	bool named;  /* the last string was the name of a secret, or an option before one: the value that follows is one */
	enum zone zone;
	enum redact_kind kind;
};

struct walk {
	const char *origin; /* hits count from here, the beginning of the text */
	unsigned nest;      /* in how many strings */
};

/* A value: what is done with it, and why. */
struct place {
	enum zone zone;
	enum redact_kind kind;
	struct slice key; /* plain; p NULL in an array */
};

/* Members of ACP and JSON-RPC whose values are words, not texts. */
static const char *const words[] = {"jsonrpc", "id", "method", "sessionId", "sessionUpdate", "type", "kind", "status", "state",
	"stopReason", "toolCallId", "terminalId", "messageId", "requestId", "optionId", "outcome", "modeId", "currentModeId",
	"modelId", "currentModelId", "model", "role", "priority", "severity", "mimeType", "currency", "version", "connectionId",
	"serverId", "acpId", "signal", "compactionId"};

/* Members below which everything is text. */
static const char *const texts[] = {"rawInput", "rawOutput", "arguments", "structuredContent", "_meta", "data"};

static bool
is_one_of(struct slice name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slice_is(name, list[i]))
			return true;
	return false;
}

/* --- strings in strings --- */

/* Steps over an escape; returns how many bytes it means, as json_unescape has them. */
static size_t
step_escape(const char **p, const char *end)
{
	struct text t = {*p, end, true};
	int32_t code = text_next(&t);

	*p = t.p;
	return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/* The hits from `first` on lie in what a string means: from now on in the string's own bytes, which begin at raw. */
static void
map_hits(struct redact *r, size_t first, struct slice raw, const char *origin, bool inner)
{
	struct redact_hit *hits = redact_hits(r);
	size_t i, k, plain = 0;
	const char *p = raw.p;

	for (i = first; i < r->n; i++) {
		size_t *ends[] = {&hits[i].from, &hits[i].to};

		for (k = 0; k < 2; k++) {
			while (plain < *ends[k]) {
				if (*p == '\\')
					plain += step_escape(&p, raw.p + raw.n);
				else
					p++, plain++;
			}
			*ends[k] = (size_t)(p - origin);
		}
		hits[i].depth = (unsigned char)(hits[i].depth + inner);
	}
}

static int walk(struct redact *r, struct slice text, unsigned nest);

/* How much white space the text begins with. */
static size_t
blanks(struct slice text)
{
	size_t i = 0;

	while (i < text.n && text.p[i] && strchr(" \t\r\n", text.p[i]))
		i++;
	return i;
}

static bool
is_json(struct slice text)
{
	size_t i = blanks(text);

	return i < text.n && (text.p[i] == '{' || text.p[i] == '[') &&
		json_scan(text, JSON_DEPTH, NULL, 0, NULL, NULL) != JSON_NONE;
}

/* What is secret in a string that is none as a whole. */
static int
look_into(struct redact *r, const struct walk *w, struct slice string, bool argument)
{
	struct slice raw = slice(string.p + 1, string.n - 2), plain = raw;
	size_t first = r->n;
	bool escaped = memchr(raw.p, '\\', raw.n), json = false;
	int e;

	if (raw.n < 6)
		return 0;
	if (escaped) {
		r->plain[w->nest].n = 0;
		if (json_unescape(string, &r->plain[w->nest]) < 0)
			return -1;
		plain = buf_slice(&r->plain[w->nest]);
		json = w->nest + 1 < REDACT_NEST && is_json(plain);
	}
	e = json ? walk(r, plain, w->nest + 1) : redact_text(r, plain, argument);
	map_hits(r, first, raw, w->origin, json);
	return e;
}

/* --- what stands where --- */

static enum zone
zone_of_name(enum redact_name what)
{
	static const enum zone zones[] = {[REDACT_NAME_NONE] = ZONE_OPEN, [REDACT_NAME_TOKEN] = ZONE_TOKEN,
		[REDACT_NAME_SECRET] = ZONE_NAMED, [REDACT_NAME_LIST] = ZONE_LIST, [REDACT_NAME_ALL] = ZONE_SECRET};

	return zones[what];
}

static void
place_of_member(const struct redact *r, const struct level *in, const char *value, struct place *place)
{
	bool environment, pair = in->zone == ZONE_LIST || in->zone == ZONE_PAIR;
	enum zone by_name = zone_of_name(redact_name(place->key, &environment));

	*place = (struct place){in->zone, in->kind, place->key};
	if (pair)
		place->zone = in->zone == ZONE_PAIR && *value == '"' && slice_is(place->key, "name") ? ZONE_OPEN : ZONE_SECRET;
	else if (in->zone == ZONE_SECRET || in->zone == ZONE_NAMED)
		return;
	else if (by_name != ZONE_OPEN)
		*place = (struct place){by_name, by_name == ZONE_LIST || environment ? REDACT_ENVIRONMENT : REDACT_NAME, place->key};
	else if (in->named && slice_is(place->key, "value"))
		place->zone = ZONE_NAMED;
	else if (r->texts && in->zone == ZONE_OPEN && is_one_of(place->key, texts, sizeof(texts) / sizeof(*texts)))
		place->zone = ZONE_FREE;
}

static void
place_of_element(const struct level *in, const char *value, struct place *place)
{
	*place = (struct place){in->zone, in->kind, slice(NULL, 0)};
	if (in->zone == ZONE_LIST)
		place->zone = *value == '{' ? ZONE_PAIR : ZONE_SECRET;
	else if (in->zone == ZONE_PAIR)
		place->zone = ZONE_SECRET;
	else if (in->named && *value == '"' && value[1] != '-')
		*place = (struct place){ZONE_NAMED, REDACT_ARGUMENT, slice(NULL, 0)};
}

/* Is the string an option whose argument is the next element, or the name in a pair of name and value? */
static bool
names_secret(bool pair, struct slice plain)
{
	bool environment;

	if (!pair) {
		if (plain.n < 2 || plain.p[0] != '-' || memchr(plain.p, '=', plain.n))
			return false;
		while (plain.n && plain.p[0] == '-')
			plain = slice(plain.p + 1, plain.n - 1);
	}
	return redact_is_secret(plain, &environment);
}

/* A word of the protocol, not a text. */
static bool
is_word(const struct place *place, struct slice string)
{
	if (place->zone == ZONE_FREE || !place->key.p || string.n > 130 ||
		!is_one_of(place->key, words, sizeof(words) / sizeof(*words)))
		return false;
	for (size_t i = 1; i + 1 < string.n; i++)
		if ((unsigned char)string.p[i] <= ' ')
			return false;
	return true;
}

/* --- the walk --- */

static int take_members(struct redact *r, const struct walk *w, struct json_iter *it, const struct place *place);

static int
take_whole(struct redact *r, const struct walk *w, struct slice value, enum redact_kind kind)
{
	struct redact_hit h = {.from = (size_t)(value.p - w->origin), .bare = *value.p != '"'};

	h.to = h.from + value.n;
	if (!h.bare) {
		if (slice_is(value, "\"<redacted>\""))
			return 0;
		h.from++;
		h.to--;
	}
	return redact_hit(r, r->n, h, kind);
}

static int
take_string_value(struct redact *r, const struct walk *w, struct slice value, const struct place *place, struct level *in)
{
	struct slice plain;

	if (in && !in->object)
		in->named = false;
	if (place->zone == ZONE_TOKEN || place->zone == ZONE_NAMED || place->zone == ZONE_SECRET || place->zone == ZONE_LIST)
		return take_whole(r, w, value, place->kind);
	if (in && (!in->object || slice_is(place->key, "name") || slice_is(place->key, "key"))) {
		plain = json_text(value, &r->value);
		if (!plain.p)
			return -1;
		in->named = names_secret(in->object, plain);
	}
	if (r->texts && !is_word(place, value))
		return take_whole(r, w, value, REDACT_TEXT);
	return look_into(r, w, value, !place->key.p);
}

/* A value; in: the object or array that it is in, or NULL. */
static int
take_value(struct redact *r, const struct walk *w, struct json_iter *it, const struct place *place, struct level *in)
{
	struct slice value;

	if (*it->at == '{' || *it->at == '[')
		return take_members(r, w, it, place);
	value = json_value(it);
	if (*value.p == '"')
		return take_string_value(r, w, value, place, in);
	if (place->zone == ZONE_SECRET || (place->zone == ZONE_NAMED && strchr("-0123456789", *value.p)))
		return take_whole(r, w, value, place->kind);
	return 0;
}

static int
take_members(struct redact *r, const struct walk *w, struct json_iter *it, const struct place *place)
{
	struct level in = {.object = *it->at == '{', .zone = place->zone, .kind = place->kind};
	struct json_iter inner;
	struct place member;
	struct slice key;

	json_enter(it, &inner);
	while (json_step(&inner, &key)) {
		if (!in.object)
			place_of_element(&in, inner.at, &member);
		else if (look_into(r, w, key, false) < 0 || !(member.key = json_text(key, &r->name)).p)
			return -1;
		else
			place_of_member(r, &in, inner.at, &member);
		if (take_value(r, w, &inner, &member, &in) < 0)
			return -1;
	}
	json_leave(it, &inner);
	return 0;
}

/* Notes what is to be replaced in one JSON text that has been accepted. */
static int
walk(struct redact *r, struct slice text, unsigned nest)
{
	const struct walk w = {.origin = text.p, .nest = nest};
	struct json_iter it = {.in = text, .at = text.p + blanks(text)};

	return take_value(r, &w, &it, &(struct place){ZONE_OPEN, REDACT_NAME, slice(NULL, 0)}, NULL);
}

/* --- what is made of it --- */

/* The replacement of what is no string brings its quotes, escaped as often as it lies in a string. */
static struct slice
replacement(const struct redact_hit *h)
{
	static const char *const bare[REDACT_NEST] = {"\"<redacted>\"", "\\\"<redacted>\\\"", "\\\\\\\"<redacted>\\\\\\\"",
		"\\\\\\\\\\\\\\\"<redacted>\\\\\\\\\\\\\\\""};

	return slice_of(h->bare ? bare[h->depth] : "<redacted>");
}

static int
make_splices(struct redact *r, struct slice line)
{
	const struct redact_hit *h = redact_hits(r), *end = h + r->n;
	struct splice splice;

	for (r->splices.n = 0; h < end; h++) {
		splice = (struct splice){line.p + h->from, line.p + h->to, replacement(h)};
		if (buf_add(&r->splices, &splice, sizeof(splice)) < 0)
			return -1;
	}
	return 0;
}

/* Replaces the hits, if there are any. */
static int
replace(struct redact *r, struct slice in, struct slice *result)
{
	*result = in;
	if (r->n == 0)
		return 0;
	r->values += r->n;
	r->messages++;
	r->text.n = 0;
	if (make_splices(r, in) < 0 || splice_write(in, (const void *)r->splices.p, r->n, &r->text) < 0)
		return -1;
	*result = buf_slice(&r->text);
	return 0;
}

int
redact_line(struct redact *r, struct slice line, struct slice *result)
{
	r->n = r->hits.n = 0;
	return walk(r, line, 0) < 0 ? -1 : replace(r, line, result);
}

int
redact_plain(struct redact *r, struct slice text, struct slice *result)
{
	r->n = r->hits.n = 0;
	return redact_text(r, text, false) < 0 ? -1 : replace(r, text, result);
}

static int
put_counts(const struct redact *r, struct buf *to)
{
	static const char *const names[REDACT_KINDS][2] = {{"by name", "by name"}, {"environment", "environment"},
		{"argument", "arguments"}, {"URL", "URLs"}, {"header", "headers"}, {"key", "keys"}, {"text", "texts"}};
	const char *before = ": ";
	int e = buf_printf(to, "redacted %" PRIu64 " value%s in %" PRIu64 " message%s", r->values, r->values == 1 ? "" : "s",
		r->messages, r->messages == 1 ? "" : "s");

	for (int i = 0; i < REDACT_KINDS && e == 0; i++) {
		if (!r->kinds[i])
			continue;
		e = buf_printf(to, "%s%" PRIu64 " %s", before, r->kinds[i], names[i][r->kinds[i] > 1]);
		before = ", ";
	}
	if (e == 0 && r->lines)
		e = buf_printf(to, "; the text of %" PRIu64 " other line%s left out", r->lines, r->lines == 1 ? "" : "s");
	return e;
}

void
redact_report(const struct redact *r, const char *tool)
{
	SCOPED struct buf text = {0};

	if (put_counts(r, &text) == 0 && buf_string(&text))
		cli_warn(tool, "%s", text.p);
}

void
redact_free(struct redact *r)
{
	buf_free(&r->text);
	buf_free(&r->name);
	buf_free(&r->value);
	for (size_t i = 0; i < REDACT_NEST; i++)
		buf_free(&r->plain[i]);
	buf_free(&r->hits);
	buf_free(&r->splices);
	*r = (struct redact){0};
}
