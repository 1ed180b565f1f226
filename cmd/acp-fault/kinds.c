/* The faults: one table of their arguments, the messages that they can hit, and their effects; and the report. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/fault.h"
#include "lib/base/cli.h"

/* --- arguments --- */

/* Cuts the text at the separator. Returns what follows it, or NULL. */
static char *
cut(char *text, char separator)
{
	char *at = strchr(text, separator);

	if (at)
		*at++ = '\0';
	return at;
}

static const char *
parse_probability(struct argument *a, char *text)
{
	return cli_probability(text, &a->p) < 0 ? "expected a probability, such as 0.1 or 10%" : NULL;
}

/* Reads how long a message waits for another one to pass it. */
static const char *
parse_wait(struct argument *a, char *text)
{
	const char *time = cut(text, ',');

	a->us = 1000 * 1000;
	if (cli_probability(text, &a->p) < 0 || (time && cli_duration(time, &a->us) < 0))
		return "expected a probability, and a duration after a comma, such as 10%,500ms";
	return NULL;
}

static const char *
parse_delay(struct argument *a, char *text)
{
	const char *jitter = cut(text, ',');

	a->more_us = 0;
	if (cli_duration(text, &a->us) < 0 || (jitter && cli_duration(jitter, &a->more_us) < 0))
		return "expected a duration, or two with a comma between, such as 100ms,20ms";
	return a->more_us > a->us ? "more jitter than delay" : NULL;
}

static const char *
parse_duration(struct argument *a, char *text)
{
	return cli_duration(text, &a->us) < 0 ? cli_want_duration : NULL;
}

static const char *
parse_count(struct argument *a, char *text)
{
	return cli_count(text, &a->n) < 0 || a->n == 0 ? "expected a number, at least 1" : NULL;
}

static const char *
parse_rate(struct argument *a, char *text)
{
	size_t rate;

	if (cli_bytes(text, &rate) < 0 || rate == 0)
		return "expected bytes a second, such as 500 or 10K";
	a->n = rate;
	return NULL;
}

static const char *
parse_size(struct argument *a, char *text)
{
	return parse_rate(a, text) ? "expected a size in bytes, such as 500 or 64K" : NULL;
}

/* Reads a pause above 0; at 0 both pieces would leave in one write. */
static const char *
parse_split(struct argument *a, char *text)
{
	const char *pause = cut(text, ',');

	a->us = 1000;
	if (cli_count(text, &a->n) < 0 || a->n == 0 || (pause && (cli_duration(pause, &a->us) < 0 || a->us == 0)))
		return "expected a number of bytes, and a pause after a comma, such as 1,5ms";
	return NULL;
}

static const char *
parse_method(struct argument *a, char *text)
{
	char *why = NULL;

	if (a->method)
		return "given twice: put the second one into a --plan";
	a->method = select_new();
	if (!*text || !a->method || select_glob(a->method, text, &why) < 0 || select_kind(a->method, "request", &why) < 0) {
		free(why);
		return "expected a method";
	}
	return NULL;
}

static const char *
parse_error(struct argument *a, char *text)
{
	char *code = cut(text, '='), *message = code ? cut(code, ',') : NULL, *end = NULL;
	long n;

	errno = 0;
	n = code ? strtol(code, &end, 10) : 0;
	if (!code || end == code || *end || errno || n < INT_MIN || n > INT_MAX || (message && !*message))
		return "expected METHOD=CODE or METHOD=CODE,MESSAGE, such as session/prompt=-32603,overloaded";
	a->code = (int)n;
	a->text = message ? message : "acp-fault";
	return parse_method(a, text);
}

/* --- the part that a fault changes: a slice of the message; p NULL: there is none, and the fault cannot hit the message --- */

/* The session id in the params, a JSON string. */
static struct slice
session_of(const struct msg *m)
{
	return json_get_string(m->params, acp_session_id);
}

static struct slice
id_of_response(const struct msg *m)
{
	return m->kind == MSG_RESPONSE ? m->id : slice(NULL, 0);
}

static struct slice
notification(const struct msg *m)
{
	return m->kind == MSG_NOTIFICATION ? m->text : slice(NULL, 0);
}

/* The params or the result, if it is an object, which may have a _meta. */
static struct slice
body_of(const struct msg *m)
{
	struct slice body = m->kind == MSG_RESPONSE ? m->result : m->params, meta = json_get(body, "_meta");

	return json_type(body) == JSON_OBJECT && (!meta.p || json_type(meta) == JSON_OBJECT) ? body : slice(NULL, 0);
}

/* --- the report --- */

