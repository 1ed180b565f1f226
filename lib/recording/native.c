/* Reads our own records (acp-recording(5)). */
#include <stdio.h>
#include <sys/wait.h>

#include "lib/base/base64.h"
#include "lib/base/calendar.h"
#include "lib/run/proc.h"
#include "lib/recording/recording_parts.h"

enum { SIGNAL_MOST = 64 };

/* The message in the member msg. If that is the last member, its white space belongs to the message, as it came over the wire. */
static struct slice
msg_member(struct slice raw, struct slice value)
{
	const char *from = value.p, *to = value.p + value.n, *end = raw.p + raw.n, *p = to;

	while (p < end && byte_is_space(*p))
		p++;
	to = p++;
	while (p < end && byte_is_space(*p))
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
	if (json_type(v[STARTED]) == JSON_STRING)
		r->started = calendar_date(slice(v[STARTED].p + 1, v[STARTED].n - 2));
	r->continues = json_type(json_get(r->raw, "continues")) == JSON_TRUE;
	r->selected = json_type(json_get(r->raw, "selected")) == JSON_TRUE;
	rec->hops.n = 0;
	if (json_type(v[HOPS]) == JSON_ARRAY && buf_add_slice(&rec->hops, v[HOPS]) < 0)
		return NO_MEMORY;
	return READ;
}

static enum outcome
base64_text(struct recording *rec, struct record *r, enum record_kind kind, struct slice string)
{
	struct slice coded;
	struct buf bytes = {0};
	int e;

	if (json_type(string) != JSON_STRING)
		return recording_bad(r, string, "expected a string");
	if (recording_unescape(rec, string, &coded) == NO_MEMORY)
		return NO_MEMORY;
	e = base64_decode(coded, &bytes);
	if (e != 0) {
		buf_free(&bytes);
		return e < 0 ? NO_MEMORY : recording_bad(r, string, "expected base64");
	}
	buf_free(&rec->text);
	rec->text = bytes;
	r->kind = kind;
	r->text = bytes.n ? buf_slice(&bytes) : slice_of("");
	return READ;
}

static enum outcome
event(struct recording *rec, struct record *r, struct slice name)
{
	struct slice v;
	uint64_t n;

	r->kind = RECORD_OTHER;
	r->rotated = json_string_is(name, "rotated");
	if (json_string_is(name, "exit")) {
		v = json_get(r->raw, "signal");
		r->status = -1;
		if (json_type(v) == JSON_STRING)
			r->signal = slice(v.p + 1, v.n - 2);
		else if (json_u64(v, &n) && n > 0)
			r->signal = v;
		else if (json_u64(json_get(r->raw, "status"), &n) && n <= 255)
			r->status = (int)n;
		else
			return READ;
		r->kind = RECORD_EXIT;
	} else if (json_string_is(name, "eof")) {
		r->kind = RECORD_EOF;
		r->torn = json_type(json_get(r->raw, "torn")) == JSON_TRUE;
	} else if (json_string_is(name, "lost")) {
		r->kind = RECORD_LOST;
		if (!json_u64(json_get(r->raw, "count"), &r->count))
			r->count = 1;
	} else if (json_string_is(name, "error")) {
		r->kind = RECORD_ERROR;
	} else if (json_string_is(name, "restart")) {
		r->kind = RECORD_RESTART;
	}
	if (r->kind != RECORD_LOST && r->kind != RECORD_ERROR && r->kind != RECORD_RESTART)
		return READ;
	v = json_get_string(r->raw, "why");
	return v.p ? recording_unescape(rec, v, &r->text) : READ;
}

enum outcome
recording_native(struct recording *rec, struct record *r, const struct slice *v)
{
	if (v[HEADER].p)
		return header(rec, r, v);
	if (v[MSG].p) {
		r->guest = json_string_is(json_get(r->raw, "to"), "guest");
		return recording_message(rec, r, msg_member(r->raw, v[MSG]));
	}
	if (v[NOISE].p)
		return recording_text(rec, r, RECORD_NOISE, v[NOISE]);
	if (v[NOISE64].p)
		return base64_text(rec, r, RECORD_NOISE, v[NOISE64]);
	if (v[STDERR].p)
		return recording_text(rec, r, RECORD_STDERR, v[STDERR]);
	if (v[STDERR64].p)
		return base64_text(rec, r, RECORD_STDERR, v[STDERR64]);
	return v[EVENT].p ? event(rec, r, v[EVENT]) : OTHER_SHAPE;
}

int
recording_status(const struct record *r)
{
	const char *name;
	char number[12];

	if (r->status >= 0)
		return W_EXITCODE(r->status, 0);
	for (int i = 1; i <= SIGNAL_MOST; i++) {
		name = proc_signal_name(i);
		/* One without a name is recorded as its number; here it may have a name. */
		snprintf(number, sizeof(number), "%d", i);
		if ((name && slice_is(r->signal, name)) || slice_is(r->signal, number))
			return i;
	}
	return PROC_SIGNAL_UNKNOWN;
}

/* --- fast: records as recording_put_message writes them, of which no byte is read twice --- */

bool
recording_own_begin(struct record *r)
{
	const char *p = r->raw.p, *end = p + r->raw.n - 1, *at;
	uint64_t hop;

	if (*end != '}' || !bytes_skip(&p, end, "{\"t\":") || !recording_time(&p, end, &r->t))
		return false;
	if (bytes_skip(&p, end, ",\"at\":")) {
		at = p;
		if (!bytes_number(&p, end, RECORDING_DIGITS, &hop))
			return false;
		r->at = slice_between(at, p);
	}
	if (bytes_skip(&p, end, ",\"from\":\"client\""))
		r->from = ACP_CLIENT;
	else if (bytes_skip(&p, end, ",\"from\":\"agent\""))
		r->from = ACP_AGENT;
	else if (!bytes_skip(&p, end, ",\"from\":\"unknown\""))
		return false;
	r->guest = bytes_skip(&p, end, ",\"to\":\"guest\"");
	if (!bytes_skip(&p, end, ",\"msg\":"))
		return false;
	r->timed = true;
	r->text = slice_between(p, end);
	return true;
}
