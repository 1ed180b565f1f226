/* The faults: one table of their arguments, the messages that they can hit, and their effects; and the report. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/work.h"
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
take_probability(struct argument *a, char *text)
{
	return cli_probability(text, &a->p) < 0 ? "expected a probability, such as 0.1 or 10%" : NULL;
}

/* How long a message waits for another to go before it. */
static const char *
take_wait(struct argument *a, char *text)
{
	const char *time = cut(text, ',');

	a->us = 1000 * 1000;
	if (cli_probability(text, &a->p) < 0 || (time && cli_duration(time, &a->us) < 0))
		return "expected a probability, and a duration after a comma, such as 10%,500ms";
	return NULL;
}

static const char *
take_delay(struct argument *a, char *text)
{
	const char *jitter = cut(text, ',');

	a->more_us = 0;
	if (cli_duration(text, &a->us) < 0 || (jitter && cli_duration(jitter, &a->more_us) < 0))
		return "expected a duration, or two with a comma between, such as 100ms,20ms";
	return a->more_us > a->us ? "more jitter than delay" : NULL;
}

static const char *
take_duration(struct argument *a, char *text)
{
	return cli_duration(text, &a->us) < 0 ? cli_want_duration : NULL;
}

static const char *
take_count(struct argument *a, char *text)
{
	return cli_count(text, &a->n) < 0 || a->n == 0 ? "expected a number, at least 1" : NULL;
}

static const char *
take_rate(struct argument *a, char *text)
{
	size_t rate;

	if (cli_bytes(text, &rate) < 0 || rate == 0)
		return "expected bytes a second, such as 500 or 10K";
	a->n = rate;
	return NULL;
}

/* A pause of nothing would be none: both pieces would leave in one write. */
static const char *
take_split(struct argument *a, char *text)
{
	const char *pause = cut(text, ',');

	a->us = 1000;
	if (cli_count(text, &a->n) < 0 || a->n == 0 || (pause && (cli_duration(pause, &a->us) < 0 || a->us == 0)))
		return "expected a number of bytes, and a pause after a comma, such as 1,5ms";
	return NULL;
}

static const char *
take_method(struct argument *a, char *text)
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
take_error(struct argument *a, char *text)
{
	char *code = cut(text, '='), *message = code ? cut(code, ',') : NULL, *end = NULL;
	long n;

	errno = 0;
	n = code ? strtol(code, &end, 10) : 0;
	if (!code || end == code || *end || errno || n < INT_MIN || n > INT_MAX || (message && !*message))
		return "expected METHOD=CODE or METHOD=CODE,MESSAGE, such as session/prompt=-32603,overloaded";
	a->code = (int)n;
	a->text = message ? message : "acp-fault";
	return take_method(a, text);
}

/* --- what they can hit --- */

/* The session id in the params of a message, a JSON string that points into it; p NULL: none. */
static struct slice
session_of(const struct msg *m)
{
	struct slice session = json_get(m->params, acp_session_id);

	return json_type(session) == JSON_STRING ? session : slice(NULL, 0);
}

static bool
is_response(const struct argument *a, const struct message *s)
{
	(void)a;
	return s->msg.kind == MSG_RESPONSE;
}

static bool
is_notification(const struct argument *a, const struct message *s)
{
	(void)a;
	return s->msg.kind == MSG_NOTIFICATION;
}

static bool
is_request_of(const struct argument *a, const struct message *s)
{
	char *why = NULL;
	bool yes = select_match(a->method, s, &why);

	free(why);
	return yes;
}

