#include "lib/recording.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "lib/base64.h"
#include "lib/input.h"
#include "lib/trace.h"

enum {
	AROUND = 64 * 1024, /* what a record may hold beside a message of the limit */
	SECOND = 1000000,
	NUMBER_MOST = 63,   /* digits of a time that is read as a floating point number */
};

struct recording {
	struct input in;
	struct buf text;     /* what had to be unescaped or rebuilt */
	struct buf hops;     /* the last header's names of hops: a JSON array, or empty */
	const char *hop;
	bool numbered;
	uint64_t hop_number;
	uint64_t offset;     /* of the line that is read next */
	uint64_t long_line;  /* bytes of one beyond the limit */
};

/* The members by which a line's shape is told, and those of the records. */
enum { HEADER, T, FROM, AT, MSG, NOISE, NOISE64, STDERR, STDERR64, EVENT, LINE, STARTED, HOPS, TYPE, TS, JSONRPC,
	MEMBERS };
static const struct json_keys names = {MEMBERS, {"acp-recording", "t", "from", "at", "msg", "noise", "noise64",
	"stderr", "stderr64", "event", "line", "started", "hops", "type", "ts", "jsonrpc"}};

/* What becomes of a line. */
enum outcome { NO_MEMORY = -1, TAKEN, SKIPPED };

/* --- values --- */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Seconds, as us; what lies below a microsecond is cut off. */
static bool
seconds(struct slice number, uint64_t *us)
{
	uint64_t whole = 0, part = 0, unit = SECOND;
	char copy[NUMBER_MOST + 1];
	size_t i = 0;
	double d;

	for (; i < number.n && is_digit(number.p[i]) && i < 12; i++)
		whole = whole * 10 + (uint64_t)(number.p[i] - '0');
	if (i > 0 && i < number.n && number.p[i] == '.') {
		for (i++; i < number.n && is_digit(number.p[i]); i++) {
			unit /= 10;
			part += unit * (uint64_t)(number.p[i] - '0');
		}
	}
	if (i == number.n) {
		*us = whole * SECOND + part;
		return i > 0;
	}
	if (number.n > NUMBER_MOST || json_type(number) != JSON_NUMBER)
		return false;
	memcpy(copy, number.p, number.n);
	copy[number.n] = '\0';
	d = strtod(copy, NULL) * SECOND;
	if (!(d < 1e18))
		return false;
	*us = d > 0 ? (uint64_t)d : 0;
	return true;
}

static enum acp_side
side(struct slice name)
{
	if (!name.p || json_type(name) != JSON_STRING)
		return ACP_UNKNOWN;
	if (json_string_is(name, acp_side_name(ACP_CLIENT)))
		return ACP_CLIENT;
	return json_string_is(name, acp_side_name(ACP_AGENT)) ? ACP_AGENT : ACP_UNKNOWN;
}

static bool
two_digits(const char *p, int *to)
{
	*to = (p[0] - '0') * 10 + (p[1] - '0');
	return is_digit(p[0]) && is_digit(p[1]);
}

/* A date of RFC 3339 as seconds since 1970; 0 for what is none. */
static double
date(const char *p, size_t n)
{
	struct tm tm = {0};
	int century, year, hours = 0, minutes = 0;
	double fraction = 0, unit = 1;
	size_t i = 19;

	if (n < 20 || p[4] != '-' || p[7] != '-' || p[13] != ':' || p[16] != ':' || !two_digits(p, &century)
		|| !two_digits(p + 2, &year) || !two_digits(p + 5, &tm.tm_mon)
		|| !two_digits(p + 8, &tm.tm_mday) || !two_digits(p + 11, &tm.tm_hour)
		|| !two_digits(p + 14, &tm.tm_min) || !two_digits(p + 17, &tm.tm_sec))
		return 0;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	if (p[i] == '.')
		for (i++; i < n && is_digit(p[i]); i++)
			fraction += (p[i] - '0') * (unit /= 10);
	if (n - i == 6 && (p[i] == '+' || p[i] == '-')) {
		if (!two_digits(p + i + 1, &hours) || !two_digits(p + i + 4, &minutes))
			return 0;
		tm.tm_sec -= (p[i] == '-' ? -60 : 60) * (hours * 60 + minutes);
	}
	return (double)timegm(&tm) + fraction;
}

