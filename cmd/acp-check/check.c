#include "cmd/acp-check/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cli.h"

static int
open_connection(const struct check *c, struct connection *to)
{
	int r = connection_open(to);

	to->version = c->options->protocol;
	return r;
}

void
check_open(struct check *c, const struct options *o)
{
	*c = (struct check){.options = o};
	if (open_connection(c, &c->c) < 0)
		cli_die(EXIT_FAILED, check_name, "out of memory");
}

void
check_close(struct check *c)
{
	connection_close(&c->c);
	schema_findings_free(&c->found);
	for (size_t i = 0; i < RULES; i++)
		buf_free(&c->examples[i]);
	buf_free(&c->text);
}

/* --- the schema --- */

/* Checks a value against a node, and reports what is wrong. */
static void
check_node(struct check *c, unsigned node, struct slice value, const char *root)
{
	struct schema_findings *f = &c->found;

	schema_check(f, node, value, root);
	for (size_t i = 0; i < f->n && !f->failed; i++)
		check_find(c, f->at[i].rule, f->text.p + f->at[i].path, f->text.p + f->at[i].expected, f->at[i].found);
	c->failed |= f->failed;
}

static unsigned
version(const struct check *c)
{
	return c->c.version == 2 ? 2 : 1;
}

/* Extensions, and what either side may ignore. */
static bool
is_extension(struct slice method)
{
	return method.n > 2 && (method.p[1] == '_' || (method.p[1] == '$' && method.p[2] == '/'));
}

static void
check_unknown_method(struct check *c, const struct message *s)
{
	bool draft = schema_method(schema_of(version(c), true), s->msg.method) != NULL;

	if (!is_extension(s->msg.method))
		check_find(c, RULE_UNKNOWN_METHOD, "method", draft ? "a method of the stable schema (--unstable knows it)" :
			"a method that the schema has, or one that begins with _", s->msg.method);
}

/* Is the method sent by the right side, and as what it is? */
static void
check_direction(struct check *c, const struct message *s, const struct schema_method *m, enum schema_part part)
{
	enum schema_part other = part == SCHEMA_REQUEST ? SCHEMA_NOTIFICATION : SCHEMA_REQUEST;
	enum schema_side to = m->parts[part].to;

	if (to == SCHEMA_NONE && m->parts[other].to != SCHEMA_NONE)
		check_find(c, RULE_WRONG_KIND, "id", part == SCHEMA_REQUEST ? "a notification" : "a request",
			part == SCHEMA_REQUEST ? s->msg.id : slice(NULL, 0));
	if ((to == SCHEMA_TO_AGENT && s->from == ACP_AGENT) || (to == SCHEMA_TO_CLIENT && s->from == ACP_CLIENT))
		check_find(c, RULE_WRONG_SIDE, "method", to == SCHEMA_TO_AGENT ? "a method of agents" : "a method of clients", s->msg.method);
}

/* What is absent or null is no member at all. */
static struct slice
params_of(struct slice params)
{
	return !params.p || json_type(params) == JSON_NULL ? slice_of("{}") : params;
}

static void
check_content(struct check *c, const struct message *s, const struct schema *schema, struct slice method)
{
	const struct schema_method *m = method.p ? schema_method(schema, method) : NULL;
	enum schema_part part = s->msg.kind == MSG_REQUEST ? SCHEMA_REQUEST : SCHEMA_NOTIFICATION;

	if (s->msg.kind == MSG_RESPONSE) {
		if (s->msg.error.p)
			check_node(c, schema->error, s->msg.error, "error");
		else
			check_node(c, m ? m->parts[SCHEMA_RESPONSE].node : 0, s->msg.result, "result");
		return;
	}
	if (!m) {
		check_unknown_method(c, s);
		check_node(c, 0, params_of(s->msg.params), "params");
		return;
	}
	check_direction(c, s, m, part);
	if (m->parts[part].to == SCHEMA_NONE)
		part = SCHEMA_REQUEST + SCHEMA_NOTIFICATION - part;
	check_node(c, m->parts[part].node, params_of(s->msg.params), "params");
}

static void
check_schema(struct check *c, const struct message *s)
{
	const struct schema *schema = schema_of(version(c), c->options->unstable);

	/* It comes first as a rule, and is nothing else than that in a message. */
	if (!json_get(s->msg.text, "jsonrpc").p)
		check_find(c, RULE_JSONRPC, "jsonrpc", "\"2.0\"", slice(NULL, 0));
	if (s->msg.id.p && !(s->msg.error.p && msg_null_id(&s->msg)))
		check_node(c, schema->id, s->msg.id, "id");
	check_content(c, s, schema, message_method(s));
}

/* --- the connection --- */

/* The version that initialize asks for, or agrees on. */
static void
take_version(struct check *c, struct slice from)
{
	uint64_t n;

	if (!c->options->protocol && json_u64(json_get(from, acp_protocol_version), &n))
		c->c.version = n == 2 ? 2 : 1;
}

