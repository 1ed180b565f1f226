/* The walk through the JSON of a line: which values are secrets by their names, and the replacement of all hits. */
#include <inttypes.h>

#include "lib/base/base64.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/redact/redact_parts.h"

/* STREAMS texts may come in chunks at the same time. TAIL bytes of each are kept. */
enum { STREAMS = sizeof((struct redact){0}.streams) / sizeof(struct redact_stream), TAIL = 256 };

/* Which values are secrets, by the names above them. A zone holds for a value and for the values inside it. */
enum zone {
	ZONE_OPEN,   /* the text of a string decides */
	ZONE_TOKEN,  /* strings are secrets */
	ZONE_NAMED,  /* strings and numbers are secrets */
	ZONE_LIST,   /* headers or env: every value is a secret, except the names in an array of pairs */
	ZONE_PAIR,   /* an object in a ZONE_LIST array: name and value */
	ZONE_SECRET, /* every value is a secret */
	ZONE_LOGIN,  /* a string is user:password */
	ZONE_FREE,   /* all texts are replaced, and no string counts as a word of the protocol */
	ZONE_SCHEMA, /* the JSON schema of a secret: its examples are secrets */
};

struct walk {
	const char *origin; /* the beginning of the JSON text: hits are offsets from here */
	unsigned nest;      /* how many JSON strings of the line surround the text */
};

/* The position of a value in the walk. */
struct context {
	enum zone zone;
	enum redact_kind kind; /* by which rule it is in this zone */
	struct slice key;      /* its member's name, unescaped; p NULL in an array */
	bool object;           /* it is an object (set when the walk enters it) */
	enum zone next;        /* the zone of the string after its latest one, an option; of an object: of its "value", by its "name" */
	uint32_t commands;     /* of an array: the commands that its strings, or a "command" beside it, name (redact_commands) */
	bool asked;            /* of an object: `commands` and `next` are set */
};

/* Members of ACP and JSON-RPC whose values are ids or words of the protocol, not texts. */
static const char *const words[] = {"jsonrpc", "id", "method", "sessionId", "sessionUpdate", "type", "kind", "status", "state",
	"stopReason", "toolCallId", "terminalId", "messageId", "requestId", "optionId", "outcome", "modeId", "currentModeId",
	"modelId", "currentModelId", "model", "role", "priority", "severity", "mimeType", "currency", "version", "connectionId",
	"serverId", "acpId", "signal", "compactionId", "planId", "elicitationId", "configId", "methodId", "providerId", "groupId",
	"senderSessionId", "recipientSessionId", "senderMessageId", "recipientMessageId", "userMessageId", "parentSessionId",
	"parentMessageId", "parentToolCallId", "parentToolUseId", "toolUseId", "mode", "action"};

/* Members in which every string is a text, whatever its name. */
static const char *const texts[] = {"rawInput", "rawOutput", "arguments", "structuredContent", "_meta", "data"};

static bool
is_one_of(struct slice name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slice_is(name, list[i]))
			return true;
	return false;
}

/* --- strings --- */

/*
 * The hits from `first` on are offsets in the unescaped text of a string. Converts them to offsets of the escaped bytes `raw`, counted
 * from origin. inner: the hits were found in JSON inside the string, one level deeper.
 */
static void
map_hits(struct redact *r, size_t first, struct slice raw, const char *origin, bool inner)
{
	struct redact_hit *hits = redact_hits(r);
	size_t i, k, plain = 0;
	const char *p = raw.p;
	struct text escape;
	int32_t code;

	for (i = first; i < r->n; i++) {
		size_t *ends[] = {&hits[i].from, &hits[i].to};

		for (k = 0; k < 2; k++) {
			while (plain < *ends[k]) {
				if (*p != '\\') {
					p++, plain++;
					continue;
				}
				/* The unescaped text has the character of the escape in UTF-8. */
				escape = (struct text){p, raw.p + raw.n, true, false};
				code = text_next(&escape);
				p = escape.p;
				plain += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
			}
			*ends[k] = (size_t)(p - origin);
		}
		hits[i].depth = (unsigned char)(hits[i].depth + inner);
	}
}

static int walk(struct redact *r, struct slice text, unsigned nest);

