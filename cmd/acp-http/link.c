/* The local peer of a connection: checks and forwards messages both ways, and sends errors for messages that it cannot forward. */
#include <errno.h>
#include <inttypes.h>

#include "cmd/acp-http/http.h"

enum { SHOWN = 200 }; /* the most bytes of a message in a line on stderr */

static const char no_memory[] = "out of memory";

static enum acp_side
local_side(const struct link *l)
{
	return acp_other_side(l->remote);
}

/* --- flow --- */

/*
 * Decides whether the local peer is read. A peer that does not read its error responses is not read until it does. When the remote
 * peer has gone, the local peer is read to its end, and its messages are discarded.
 */
static void
steer(struct link *l)
{
	endpoint_pause(&l->local, !l->down && (l->remote_full || l->local.out.queued > 2 * QUEUE_HIGH));
}

void
link_steer(struct link *l, size_t queued, size_t high)
{
	l->remote_full = queued > (l->remote_full ? high / 2 : high);
	l->overfull = queued > 2 * high;
	steer(l);
}

bool
link_wants(const struct link *l)
{
	return !l->local.out.full && !l->overfull;
}

/* --- requests --- */

/* Sends an error response. r: the request that has this id, or NULL. */
static void
send_error(struct link *l, enum acp_side to, const struct request *r, struct slice id, int code, const char *why,
	struct slice data)
{
	struct message m = {.msg = {.kind = MSG_RESPONSE, .id = id}, .request = r};
	SCOPED struct buf text = {0};

	if (msg_make_error(&text, id, code, why, data) < 0 ||
		(to != l->remote && endpoint_put_line(&l->local, NULL, buf_slice(&text), false) < 0)) {
		report(l->service, l->name, "%s", no_memory);
	} else if (to == l->remote && !l->down) {
		m.line = buf_slice(&text);
		l->send(l->arg, &m);
	}
}

/* Does this message respond to a request? An error with a null id may respond to any, or to none. */
static bool
is_response(const struct msg *m)
{
	return m->kind == MSG_RESPONSE && !(m->error.p && msg_null_id(m));
}

/* Opens the request that is forwarded, or takes the request of a response from the table and returns it. Else returns NULL. */
static struct request *
note(struct link *l, enum acp_side from, const struct msg *m)
{
	struct request *r = NULL;

	if (m->kind == MSG_REQUEST && !requests_open(l->requests, from, loop_now(l->service->loop), m))
		report(l->service, l->name, "%s", no_memory);
	if (is_response(m))
		r = requests_find(l->requests, acp_other_side(from), m->id);
	if (r)
		requests_remove(l->requests, r);
	return r;
}

void
link_fail_request(struct link *l, struct request *r, const char *why, struct slice data)
{
	send_error(l, r->from, r, r->id, ACP_ERR_INTERNAL, why, data);
	requests_remove(l->requests, r);
	requests_done(r);
}

static size_t
fail_requests(struct link *l, enum acp_side from, const char *why)
{
	struct request *next;
	size_t n = 0;

	for (struct request *r = requests_next(l->requests, NULL); r; r = next) {
		next = requests_next(l->requests, r);
		if (r->from == from) {
			link_fail_request(l, r, why, slice(NULL, 0));
			n++;
		}
	}
	return n;
}

void
link_fail(struct link *l, const char *why)
{
	l->failing = why;
	fail_requests(l, l->remote, why);
}

void
link_down(struct link *l, const char *why)
{
	if (l->down || !l->requests)
		return;
	l->down = true;
	l->failed += fail_requests(l, local_side(l), why);
	endpoint_finish(&l->local);
	steer(l);
}

struct slice
link_session(const struct msg *m, const struct request *r)
{
	return m->kind != MSG_RESPONSE ? json_get_string(m->params, acp_session_id) : r ? r->session : slice(NULL, 0);
}

size_t
link_open_requests(const struct link *l, enum acp_side from)
{
	const struct request *r = NULL;
	size_t n = 0;

	while ((r = requests_next(l->requests, r)))
		n += r->from == from;
	return n;
}

/* --- messages --- */

void
link_discard(struct link *l, enum acp_side from, uint64_t number, struct slice text, const char *why)
{
	struct slice id;
	enum msg_kind meant = msg_guess_kind(text, &id);
	struct request *r = meant == MSG_RESPONSE ? requests_find(l->requests, acp_other_side(from), id) : NULL;
	char line[32] = "";

	if (number)
		snprintf(line, sizeof(line), "line %" PRIu64 ": ", number);
	report(l->service, l->name, "%s: %s%s: not forwarded: %.*s", acp_side_name(from), line, why,
		(int)(text.n < SHOWN ? text.n : SHOWN), text.p);
	if (r)
		link_fail_request(l, r, "the response was not valid and could not be forwarded", slice(NULL, 0));
	else if (meant == MSG_REQUEST)
		send_error(l, from, NULL, id, ACP_ERR_INVALID_REQUEST, why, slice(NULL, 0));
}