static void
take_capabilities(struct check *c, enum acp_side side, struct slice from)
{
	struct slice value = json_get(from, c->c.version == 2 ? "capabilities" : side == ACP_CLIENT ? "clientCapabilities" : "agentCapabilities");
	struct buf *to = &c->c.capabilities[side];

	to->n = 0;
	c->failed |= buf_add_slice(to, json_type(value) == JSON_OBJECT ? value : slice_of("{}")) < 0;
}

static bool
is_initialize(enum acp_method what)
{
	return what == ACP_INITIALIZE || what == ACP_PROXY_INITIALIZE;
}

/* A connection begins with initialize, and anew with each that follows. */
static void
begin(struct check *c, const struct message *s)
{
	struct connection *old = &c->c, fresh;

	if (old->early_agent && !old->early)
		check_find(c, RULE_BEFORE_INITIALIZE, "method", "initialize before the agent's first message", slice(NULL, 0));
	if (open_connection(c, &fresh) < 0) {
		c->failed = true;
		return;
	}
	fresh.heard[ACP_CLIENT] = true;
	/* An attached tool receives the initialization of the stream again, but not the messages between that and now. */
	fresh.partial = c->options->frame.attach != NULL;
	connection_close(old);
	*old = fresh;
	old->initialized = true;
	take_version(c, s->msg.params);
	take_capabilities(c, ACP_CLIENT, s->msg.params);
	/* Which of them count is known when the version is. */
	c->failed |= buf_add_slice(&old->initialize_params, s->msg.params.p ? s->msg.params : slice_of("{}")) < 0;
}

static void
check_early(struct check *c, const struct message *s)
{
	if (c->c.initialized || c->c.partial || c->c.early || s->msg.kind == MSG_RESPONSE)
		return;
	if (s->from == ACP_CLIENT) {
		c->c.early = true;
		check_find(c, RULE_BEFORE_INITIALIZE, "method", "initialize", s->msg.method);
	} else if (s->from == ACP_AGENT && !c->c.heard[ACP_CLIENT]) {
		c->c.early_agent = true;
	}
}

/* --- requests and responses --- */

static struct request_state *
request_state_new(struct check *c, const struct message *s)
{
	struct slice options = s->msg.what == ACP_REQUEST_PERMISSION ? json_get(s->msg.params, acp_options) : slice(NULL, 0);
	struct slice text = c->options->where ? s->msg.text : slice(NULL, 0);
	struct request_state *a = calloc(1, sizeof(*a) + options.n + text.n);

	if (!a)
		return NULL;
	if (options.n)
		memcpy(a->bytes, options.p, options.n);
	a->options = slice(options.p ? a->bytes : NULL, options.n);
	if (text.n)
		memcpy(a->bytes + options.n, text.p, text.n);
	a->text = slice(text.p ? a->bytes + options.n : NULL, text.n);
	a->number = c->where.number;
	return a;
}

static void
forget_request(struct check *c, struct request *r)
{
	requests_take(c->c.requests, r);
	free(r->owner);
	requests_done(r);
}

static void
open_request(struct check *c, const struct message *s)
{
	struct request *r;

	if (s->from != ACP_UNKNOWN && requests_find(c->c.requests, s->from, s->msg.id))
		check_find(c, RULE_ID_IN_USE, "id", "an id that no open request has", s->msg.id);
	r = requests_open(c->c.requests, s->from, s->t, &s->msg);
	if (!r || !(r->owner = request_state_new(c, s))) {
		c->failed = true;
		return;
	}
	check_request(c, s, r->owner);
	if (requests_count(c->c.requests) > REQUESTS_ONE_WAY) {
		forget_request(c, requests_next(c->c.requests, NULL));
		c->c.partial = true;
	}
}

/* The request that a response is for; an error with a null id answers none. */
static struct request *
request_of(struct check *c, const struct message *s)
{
	if (s->msg.kind != MSG_RESPONSE || (s->msg.error.p && msg_null_id(&s->msg)))
		return NULL;
	return requests_find(c->c.requests, acp_other_side(s->from), s->msg.id);
}

static void
take_response(struct check *c, const struct message *s)
{
	if (s->request && is_initialize(s->request->what) && s->msg.result.p) {
		if (c->c.initialize_params.n > 0)
			take_capabilities(c, ACP_CLIENT, buf_slice(&c->c.initialize_params));
		buf_free(&c->c.initialize_params);
		take_capabilities(c, ACP_AGENT, s->msg.result);
	}
	if (s->request)
		check_response(c, s, s->request);
	else if (c->c.unread)
		c->c.unread--;
	else if (!c->c.partial && c->c.heard[acp_other_side(s->from)] && !(s->msg.error.p && msg_null_id(&s->msg)))
		check_find(c, RULE_RESPONSE_UNKNOWN, "id", "the id of an open request", s->msg.id);
}