/* The length of the white space at the beginning. */
static size_t
leading_space(struct slice text)
{
	size_t i = 0;

	while (i < text.n && byte_is_space(text.p[i]))
		i++;
	return i;
}

static bool
is_json(struct slice text)
{
	size_t i = leading_space(text);

	return i < text.n && (text.p[i] == '{' || text.p[i] == '[') &&
		json_scan(text, JSON_DEPTH, NULL, 0, NULL, NULL) != JSON_NONE;
}

/* Finds secrets in a text after its first `before` bytes: in JSON by the names of members. As redact_text. */
static int
search_text(struct redact *r, struct slice text, size_t before)
{
	struct slice rest = slice(text.p + before, text.n - before);

	return is_json(rest) ? walk(r, rest, 1) : redact_text(r, text, before, NULL);
}

/* Finds secrets in the next part of a stream, which `both` has after the tail of the part before. Keeps the new tail. */
static int
search_next(struct redact *r, const struct buf *both)
{
	struct buf *tail = &r->stream->tail;
	int open = search_text(r, buf_slice(both), tail->n);
	size_t from = both->n > TAIL ? both->n - TAIL : 0;

	tail->n = 0;
	if (open > 0)
		return buf_add_string(tail, "-----BEGIN PRIVATE KEY-----");
	return open < 0 ? -1 : buf_add(tail, both->p + from, both->n - from);
}

/* Finds secrets in a chunk of a stream. */
static int
search_chunk(struct redact *r, const struct walk *w, struct slice string)
{
	struct buf *both = &r->plain[w->nest];
	size_t first = r->n, before = r->stream->tail.n;
	int e;

	both->n = 0;
	if (buf_add_slice(both, buf_slice(&r->stream->tail)) < 0 || json_unescape(string, both) < 0)
		return -1;
	e = search_next(r, both);
	map_hits(r, first, slice(string.p + 1, string.n - 2), w->origin, is_json(slice(both->p + before, both->n - before)));
	return e;
}

static int
search_string(struct redact *r, const struct walk *w, struct slice string, const uint32_t *commands)
{
	struct slice raw = slice(string.p + 1, string.n - 2), plain = raw;
	size_t first = r->n;
	bool escaped = memchr(raw.p, '\\', raw.n), json = false;
	int e;

	if (string.p == r->chunk.p)
		return r->encoded ? 0 : search_chunk(r, w, string);
	if (raw.n < 6 && !(commands && *commands))
		return 0;
	if (escaped) {
		r->plain[w->nest].n = 0;
		if (json_unescape(string, &r->plain[w->nest]) < 0)
			return -1;
		plain = buf_slice(&r->plain[w->nest]);
		json = w->nest + 1 < REDACT_NEST && is_json(plain);
	}
	e = json ? walk(r, plain, w->nest + 1) : redact_text(r, plain, 0, commands);
	map_hits(r, first, raw, w->origin, json);
	return e < 0 ? -1 : 0;
}

/* --- the context of a value --- */

/* Is an object under the name of a secret a JSON schema? */
static bool
is_schema(struct slice object)
{
	static const char *const types[] = {"string", "number", "integer", "boolean", "object", "array", "null", NULL};
	struct slice type = *object.p == '{' ? json_get(object, "type") : slice(NULL, 0);

	return type.p && (*type.p == '[' || json_string_in(type, types));
}

/* The zone of a value by its member's name. value points at it in the JSON text `in`. ZONE_OPEN where it is no secret. */
static enum zone
zone_of_member(struct redact *r, struct slice name, struct slice in, const char *value)
{
	static const enum zone zones[] = {[REDACT_NAME_NONE] = ZONE_OPEN, [REDACT_NAME_TOKEN] = ZONE_TOKEN,
		[REDACT_NAME_SECRET] = ZONE_NAMED, [REDACT_NAME_VARIABLE] = ZONE_NAMED, [REDACT_NAME_PAIR] = ZONE_NAMED,
		[REDACT_NAME_LIST] = ZONE_LIST, [REDACT_NAME_ALL] = ZONE_SECRET};
	enum redact_name meaning = redact_name(name);
	struct json_iter it = {.in = in, .at = value};
	struct slice v, plain;

	if (meaning == REDACT_NAME_NONE || meaning == REDACT_NAME_ALL || meaning == REDACT_NAME_LIST)
		return zones[meaning];
	v = json_value(&it);
	if (*value == '{' && is_schema(v))
		return ZONE_SCHEMA;
	plain = json_text(v, &r->value);
	if (plain.p && !redact_is_secret(name, plain))
		return ZONE_OPEN;
	return meaning == REDACT_NAME_PAIR && *value != '"' ? ZONE_OPEN : zones[meaning];
}