static bool
names_session(const struct argument *a, const struct message *s)
{
	(void)a;
	return session_of(&s->msg).p != NULL;
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

static void
report_vadd(struct log *l, const struct buf *about, const struct rule *r, enum fault fault, const char *details, va_list args)
{
	struct buf *to = l ? log_buf(l) : NULL;

	if (!to)
		return;
	if (buf_add_slice(to, buf_slice(about)) || (r->line && buf_printf(to, ",\"plan\":%u", r->line))
		|| buf_printf(to, ",\"fault\":\"%s\"", fault_kind(fault)->name) || buf_vprintf(to, details, args) || buf_add_string(to, "}\n"))
		log_add(l, slice(NULL, 0));
	else
		log_mark(l);
}

void
report_add(struct log *l, const struct buf *about, const struct rule *r, enum fault fault, const char *details, ...)
{
	va_list args;

	va_start(args, details);
	report_vadd(l, about, r, fault, details, args);
	va_end(args);
}

/* --- what they do --- */

static void report(const struct work *, const char *details, ...) __attribute__((format(printf, 2, 3)));

static void
report(const struct work *w, const char *details, ...)
{
	va_list args;

	va_start(args, details);
	report_vadd(w->x->report, w->about, w->rule, w->fault, details, args);
	va_end(args);
}

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

/* --- the ids in it --- */

/* Replaces a value of the message, and reports it. */
static int
replace(struct work *w, struct slice was, struct slice is)
{
	struct buf *text = &w->parcel->text, made = {0};
	struct splice splice = {was.p, was.p + was.n, is};
	int r = splice_write(buf_slice(text), &splice, 1, &made);

	if (r == 0)
		report(w, ",\"was\":%.*s,\"is\":%.*s", (int)was.n, was.p, (int)is.n, is.p);
	w->message_n += is.n - was.n;
	buf_free(text);
	*text = made;
	return r;
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
	was = w->fault == FAULT_STALE_SESSION ? session_of(&m) : m.id;
	if (!was.p)
		return 0;
	return damage_id(&w->chance, w->fault, was, &is) || replace(w, was, buf_slice(&is)) ? -1 : 0;
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
	return frame_send(w->x->frame, w->dir == ACP_DOWN ? ACP_UP : ACP_DOWN, buf_slice(&text));
}

/* --- its bytes --- */

/* Sends another line before the one that is hit. */
static int
add_noise(struct work *w)
{
	struct slice text = damage_noise(&w->chance);
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

/* Inside an envelope, where there is one. */
static int
corrupt(struct work *w)
{
	unsigned char was, is;
	size_t at;

	if (w->message_n == 0)
		return 0;
	if (change(w) < 0)
		return -1;
	at = w->message_at + damage_byte(&w->chance, w->parcel->text.p + w->message_at, w->message_n, &was);
	is = (unsigned char)w->parcel->text.p[at];
	report(w, ",\"byte\":%zu,\"was\":%u,\"is\":%u", at + 1, was, is);
	return 0;
}

/* The newline stays, so that the next line is not damaged. */
static int
cut_short(struct work *w)
{
	struct buf *text = &w->parcel->text;
	size_t n, left;

	if (change(w) < 0)
		return -1;
	n = length(w);
	left = damage_cut(&w->chance, FAULT_TRUNCATE, n);
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

/* --- when it leaves --- */

/* It is reported when it is known which message has passed it. */
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
	text->n = damage_cut(&w->chance, FAULT_EXIT, n);
	report(w, ",\"kept\":%zu,\"of\":%zu", text->n, n);
	return 0;
}

/* --- the table --- */

const struct fault_kind fault_kinds[FAULTS] = {
	{FAULT_NOISE, "noise", "noise", take_probability, NULL, add_noise, KIND_DICE | KIND_BY_TIME},
	{FAULT_ERROR, "error", "error", take_error, is_request_of, answer, 0},
	{FAULT_HANG, "hang", "hang", take_method, is_request_of, discard, 0},
	{FAULT_DROP, "drop", "drop", take_probability, NULL, discard, 0},
	{FAULT_STALE_SESSION, "stale-session", "stale-session", take_probability, names_session, change_id, KIND_DICE},
	{FAULT_WRONG_ID, "wrong-id", "wrong-id", take_probability, is_response, change_id, KIND_DICE},
	{FAULT_ID_TYPE, "id-type", "id-type", take_probability, is_response, change_id, KIND_DICE},
	{FAULT_CORRUPT, "corrupt", "corrupt", take_probability, NULL, corrupt, KIND_DICE},
	{FAULT_TRUNCATE, "truncate", "truncate", take_probability, NULL, cut_short, KIND_DICE},
	{FAULT_DUPLICATE, "duplicate", "duplicate", take_probability, NULL, duplicate, 0},
	{FAULT_REORDER, "reorder", "reorder", take_wait, NULL, wait_for_other, 0},
	{FAULT_OVERTAKE, "overtake", "overtake", take_wait, is_notification, wait_for_other, 0},
	{FAULT_DELAY, "delay", "delay", take_delay, NULL, delay, 0},
	{FAULT_STALL, "stall", "stall", take_duration, NULL, stall, KIND_BY_TIME},
	{FAULT_SPLIT, "split", "split", take_split, NULL, split, 0},
	{FAULT_BANDWIDTH, "bandwidth", "bandwidth", take_rate, NULL, limit_rate, 0},
	{FAULT_CLOSE, "close-after", "close", take_count, NULL, close_after, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_EXIT, "exit-after", "exit", take_count, NULL, exit_after, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_LINGER, "linger", "linger", take_duration, NULL, NULL, 0},
};

const struct fault_kind *
fault_kind(enum fault fault)
{
	const struct fault_kind *k = fault_kinds;

	while (k->fault != fault)
		k++;
	return k;
}
