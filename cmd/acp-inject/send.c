/* --send: sends acp-inject's own messages before or after other messages, or before a response goes on. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-inject/inject.h"

/* A response that is held until the requests that were sent for it have their responses. */
struct waiting {
	struct waiting *next;
	struct held *held;
	enum acp_direction dir;
	unsigned open;       /* the number of requests that the response waits for */
	bool asked[ACP_DIRECTIONS]; /* the directions in which these requests were sent */
	struct later *later; /* messages to send after the response */
};

/* A request of acp-inject that has no response yet. */
struct own_request {
	struct own_request *next;
	char *method;
	struct waiting *waiting; /* the response that is held for this request; or NULL */
};

/* --- what is sent --- */

/* A message to send, as a program has described it. */
struct outgoing {
	struct buf method; /* plain, NUL-terminated */
	struct slice params;
	bool request;
};

/* Reads an output of a program. *why: what is wrong with the output, or NULL. 0, or -1 out of memory. */
static int
read_message(struct slice text, struct outgoing *m, const char **why)
{
	static const char *const keys[] = {"method", "params", "notify"};
	struct slice v[3];

	*why = NULL;
	m->method.n = 0;
	if (json_scan(text, JSON_DEPTH / 2, keys, 3, v, NULL) != JSON_OBJECT)
		*why = "what it made is no object with a method";
	else if (json_type(v[0]) != JSON_STRING)
		*why = "what it made has no method";
	else if (v[1].p && json_type(v[1]) != JSON_OBJECT && json_type(v[1]) != JSON_ARRAY && json_type(v[1]) != JSON_NULL)
		*why = "what it made has params that are neither an object nor an array";
	if (*why)
		return 0;
	if (json_unescape(v[0], &m->method) < 0 || !buf_string(&m->method))
		return -1;
	if (m->method.n == 0 || strlen(m->method.p) != m->method.n) {
		*why = "what it made has no method";
		return 0;
	}
	m->params = json_type(v[1]) != JSON_NULL ? v[1] : slice(NULL, 0);
	m->request = json_type(v[2]) != JSON_TRUE && !acp_is_notification(m->method.p);
	return 0;
}

static void
own_request_free(struct inject *in, struct own_request *request)
{
	LL_DELETE(in->own_requests, request);
	free(request->method);
	free(request);
}

/* Sends an outgoing message after the passing message (SEND_AFTER), or at once. w: the response that waits for it. 0 or -1. */
static int
send_one(struct passing *p, const struct send *s, const struct outgoing *m, struct waiting *w)
{
	bool waits = s->when == SEND_ANSWER && m->request;
	struct own_request *request = NULL;
	struct later *now = NULL;
	SCOPED struct buf text = {0};
	int r;

	if (m->request) {
		request = calloc(1, sizeof(*request));
		if (!request || !(request->method = strdup(m->method.p))) {
			free(request);
			return -1;
		}
		request->waiting = waits ? w : NULL;
		LL_PREPEND(p->inject->own_requests, request);
	}
	if (waits) {
		w->open++;
		w->asked[s->dir] = true;
	}
	r = m->request ? msg_make_request(&text, slice_of("0"), m->method.p, m->params) : msg_make_notification(&text, m->method.p, m->params);
	if (r == 0)
		r = later_add(s->when == SEND_AFTER ? &p->later : &now, s->dir, buf_slice(&text), request);
	if (r == 0)
		r = later_send(&now, p->inject->frame);
	return r;
}

/* --- when --- */

static bool
is_due(struct passing *p, const struct send *s)
{
	const struct msg *m = &p->message.msg;
	bool result = m->kind == MSG_RESPONSE && m->result.p;
	char *why;

	if (s->when == SEND_BEFORE ? m->kind == MSG_RESPONSE : !result && (s->when == SEND_ANSWER || m->kind != MSG_NOTIFICATION))
		return false;
	return select_match(s->select, &p->message, &why);
}