/* Scans a line. True: the line is a message. False: it is blank, or was discarded, or is a piece of a line that is too long. */
static bool
scan_line(struct link *l, enum acp_side from, enum input_got got, const struct line *line, struct msg *m)
{
	struct outline *outline = &l->outlines[from == l->remote];
	struct json_error error;

	if (got == INPUT_PIECE) {
		/* The line is too long. Its id may come last, so the report waits for the end of the line. */
		outline_add(outline, line->text);
		if (line->last) {
			link_discard(l, from, line->number, buf_slice(&outline->text), "longer than --max-line");
			buf_free(&outline->text);
			*outline = (struct outline){0};
		}
	} else if (!line_is_blank(line)) {
		if (msg_scan(line->text, m, &error) != MSG_NOISE)
			return true;
		link_discard(l, from, line->number, line->text, got == INPUT_TORN ? "the line was cut off" : error.what);
	}
	return false;
}

static bool
local_line(void *arg, enum input_got got, const struct line *line)
{
	struct link *l = arg;
	struct message m = {.line = line->text};
	struct request *r;

	if (l->down) {
		l->lost += !line_is_blank(line);
	} else if (scan_line(l, local_side(l), got, line, &m.msg)) {
		m.request = r = note(l, local_side(l), &m.msg);
		l->send(l->arg, &m);
		if (r)
			requests_done(r);
	}
	steer(l);
	return true;
}

static void
local_event(void *arg, enum endpoint_event event)
{
	struct link *l = arg;

	if (event == ENDPOINT_ENDED)
		l->local_ended = true;
	steer(l);
	l->changed(l->arg);
}

void
link_deliver(struct link *l, struct slice text, const struct msg *m)
{
	struct request *r;

	if (l->down)
		return;
	if (l->failing && m->kind == MSG_REQUEST) {
		send_error(l, l->remote, NULL, m->id, ACP_ERR_INTERNAL, l->failing, slice(NULL, 0));
		return;
	}
	r = note(l, l->remote, m);
	if (!r && is_response(m)) {
		/* For example because the request has got an error here: it has one response only. */
		report(l->service, l->name, "%s: a response to no open request: not forwarded", acp_side_name(l->remote));
		return;
	}
	if (r)
		requests_done(r);
	if (endpoint_put_line(&l->local, NULL, text, false) < 0)
		report(l->service, l->name, "%s", no_memory);
}

void
link_line(struct link *l, enum input_got got, const struct line *line)
{
	struct msg m;

	if (!l->down && scan_line(l, l->remote, got, line, &m))
		link_deliver(l, line->text, &m);
}

/* A blank replaces each line break, which is white space in JSON, so that the message is one line. */
bool
link_receive(struct link *l, struct buf *in)
{
	struct json_error error;
	struct slice text;
	struct msg m;

	while (in->n > 0 && in->p[in->n - 1] == '\n')
		in->n--;
	for (char *p = in->p; in->n > 0 && (p = memchr(p, '\n', in->n - (size_t)(p - in->p))); p++)
		*p = ' ';
	text = buf_slice(in);
	if (line_is_blank(&(struct line){.text = text}))
		return true;
	if (msg_scan(text, &m, &error) != MSG_NOISE)
		link_deliver(l, text, &m);
	else if (!json_utf8(text))
		return false;
	else
		link_discard(l, l->remote, 0, text, error.what);
	return true;
}

int
link_open(struct link *l, int in, int out)
{
	l->local = (struct endpoint){.line = local_line, .event = local_event, .arg = l};
	l->requests = requests_new();
	if (endpoint_open(&l->local, l->service->loop, in, out, l->service->options->limit) < 0)
		return -1;
	return l->requests ? 0 : -1;
}

void
link_close(struct link *l)
{
	if (l->lost > 0)
		report(l->service, l->name, "%" PRIu64 " messages of the %s came after the end of the connection: not forwarded", l->lost,
			acp_side_name(local_side(l)));
	endpoint_close(&l->local);
	requests_free(l->requests);
	buf_free(&l->outlines[0].text);
	buf_free(&l->outlines[1].text);
}