/* The text of a JSON string, in rec->text. */
static enum outcome
unescape(struct recording *rec, struct slice string, struct slice *text)
{
	rec->text.n = 0;
	if (json_unescape(string, &rec->text) < 0)
		return NO_MEMORY;
	*text = rec->text.n ? buf_slice(&rec->text) : slice_of("");
	return TAKEN;
}

static enum outcome
bad(struct record *r, struct slice at, const char *what)
{
	r->kind = RECORD_BAD;
	r->error.at = (size_t)(at.p - r->raw.p) + 1;
	r->error.what = what;
	return TAKEN;
}

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

/* --- records --- */

/* A message's text, as it has been found: it is scanned here, once. */
static enum outcome
message(struct record *r, struct slice text)
{
	r->text = text;
	r->kind = msg_scan(text, &r->msg, &r->error) == MSG_NOISE ? RECORD_NOISE : RECORD_MESSAGE;
	return TAKEN;
}

/*
 * The member msg: where it is the last one, all between its colon and the record's brace, which
 * is what came over the wire; else its value.
 */
static struct slice
msg_member(struct slice raw, struct slice value)
{
	const char *from = value.p, *to = value.p + value.n, *end = raw.p + raw.n, *p = to;

	while (p < end && is_space(*p))
		p++;
	to = p++;
	while (p < end && is_space(*p))
		p++;
	if (*to != '}' || p != end)
		return value;
	while (from[-1] != ':')
		from--;
	return slice_between(from, to);
}

static enum outcome
header(struct recording *rec, struct record *r, const struct slice *v)
{
	r->kind = RECORD_HEADER;
	if (v[STARTED].p && json_type(v[STARTED]) == JSON_STRING)
		r->started = date(v[STARTED].p + 1, v[STARTED].n - 2);
	rec->hops.n = 0;
	if (v[HOPS].p && json_type(v[HOPS]) == JSON_ARRAY && buf_add_slice(&rec->hops, v[HOPS]) < 0)
		return NO_MEMORY;
	return TAKEN;
}

static enum outcome
plain_text(struct recording *rec, struct record *r, enum record_kind kind, struct slice string)
{
	if (json_type(string) != JSON_STRING)
		return bad(r, string, "expected a string");
	r->kind = kind;
	return unescape(rec, string, &r->text);
}

static enum outcome
base64_text(struct recording *rec, struct record *r, enum record_kind kind, struct slice string)
{
	struct slice coded;
	struct buf bytes = {0};
	int e;

	if (json_type(string) != JSON_STRING)
		return bad(r, string, "expected a string");
	if (unescape(rec, string, &coded) == NO_MEMORY)
		return NO_MEMORY;
	e = base64_decode(coded, &bytes);
	if (e != 0) {
		buf_free(&bytes);
		return e < 0 ? NO_MEMORY : bad(r, string, "expected base64");
	}
	buf_free(&rec->text);
	rec->text = bytes;
	r->kind = kind;
	r->text = bytes.n ? buf_slice(&bytes) : slice_of("");
	return TAKEN;
}

/* A message as a string: {"t","from","line"}. */
static enum outcome
line_text(struct recording *rec, struct record *r, struct slice string)
{
	if (plain_text(rec, r, RECORD_NOISE, string) == NO_MEMORY)
		return NO_MEMORY;
	if (r->kind == RECORD_BAD)
		return TAKEN;
	if (memchr(r->text.p, '\n', r->text.n))
		return bad(r, string, "a newline in a message");
	return message(r, r->text);
}

static enum outcome
event_exit(struct record *r)
{
	struct slice status = json_get(r->raw, "status"), signal = json_get(r->raw, "signal");
	uint64_t n;

	r->kind = RECORD_EXIT;
	r->status = -1;
	if (signal.p && json_type(signal) == JSON_STRING)
		r->signal = slice(signal.p + 1, signal.n - 2);
	else if (status.p && json_type(status) == JSON_NUMBER && json_u64(status, &n) && n <= 255)
		r->status = (int)n;
	else
		r->kind = RECORD_OTHER;
	return TAKEN;
}

