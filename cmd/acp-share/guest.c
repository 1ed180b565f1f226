/* The guests: what they see, what they may send, and how they end. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "cmd/acp-share/share.h"
#include "lib/recording/recording.h"
#include "lib/run/endpoint.h"

enum {
	COPIES = 1024 * 1024,        /* bytes queued for a guest, beyond which copies are lost until the guest has read half of them */
	RESPONSES = 8 * 1024 * 1024, /* bytes queued for a guest, beyond which it is detached, because a response is never lost */
	OPEN = 1000,                 /* open requests of one guest */
	OPEN_IN_ALL = 10000,         /* open requests of all guests, also of those that have left */
	RECORD = 64 * 1024,          /* bytes that a record may have beside its message */
	CHUNK = 64 * 1024,           /* bytes of copies in one block */
	LAST_MS = 2000,              /* how long the end waits for all guests to read */
};

struct guest {
	struct share *share;
	struct endpoint end;
	uint64_t number;
	size_t preface; /* bytes of earlier messages, until it has read them */
	size_t open; /* how many requests it has open */
	bool answers, losing;
	uint64_t lost; /* copies that are lost, and not reported yet */
	struct guest *prev, *next;
};

struct call {
	struct guest *guest; /* NULL: the guest has its response, or has left */
	enum acp_direction dir;
	struct buf id, sent; /* the id that the guest gave, and the one on the wire */
	bool cancelled;
	struct call *prev, *next;
};

static enum acp_side
sender(enum acp_direction dir)
{
	return dir == ACP_DOWN ? ACP_CLIENT : ACP_AGENT;
}

/* --- what a guest gets --- */

static void
report_lost(struct guest *g)
{
	SCOPED struct buf record = {0};

	if (g->end.out.queued <= COPIES)
		g->preface = 0;
	if (g->lost == 0 || g->end.out.queued > COPIES / 2)
		return;
	if (recording_put(&record, 0, &(struct record){.kind = RECORD_LOST, .t = frame_now(g->share->frame), .count = g->lost,
		.text = slice_of("its reader is too slow")}) == 0 &&
		endpoint_put(&g->end, NULL, buf_slice(&record)) == 0) {
		g->lost = 0;
		g->losing = false;
	}
}

/* Puts the record into a block that all guests share. The caller drops it. NULL out of memory. */
static struct block *
share_record(struct share *s, struct slice *record)
{
	struct block *b = s->chunk;
	bool fits = record->n <= CHUNK;

	/* All guests have read everything in this block. */
	if (b && b->owners == 1)
		s->used = 0;
	if (!b || !fits || b->cap - s->used < record->n) {
		b = block_new(fits ? CHUNK : record->n);
		if (!b)
			return NULL;
	}
	if (fits && b != s->chunk) {
		block_drop(s->chunk);
		s->chunk = b;
		s->used = 0;
	}
	*record = slice(memcpy(b->data + (fits ? s->used : 0), record->p, record->n), record->n);
	s->used += fits ? record->n : 0;
	return fits ? block_hold(b) : b;
}

static void
count(struct share *s, enum acp_direction dir, const struct message *message)
{
	s->messages[dir]++;
	preface_see(&s->preface, message);
}

void
share_show(struct share *s, enum acp_direction dir, const struct message *message, const struct guest *except)
{
	count(s, dir, message);
	if (s->guests)
		guests_copy(s, recording_put_message(&s->record, message->t, 0, message->from, message->line), except);
}

void
guests_copy(struct share *s, int built, const struct guest *except)
{
	struct slice record = buf_slice(&s->record);
	struct block *block = built == 0 ? share_record(s, &record) : NULL;
	struct guest *g;

	DL_FOREACH(s->guests, g) {
		if (g == except || !endpoint_can_write(&g->end))
			continue;
		report_lost(g);
		if (block && !g->losing && g->end.out.queued <= COPIES + g->preface
			&& endpoint_put(&g->end, block, record) == 0)
			continue;
		g->losing = true;
		g->lost++;
	}
	block_drop(block);
	s->record.n = 0;
}

/* Sends a record to one guest alone. Such a record is never lost: a guest that has no room for it is detached, and may attach again. */
static void
send_to_guest(struct guest *g, int built, const struct buf *record)
{
	const char *why = built < 0 ? "out of memory" : g->end.out.queued > RESPONSES ? "does not read its responses" : NULL;

	if (endpoint_can_write(&g->end) && !why && endpoint_put(&g->end, NULL, buf_slice(record)) < 0)
		why = "out of memory";
	if (endpoint_can_write(&g->end) && why) {
		frame_warn(g->share->frame, "guest.%" PRIu64 ": %s: detached", g->number, why);
		endpoint_close(&g->end);
	}
}

