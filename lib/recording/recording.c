/* Reads the records of one hop. Each line's shape tells its format. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "lib/recording/recording_parts.h"

static const struct json_keys names = {MEMBERS, {"acp-recording", "t", "from", "at", "msg", "noise", "noise64",
	"stderr", "stderr64", "event", "line", "started", "hops", "type", "ts", "jsonrpc"}};

/* --- hops --- */

/* The name of a hop in the last header: a JSON string; or p NULL. */
static struct slice
hop_name(const struct recording *rec, uint64_t number)
{
	struct json_iter it = {.in = buf_slice(&rec->hops)};
	struct slice key, value;

	while (rec->hops.n && json_next(&it, &key, &value))
		if (number-- == 0)
			return json_type(value) == JSON_STRING ? value : slice(NULL, 0);
	return slice(NULL, 0);
}

bool
recording_missed(const struct recording *rec, bool found, struct buf *text)
{
	bool missed = rec->asked ? !found || !rec->held : !found && rec->others.n;

	if (missed && rec->others.n)
		buf_printf(text, "no message at hop %s; there are: %s", rec->hop, rec->others.p);
	else if (missed && found)
		buf_printf(text, "--hop %s: this recording has no hops, and is read as a whole", rec->hop);
	return text->n;
}

/* Is this the chosen hop? A record without a hop belongs to each. */
static bool
is_our_hop(struct recording *rec, struct slice at)
{
	uint64_t n;

	if (!at.p)
		return true;
	rec->held = true;
	switch (json_type(at)) {
	case JSON_NUMBER:
		if (!json_u64(at, &n))
			return false;
		if (rec->numbered)
			return n == rec->hop_number;
		return json_string_is(hop_name(rec, n), rec->hop);
	case JSON_STRING:
		if (!rec->numbered)
			return json_string_is(at, rec->hop);
		return json_string_eq(hop_name(rec, rec->hop_number), at);
	default:
		return false;
	}
}

static enum outcome
other_hop(struct recording *rec, struct slice at)
{
	uint64_t n;

	return json_u64(at, &n) ? recording_other_hop(rec, &n, hop_name(rec, n)) : recording_other_hop(rec, NULL, at);
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
	return READ;
}

/* If the first line is that of a compressed file, says so; else returns NULL. */
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

const char recording_too_long[] = "longer than --max-line";

/* Reads any line, by scanning all of it. */
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
		return READ;
	}
	if (type != JSON_OBJECT)
		return recording_bare(rec, r);
	if (!is_our_hop(rec, v[AT]))
		return other_hop(rec, v[AT]);
	for (r->from = ACP_AGENT; r->from != ACP_UNKNOWN && !json_string_is(v[FROM], acp_side_name(r->from)); r->from--)
		;
	r->at = v[AT];
	time = v[T].p ? v[T] : v[TS];
	r->timed = time.p && recording_seconds(time, &r->t);
	return by_shape(rec, r, v);
}

static enum outcome
read_any(struct recording *rec, const struct line *line, struct record *r)
{
	static const char message[] = "{\"jsonrpc\"";
	struct slice raw = line->text, begin;

	while (raw.n && byte_is_space(raw.p[raw.n - 1]))
		raw.n--;
	for (begin = raw; begin.n && byte_is_space(begin.p[0]); begin.n--)
		begin.p++;
	if (begin.n == 0 || begin.p[0] == '#')
		return SKIPPED;
	*r = (struct record){.raw = raw, .number = line->number, .offset = rec->offset};
	if (recording_own_begin(r) && recording_message(rec, r, r->text) == READ && r->kind == RECORD_MESSAGE)
		return is_our_hop(rec, r->at) ? READ : other_hop(rec, r->at);
	*r = (struct record){.raw = line->text, .number = line->number, .offset = rec->offset};
	if (begin.p[0] == '[' || (begin.n >= sizeof(message) && memcmp(begin.p, message, sizeof(message) - 1) == 0))
		return recording_bare(rec, r);
	return read_slowly(rec, r);
}

static enum outcome
read_line(struct recording *rec, const struct line *line, struct record *r)
{
	enum outcome o = read_any(rec, line, r);

	if (o == READ && r->kind == RECORD_MESSAGE && r->text.n > rec->limit) {
		r->kind = RECORD_BAD;
		r->error = (struct json_error){1, recording_too_long};
	}
	return o;
}

/* --- the reader --- */

struct recording *
recording_of_lines(const char *hop, size_t limit)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	char *end;

	if (!rec)
		return NULL;
	rec->in.io.fd = -1;
	rec->limit = limit;
	rec->asked = hop && strcmp(hop, "0") != 0;
	rec->hop = hop ? hop : "0";
	rec->numbered = byte_is_digit(rec->hop[0]);
	if (rec->numbered) {
		rec->hop_number = strtoull(rec->hop, &end, 10);
		rec->numbered = *end == '\0';
	}
	return rec;
}

int
recording_line(struct recording *rec, struct slice line, uint64_t number, struct record *r)
{
	struct line l = {.text = line, .number = number};
	enum outcome o = read_line(rec, &l, r);

	return o == READ ? 0 : o == SKIPPED ? 1 : -1;
}

void
recording_use_environment(struct recording *rec)
{
	rec->environment = true;
}

struct recording *
recording_open(int fd, size_t limit, const char *hop)
{
	struct recording *rec = recording_of_lines(hop, limit);

	if (!rec)
		return NULL;
	if (input_open(&rec->in, fd, limit < SIZE_MAX / 2 ? limit + RECORDING_AROUND : limit) < 0) {
		free(rec);
		return NULL;
	}
	return rec;
}

int
recording_next(struct recording *rec, struct record *r)
{
	enum outcome o = SKIPPED;
	struct line line;
	enum input_got got;

	do {
		got = input_next(&rec->in, &line);
		switch (got) {
		case INPUT_NOTHING: /* read has failed */
			return -1;
		case INPUT_END:
			*r = (struct record){.kind = RECORD_END};
			return 0;
		case INPUT_PIECE:
			rec->long_line += line.text.n;
			if (!line.last)
				break;
			*r = (struct record){.kind = RECORD_BAD, .number = line.number, .offset = rec->offset,
				.error = {1, recording_too_long}};
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
	r->torn |= got == INPUT_TORN && r->kind == RECORD_BAD && r->error.what != recording_too_long;
	return 0;
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
	buf_free(&rec->others);
	free(rec);
}
