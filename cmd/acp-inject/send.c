/* --send: messages of our own, when others go by. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* An answer that is held until own requests are answered. */
struct waiting {
	struct waiting *next;
	struct held *held;
	enum acp_direction dir;
	unsigned open;       /* requests that it waits for */
	bool asked[ACP_DIRECTIONS];   /* by the direction they went into */
	struct later *later; /* what goes behind it */
};

/* A request of our own that is open. */
struct own {
	struct own *next;
	char *method;
	struct waiting *waiting; /* what is held for it; or NULL */
};

/* --- what is sent --- */

struct texts {
	struct buf text;
	size_t *ends;
	size_t n;
	bool failed; /* out of memory */
};

static bool
collect(void *arg, struct slice output)
{
	struct texts *t = arg;
	size_t *ends = reallocarray(t->ends, t->n + 1, sizeof(*ends));

	if (ends)
		t->ends = ends;
	if (!ends || buf_add_slice(&t->text, output) < 0) {
		t->failed = true;
		return false;
	}
	ends[t->n++] = t->text.n;
	return true;
}

static void
texts_free(struct texts *t)
{
	buf_free(&t->text);
	free(t->ends);
}

/* What a program says is to be sent. */
struct outgoing {
	struct buf method; /* plain, with a NUL behind it */
	struct slice params;
	bool request;
};

/* 0, or -1 out of memory; *why where it is none. */
static int
read_message(struct slice text, struct outgoing *m, const char **why)
{
	static const char *const keys[] = {"method", "params", "notify"};
	struct json_error error;
	struct slice v[3];

	*why = NULL;
	m->method.n = 0;
	if (json_scan(text, JSON_DEPTH / 2, keys, 3, v, &error) != JSON_OBJECT)
		*why = "what it made is no object with a method";
	else if (!v[0].p || json_type(v[0]) != JSON_STRING)
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
	m->params = v[1].p && json_type(v[1]) != JSON_NULL ? v[1] : slice(NULL, 0);
	m->request = !(v[2].p && json_type(v[2]) == JSON_TRUE) && !acp_is_notification(m->method.p);
	return 0;
}

static struct own *
own_new(struct inject *in, const char *method, struct waiting *w)
{
	struct own *own = calloc(1, sizeof(*own));

	if (!own || !(own->method = strdup(method))) {
		free(own);
		return NULL;
	}
	own->waiting = w;
	own->next = in->own;
	in->own = own;
	return own;
}

static int
send_now(struct passing *p, enum acp_direction dir, const struct outgoing *m, struct own *own)
{
	if (m->request)
		return frame_request(p->inject->frame, dir, m->method.p, m->params, own);
	return frame_notify(p->inject->frame, dir, m->method.p, m->params);
}

/* Behind the message; in front of it; or, where its answer is waited for, at once. */
static int
send_one(struct passing *p, const struct send *s, const struct outgoing *m, struct waiting *w)
{
	bool waits = s->when == SEND_ANSWER && m->request;
	struct own *own = NULL;

	if (m->request && !(own = own_new(p->inject, m->method.p, waits ? w : NULL)))
		return -1;
	if (waits) {
		w->open++;
		w->asked[s->dir] = true;
	}
	if (s->when == SEND_AFTER)
		return later_add(&p->later, s->dir, m->method.p, m->request, m->params, own);
	return send_now(p, s->dir, m, own);
}

/* --- when --- */

static bool
is_due(struct passing *p, const struct send *s)
{
	const struct msg *m = &p->message.msg;
	bool answer = m->kind == MSG_RESPONSE && m->result.p;
	char *why;

	switch (s->when) {
	case SEND_BEFORE:
		return m->kind != MSG_RESPONSE && select_match(s->select, &p->message, &why);
	case SEND_AFTER:
		return (answer || m->kind == MSG_NOTIFICATION) && select_match(s->select, &p->message, &why);
	default:
		return answer && select_match(s->select, &p->message, &why);
	}
}

