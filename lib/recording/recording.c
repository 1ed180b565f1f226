/* The reader: lines, told by their shape, of one hop. */
#include <errno.h>
#include <stdlib.h>

#include "lib/recording/recording_parts.h"

enum { AROUND = 64 * 1024 }; /* what a record may hold beside a message of the limit */

static const struct json_keys names = {MEMBERS, {"acp-recording", "t", "from", "at", "msg", "noise", "noise64",
	"stderr", "stderr64", "event", "line", "started", "hops", "type", "ts", "jsonrpc"}};

/* --- hops --- */

/* The name of a hop by the last header: a JSON string, or p NULL. */
static struct slice
hop_name(const struct recording *rec, uint64_t number)
{
	struct json_iter it = {.in = buf_slice(&rec->hops)};
	struct slice key, value;

	while (rec->hops.n && json_next(&it, &key, &value)) {
		if (number-- == 0)
			return json_type(value) == JSON_STRING ? value : slice(NULL, 0);
	}
	return slice(NULL, 0);
}

/* Is this hop the one that is asked for? What belongs to no hop is. */
static bool
is_our_hop(const struct recording *rec, struct slice at)
{
	struct slice name = at;
	uint64_t n;

	if (!at.p)
		return true;
	switch (json_type(at)) {
	case JSON_NUMBER:
		if (!json_u64(at, &n))
			return false;
		if (rec->numbered)
			return n == rec->hop_number;
		name = hop_name(rec, n);
		return name.p && json_string_is(name, rec->hop);
	case JSON_STRING:
		if (!rec->numbered)
			return json_string_is(at, rec->hop);
		name = hop_name(rec, rec->hop_number);
		return name.p && json_string_eq(name, at);
	default:
		return false;
	}
}

/* --- lines --- */

static enum outcome
by_shape(struct recording *rec, struct record *r, const struct slice *v)
{
	static enum outcome (*const shapes[])(struct recording *, struct record *, const struct slice *) = {
		recording_native, recording_line_text, recording_trace};
	enum outcome o;

	if (v[JSONRPC].p)
		return recording_bare(rec, r);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if ((o = shapes[i](rec, r, v)) != OTHER_SHAPE)
			return o;
	if (!v[T].p && !v[TS].p)
		return recording_bare(rec, r);
	r->kind = RECORD_OTHER;
	return TAKEN;
}

/* What is wrong with the first line of a compressed file, by the bytes that its format begins with; else NULL. */
static const char *
compressed(struct slice line)
{
	static const char *const formats[][2] = {
		{"\x1f\x8b", "compressed: read it through zcat"},
		{"\x28\xb5\x2f\xfd", "compressed: read it through zstdcat"},
		{"\xfd" "7zXZ", "compressed: read it through xzcat"},
		{"BZh", "compressed: read it through bzcat"},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (line.n >= strlen(formats[i][0]) && memcmp(line.p, formats[i][0], strlen(formats[i][0])) == 0)
			return formats[i][1];
	return NULL;
}

/* Any line, by looking at all of it. */
static enum outcome
read_slowly(struct recording *rec, struct record *r)
{
	struct slice v[MEMBERS], time;
	enum json_type type = json_members(r->raw, JSON_DEPTH + 1, &names, v, &r->error);
	const char *packed;

	if (type == JSON_NONE) {
		r->kind = RECORD_BAD;
		if ((packed = compressed(r->raw)))
			r->error = (struct json_error){1, packed};
		return TAKEN;
	}
	if (type != JSON_OBJECT)
		return recording_bare(rec, r);
	if (!is_our_hop(rec, v[AT]))
		return SKIPPED;
	r->from = recording_side(v[FROM]);
	r->at = v[AT];
	time = v[T].p ? v[T] : v[TS];
	r->timed = time.p && recording_seconds(time, &r->t);
	return by_shape(rec, r, v);
}

/* Does it look like a message itself? */
static bool
is_message(struct slice line)
{
	static const char begin[] = "{\"jsonrpc\"";

	return line.n >= sizeof(begin) && memcmp(line.p, begin, sizeof(begin) - 1) == 0;
}

static enum outcome
read_line(struct recording *rec, const struct line *line, struct record *r)
{
	struct slice raw = line->text, rest;

	while (raw.n && byte_is_space(raw.p[raw.n - 1]))
		raw.n--;
	for (rest = raw; rest.n && byte_is_space(rest.p[0]); rest.n--)
		rest.p++;
	if (rest.n == 0 || rest.p[0] == '#')
		return SKIPPED;
	*r = (struct record){.raw = raw, .number = line->number, .offset = rec->offset};
	if (recording_own_begin(r) && recording_message(rec, r, r->text) == TAKEN && r->kind == RECORD_MESSAGE)
		return is_our_hop(rec, r->at) ? TAKEN : SKIPPED;
	*r = (struct record){.raw = line->text, .number = line->number, .offset = rec->offset};
	if (rest.p[0] == '[' || is_message(rest))
		return recording_bare(rec, r);
	return read_slowly(rec, r);
}

/* --- the reader --- */

struct recording *
recording_of_lines(const char *hop)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	char *end;

	if (!rec)
		return NULL;
	rec->in.io.fd = -1;
	rec->hop = hop ? hop : "0";
	rec->numbered = byte_is_digit(rec->hop[0]);
	if (rec->numbered) {
		rec->hop_number = strtoull(rec->hop, &end, 10);
		rec->numbered = *end == '\0';
	}
	return rec;
}

