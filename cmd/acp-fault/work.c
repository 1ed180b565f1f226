#include "cmd/acp-fault/work.h"

#include <inttypes.h>

#include "cmd/acp-fault/damage.h"

/* --- what they share --- */

static void report(const struct work *, enum fault, const char *details, ...) __attribute__((format(printf, 3, 4)));

static void
report(const struct work *w, enum fault fault, const char *details, ...)
{
	va_list args;

	va_start(args, details);
	report_vadd(w->x->report, &w->subject, w->rule, fault, details, args);
	va_end(args);
}

static void
report_time(const struct work *w, enum fault fault, uint64_t us)
{
	report(w, fault, ",\"for\":%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
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

struct slice
work_session(const struct msg *m)
{
	struct slice session = {NULL, 0};

	if (json_type(m->params) == JSON_OBJECT)
		session = json_get(m->params, "sessionId");
	return session.p && json_type(session) == JSON_STRING ? session : slice(NULL, 0);
}

/* --- the ids in it --- */

/* Replaces a value of the message, and reports it. */
static int
replace(struct work *w, enum fault fault, struct slice was, struct slice is)
{
	struct buf *text = &w->parcel->text, made = {0};
	struct splice splice = {was.p, was.p + was.n, is};
	int r = splice_write(buf_slice(text), &splice, 1, &made);

	if (r == 0)
		report(w, fault, ",\"was\":%.*s,\"is\":%.*s", (int)was.n, was.p, (int)is.n, is.p);
	w->message_n += is.n - was.n;
	buf_free(text);
	*text = made;
	return r;
}

static int
change_id(struct work *w, enum fault fault, int (*damage)(const struct chance *, struct slice id, struct buf *to))
{
	struct json_error error;
	struct buf is = {0};
	struct msg m;
	int r = change(w);

	if (r == 0 && msg_scan(slice(w->parcel->text.p, length(w)), &m, &error) == MSG_RESPONSE) {
		r = damage(&w->chance, m.id, &is);
		r = r < 0 ? -1 : replace(w, fault, m.id, buf_slice(&is));
	}
	buf_free(&is);
	return r;
}

int
work_wrong_id(struct work *w)
{
	return change_id(w, FAULT_WRONG_ID, damage_id);
}

int
work_id_type(struct work *w)
{
	return change_id(w, FAULT_ID_TYPE, damage_id_type);
}

int
work_stale_session(struct work *w)
{
	struct json_error error;
	struct buf is = {0};
	struct slice was;
	struct msg m;
	int r = change(w);

	if (r < 0)
		return -1;
	msg_scan(slice(w->parcel->text.p + w->message_at, w->message_n), &m, &error);
	was = work_session(&m);
	if (was.p) {
		r = damage_session(&w->chance, &is);
		r = r < 0 ? -1 : replace(w, FAULT_STALE_SESSION, was, buf_slice(&is));
	}
	buf_free(&is);
	return r;
}

/* --- faults after which the line does not leave --- */

int
work_drop(struct work *w)
{
	w->dropped = true;
	report(w, FAULT_DROP, "%s", "");
	return 0;
}

int
work_hang(struct work *w)
{
	w->dropped = true;
	report(w, FAULT_HANG, "%s", "");
	return 0;
}

int
work_error(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_ERROR];
	struct buf text = {0}, message = {0};
	int r = msg_make_error(&text, w->subject.id, a->code, a->text, slice(NULL, 0));

	w->dropped = true;
	if (r == 0)
		r = json_quote(slice_of(a->text), &message);
	if (r == 0)
		report(w, FAULT_ERROR, ",\"code\":%d,\"message\":%.*s", a->code, (int)message.n, message.p);
	if (r == 0)
		r = frame_send(w->x->frame, w->dir == ACP_DOWN ? ACP_UP : ACP_DOWN, buf_slice(&text));
	buf_free(&text);
	buf_free(&message);
	return r;
}

/* --- its bytes --- */

/* Sends another line before the one that is hit. */
int
work_noise(struct work *w)
{
	struct slice text = damage_noise(&w->chance);
	struct parcel *p = parcel_new(frame_now(w->x->frame));
	struct buf quoted = {0};
	int r = -1;

	if (p && buf_add_slice(&p->text, text) == 0 && buf_add(&p->text, "\n", 1) == 0)
		r = json_quote(text, &quoted);
	if (r < 0) {
		parcel_free(p);
		return -1;
	}
	queue_add(&w->track->queue, p);
	report(w, FAULT_NOISE, ",\"text\":%.*s", (int)quoted.n, quoted.p);
	buf_free(&quoted);
	return 0;
}

/* Inside an envelope, where there is one. */
int
work_corrupt(struct work *w)
{
	unsigned char was, is;
	size_t at;

	if (w->message_n == 0)
		return 0;
	if (change(w) < 0)
		return -1;
	at = w->message_at + damage_byte(&w->chance, w->parcel->text.p + w->message_at, w->message_n, &was);
	is = (unsigned char)w->parcel->text.p[at];
	report(w, FAULT_CORRUPT, ",\"byte\":%zu,\"was\":%u,\"is\":%u", at + 1, was, is);
	return 0;
}

/* The newline stays, so that the next line is not damaged. */
int
work_truncate(struct work *w)
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
	report(w, FAULT_TRUNCATE, ",\"kept\":%zu,\"of\":%zu", left, n);
	return 0;
}