/* Sends all outputs of a rule, or, if one of them is not a message, none. 0, or -1 out of memory. */
static int
send_outputs(struct passing *p, const struct send *s, const struct outputs *o, struct waiting *w)
{
	struct outgoing m = {.request = false};
	const char *why = NULL;
	int r = 0;

	for (size_t pass = 0; r == 0 && !why && pass < 2; pass++) {
		for (size_t i = 0; r == 0 && !why && i < o->n; i++) {
			r = read_message(outputs_at(o, i), &m, &why);
			if (r == 0 && !why && pass == 1)
				r = send_one(p, s, &m, w);
		}
	}
	if (why)
		passing_failed(p, s->rule, why, "nothing sent");
	p->inject->refused |= why != NULL;
	buf_free(&m.method);
	return r;
}

static int
apply(struct passing *p, const struct send *s, struct waiting *w)
{
	struct inject *in = p->inject;
	size_t number = (size_t)(s - in->options->sends);
	struct outputs o = {.n = 0};
	int r;

	if (!in->options->send_every && passing_was_applied(p, RULE_SENDS + number))
		return 0;
	r = passing_run(p, s->program, s->rule, "nothing sent", &o);
	if (r == 0 && o.n > 0)
		r = passing_applied(p, RULE_SENDS + number) < 0 || send_outputs(p, s, &o, w) < 0 ? -1 : 0;
	in->fired[number] |= r > 0 || o.n > 0;
	outputs_free(&o);
	in->refused |= r > 0;
	return r < 0 ? -1 : 0;
}

/* --- responses that are held --- */

static void
waiting_free(struct inject *in, struct waiting *w)
{
	struct own_request *request;

	LL_DELETE(in->waiting, w);
	LL_FOREACH(in->own_requests, request)
		if (request->waiting == w)
			request->waiting = NULL;
	later_free(w->later);
	free(w);
}

static void
release_response(struct inject *in, struct waiting *w)
{
	frame_release(in->frame, w->held, VERDICT_PASS, slice(NULL, 0));
	later_send(&w->later, in->frame);
	waiting_free(in, w);
}

enum step
send_message(struct passing *p)
{
	struct inject *in = p->inject;
	const struct options *o = in->options;
	struct waiting *w = NULL;
	enum step step = STEP_ON;

	for (const struct send *s = o->sends; step == STEP_ON && !in->stopped && s < o->sends + o->nsends; s++) {
		if (!is_due(p, s))
			continue;
		if (s->when == SEND_ANSWER && !w && (w = calloc(1, sizeof(*w))))
			LL_PREPEND(in->waiting, w);
		if ((s->when == SEND_ANSWER && !w) || apply(p, s, w) < 0)
			step = STEP_FAILED;
	}
	if (step == STEP_ON && w && w->open > 0) {
		step = passing_settle(p) < 0 || !(w->held = frame_hold(in->frame, NULL)) ? STEP_FAILED : STEP_HELD;
		w->dir = p->dir;
		w->later = p->later;
		p->later = NULL;
	}
	if (w && !w->held)
		waiting_free(in, w);
	return step;
}

void
send_response(struct inject *in, void *tag, const struct message *message)
{
	struct own_request *request = tag;
	struct waiting *w = request->waiting;

	in->refused |= message->msg.error.p != NULL;
	if (message->msg.error.p)
		frame_warn(in->frame, "%s: refused: %.*s", request->method,
			(int)(message->msg.error.n < 512 ? message->msg.error.n : 512), message->msg.error.p);
	else
		inject_note(in, request->method, message->msg.result);
	own_request_free(in, request);
	if (w && --w->open == 0)
		release_response(in, w);
}

bool
send_done(const struct inject *in)
{
	for (size_t i = 0; i < in->options->nsends; i++)
		if (!in->fired[i])
			return false;
	return !in->own_requests && !in->later;
}

void
send_side_ended(struct inject *in, enum acp_side side)
{
	struct waiting *w, *next;

	LL_FOREACH_SAFE(in->waiting, w, next) {
		/* A response that is held on its way to the agent keeps the agent's input open: it must not wait for ever. */
		if (side != ACP_CLIENT || w->dir == ACP_DOWN || w->asked[ACP_UP])
			release_response(in, w);
	}
}

void
send_free(struct inject *in)
{
	while (in->waiting)
		waiting_free(in, in->waiting);
	while (in->own_requests)
		own_request_free(in, in->own_requests);
}