/* If the member is "args" or "value", reads the members of its object that decide about these two; they may come later. */
static void
ask(struct redact *r, struct slice member, struct slice object, struct context *c)
{
	struct json_iter it = {.in = object};
	struct slice key, value;

	if (c->asked || !(slice_is(member, "args") || slice_is(member, "value")))
		return;
	c->asked = true;
	while (json_next(&it, &key, &value)) {
		if (json_string_is(key, "command"))
			c->commands = redact_commands(json_text(value, &r->value));
		else if ((json_string_is(key, "name") || json_string_is(key, "key")) &&
			redact_is_secret(json_text(value, &r->value), slice(NULL, 0)))
			c->next = ZONE_NAMED;
	}
}

static void
context_of_member(struct redact *r, struct context *container, const struct json_iter *it, struct context *c)
{
	static const char *const examples[] = {"default", "const", "enum", "example", "examples", "value"};
	bool pair = container->zone == ZONE_LIST || container->zone == ZONE_PAIR;
	enum zone by_name;

	ask(r, c->key, it->in, container);
	*c = (struct context){.zone = container->zone, .kind = container->kind, .key = c->key};
	if (*it->at == '[' && slice_is(c->key, "args"))
		c->commands = container->commands;
	if (pair)
		c->zone = container->zone == ZONE_PAIR && *it->at == '"' && slice_is(c->key, "name") ? ZONE_OPEN : ZONE_SECRET;
	else if (container->zone == ZONE_SCHEMA)
		c->zone = is_one_of(c->key, examples, sizeof(examples) / sizeof(*examples)) ? ZONE_NAMED : ZONE_SCHEMA;
	else if (container->zone == ZONE_SECRET || container->zone == ZONE_NAMED)
		return;
	else if ((by_name = zone_of_member(r, c->key, it->in, it->at)) != ZONE_OPEN)
		*c = (struct context){.zone = by_name, .key = c->key,
			.kind = by_name == ZONE_LIST || redact_is_variable(c->key) ? REDACT_ENVIRONMENT : REDACT_NAME};
	else if (container->next && slice_is(c->key, "value"))
		c->zone = container->next;
	else if (r->all_texts && container->zone == ZONE_OPEN && (is_one_of(c->key, texts, sizeof(texts) / sizeof(*texts)) ||
			(*it->at == '{' && slice_is(c->key, "content") && json_get(it->in, "action").p)))
		c->zone = ZONE_FREE; /* the "content" beside an "action" is what a user has entered in a form */
}

static void
context_of_element(const struct context *container, const char *value, struct context *c)
{
	*c = (struct context){.zone = container->zone, .kind = container->kind};
	if (container->zone == ZONE_LIST)
		c->zone = *value == '{' ? ZONE_PAIR : ZONE_SECRET;
	else if (container->zone == ZONE_PAIR)
		c->zone = ZONE_SECRET;
	else if (container->next && *value == '"' && value[1] != '-')
		*c = (struct context){.zone = container->next, .kind = REDACT_ARGUMENT};
}

/* The zone of the value after a string in an array, which may be an option. Notes the commands that the array names. */
static enum zone
zone_after(struct context *container, struct slice plain)
{
	enum redact_name next = redact_option_next(plain, container->commands);

	if (!memchr(plain.p, ' ', plain.n))
		container->commands |= redact_commands(plain);
	return next == REDACT_NAME_PAIR ? ZONE_LOGIN : next == REDACT_NAME_SECRET ? ZONE_NAMED : ZONE_OPEN;
}