static enum outcome
event(struct recording *rec, struct record *r, struct slice name)
{
	struct slice v;

	r->kind = RECORD_OTHER;
	if (json_type(name) != JSON_STRING)
		return TAKEN;
	if (json_string_is(name, "exit"))
		return event_exit(r);
	if (json_string_is(name, "eof")) {
		v = json_get(r->raw, "torn");
		r->kind = RECORD_EOF;
		r->torn = v.p && json_type(v) == JSON_TRUE;
		return TAKEN;
	}
	if (!json_string_is(name, "lost"))
		return TAKEN;
	r->kind = RECORD_LOST;
	v = json_get(r->raw, "count");
	if (!v.p || json_type(v) != JSON_NUMBER || !json_u64(v, &r->count))
		r->count = 1;
	v = json_get(r->raw, "why");
	if (!v.p || json_type(v) != JSON_STRING)
		return TAKEN;
	return unescape(rec, v, &r->text);
}

/* An event of the Rust conductor. Its hops go by number or by the name on the agent's side. */
static enum outcome
trace(struct recording *rec, struct record *r, const struct trace *t)
{
	struct slice name = slice(t->below.p + 1, t->below.n - 2);

	r->from = t->sender;
	if (rec->numbered && t->hop != rec->hop_number)
		return SKIPPED;
	if (!rec->numbered && (name.n != strlen(rec->hop) || strncasecmp(name.p, rec->hop, name.n) != 0))
		return SKIPPED;
	rec->text.n = 0;
	if (trace_message(t, &rec->text) < 0)
		return NO_MEMORY;
	return message(r, buf_slice(&rec->text));
}

/* --- lines --- */

/* A line that is a message itself. */
static enum outcome
bare(struct record *r)
{
	message(r, r->raw);
	if (r->kind == RECORD_NOISE)
		r->kind = RECORD_BAD;
	return TAKEN;
}

static enum outcome
by_shape(struct recording *rec, struct record *r, const struct slice *v)
{
	struct trace t;

	if (v[JSONRPC].p)
		return bare(r);
	if (v[HEADER].p)
		return header(rec, r, v);
	if (v[MSG].p)
		return message(r, msg_member(r->raw, v[MSG]));
	if (v[LINE].p)
		return line_text(rec, r, v[LINE]);
	if (v[NOISE].p)
		return plain_text(rec, r, RECORD_NOISE, v[NOISE]);
	if (v[NOISE64].p)
		return base64_text(rec, r, RECORD_NOISE, v[NOISE64]);
	if (v[STDERR].p)
		return plain_text(rec, r, RECORD_STDERR, v[STDERR]);
	if (v[STDERR64].p)
		return base64_text(rec, r, RECORD_STDERR, v[STDERR64]);
	if (v[EVENT].p)
		return event(rec, r, v[EVENT]);
	if (v[TYPE].p && v[TS].p && trace_read(r->raw, &t))
		return trace(rec, r, &t);
	if (v[T].p || v[TS].p) {
		r->kind = RECORD_OTHER;
		return TAKEN;
	}
	return bare(r);
}

/* Any line, by looking at all of it. */
static enum outcome
read_slowly(struct recording *rec, struct record *r)
{
	struct slice v[MEMBERS], time;
	enum json_type type = json_members(r->raw, JSON_DEPTH + 1, &names, v, &r->error);

	if (type == JSON_NONE) {
		r->kind = RECORD_BAD;
		return TAKEN;
	}
	if (type != JSON_OBJECT)
		return bare(r);
	if (!is_our_hop(rec, v[AT]))
		return SKIPPED;
	r->from = side(v[FROM]);
	r->at = v[AT];
	time = v[T].p ? v[T] : v[TS];
	r->timed = time.p && seconds(time, &r->t);
	return by_shape(rec, r, v);
}