int
report_begin(struct buf *to, const struct fault_state *x, enum acp_side from, uint64_t n, const struct message *m)
{
	uint64_t t = m ? m->t : frame_now(x->frame);

	to->n = 0;
	if (!x->report)
		return 0;
	return buf_printf(to, "{\"t\":%" PRIu64 ".%06" PRIu64 ",\"from\":\"%s\",\"%s\":%" PRIu64, t / 1000000, t % 1000000,
		acp_side_name(from), m ? "n" : "after", n)
		|| (m && (json_add_member(to, "method", message_method(m)) || json_add_member(to, "id", m->msg.id))) ? -1 : 0;
}

void
report_add(struct log *l, const struct buf *about, const struct rule *r, enum fault fault, const char *details, ...)
{
	struct buf *to = l ? log_buf(l) : NULL;
	bool ok;
	va_list args;

	if (!to)
		return;
	va_start(args, details);
	ok = buf_add_slice(to, buf_slice(about)) == 0 && (!r->line || buf_printf(to, ",\"plan\":%u", r->line) == 0)
		&& buf_printf(to, ",\"fault\":\"%s\"", fault_kind(fault)->name) == 0 && buf_vprintf(to, details, args) == 0
		&& buf_add_string(to, "}\n") == 0;
	va_end(args);
	if (ok)
		log_end_record(l);
	else
		log_add(l, slice(NULL, 0));
}

/* --- the effects --- */

/* Appends a record about the current fault of a work to the report. */
#define report(w, ...) report_add((w)->x->report, (w)->about, (w)->rule, (w)->fault, __VA_ARGS__)

static void
report_time(const struct work *w, uint64_t us)
{
	report(w, ",\"for\":%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

/* Copies the line into the parcel, where its bytes may be changed. A torn line gets no newline. */
static int
change(struct work *w)
{
	struct parcel *p = w->parcel;

	if (p->changed)
		return 0;
	p->changed = true;
	if (buf_add_slice(&p->text, w->line->text) < 0)
		return -1;
	return w->line->torn ? 0 : buf_add(&p->text, "\n", 1);
}

/* The length of the copied line without its newline. */
static size_t
length(const struct work *w)
{
	return w->parcel->text.n - !w->line->torn;
}

/* --- faults in the values of a message --- */

/* Replaces a slice of the copied message. */
static int
replace(struct work *w, struct slice was, struct slice is)
{
	struct buf *text = &w->parcel->text, made = {0};
	struct splice splice = {was.p, was.p + was.n, is};
	int r = splice_write(buf_slice(text), &splice, 1, &made);

	w->message_n += is.n - was.n;
	buf_free(text);
	*text = made;
	return r;
}

/* Ids from here on are unlikely to be in use. */
enum { ID_LEAST = 1000 * 1000 * 1000 };

/*
 * Appends an id (JSON text) that replaces `id`: of the same type (FAULT_WRONG_ID); of another type, with the same digits if it has
 * only digits, and no 0 before others (FAULT_ID_TYPE); of a session that does not exist (FAULT_STALE_SESSION).
 */
static int
other_id(const struct chance *c, enum fault fault, struct slice id, struct buf *to)
{
	bool string = json_type(id) == JSON_STRING;
	struct slice inside = string ? slice(id.p + 1, id.n - 2) : id;
	uint64_t is, was;

	if (fault == FAULT_STALE_SESSION)
		return buf_printf(to, "\"stale-%08" PRIx32 "\"", (uint32_t)chance_below(c, fault, 1, UINT32_MAX));
	if (fault == FAULT_ID_TYPE && !string)
		return buf_printf(to, "\"%.*s\"", (int)id.n, id.p);
	if (fault == FAULT_ID_TYPE && json_scan(inside, 1, NULL, 0, NULL, NULL) == JSON_NUMBER && strspn(inside.p, "0123456789") == inside.n)
		return buf_add_slice(to, inside);
	is = ID_LEAST + chance_below(c, fault, 1, ID_LEAST);
	if (fault == FAULT_WRONG_ID && json_type(id) != JSON_NUMBER)
		return buf_printf(to, "\"acp-fault-%" PRIu64 "\"", is);
	return buf_printf(to, "%" PRIu64, fault == FAULT_WRONG_ID && json_u64(id, &was) && was == is ? is + 1 : is);
}

static int
change_id(struct work *w)
{
	SCOPED struct buf is = {0};
	struct slice was;
	struct msg m;

	if (change(w) < 0)
		return -1;
	msg_scan(slice(w->parcel->text.p + w->message_at, w->message_n), &m, NULL);
	was = fault_kind(w->fault)->part(&m);
	if (!was.p)
		return 0;
	if (other_id(&w->chance, w->fault, was, &is) < 0)
		return -1;
	report(w, ",\"was\":%.*s,\"is\":%.*s", (int)was.n, was.p, (int)is.n, is.p);
	return replace(w, was, buf_slice(&is));
}

/* Adds bytes to the padding of another acp-fault, or adds a padding as the first member. */
static int
pad(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_PAD];
	struct slice body, meta, old;
	SCOPED struct buf text = {0};
	const char *at;
	struct msg m;
	int r = 0;

	if (change(w) < 0)
		return -1;
	msg_scan(slice(w->parcel->text.p + w->message_at, w->message_n), &m, NULL);
	body = body_of(&m);
	if (!body.p)
		return 0;
	meta = json_get(body, "_meta");
	old = json_get(meta, fault_name);
	at = 1 + (json_type(old) == JSON_STRING ? old.p : meta.p ? meta.p : body.p);
	if (json_type(old) != JSON_STRING)
		r = buf_printf(&text, "%s\"%s\":\"", meta.p ? "" : "\"_meta\":{", fault_name);
	if (r < 0 || buf_reserve(&text, a->n) < 0)
		return -1;
	memset(text.p + text.n, 'x', a->n);
	text.n += a->n;
	if (json_type(old) != JSON_STRING)
		r = buf_printf(&text, "\"%s%s", meta.p ? "" : "}", json_is_empty(meta.p ? meta : body) ? "" : ",");
	if (r < 0)
		return -1;
	report(w, ",\"byte\":%zu,\"bytes\":%zu", (size_t)(at - w->parcel->text.p) + 1, text.n);
	return replace(w, slice(at, 0), buf_slice(&text));
}

/* --- faults after which the line does not leave --- */

static int
discard(struct work *w)
{
	w->dropped = true;
	report(w, "%s", "");
	return 0;
}

static int
answer(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_ERROR];
	SCOPED struct buf text = {0}, message = {0};

	w->dropped = true;
	if (msg_make_error(&text, buf_slice(&w->track->id), a->code, a->text, slice(NULL, 0)) || json_quote(slice_of(a->text), &message))
		return -1;
	report(w, ",\"code\":%d,\"message\":%.*s", a->code, (int)message.n, message.p);
	return frame_send(w->x->frame, acp_back(w->dir), buf_slice(&text));
}