/* All that one rule sends, once it is known to be sound. */
static int
send_outputs(struct passing *p, const struct send *s, const struct texts *t, struct waiting *w)
{
	struct outgoing m = {.request = false};
	const char *why = NULL;
	size_t i, from, pass;
	int r = 0;

	for (pass = 0; r == 0 && !why && pass < 2; pass++) {
		for (i = from = 0; r == 0 && !why && i < t->n; from = t->ends[i++]) {
			r = read_message(slice(t->text.p + from, t->ends[i] - from), &m, &why);
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
	unsigned number = (unsigned)(s - in->options->sends) + 1 + CONTEXT_DONE;
	struct slice session = message_session(&p->message);
	bool once = session.p && !in->options->send_every;
	struct select_vars vars;
	struct texts t = {.n = 0};
	char *why;
	int r;

	if (once && !once_new(&in->sessions, number, session))
		return 0;
	select_vars(&vars, &p->message);
	r = jqprog_run(s->program, p->message.msg.text, vars.at, SELECT_VARS, collect, &t, &why);
	if (r > 0)
		passing_jq_failed(p, s->rule, r, why, "nothing sent");
	else if (t.failed)
		r = -1;
	else if (t.n > 0)
		r = (once && once_add(&in->sessions, number, session) < 0) || send_outputs(p, s, &t, w) < 0 ? -1 : 0;
	texts_free(&t);
	in->fired[s - in->options->sends] |= r > 0 || t.n > 0;
	in->refused |= r > 0;
	return r < 0 ? -1 : 0;
}

/* --- answers that are held --- */

static enum step
hold(struct passing *p, struct waiting *w)
{
	struct inject *in = p->inject;

	if (passing_settle(p) < 0 || !(w->held = frame_hold(in->frame)))
		return STEP_FAILED;
	w->dir = p->dir;
	w->later = p->later;
	p->later = NULL;
	return STEP_HELD;
}

static struct waiting *
waiting_new(struct inject *in)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (w) {
		w->next = in->waiting;
		in->waiting = w;
	}
	return w;
}

static void
waiting_free(struct inject *in, struct waiting *w)
{
	struct waiting **at = &in->waiting;
	struct own *own;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	for (own = in->own; own; own = own->next)
		if (own->waiting == w)
			own->waiting = NULL;
	later_free(w->later);
	free(w);
}

static void
let_go(struct inject *in, struct waiting *w)
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
	const struct send *s;

	for (s = o->sends; step == STEP_ON && !in->stopped && s < o->sends + o->nsends; s++) {
		if (!is_due(p, s))
			continue;
		if (s->when == SEND_ANSWER && !w && !(w = waiting_new(in)))
			step = STEP_FAILED;
		else if (apply(p, s, w) < 0)
			step = STEP_FAILED;
	}
	if (step == STEP_ON && w && w->open > 0)
		step = hold(p, w);
	if (w && !w->held)
		waiting_free(in, w);
	return step;
}

void
send_answered(struct inject *in, void *tag, const struct message *message)
{
	struct own *own = tag, **at = &in->own;
	struct waiting *w = own->waiting;

	while (*at != own)
		at = &(*at)->next;
	*at = own->next;
	in->refused |= message->msg.error.p != NULL;
	if (message->msg.error.p)
		frame_warn(in->frame, "%s: refused: %.*s", own->method,
			(int)(message->msg.error.n < 512 ? message->msg.error.n : 512), message->msg.error.p);
	else
		inject_note(in, own->method, message->msg.result);
	free(own->method);
	free(own);
	if (w && --w->open == 0)
		let_go(in, w);
}

bool
send_done(const struct inject *in)
{
	size_t i;

	for (i = 0; i < in->options->nsends; i++)
		if (!in->fired[i])
			return false;
	return !in->own && !in->later;
}

void
send_side_ended(struct inject *in, enum acp_side side)
{
	struct waiting *w, *next;

	for (w = in->waiting; w; w = next) {
		next = w->next;
		/* The agent's input stays open for what is held in its direction: that must not wait for ever. */
		if (side != ACP_CLIENT || w->dir == ACP_DOWN || w->asked[ACP_UP])
			let_go(in, w);
	}
}

void
send_free(struct inject *in)
{
	struct own *own;

	while (in->waiting)
		waiting_free(in, in->waiting);
	while ((own = in->own)) {
		in->own = own->next;
		free(own->method);
		free(own);
	}
}