bool
recording_peek(const struct recording *rec, struct slice line, struct record *r)
{
	*r = (struct record){.raw = line, .text = line};
	if (is_message(line))
		return true;
	return line.n && recording_own_begin(r) && is_our_hop(rec, r->at);
}

int
recording_line(struct recording *rec, struct slice line, uint64_t number, struct record *r)
{
	struct line l = {.text = line, .number = number};
	enum outcome o = read_line(rec, &l, r);

	return o == TAKEN ? 0 : o == SKIPPED ? 1 : -1;
}

void
recording_use_environment(struct recording *rec)
{
	rec->environment = true;
}

struct recording *
recording_open(int fd, size_t limit, const char *hop)
{
	struct recording *rec = recording_of_lines(hop);

	if (!rec)
		return NULL;
	if (input_open(&rec->in, fd, limit < SIZE_MAX / 2 ? limit + AROUND : limit) < 0) {
		free(rec);
		return NULL;
	}
	return rec;
}

/* The next line, or what the input has instead; INPUT_NOTHING when it fails. A line beyond the limit is told by its last piece. */
static enum input_got
next_line(struct recording *rec, struct line *line)
{
	enum input_got got;

	while ((got = input_next(&rec->in, line)) == INPUT_PIECE) {
		rec->long_line += line->text.n;
		if (line->last)
			break;
	}
	return got;
}

int
recording_next(struct recording *rec, struct record *r)
{
	enum outcome o;
	struct line line;
	enum input_got got;

	do {
		got = next_line(rec, &line);
		switch (got) {
		case INPUT_NOTHING:
			return -1;
		case INPUT_END:
			*r = (struct record){.kind = RECORD_END};
			return 0;
		case INPUT_PIECE:
			*r = (struct record){.kind = RECORD_BAD, .number = line.number, .offset = rec->offset,
				.error = {1, "longer than the limit"}};
			rec->offset += rec->long_line;
			rec->long_line = 0;
			return 0;
		case INPUT_LINE:
		case INPUT_TORN:
			o = read_line(rec, &line, r);
			rec->offset += line.text.n + 1;
			break;
		}
		if (o == NO_MEMORY)
			return -1;
	} while (o == SKIPPED);
	r->torn |= got == INPUT_TORN && r->kind == RECORD_BAD;
	return 0;
}

bool
recording_waits(const struct recording *rec)
{
	return rec->in.start == rec->in.end && !rec->in.ended;
}

int
recording_fd(const struct recording *rec)
{
	return rec->in.io.fd;
}

void
recording_close(struct recording *rec)
{
	if (!rec)
		return;
	input_close(&rec->in);
	buf_free(&rec->text);
	buf_free(&rec->expanded);
	buf_free(&rec->why);
	buf_free(&rec->hops);
	free(rec);
}