/* Steps over text at *p. */
static bool
over(const char **p, const char *end, const char *text, size_t n)
{
	if ((size_t)(end - *p) < n || memcmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}
#define OVER(p, end, text) over((p), (end), (text), sizeof(text) - 1)

/* Digits as a JSON number has them; at most so many that they fit. */
static bool
digits(const char **p, const char *end, uint64_t *n)
{
	const char *start = *p;

	for (*n = 0; *p < end && is_digit(**p) && *p - start < 12; ++*p)
		*n = *n * 10 + (uint64_t)(**p - '0');
	return *p > start && (*start != '0' || *p == start + 1);
}

/* A time with its six decimals. */
static bool
written_time(const char **p, const char *end, uint64_t *us)
{
	uint64_t part = 0;
	int i;

	if (!digits(p, end, us) || end - *p < 7 || **p != '.')
		return false;
	for (i = 1; i <= 6; i++) {
		if (!is_digit((*p)[i]))
			return false;
		part = part * 10 + (uint64_t)((*p)[i] - '0');
	}
	*p += i;
	*us = *us * SECOND + part;
	return true;
}

/*
 * A message exactly as recording_put_message writes it. Its beginning is compared and its message
 * is scanned, and no byte is looked at twice. False for everything else, bad records among it.
 */
static bool
read_fast(struct record *r)
{
	const char *p = r->raw.p, *end = p + r->raw.n - 1, *at;
	uint64_t hop;

	if (*end != '}' || !OVER(&p, end, "{\"t\":") || !written_time(&p, end, &r->t))
		return false;
	if (OVER(&p, end, ",\"at\":")) {
		at = p;
		if (!digits(&p, end, &hop))
			return false;
		r->at = slice_between(at, p);
	}
	if (OVER(&p, end, ",\"from\":\"client\""))
		r->from = ACP_CLIENT;
	else if (OVER(&p, end, ",\"from\":\"agent\""))
		r->from = ACP_AGENT;
	else if (!OVER(&p, end, ",\"from\":\"unknown\""))
		return false;
	if (!OVER(&p, end, ",\"msg\":"))
		return false;
	r->timed = true;
	message(r, slice_between(p, end));
	return r->kind == RECORD_MESSAGE;
}

static enum outcome
read_line(struct recording *rec, const struct line *line, struct record *r)
{
	struct slice raw = line->text, rest;

	while (raw.n && is_space(raw.p[raw.n - 1]))
		raw.n--;
	for (rest = raw; rest.n && is_space(rest.p[0]); rest.n--)
		rest.p++;
	if (rest.n == 0 || rest.p[0] == '#')
		return SKIPPED;
	*r = (struct record){.raw = raw, .number = line->number, .offset = rec->offset};
	if (read_fast(r))
		return is_our_hop(rec, r->at) ? TAKEN : SKIPPED;
	*r = (struct record){.raw = line->text, .number = line->number, .offset = rec->offset};
	if (rest.p[0] == '[' || (rest.n > 10 && memcmp(rest.p, "{\"jsonrpc\"", 10) == 0))
		return bare(r);
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
	rec->numbered = is_digit(rec->hop[0]);
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

	return o == TAKEN ? 0 : o == SKIPPED ? 1 : -1;
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

/* Reads more. 1 when there may be a line, or the end, and -1 with errno. */
static int
fill(struct recording *rec)
{
	struct pollfd p = {.fd = rec->in.io.fd, .events = POLLIN};

	if (input_fill(&rec->in) >= 0)
		return 0;
	if (errno != EAGAIN)
		return -1;
	if (poll(&p, 1, -1) < 0 && errno != EINTR)
		return -1;
	return 0;
}

/* The next line, or what the input has instead; INPUT_NOTHING when it fails. A line beyond the limit is told by its last piece. */
static enum input_got
next_line(struct recording *rec, struct line *line)
{
	enum input_got got;

	for (;;) {
		got = input_line(&rec->in, line);
		if (got == INPUT_NOTHING) {
			if (fill(rec) < 0)
				return got;
		} else if (got != INPUT_PIECE) {
			return got;
		} else {
			rec->long_line += line->text.n;
			if (line->last)
				return got;
		}
	}
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

void
recording_close(struct recording *rec)
{
	if (!rec)
		return;
	input_close(&rec->in);
	buf_free(&rec->text);
	buf_free(&rec->hops);
	free(rec);
}