/* Tells a guest that its message goes nowhere. */
static void
reject(struct guest *g, const char *why)
{
	struct share *s = g->share;
	SCOPED struct buf record = {0};

	frame_warn(s->frame, "guest.%" PRIu64 ": line %" PRIu64 ": %s: discarded", g->number, g->end.in.lines, why);
	send_to_guest(g, recording_put(&record, 0, &(struct record){.kind = RECORD_ERROR, .t = frame_now(s->frame),
		.text = slice_of(why)}), &record);
}

/* Sends a guest an error in the place of a response. dir: that of the request. */
static void
send_error_to_guest(struct guest *g, struct slice id, enum acp_direction dir, int code, const char *why)
{
	SCOPED struct buf text = {0}, record = {0};
	bool failed = msg_make_error(&text, id, code, why, slice(NULL, 0))
		|| recording_put_response(&record, frame_now(g->share->frame), 0, acp_other_side(sender(dir)), buf_slice(&text));

	send_to_guest(g, failed ? -1 : 0, &record);
}

/* --- requests of guests --- */

static void
call_free(struct share *s, struct call *c)
{
	if (c->guest)
		c->guest->open--;
	DL_DELETE(s->calls, c);
	s->ncalls--;
	buf_free(&c->id);
	buf_free(&c->sent);
	free(c);
}

/* Shows a message of a guest to the others; text is what is sent. */
static void
show(const struct guest *g, enum acp_direction dir, struct slice text)
{
	struct message message = {.from = sender(dir), .t = frame_now(g->share->frame), .line = text};

	if (msg_scan(text, &message.msg, NULL) != MSG_NOISE)
		share_show(g->share, dir, &message, g);
}

static int
send(const struct guest *g, enum acp_direction dir, struct slice text)
{
	show(g, dir, text);
	return frame_send(g->share->frame, dir, text);
}

static void
cancel(const struct guest *g, struct call *c)
{
	SCOPED struct buf params = {0}, text = {0};

	if (!c->cancelled && !g->share->over[c->dir] && buf_add(&params, "{", 1) == 0 &&
		json_add_member(&params, acp_request_id, buf_slice(&c->sent)) == 0 && buf_add(&params, "}", 1) == 0 &&
		msg_make_notification(&text, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params)) == 0 &&
		send(g, c->dir, buf_slice(&text)) == 0)
		c->cancelled = true;
}

/* Cancels the request that a guest names by its own id, unless it has its response already or was never sent. */
static void
cancel_by_id(struct guest *g, enum acp_direction dir, struct slice id)
{
	struct call *c;

	DL_FOREACH(g->share->calls, c) {
		if (c->guest == g && c->dir == dir && msg_same_id(buf_slice(&c->id), id)) {
			cancel(g, c);
			break;
		}
	}
}

/* 0, or -1 out of memory. */
static int
call(struct guest *g, enum acp_direction dir, const struct msg *m, struct slice text)
{
	struct share *s = g->share;
	struct call *c = calloc(1, sizeof(*c));
	SCOPED struct buf sent = {0};
	struct msg request;
	int r = -1;

	if (!c)
		return -1;
	*c = (struct call){.guest = g, .dir = dir};
	g->open++;
	s->ncalls++;
	DL_APPEND(s->calls, c);
	if (buf_add_slice(&c->id, m->id) == 0)
		r = frame_request_for(s->frame, dir, text, c, &sent);
	if (r == 0 && msg_scan(buf_slice(&sent), &request, NULL) == MSG_REQUEST) {
		/* Without its id the request could not be cancelled. */
		c->cancelled = buf_add_slice(&c->sent, request.id) < 0;
		show(g, dir, buf_slice(&sent));
	} else {
		/* The frame may have taken the message. */
		g->open--;
		c->guest = NULL;
	}
	return r;
}

void
guests_response(struct share *s, void *tag, const struct message *message)
{
	struct call *c = tag;
	struct guest *g = c->guest;
	struct splices with = {.n = 0};
	SCOPED struct buf text = {0}, record = {0};
	bool failed;

	share_show(s, acp_back(c->dir), message, g);
	if (g) {
		splice_value(&with, message->msg.id, buf_slice(&c->id));
		failed = splice_write(message->msg.text, with.at, with.n, &text)
			|| recording_put_response(&record, message->t, 0, message->from, buf_slice(&text));
		send_to_guest(g, failed ? -1 : 0, &record);
	}
	call_free(s, c);
}

