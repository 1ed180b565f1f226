/*
 * -f otlp: OTLP/JSON, one request body on one line: POST it to /v1/traces. Attributes are those of OpenTelemetry's conventions for
 * generative AI, 1.42 (their status is development). All ids come from the session's id, the kind and the time, so that a second export has
 * the same.
 */
#include "cmd/acp-export/trace.h"

enum { INTERNAL = 1, CLIENT = 3, FAILED = 2, TRACE = 32, SPAN = 16 };

/* --- ids --- */

/* FNV-1a, mixed at the end so that short texts differ in all bits. Never 0: that is no id. */
static uint64_t
hash(uint64_t seed, const char *kind, struct slice text, uint64_t number)
{
	uint64_t h = 14695981039346656037u ^ seed;

	for (; *kind; kind++)
		h = (h ^ (unsigned char)*kind) * 1099511628211u;
	for (size_t i = 0; i < text.n; i++)
		h = (h ^ (unsigned char)text.p[i]) * 1099511628211u;
	for (size_t i = 0; i < 8; i++)
		h = (h ^ (number >> 8 * i & 255)) * 1099511628211u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	h ^= h >> 31;
	return h ? h : 1;
}

static struct slice
id_of(const struct session *s)
{
	return slice(s->id, s->n);
}

static bool
is_hex(struct slice s)
{
	bool zero = true;

	for (size_t i = 0; i < s.n; i++) {
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
		zero &= s.p[i] == '0';
	}
	return !zero;
}

/* The trace and the span that a traceparent names: 00-TRACE-SPAN-FLAGS. */
static bool
parent_of(const struct span_turn *t, struct slice *trace, struct slice *span)
{
	struct slice p = t ? buf_slice(&t->parent) : slice(NULL, 0);

	if (p.n < 55 || p.p[2] != '-' || p.p[35] != '-' || p.p[52] != '-')
		return false;
	*trace = slice(p.p + 3, TRACE);
	*span = slice(p.p + 36, SPAN);
	return is_hex(*trace) && is_hex(*span);
}

static uint64_t
span_of(const struct trace_export *t, const struct span_turn *turn)
{
	return hash(turn->number, "turn", id_of(turn->session), trace_time(t, turn->begin));
}

/* --- spans --- */

/* Appends a span up to its attributes. turn: the turn that it is in, or NULL; is_turn: the span is the turn itself. */
static int
begin_span(struct trace_export *t, const struct session *s, const struct span_turn *turn, bool is_turn, uint64_t id,
	uint64_t begin, uint64_t end, struct buf *to)
{
	struct slice trace, parent, root = id_of(trace_root(s));
	bool has_parent = parent_of(turn, &trace, &parent);
	int r = -(trace_comma(t, to) || buf_add_string(to, "{\"traceId\":\""));

	r |= has_parent ? buf_add_slice(to, trace) : buf_printf(to, "%016llx%016llx", (unsigned long long)hash(1, "trace", root, 0),
		(unsigned long long)hash(2, "trace", root, 0));
	r |= buf_printf(to, "\",\"spanId\":\"%016llx\"", (unsigned long long)id);
	if (turn && !is_turn)
		r |= buf_printf(to, ",\"parentSpanId\":\"%016llx\"", (unsigned long long)span_of(t, turn));
	else if (has_parent)
		r |= -(buf_add_string(to, ",\"parentSpanId\":\"") || buf_add_slice(to, parent) || buf_add_string(to, "\""));
	r |= buf_printf(to, ",\"kind\":%d,\"startTimeUnixNano\":\"%llu000\",\"endTimeUnixNano\":\"%llu000\"", is_turn ? CLIENT : INTERNAL,
		(unsigned long long)trace_time(t, begin), (unsigned long long)trace_time(t, end));
	return r;
}

static int
put_name(struct buf *to, const char *operation, struct slice of)
{
	struct buf name = {0};
	int r = -(buf_printf(&name, "%s%s", operation, of.n ? " " : "") || buf_add_slice(&name, of));

	r |= -(buf_add_string(to, ",\"name\":") || json_quote(buf_slice(&name), to) || buf_add_string(to, ",\"attributes\":["));
	buf_free(&name);
	return r | buf_printf(to, "{\"key\":\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"%s\"}}", operation);
}

/* Nothing where there is no value. */
static int
put_text(struct buf *to, const char *key, struct slice value)
{
	return -(value.n && (buf_printf(to, ",{\"key\":\"%s\",\"value\":{\"stringValue\":", key) || json_quote(value, to) ||
		buf_add_string(to, "}}")));
}

/* It may be larger than an int64 can be: then it is left out, for it is wrong anyway. */
static int
put_number(struct buf *to, const char *key, decimal_units n)
{
	if (n < 0 || n > (decimal_units)INT64_MAX)
		return 0;
	return buf_printf(to, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}", key, (long long)n);
}