/* Is the string an id or a word of the protocol, not a text? Only an id may have blanks. */
static bool
is_word(struct redact *r, const struct context *c, struct slice string)
{
	struct slice key = c->key;

	if (c->zone == ZONE_FREE || !key.p || string.n > 130 || !is_one_of(key, words, sizeof(words) / sizeof(*words)))
		return false;
	if (slice_is(key, "id") || (key.n > 2 && memcmp(key.p + key.n - 2, "Id", 2) == 0))
		return true;
	string = json_text(string, &r->value);
	for (size_t i = 0; i < string.n; i++)
		if ((unsigned char)string.p[i] <= ' ')
			return false;
	return string.p;
}

/* --- the walk --- */

static int walk_members(struct redact *r, const struct walk *w, struct json_iter *it, struct context *container);

static int
hit_whole(struct redact *r, const struct walk *w, struct slice value, enum redact_kind kind)
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

/* Finds the password in user:password, the unescaped text of a string. */
static int
hit_password(struct redact *r, struct slice plain)
{
	const char *colon = memchr(plain.p, ':', plain.n);
	size_t from = colon ? (size_t)(colon + 1 - plain.p) : plain.n;
	struct slice password = slice(plain.p + from, plain.n - from);

	if (redact_is_reference(password) || slice_is(password, "<redacted>"))
		return 0;
	return redact_hit(r, r->n, (struct redact_hit){.from = from, .to = plain.n}, REDACT_ARGUMENT);
}

static int
walk_string(struct redact *r, const struct walk *w, struct slice value, const struct context *c, struct context *container)
{
	uint32_t commands = container ? container->commands : 0;
	bool array = container && !container->object;
	size_t first = r->n;
	struct slice plain = {0};

	if (array)
		container->next = ZONE_OPEN;
	if (c->zone == ZONE_TOKEN || c->zone == ZONE_NAMED || c->zone == ZONE_SECRET || c->zone == ZONE_LIST)
		return hit_whole(r, w, value, c->kind);
	if (array) {
		plain = json_text(value, &r->value);
		if (!plain.p)
			return -1;
		container->next = zone_after(container, plain);
	}
	if (r->all_texts && !is_word(r, c, value))
		return hit_whole(r, w, value, REDACT_TEXT);
	if (c->zone == ZONE_LOGIN && hit_password(r, plain) < 0)
		return -1;
	map_hits(r, first, slice(value.p + 1, value.n - 2), w->origin, false);
	return r->n > first ? 0 : search_string(r, w, value, c->key.p ? NULL : &commands);
}

/* container: the object or array around the value, or NULL. */
static int
walk_value(struct redact *r, const struct walk *w, struct json_iter *it, struct context *c, struct context *container)
{
	struct slice value;

	if (*it->at == '{' || *it->at == '[')
		return walk_members(r, w, it, c);
	value = json_value(it);
	if (*value.p == '"')
		return walk_string(r, w, value, c, container);
	if (c->zone == ZONE_SECRET || (c->zone == ZONE_NAMED && strchr("-0123456789", *value.p)))
		return hit_whole(r, w, value, c->kind);
	return 0;
}

static int
walk_members(struct redact *r, const struct walk *w, struct json_iter *it, struct context *container)
{
	struct json_iter inner;
	struct context member;
	struct slice key;

	container->object = *it->at == '{';
	json_enter(it, &inner);
	while (json_step(&inner, &key)) {
		if (!container->object)
			context_of_element(container, inner.at, &member);
		else if (search_string(r, w, key, NULL) < 0 || !(member.key = json_text(key, &r->name)).p)
			return -1;
		else
			context_of_member(r, container, &inner, &member);
		if (walk_value(r, w, &inner, &member, container) < 0)
			return -1;
	}
	json_leave(it, &inner);
	return 0;
}

/* Finds the secrets in one valid JSON text. nest: how many JSON strings surround it. */
static int
walk(struct redact *r, struct slice text, unsigned nest)
{
	const struct walk w = {.origin = text.p, .nest = nest};
	struct json_iter it = {.in = text, .at = text.p + leading_space(text)};

	return walk_value(r, &w, &it, &(struct context){.zone = ZONE_OPEN}, NULL);
}

/* --- replacing --- */