void
guests_over(struct share *s, enum acp_direction dir, const char *why)
{
	struct call *c;

	if (!s->over[dir])
		s->over[dir] = why;
	DL_FOREACH(s->calls, c) {
		if (c->dir != dir || !c->guest)
			continue;
		send_error_to_guest(c->guest, buf_slice(&c->id), dir, ACP_ERR_INTERNAL, why);
		c->guest->open--;
		c->guest = NULL;
	}
}

/* --- what a guest sends --- */

/* Why this message of a guest must not be sent, and the code of the error; NULL: it may. */
static const char *
objection(const struct guest *g, const struct msg *m, enum acp_direction dir, int *code)
{
	const struct share *s = g->share;

	*code = ACP_ERR_INVALID_REQUEST;
	if (m->what == ACP_INITIALIZE || m->what == ACP_PROXY_INITIALIZE || m->what == ACP_PROXY_SUCCESSOR)
		return "a guest may not initialize, and may not send envelopes";
	if (!preface_initialized(&s->preface) && !s->restarted)
		return "before initialize";
	*code = ACP_ERR_METHOD;
	if (m->what == ACP_CANCEL_REQUEST && m->kind == MSG_REQUEST)
		return "it is a notification, and has no id";
	*code = ACP_ERR_INTERNAL;
	if (s->over[dir])
		return s->over[dir];
	if (m->kind == MSG_REQUEST && g->open >= OPEN)
		return "too many open requests of one guest";
	if (m->kind == MSG_REQUEST && s->ncalls >= OPEN_IN_ALL)
		return "too many open requests of guests";
	return NULL;
}

/*
 * Handles a guest's response to a question of the agent. The guest says when the question was asked, because the agent may have used its
 * id again. The first response counts; a guest that is second cannot know that, so it gets no error.
 */
static void
respond(struct guest *g, const struct msg *m, enum acp_direction dir, struct slice t)
{
	struct share *s = g->share;
	struct request *asked = dir == ACP_DOWN && !s->over[dir] ? frame_open_request(s->frame, ACP_UP, m->id) : NULL;
	struct message message = {.from = ACP_CLIENT, .t = frame_now(s->frame), .line = m->text, .msg = *m, .request = asked};
	uint64_t when;

	if (!g->answers) {
		reject(g, "a guest may not send responses");
	} else if (dir != ACP_DOWN || (asked && asked->what != ACP_REQUEST_PERMISSION && asked->what != ACP_ELICITATION_CREATE)) {
		reject(g, "a guest may respond to permission requests and elicitations of the agent only");
	} else if (!recording_seconds(t, &when)) {
		reject(g, "a response needs the member \"asked\": the t of its request");
	} else if (asked && asked->t == when && frame_respond(s->frame, asked, m->text) < 0) {
		reject(g, "out of memory");
	} else if (asked && asked->t == when) {
		count(s, dir, &message);
		guests_copy(s, recording_put_by(&s->record, message.t, 0, message.from, g->number, m->text), NULL);
	}
}

static void
handle_message(struct guest *g, struct slice text, enum acp_direction dir, struct slice asked)
{
	struct json_error error;
	const char *why;
	struct msg m;
	int code = ACP_ERR_INVALID_REQUEST, r = 0;

	if (msg_scan(text, &m, &error) == MSG_NOISE)
		why = error.what;
	else if (text.n > g->share->limit)
		why = "a message that is longer than --max-line";
	else
		why = m.kind != MSG_RESPONSE ? objection(g, &m, dir, &code) : NULL;
	if (why && m.kind == MSG_REQUEST)
		send_error_to_guest(g, m.id, dir, code, why);
	else if (why)
		reject(g, why);
	else if (m.kind == MSG_RESPONSE)
		respond(g, &m, dir, asked);
	else if (m.what == ACP_CANCEL_REQUEST)
		cancel_by_id(g, dir, json_get(m.params, acp_request_id));
	else
		r = m.kind == MSG_REQUEST ? call(g, dir, &m, text) : send(g, dir, text);
	if (r < 0)
		reject(g, "out of memory");
}