/* --- faults in the bytes of a line --- */

/* Sends a line of noise before the line, of a kind that agents print. */
static int
add_noise(struct work *w)
{
	static const char *const lines[] = {
		"",
		"42",
		"acp-fault: this line is no message",
		"[1/3] migrating settings ...",
		"\033[32mready\033[0m",
		"(node:1) Warning: something is deprecated",
		"{\"level\":\"info\",\"text\":\"started\"}",
	};
	struct slice text = slice_of(lines[chance_below(&w->chance, FAULT_NOISE, 1, sizeof(lines) / sizeof(lines[0]))]);
	struct parcel *p = parcel_new(frame_now(w->x->frame));
	SCOPED struct buf quoted = {0};

	if (!p || buf_add_slice(&p->text, text) || buf_add(&p->text, "\n", 1) || json_quote(text, &quoted)) {
		parcel_free(p);
		return -1;
	}
	queue_add(&w->track->queue, p);
	report(w, ",\"text\":%.*s", (int)quoted.n, quoted.p);
	return 0;
}

/* Replaces a byte of the message (of the inner one in an envelope) by another one; neither is a newline. */
static int
corrupt(struct work *w)
{
	unsigned char was, is;
	char *at;

	if (w->message_n == 0)
		return 0;
	if (change(w) < 0)
		return -1;
	at = w->parcel->text.p + w->message_at + chance_below(&w->chance, FAULT_CORRUPT, 1, w->message_n);
	was = (unsigned char)*at;
	is = (unsigned char)(was + 1 + chance_below(&w->chance, FAULT_CORRUPT, 2, 255));
	while (is == '\n' || is == was)
		is++;
	*at = (char)is;
	report(w, ",\"byte\":%zu,\"was\":%u,\"is\":%u", (size_t)(at - w->parcel->text.p) + 1, was, is);
	return 0;
}

/* How many of the n bytes of a line a cut leaves: at least one, and not all, if possible. */
static size_t
cut_length(const struct work *w, size_t n)
{
	return n > 1 ? 1 + chance_below(&w->chance, w->fault, 1, n - 1) : n;
}

/* Cuts a line before its newline, so that the next line is not damaged. */
static int
cut_short(struct work *w)
{
	struct buf *text = &w->parcel->text;
	size_t n, left;

	if (change(w) < 0)
		return -1;
	n = length(w);
	left = cut_length(w, n);
	text->n = left;
	if (!w->line->torn)
		text->p[text->n++] = '\n';
	report(w, ",\"kept\":%zu,\"of\":%zu", left, n);
	return 0;
}