static int
put_tokens(struct trace_export *t, const struct span_turn *turn, struct buf *to)
{
	const struct usage_session *s = turn->usage;
	decimal_units types[USAGE_TYPES];
	int r = 0;

	if (!turn->own.has)
		return 0;
	usage_disjoint(&turn->own, s->now ? usage_inside(span_usage(t->span), s->now) : 0, types);
	if (turn->own.has & 1u << USAGE_INPUT)
		r |= put_number(to, "gen_ai.usage.input_tokens", types[USAGE_INPUT] + types[USAGE_READ] + types[USAGE_WRITE]);
	if (turn->own.has & 1u << USAGE_OUTPUT)
		r |= put_number(to, "gen_ai.usage.output_tokens", types[USAGE_OUTPUT] + types[USAGE_THOUGHT]);
	if (turn->own.has & 1u << USAGE_READ)
		r |= put_number(to, "gen_ai.usage.cache_read.input_tokens", types[USAGE_READ]);
	if (turn->own.has & 1u << USAGE_WRITE)
		r |= put_number(to, "gen_ai.usage.cache_creation.input_tokens", types[USAGE_WRITE]);
	return r;
}

/* The values that the conventions have for known providers; else the agent's name. */
static struct slice
provider_of(struct slice agent)
{
	static const struct { const char *part, *provider; } known[] = {{"claude", "anthropic"}, {"codex", "openai"},
		{"gemini", "gcp.gemini"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (agent.n && memmem(agent.p, agent.n, known[i].part, strlen(known[i].part)))
			return slice_of(known[i].provider);
	return agent.n ? agent : slice_of("unknown");
}

static int
end_span(bool failed, struct slice error, struct buf *to)
{
	int r = failed ? put_text(to, "error.type", error) : 0;

	return -(r || buf_add_string(to, "]") || (failed ? buf_printf(to, ",\"status\":{\"code\":%d}", FAILED) : 0) || buf_add_string(to, "}"));
}

static int
put_turn(struct trace_export *t, const struct span_turn *turn, struct buf *to)
{
	const struct usage *u = span_usage(t->span);
	const struct usage_session *s = turn->usage;
	struct slice agent = s ? usage_agent_name(u, s->agent) : slice(NULL, 0), code = json_get(turn->error, "code");
	int r = begin_span(t, turn->session, turn, true, span_of(t, turn), turn->begin, turn->end, to);

	r |= put_name(to, "invoke_agent", agent);
	r |= -(put_text(to, "gen_ai.provider.name", provider_of(agent)) || put_text(to, "gen_ai.agent.name", agent));
	r |= put_text(to, "gen_ai.agent.version", s ? usage_agent_version(u, s->agent) : slice(NULL, 0));
	r |= put_text(to, "gen_ai.conversation.id", id_of(turn->session));
	r |= put_text(to, "gen_ai.request.model", s ? usage_name(u, s->model) : slice(NULL, 0));
	if (json_type(turn->stop) == JSON_STRING)
		r |= -(buf_add_string(to, ",{\"key\":\"gen_ai.response.finish_reasons\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":") ||
			trace_put_string(to, turn->stop) || buf_add_string(to, "}]}}}"));
	r |= put_tokens(t, turn, to);
	return -((end_span(turn->failed || turn->unfinished, turn->unfinished ? slice_of("unfinished") :
		json_type(code) == JSON_NUMBER ? code : slice_of("_OTHER"), to) | r) != 0);
}

static int
put_tool(struct trace_export *t, const struct span_tool *c, struct buf *to)
{
	struct slice id = slice(c->id, c->n), name = c->name.n ? buf_slice(&c->name) : c->kind.n ? buf_slice(&c->kind) : slice_of("other");
	uint64_t span_id = hash(trace_time(t, c->begin), "tool", id_of(c->session), hash(0, "id", id, 0));
	int r = begin_span(t, c->session, c->turn, false, span_id, c->begin, c->end, to);

	r |= -(put_name(to, "execute_tool", name) || put_text(to, "gen_ai.tool.name", name) || put_text(to, "gen_ai.tool.call.id", id));
	r |= put_text(to, "gen_ai.conversation.id", id_of(c->session));
	return -((end_span(c->failed || c->unfinished, slice_of(c->failed ? "_OTHER" : "unfinished"), to) | r) != 0);
}

static int
put_wait(struct trace_export *t, const struct span_wait *w, struct buf *to)
{
	uint64_t span_id = hash(t->waits, "wait", id_of(w->session), trace_time(t, w->begin));
	int r = begin_span(t, w->session, w->turn, false, span_id, w->begin, w->end, to);

	r |= -(buf_add_string(to, ",\"name\":") || buf_add_slice(to, w->method));
	r |= buf_add_string(to, ",\"attributes\":[{\"key\":\"acp.waiting_for\",\"value\":{\"stringValue\":\"user\"}}");
	r |= put_text(to, "gen_ai.conversation.id", id_of(w->session));
	if (w->tool)
		r |= put_text(to, "gen_ai.tool.call.id", slice(w->tool->id, w->tool->n));
	return -((end_span(w->unfinished, slice_of("unfinished"), to) | r) != 0);
}

const struct trace_format trace_otlp = {
	.begin = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"acp\"}}]},"
		"\"scopeSpans\":[{\"scope\":{\"name\":\"acp-export\",\"version\":\"" VERSION "\"},\"spans\":[",
	.end = "]}]}]}\n", .turn = put_turn, .tool = put_tool, .wait = put_wait};