static void
handle_record(struct guest *g, struct slice line)
{
	static const struct json_keys keys = {3, {"from", "msg", "asked"}};
	struct slice values[3];
	struct json_error error;
	enum json_type type = json_members(line, JSON_DEPTH + 1, &keys, values, &error);

	if (type == JSON_NONE)
		reject(g, error.what);
	else if (type != JSON_OBJECT || !values[1].p)
		reject(g, "not a record with a message");
	else if (json_string_is(values[0], acp_side_name(ACP_CLIENT)))
		handle_message(g, values[1], ACP_DOWN, values[2]);
	else if (json_string_is(values[0], acp_side_name(ACP_AGENT)))
		handle_message(g, values[1], ACP_UP, values[2]);
	else
		reject(g, "a record needs the member \"from\", which is \"client\" or \"agent\"");
}

/* Must a guest not be read, because the queue for its messages is full, or because it does not read its own queue? */
static bool
must_wait(struct guest *g)
{
	struct frame *f = g->share->frame;

	return frame_full(f, ACP_DOWN) || frame_full(f, ACP_UP) || (endpoint_can_write(&g->end) && g->end.out.queued > COPIES);
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct guest *g = arg;

	if (must_wait(g))
		return false;
	if (got == INPUT_LINE && !line_is_blank(line))
		handle_record(g, line->text);
	else if (got == INPUT_TORN)
		reject(g, "a torn line");
	else if (got == INPUT_PIECE && line->first)
		reject(g, "a line that is longer than --max-line");
	return true;
}

/* --- coming and going --- */

static void
guest_free(struct guest *g)
{
	struct share *s = g->share;
	struct call *c;

	endpoint_close(&g->end);
	DL_FOREACH(s->calls, c) {
		if (c->guest != g)
			continue;
		cancel(g, c);
		c->guest = NULL;
	}
	DL_DELETE(s->guests, g);
	s->nguests--;
	free(g);
}

void
guests_settle(struct share *s)
{
	struct guest *g, *next;

	DL_FOREACH_SAFE(s->guests, g, next) {
		if (endpoint_can_read(&g->end))
			endpoint_pause(&g->end, must_wait(g));
		else if (!endpoint_can_write(&g->end))
			guest_free(g);
	}
}

/* Handles the end of a guest. One that has left is still read to its end. */
static void
on_event(void *arg, enum endpoint_event event)
{
	struct guest *g = arg;

	if (event == ENDPOINT_WROTE)
		report_lost(g);
	guests_settle(g->share);
}

int
guest_add(struct share *s, int fd, enum attach_want want)
{
	struct guest *g = calloc(1, sizeof(*g));
	SCOPED struct buf text = {0};
	char *const hops[] = {(char *)s->name, NULL};
	uint64_t before = s->messages[ACP_DOWN] + s->messages[ACP_UP];

	if (!g)
		return -1;
	*g = (struct guest){.share = s, .end = {.line = on_line, .event = on_event, .arg = g}, .number = ++s->ever,
		.answers = want == ATTACH_ANSWER};
	DL_APPEND(s->guests, g);
	s->nguests++;
	if (endpoint_open(&g->end, frame_loop(s->frame), want == ATTACH_WATCH ? -1 : fd, fd, s->limit + RECORD) == 0
		&& recording_put_header(&text, frame_started(s->frame), "acp-share " VERSION, NULL, hops) == 0
		&& ((before == 0 && !s->restarted) || recording_header_add(&text, "selected") == 0)
		&& preface_put(&s->preface, &text) == 0 && endpoint_put(&g->end, NULL, buf_slice(&text)) == 0) {
		g->preface = text.n;
		return 0;
	}
	guest_free(g);
	errno = errno ? errno : ENOMEM;
	return -1;
}

/* Writes what the guests have room for, and waits until they have more. False: everything is written, or it is too late. */
static bool
write_some(struct share *s, uint64_t end)
{
	uint64_t now = loop_clock();
	struct pollfd p[GUESTS];
	struct guest *g;
	nfds_t n = 0;

	DL_FOREACH(s->guests, g) {
		endpoint_flush(&g->end, 0, 0);
		report_lost(g);
		endpoint_flush(&g->end, 0, 0);
		if (endpoint_can_write(&g->end) && g->end.out.queued > 0 && n < GUESTS)
			p[n++] = (struct pollfd){.fd = g->end.out.io.fd, .events = POLLOUT};
	}
	return n > 0 && now < end && poll(p, n, (int)((end - now) / 1000 + 1)) != 0;
}

void
guests_close(struct share *s)
{
	uint64_t end = loop_clock() + LAST_MS * 1000;
	struct call *c, *next;

	while (write_some(s, end))
		;
	while (s->guests)
		guest_free(s->guests);
	block_drop(s->chunk);
	s->chunk = NULL;
	DL_FOREACH_SAFE(s->calls, c, next)
		call_free(s, c);
}