/* The sender of a message, derived from its method where the stream does not name the side. */
static enum acp_side
sender(const struct check *c, const struct msg *m, const struct request *r)
{
	const struct schema_method *known;
	enum acp_side from;
	enum schema_side to;

	if (m->kind == MSG_RESPONSE)
		return r ? acp_other_side(r->from) : ACP_UNKNOWN;
	from = acp_sender(m->method);
	known = from == ACP_UNKNOWN ? schema_method(schema_of(version(c), true), m->method) : NULL;
	if (!known)
		return from;
	to = known->parts[m->kind == MSG_REQUEST ? SCHEMA_REQUEST : SCHEMA_NOTIFICATION].to;
	return to == SCHEMA_TO_AGENT ? ACP_CLIENT : to == SCHEMA_TO_CLIENT ? ACP_AGENT : ACP_UNKNOWN;
}

void
check_message(struct check *c, const struct message *received)
{
	struct message s = *received;
	struct request *r = request_of(c, &s);

	if (s.from == ACP_UNKNOWN)
		s.from = sender(c, &s.msg, r);
	s.request = r;
	c->messages++;
	c->where.from = s.from;
	c->where.message = &s;
	if (s.msg.kind == MSG_REQUEST && is_initialize(s.msg.what) && s.from != ACP_AGENT)
		begin(c, &s);
	check_early(c, &s);
	if (r && is_initialize(r->what) && s.msg.result.p)
		take_version(c, s.msg.result);
	c->c.heard[s.from] = true;
	c->update = s.msg.what == ACP_SESSION_UPDATE && s.msg.kind != MSG_RESPONSE ? json_get(s.msg.params, acp_update) : slice(NULL, 0);
	check_schema(c, &s);
	if (s.msg.kind == MSG_RESPONSE) {
		take_response(c, &s);
		if (r)
			forget_request(c, r);
	} else {
		check_capabilities(c, &s);
		if (s.msg.kind == MSG_REQUEST)
			open_request(c, &s);
		else
			check_notification(c, &s);
	}
	c->where.message = NULL;
}

/* --- noise and other lines --- */

/* For a line that was meant as a message: what follows from its loss is not reported. */
static void
excuse(struct check *c, struct slice line)
{
	struct request *r = NULL;
	struct slice id;

	switch (msg_noise_meant(line, &id)) {
	case MSG_REQUEST:
		c->c.unread++;
		break;
	case MSG_RESPONSE:
		r = requests_find(c->c.requests, acp_other_side(c->where.from), id);
		break;
	default:
		break;
	}
	if (r)
		forget_request(c, r);
}

void
check_noise(struct check *c, struct slice line)
{
	struct json_error error;
	char expected[128];
	struct msg m;

	if (!json_utf8(line)) {
		check_find(c, RULE_UTF8, "", "UTF-8", line);
	} else if (line.n > 0 && *line.p == '[') {
		check_find(c, RULE_BATCH, "", "one message", line);
	} else {
		msg_scan(line, &m, &error);
		snprintf(expected, sizeof(expected), "a message (%s)", error.what);
		check_find(c, strcmp(error.what, "duplicate member") == 0 ? RULE_DUPLICATE_KEY : RULE_NOISE, "", expected, line);
	}
	excuse(c, line);
}

/* Reports the requests to `side` that have no response, and forgets them. */
static void
check_unanswered(struct check *c, enum acp_side side)
{
	struct where before = c->where;
	struct request *next;

	for (struct request *r = requests_next(c->c.requests, NULL); r; r = next) {
		const struct request_state *a = r->owner;
		struct message s = {.from = r->from, .t = r->t, .msg = {.kind = MSG_REQUEST, .what = r->what, .id = r->id, .method = r->method},
			.request = r}; /* for its session */

		if (a && a->text.p && msg_scan(a->text, &s.msg, NULL) != MSG_NOISE)
			s.line = a->text;
		next = requests_next(c->c.requests, r);
		if (acp_other_side(r->from) != side || c->c.ended[r->from])
			continue;
		c->where.from = r->from;
		c->where.number = a ? a->number : 0;
		c->where.t = s.t;
		c->where.message = &s;
		if (c->c.heard[side] && !c->c.partial)
			check_find(c, RULE_UNANSWERED, "id", "a response", r->id);
		forget_request(c, r);
	}
	c->where = before;
}

void
check_eof(struct check *c, bool torn)
{
	if (torn)
		check_find(c, RULE_TORN_LINE, "", "a newline at the end", slice(NULL, 0));
	if (c->where.from == ACP_UNKNOWN)
		return;
	c->c.ended[c->where.from] = c->c.heard[c->where.from] = true;
	check_unanswered(c, c->where.from);
}

void
check_end(struct check *c, bool cut)
{
	if (!cut) {
		check_unanswered(c, ACP_AGENT);
		check_unanswered(c, ACP_CLIENT);
	}
	connection_close(&c->c);
	c->failed |= open_connection(c, &c->c) < 0;
}

void
check_lost(struct check *c)
{
	c->c.partial = true;
}