static int
duplicate(struct work *w)
{
	struct buf *text = &w->parcel->text;
	size_t n;

	if (change(w) < 0)
		return -1;
	n = text->n;
	if (w->line->torn && buf_add(text, "\n", 1) < 0)
		return -1;
	if (buf_reserve(text, n) < 0 || buf_add(text, text->p, n) < 0)
		return -1;
	report(w, "%s", "");
	return 0;
}

/* --- faults of the time at which a line leaves --- */

/* Lets the line wait. The report comes when another message has passed it. */
static int
wait_for_other(struct work *w)
{
	w->waits = w->fault;
	return 0;
}

static int
delay(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_DELAY];
	uint64_t wait = a->us - a->more_us + chance_below(&w->chance, FAULT_DELAY, 1, a->more_us * 2 + 1);

	w->parcel->ready += wait;
	report_time(w, wait);
	return 0;
}

static int
stall(struct work *w)
{
	w->parcel->stall = w->rule->of[FAULT_STALL].us;
	report_time(w, w->parcel->stall);
	return 0;
}

static int
split(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_SPLIT];

	w->parcel->piece = a->n;
	w->parcel->pause = a->us;
	report(w, ",\"bytes\":%" PRIu64 ",\"pause\":%" PRIu64 ".%06" PRIu64, a->n, a->us / 1000000, a->us % 1000000);
	return 0;
}

static int
limit_rate(struct work *w)
{
	w->parcel->rate = w->rule->of[FAULT_BANDWIDTH].n;
	report(w, ",\"rate\":%" PRIu64, w->parcel->rate);
	return 0;
}

/* --- ends --- */

static int
close_after(struct work *w)
{
	w->parcel->close = true;
	report(w, "%s", "");
	return 0;
}

static int
exit_after(struct work *w)
{
	struct buf *text = &w->parcel->text;
	size_t n;

	w->parcel->exit = w->rule;
	if (!w->rule->torn || !w->line || w->dropped) {
		report(w, "%s", "");
		return 0;
	}
	if (change(w) < 0)
		return -1;
	n = length(w);
	text->n = cut_length(w, n);
	/* If the cut leaves exactly the first of two copies, keep one byte more, else no line is torn. */
	text->n += text->p[text->n - 1] == '\n';
	report(w, ",\"kept\":%zu,\"of\":%zu", text->n, n);
	return 0;
}

/* --- the table --- */

const struct fault_kind fault_kinds[FAULTS] = {
	{FAULT_NOISE, "noise", "noise", parse_probability, NULL, add_noise, KIND_DICE | KIND_BY_TIME},
	{FAULT_ERROR, "error", "error", parse_error, NULL, answer, 0},
	{FAULT_HANG, "hang", "hang", parse_method, NULL, discard, 0},
	{FAULT_DROP, "drop", "drop", parse_probability, NULL, discard, 0},
	{FAULT_STALE_SESSION, "stale-session", "stale-session", parse_probability, session_of, change_id, KIND_DICE},
	{FAULT_WRONG_ID, "wrong-id", "wrong-id", parse_probability, id_of_response, change_id, KIND_DICE},
	{FAULT_ID_TYPE, "id-type", "id-type", parse_probability, id_of_response, change_id, KIND_DICE},
	{FAULT_PAD, "pad", "pad", parse_size, body_of, pad, 0},
	{FAULT_CORRUPT, "corrupt", "corrupt", parse_probability, NULL, corrupt, KIND_DICE},
	{FAULT_TRUNCATE, "truncate", "truncate", parse_probability, NULL, cut_short, KIND_DICE},
	{FAULT_DUPLICATE, "duplicate", "duplicate", parse_probability, NULL, duplicate, 0},
	{FAULT_REORDER, "reorder", "reorder", parse_wait, NULL, wait_for_other, 0},
	{FAULT_OVERTAKE, "overtake", "overtake", parse_wait, notification, wait_for_other, 0},
	{FAULT_DELAY, "delay", "delay", parse_delay, NULL, delay, 0},
	{FAULT_STALL, "stall", "stall", parse_duration, NULL, stall, KIND_BY_TIME},
	{FAULT_SPLIT, "split", "split", parse_split, NULL, split, 0},
	{FAULT_BANDWIDTH, "bandwidth", "bandwidth", parse_rate, NULL, limit_rate, 0},
	{FAULT_CLOSE, "close-after", "close", parse_count, NULL, close_after, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_EXIT, "exit-after", "exit", parse_count, NULL, exit_after, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_LINGER, "linger", "linger", parse_duration, NULL, NULL, 0},
};

const struct fault_kind *
fault_kind(enum fault fault)
{
	const struct fault_kind *k = fault_kinds;

	while (k->fault != fault)
		k++;
	return k;
}
