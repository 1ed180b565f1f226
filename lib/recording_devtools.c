/*
 * The exports of acp-devtools: one JSON document of many lines, or of one, {"session":{...},"messages":[...]}
 * or only the list of messages; each is a frame {"timestamp","direction","raw"}. A document is not read as
 * a whole: its frames are cut out as they come by.
 */
#include "lib/recording_parts.h"

enum { OUTSIDE, IN_OBJECT, IN_LIST }; /* of what is outermost in the document */

/* --- frames --- */

/* editor-to-agent and agent-to-editor. */
static enum acp_side
sender(struct slice direction)
{
	if (json_type(direction) != JSON_STRING)
		return ACP_UNKNOWN;
	if (json_string_is(direction, "editor-to-agent") || json_string_is(direction, "client-to-agent"))
		return ACP_CLIENT;
	if (json_string_is(direction, "agent-to-editor") || json_string_is(direction, "agent-to-client"))
		return ACP_AGENT;
	return ACP_UNKNOWN;
}

/* Milliseconds since 1970, as us since the session began, or since the first frame. */
static void
set_time(struct recording *rec, struct record *r, struct slice timestamp)
{
	uint64_t ms;

	if (json_type(timestamp) != JSON_NUMBER || !json_u64(timestamp, &ms))
		return;
	if (!rec->devtools.begun) {
		rec->devtools.begin = ms;
		rec->devtools.begun = true;
	}
	r->timed = true;
	r->t = ms > rec->devtools.begin ? (ms - rec->devtools.begin) * 1000 : 0;
}

/* A message that somebody has put there as a value: in one line, as it was on the wire. */
static enum outcome
message_value(struct recording *rec, struct record *r, struct slice value)
{
	const char *p = value.p, *end = value.p + value.n;

	rec->text.n = 0;
	for (; p < end; p++)
		if (*p != '\n' && *p != '\r' && buf_add(&rec->text, p, 1) < 0)
			return NO_MEMORY;
	return recording_message(rec, r, buf_slice(&rec->text));
}

enum outcome
recording_frame(struct recording *rec, struct record *r, const struct slice *v)
{
	struct slice direction = json_get(r->raw, "direction"), raw = json_get(r->raw, "raw");
	enum outcome o;

	(void)v;
	if (!direction.p)
		return OTHER_SHAPE;
	if (!raw.p)
		raw = json_get(r->raw, "payload");
	if (!raw.p)
		return recording_bad(r, r->raw, "a frame without raw or payload");
	r->from = sender(direction);
	set_time(rec, r, json_get(r->raw, "timestamp"));
	if (json_type(raw) == JSON_OBJECT || json_type(raw) == JSON_ARRAY)
		return message_value(rec, r, raw);
	o = recording_text(rec, r, RECORD_NOISE, raw);
	if (o != TAKEN || r->kind == RECORD_BAD)
		return o;
	if (memchr(r->text.p, '\n', r->text.n))
		return recording_bad(r, raw, "a newline in a message");
	return recording_message(rec, r, r->text);
}

/* "session":{"startedAt":...}: times count from here. */
static enum outcome
session(struct recording *rec, struct record *r)
{
	struct slice started = json_get(r->raw, "startedAt");

	r->kind = RECORD_HEADER;
	if (json_type(started) == JSON_NUMBER && json_u64(started, &rec->devtools.begin)) {
		rec->devtools.begun = true;
		r->started = (double)rec->devtools.begin / 1000;
	}
	return TAKEN;
}

/* --- is it one? --- */

static bool
is_frame(struct slice value)
{
	return json_type(value) == JSON_OBJECT && json_get(value, "direction").p;
}

bool
recording_is_devtools(struct slice line)
{
	static const struct json_keys keys = {3, {"messages", "session", "jsonrpc"}};
	struct json_iter it = {.in = line};
	struct slice v[3], key, first;
	struct json_error error;

	if (!memmem(line.p, line.n, "\"messages\"", 10) && !memmem(line.p, line.n, "\"direction\"", 11))
		return false;
	switch (json_members(line, JSON_DEPTH + 3, &keys, v, &error)) {
	case JSON_OBJECT:
		return json_type(v[0]) == JSON_ARRAY && json_type(v[1]) == JSON_OBJECT && !v[2].p;
	case JSON_ARRAY:
		return json_next(&it, &key, &first) && is_frame(first);
	default:
		return false;
	}
}

/* --- cutting --- */