/* Writes `in` with the hits replaced to *result. */
static int
replace(struct redact *r, struct slice in, struct slice *result)
{
	/* In place of a number the replacement needs quotes, escaped once more for each JSON string around the value. */
	static const char *const bare[REDACT_NEST] = {"\"<redacted>\"", "\\\"<redacted>\\\"", "\\\\\\\"<redacted>\\\\\\\"",
		"\\\\\\\\\\\\\\\"<redacted>\\\\\\\\\\\\\\\""};
	const struct redact_hit *h = redact_hits(r), *end = h + r->n;
	struct splice splice;

	*result = in;
	if (r->n == 0)
		return 0;
	r->values += r->n;
	r->messages++;
	r->text.n = r->splices.n = 0;
	for (; h < end; h++) {
		splice = (struct splice){in.p + h->from, in.p + h->to, slice_of(h->bare ? bare[h->depth] : "<redacted>")};
		if (buf_add(&r->splices, &splice, sizeof(splice)) < 0)
			return -1;
	}
	if (splice_write(in, (const void *)r->splices.p, r->n, &r->text) < 0)
		return -1;
	*result = buf_slice(&r->text);
	return 0;
}

/* Finds the stream with this id, or begins one. */
static int
choose_stream(struct redact *r, struct slice id)
{
	for (r->stream = r->streams; r->stream < r->streams + STREAMS; r->stream++)
		if (slice_eq(buf_slice(&r->stream->id), id))
			return 0;
	r->stream = &r->streams[r->oldest++ % STREAMS];
	r->stream->tail.n = r->stream->id.n = 0;
	return buf_add_slice(&r->stream->id, id);
}

/*
 * If the line has a chunk of a text, or output of a terminal, finds its stream: by session, kind of update, tool call and message, or by
 * session and terminal.
 */
static int
find_stream(struct redact *r, struct slice line)
{
	struct slice params, update, kind, text;
	SCOPED struct buf id = {0};
	bool all;

	r->chunk = slice(NULL, 0);
	/* The kind may be spelled with escapes. */
	if (!memmem(line.p, line.n, "_chunk\"", 7) && !memmem(line.p, line.n, "\"terminal_update\"", 17) && !memmem(line.p, line.n, "\\u", 2))
		return 0;
	line = slice_between(line.p + leading_space(line), line.p + line.n);
	params = json_get(line, "params");
	update = json_get(params, "update");
	if (!update.p) /* in an envelope */
		update = json_get(params = json_get(params, "params"), "update");
	kind = json_get_string(update, acp_update_kind);
	all = json_string_is(kind, "terminal_update");
	r->encoded = all || json_string_is(kind, "terminal_output_chunk");
	text = json_path(update, all ? "output.data" : r->encoded ? "data" :
		json_string_is(kind, "tool_call_content_chunk") ? "content.content.text" : "content.text");
	if (!kind.p || json_type(text) != JSON_STRING)
		return 0;
	if (buf_add_slice(&id, json_get(params, "sessionId")) < 0 || (!r->encoded && buf_add_slice(&id, kind) < 0) ||
		buf_add_slice(&id, json_get(update, r->encoded ? "terminalId" : "toolCallId")) < 0 ||
		buf_add_slice(&id, json_get(update, "messageId")) < 0 || choose_stream(r, buf_slice(&id)) < 0)
		return -1;
	r->chunk = text;
	if (all)
		r->stream->tail.n = 0;
	return 0;
}

/* Finds secrets in the output of a terminal. *plain is the output, decoded. What is not base64 is no chunk, but a text like others. */
static int
search_output(struct redact *r, struct slice *plain)
{
	struct slice text = json_text(r->chunk, &r->value);
	struct buf *both = &r->plain[0];
	size_t before = r->stream->tail.n;
	int e;

	both->n = 0;
	if (!text.p || buf_add_slice(both, buf_slice(&r->stream->tail)) < 0 || (e = base64_decode(text, both)) < 0)
		return -1;
	*plain = slice(both->p + before, both->n - before);
	if (e == 0)
		return search_next(r, both);
	r->chunk = slice(NULL, 0);
	return 0;
}