int
work_duplicate(struct work *w)
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
	report(w, FAULT_DUPLICATE, "%s", "");
	return 0;
}

/* --- when it leaves --- */

/* It is reported when it is known which message has passed it. */
int
work_reorder(struct work *w)
{
	w->waits = FAULT_REORDER;
	return 0;
}

int
work_overtake(struct work *w)
{
	w->waits = FAULT_OVERTAKE;
	return 0;
}

int
work_delay(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_DELAY];
	uint64_t wait = a->us - a->more_us + chance_below(&w->chance, FAULT_DELAY, 1, a->more_us * 2 + 1);

	w->parcel->ready += wait;
	report_time(w, FAULT_DELAY, wait);
	return 0;
}

int
work_stall(struct work *w)
{
	w->parcel->stall = w->rule->of[FAULT_STALL].us;
	report_time(w, FAULT_STALL, w->parcel->stall);
	return 0;
}

int
work_split(struct work *w)
{
	const struct argument *a = &w->rule->of[FAULT_SPLIT];

	w->parcel->piece = a->n;
	w->parcel->pause = a->us;
	report(w, FAULT_SPLIT, ",\"bytes\":%" PRIu64 ",\"pause\":%" PRIu64 ".%06" PRIu64, a->n, a->us / 1000000, a->us % 1000000);
	return 0;
}

int
work_bandwidth(struct work *w)
{
	w->parcel->rate = w->rule->of[FAULT_BANDWIDTH].n;
	report(w, FAULT_BANDWIDTH, ",\"rate\":%" PRIu64, w->parcel->rate);
	return 0;
}

/* --- ends --- */

int
work_close(struct work *w)
{
	w->parcel->close = true;
	report(w, FAULT_CLOSE, "%s", "");
	return 0;
}

/* Cuts the line, without a newline. */
static int
tear(struct work *w)
{
	struct buf *text = &w->parcel->text;
	size_t n;

	if (change(w) < 0)
		return -1;
	n = length(w);
	text->n = damage_cut(&w->chance, FAULT_EXIT, n);
	report(w, FAULT_EXIT, ",\"kept\":%zu,\"of\":%zu", text->n, n);
	return 0;
}

int
work_exit(struct work *w)
{
	w->parcel->exit = w->rule;
	if (w->rule->torn && w->line && !w->dropped)
		return tear(w);
	report(w, FAULT_EXIT, "%s", "");
	return 0;
}