void
recording_devtools_line(struct recording *rec, struct slice line, uint64_t number, uint64_t offset)
{
	rec->devtools.line = line;
	rec->devtools.at = line.p;
	rec->devtools.number = number;
	rec->devtools.offset = offset;
}

static enum outcome
bad_line(struct recording *rec, struct record *r, const char *what)
{
	*r = (struct record){.kind = RECORD_BAD, .number = rec->devtools.number, .offset = rec->devtools.offset,
		.error = {1, what}};
	rec->devtools.at = rec->devtools.line.p + rec->devtools.line.n;
	return TAKEN;
}

/* An object has come to its end. */
static enum outcome
take(struct recording *rec, struct record *r)
{
	static const struct json_keys none = {0};
	struct devtools *d = &rec->devtools;
	enum outcome o;

	*r = (struct record){.raw = buf_slice(&d->object), .number = d->begins, .offset = d->begins_at};
	d->cutting = false;
	if (json_members(r->raw, JSON_DEPTH + 1, &none, NULL, &r->error) == JSON_NONE) {
		r->kind = RECORD_BAD;
		return TAKEN;
	}
	if (d->depth == 1 && d->outermost == IN_OBJECT)
		return session(rec, r);
	o = recording_frame(rec, r, NULL);
	return o == OTHER_SHAPE ? recording_bad(r, r->raw, "a frame without a direction") : o;
}

/* A character in a string. */
static void
step_string(struct devtools *d, char c)
{
	if (d->escaped)
		d->escaped = false;
	else if (c == '\\')
		d->escaped = true;
	else if (c == '"')
		d->string = false;
}

/* A character of the object that is being cut out. True at its end. */
static bool
cut(struct devtools *d, char c)
{
	if (d->string)
		step_string(d, c);
	else if (c == '"')
		d->string = true;
	else if (c == '{' || c == '[')
		d->inner++;
	else if (c == '}' || c == ']')
		return --d->inner == 0;
	return false;
}

/* Is this where frames stand? */
static bool
among_frames(const struct devtools *d)
{
	return d->outermost == IN_LIST ? d->depth == 1 : d->depth == 2 && d->messages;
}

static void
begin_cut(struct devtools *d)
{
	d->cutting = true;
	d->inner = 1;
	d->object.n = 0;
	d->begins = d->number;
	d->begins_at = d->offset + (uint64_t)(d->at - 1 - d->line.p);
}

/* A character between the objects that are of interest. 0, or -1: it can not stand there, or memory is out. */
static int
pass(struct devtools *d, char c)
{
	bool key = d->outermost == IN_OBJECT && d->depth == 1;

	if (d->string) {
		step_string(d, c);
		return key && d->string ? buf_add(&d->key, &c, 1) : 0;
	}
	if (is_space(c))
		return 0;
	if (d->ended || (among_frames(d) && c != ',' && c != '{' && c != ']'))
		return -1;
	switch (c) {
	case '"':
		d->string = true;
		d->key.n = key ? 0 : d->key.n;
		break;
	case '{':
		if (among_frames(d) || (key && slice_is(buf_slice(&d->key), "session"))) {
			begin_cut(d);
			break;
		}
		/* fall through */
	case '[':
		if (d->depth == 0)
			d->outermost = c == '{' ? IN_OBJECT : IN_LIST;
		d->messages = key && c == '[' && slice_is(buf_slice(&d->key), "messages");
		d->depth++;
		break;
	case '}':
	case ']':
		d->ended = --d->depth == 0;
		break;
	}
	return 0;
}

enum outcome
recording_devtools(struct recording *rec, struct record *r)
{
	struct devtools *d = &rec->devtools;
	bool whole;
	char c;

	if (!d->line.p)
		return SKIPPED;
	while (d->at < d->line.p + d->line.n) {
		c = *d->at++;
		if (!d->cutting && pass(d, c) < 0)
			return bad_line(rec, r, d->ended ? "expected nothing behind the end of the export" : "expected a frame");
		if (!d->cutting)
			continue;
		whole = d->object.n > 0 && cut(d, c);
		if (d->object.n > rec->in.limit)
			return bad_line(rec, r, "a frame longer than the limit");
		if (buf_add(&d->object, &c, 1) < 0)
			return NO_MEMORY;
		if (whole)
			return take(rec, r);
	}
	d->line = slice(NULL, 0);
	/* The object stays what it is in the file. */
	return d->cutting && buf_add(&d->object, "\n", 1) < 0 ? NO_MEMORY : SKIPPED;
}

bool
recording_devtools_torn(const struct recording *rec)
{
	return rec->devtools.active && !rec->devtools.ended;
}