/* Replaces secrets in the output of a terminal. If it has some, *line becomes a copy with the new output, in base64 again. */
static int
redact_output(struct redact *r, struct slice *line)
{
	struct slice plain;
	struct splice splice;

	if (search_output(r, &plain) < 0 || replace(r, plain, &plain) < 0)
		return -1;
	if (r->n == 0)
		return 0;
	r->n = r->hits.n = r->value.n = r->line.n = 0;
	if (base64_encode(plain, &r->value) < 0)
		return -1;
	splice = (struct splice){r->chunk.p + 1, r->chunk.p + r->chunk.n - 1, buf_slice(&r->value)};
	if (splice_write(*line, &splice, 1, &r->line) < 0)
		return -1;
	r->chunk.p = r->line.p + (r->chunk.p - line->p);
	*line = buf_slice(&r->line);
	return 0;
}

int
redact_line(struct redact *r, struct slice line, struct slice *result)
{
	uint64_t messages = r->messages;

	r->n = r->hits.n = 0;
	if (find_stream(r, line) < 0)
		return -1;
	if (r->chunk.p && r->encoded && !r->all_texts && !r->skip_output && redact_output(r, &line) < 0)
		return -1;
	if (walk(r, line, 0) < 0 || replace(r, line, result) < 0)
		return -1;
	r->messages = messages + (r->messages > messages);
	return 0;
}

int
redact_pass(struct redact *r, struct slice line, struct buf *before)
{
	struct walk w = {.origin = line.p};
	uint64_t kinds[REDACT_KINDS];
	struct slice plain;
	int e;

	before->n = r->n = r->hits.n = 0;
	if (find_stream(r, line) < 0)
		return -1;
	if (!r->chunk.p)
		return 0;
	/* The search counts what it finds, but nothing is replaced here. */
	memcpy(kinds, r->kinds, sizeof(kinds));
	e = buf_add_slice(before, buf_slice(&r->stream->tail)) < 0 ? -1 :
		r->encoded ? search_output(r, &plain) : search_chunk(r, &w, r->chunk);
	memcpy(r->kinds, kinds, sizeof(kinds));
	return e;
}

int
redact_plain(struct redact *r, struct slice text, size_t before, struct slice *result)
{
	r->n = r->hits.n = 0;
	return search_text(r, text, before) < 0 ? -1 : replace(r, slice(text.p + before, text.n - before), result);
}

int
redact_next(struct redact *r, struct slice id, struct slice text, struct slice *result)
{
	struct buf *both = &r->plain[0];

	r->n = r->hits.n = both->n = 0;
	if (choose_stream(r, id) < 0 || buf_add_slice(both, buf_slice(&r->stream->tail)) < 0 || buf_add_slice(both, text) < 0)
		return -1;
	return search_next(r, both) < 0 ? -1 : replace(r, text, result);
}

void
redact_report(const struct redact *r, const char *tool)
{
	static const char *const names[REDACT_KINDS][2] = {{"by name", "by name"}, {"environment", "environment"},
		{"argument", "arguments"}, {"URL", "URLs"}, {"header", "headers"}, {"key", "keys"}, {"text", "texts"}};
	SCOPED struct buf text = {0};
	const char *before = ": ";
	int e = buf_printf(&text, "redacted %" PRIu64 " value%s in %" PRIu64 " message%s", r->values, r->values == 1 ? "" : "s",
		r->messages, r->messages == 1 ? "" : "s");

	for (int i = 0; i < REDACT_KINDS && e == 0; i++) {
		if (!r->kinds[i])
			continue;
		e = buf_printf(&text, "%s%" PRIu64 " %s", before, r->kinds[i], names[i][r->kinds[i] > 1]);
		before = ", ";
	}
	if (e == 0 && r->lines)
		e = buf_printf(&text, "; the text of %" PRIu64 " other line%s left out", r->lines, r->lines == 1 ? "" : "s");
	if (e == 0 && buf_string(&text))
		cli_warn(tool, "%s", text.p);
}

void
redact_free(struct redact *r)
{
	buf_free(&r->text);
	buf_free(&r->line);
	buf_free(&r->name);
	buf_free(&r->value);
	for (size_t i = 0; i < REDACT_NEST; i++)
		buf_free(&r->plain[i]);
	for (size_t i = 0; i < STREAMS; i++) {
		buf_free(&r->streams[i].id);
		buf_free(&r->streams[i].tail);
	}
	buf_free(&r->hits);
	buf_free(&r->splices);
	*r = (struct redact){0};
}
