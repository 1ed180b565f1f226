/*
 * -f otlp: OTLP/JSON. Each line is the body of one request: spans, for /v1/traces, or metrics, for /v1/metrics. Attributes follow
 * OpenTelemetry's conventions for generative AI, 1.42 (which are in development). Ids are computed from the session's id, the kind
 * and the time, so that a second export of a recording has the same ids.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/acp-export/trace.h"

/* INTERNAL, CLIENT: kinds of spans. TRACE, SPAN: hexadecimal digits of an id. */
enum { INTERNAL = 1, CLIENT = 3, TRACE = 32, SPAN = 16 };

/* --- ids --- */

/* Returns FNV-1a, mixed at the end so that short texts differ in all bits. Never 0, which is not a valid id. */
static uint64_t
hash(uint64_t seed, const char *kind, struct slice text, uint64_t number)
{
	uint64_t h = slice_hash(slice_hash(14695981039346656037u ^ seed, slice_of(kind)), text);

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

/* Reads the trace and the span in the traceparent of a turn's prompt: 00-TRACE-SPAN-FLAGS. False: there is no valid one. */
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

/* Returns the id of a turn's span. The prompt determines the id, so that the id is known while the turn is queued. */
static uint64_t
span_of(const struct trace_export *t, const struct span_turn *turn)
{
	return hash(turn->order, "turn", id_of(turn->session), trace_time(t, turn->asked));
}

static int
put_trace(const struct session *s, struct buf *to)
{
	struct slice root = id_of(session_root(s));

	return buf_printf(to, "%016" PRIx64 "%016" PRIx64, hash(1, "trace", root, 0), hash(2, "trace", root, 0));
}

int
trace_propagate(struct trace_export *t, const struct message *m)
{
	struct slice params = m->msg.params, meta = json_get(params, "_meta");
	SCOPED struct buf id = {0}, with = {0};
	const struct session_turn *turn;
	const struct session *s;
	bool none = !meta.p, null = json_type(meta) == JSON_NULL;

	if (m->msg.kind != MSG_REQUEST || m->msg.what != ACP_SESSION_PROMPT || json_type(params) != JSON_OBJECT ||
		json_get(meta, "traceparent").p || !(none || null || json_type(meta) == JSON_OBJECT))
		return 0;
	s = sessions_find(span_sessions(t->span), json_text(msg_session(&m->msg), &id));
	/* This prompt has made the last turn of the queue. */
	for (turn = s ? s->turn : NULL; turn && turn->next; turn = turn->next)
		;
	if (!turn || !turn->data)
		return 0;
	if (buf_printf(&with, "%s\"traceparent\":\"00-", none ? "\"_meta\":{" : null ? "{" : "") < 0 || put_trace(s, &with) < 0 ||
		buf_printf(&with, "-%016" PRIx64 "-01\"%s", span_of(t, turn->data), none || null ? "}" : "") < 0)
		return -1;
	if (null)
		return frame_replace(t->watch->stream, meta, buf_slice(&with));
	return frame_add_members(t->watch->stream, none ? params : meta, buf_slice(&with));
}

/* --- metrics: cumulative histograms of tokens and durations, one for each combination of attributes --- */

enum { BOUNDS = 14, COMBINATIONS = 1000 };

struct histogram {
	UT_hash_handle hh;
	uint64_t count, buckets[BOUNDS + 1];
	double sum, least, most;
	char attributes[];
};

/* The conventions specify the upper bounds of the buckets. */
static const struct {
	const char *name, *unit;
	double bounds[BOUNDS];
} kinds[METRICS] = {
	[METRIC_TOKENS] = {"gen_ai.client.token.usage", "{token}",
		{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}},
	[METRIC_DURATION] = {"gen_ai.client.operation.duration", "s",
		{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}},
};

/* Finds or makes the histogram with these attributes; all beyond COMBINATIONS share one histogram. NULL: out of memory. */
static struct histogram *
find(struct metrics *m, enum metric kind, struct slice attributes)
{
	struct histogram *h;

	HASH_FIND(hh, m->of[kind], attributes.p, (unsigned)attributes.n, h);
	if (!h && HASH_COUNT(m->of[kind]) >= COMBINATIONS) {
		attributes = slice_of("{\"key\":\"otel.metric.overflow\",\"value\":{\"boolValue\":true}}");
		HASH_FIND(hh, m->of[kind], attributes.p, (unsigned)attributes.n, h);
	}
	if (h || !(h = calloc(1, sizeof(*h) + attributes.n)))
		return h;
	memcpy(h->attributes, attributes.p, attributes.n);
	HASH_ADD(hh, m->of[kind], attributes, (unsigned)attributes.n, h);
	if (h->hh.tbl)
		return h;
	free(h);
	return NULL;
}

/* Adds a value (tokens, or seconds) to a histogram. attributes: elements of a JSON array. 0, or -1 out of memory. */
static int
add_value(struct metrics *m, enum metric kind, struct slice attributes, double value)
{
	struct histogram *h = find(m, kind, attributes);
	size_t i = 0;

	if (!h)
		return -1;
	while (i < BOUNDS && value > kinds[kind].bounds[i])
		i++;
	h->buckets[i]++;
	h->least = h->count == 0 || value < h->least ? value : h->least;
	h->most = value > h->most ? value : h->most;
	h->sum += value;
	h->count++;
	return 0;
}

static int
put_point(const struct histogram *h, enum metric kind, uint64_t begin, uint64_t end, struct buf *to)
{
	int r = json_format(to, "{\"attributes\":[%b", slice(h->attributes, h->hh.keylen));

	r |= buf_printf(to, "],\"startTimeUnixNano\":\"%" PRIu64 "000\",\"timeUnixNano\":\"%" PRIu64 "000\",\"count\":\"%" PRIu64
		"\",\"sum\":%.17g,\"min\":%.17g,\"max\":%.17g,\"bucketCounts\":[", begin, end, h->count, h->sum, h->least, h->most);
	for (size_t i = 0; i <= BOUNDS; i++)
		r |= json_format(to, i ? ",\"%u\"" : "\"%u\"", h->buckets[i]);
	r |= buf_add_string(to, "],\"explicitBounds\":[");
	for (size_t i = 0; i < BOUNDS; i++)
		r |= buf_printf(to, "%s%.10g", i ? "," : "", kinds[kind].bounds[i]);
	return r | buf_add_string(to, "]}");
}

/* Appends all metrics, as elements of OTLP's "metrics". begin, end: us since 1970. */
static int
put_metrics(const struct metrics *m, uint64_t begin, uint64_t end, struct buf *to)
{
	const char *comma = "";
	int r = 0;

	for (enum metric kind = 0; kind < METRICS; kind++) {
		if (!m->of[kind])
			continue;
		/* aggregationTemporality 2: cumulative. */
		r |= json_format(to, "%s{\"name\":\"%s\",\"unit\":\"%s\",\"histogram\":{\"aggregationTemporality\":2,\"dataPoints\":[", comma,
			kinds[kind].name, kinds[kind].unit);
		for (const struct histogram *h = m->of[kind]; h; h = h->hh.next)
			r |= -(put_point(h, kind, begin, end, to) || (h->hh.next && buf_add(to, ",", 1) < 0));
		r |= buf_add_string(to, "]}}");
		comma = ",";
	}
	return r;
}

static void
metrics_free(struct metrics *m)
{
	struct histogram *h, *next;

	for (enum metric kind = 0; kind < METRICS; kind++)
		HASH_ITER(hh, m->of[kind], h, next) {
			HASH_DEL(m->of[kind], h);
			free(h);
		}
}

/* --- spans --- */

/* Appends a span up to its attributes. turn: the turn that contains the span, or NULL; is_turn: the span is the turn itself. */
static int
begin_span(struct trace_export *t, const struct session *s, const struct span_turn *turn, bool is_turn, uint64_t id,
	uint64_t begin, uint64_t end, struct buf *to)
{
	struct slice trace, parent;
	bool has_parent = parent_of(turn, &trace, &parent);
	int r = -(trace_comma(t, to) || buf_add_string(to, "{\"traceId\":\""));

	t->written.spans++;
	r |= has_parent ? buf_add_slice(to, trace) : put_trace(s, to);
	r |= buf_printf(to, "\",\"spanId\":\"%016" PRIx64 "\"", id);
	if (turn && !is_turn)
		r |= buf_printf(to, ",\"parentSpanId\":\"%016" PRIx64 "\"", span_of(t, turn));
	else if (has_parent)
		r |= json_format(to, ",\"parentSpanId\":\"%b\"", parent);
	return r | json_format(to, ",\"kind\":%u,\"startTimeUnixNano\":\"%u000\",\"endTimeUnixNano\":\"%u000\"",
		(uint64_t)(is_turn ? CLIENT : INTERNAL), trace_time(t, begin), trace_time(t, end));
}

/* Appends the name of a span, "OPERATION OF", and the beginning of the attributes. */
static int
put_name(struct buf *to, const char *operation, struct slice of)
{
	SCOPED struct buf name = {0};

	return -(json_format(&name, of.n ? "%s %b" : "%s", operation, of) ||
		json_format(to, ",\"name\":%j,\"attributes\":[", buf_slice(&name)));
}

static int
put_operation(struct buf *to, const char *operation)
{
	return json_format(to, "{\"key\":\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"%s\"}}", operation);
}

/* Appends an attribute, unless the value is empty. */
static int
put_text(struct buf *to, const char *key, struct slice value)
{
	return value.n ? json_format(to, ",{\"key\":\"%s\",\"value\":{\"stringValue\":%j}}", key, value) : 0;
}

/* Appends an attribute, unless the number is negative, which means unknown, or does not fit in an int64. */
static int
put_number(struct buf *to, const char *key, decimal_units n)
{
	if (n < 0 || n > (decimal_units)INT64_MAX)
		return 0;
	return buf_printf(to, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}", key, (long long)n);
}

/* Ends a span. error: the type of the error, or empty. */
static int
end_span(struct slice error, struct buf *to)
{
	/* Status code 2: an error. */
	return -(put_text(to, "error.type", error) || buf_add_string(to, error.n ? "],\"status\":{\"code\":2}}" : "]}"));
}

/* Appends the attributes that the span and the metrics of a turn have in common. */
static int
put_agent(struct trace_export *t, const struct usage_session *s, struct buf *to)
{
	static const struct { const char *part, *provider; } known[] = {{"claude", "anthropic"}, {"codex", "openai"},
		{"gemini", "gcp.gemini"}};
	const struct usage *u = span_usage(t->span);
	struct slice agent = s ? usage_agent_name(u, s->agent) : slice(NULL, 0), provider = agent.n ? agent : slice_of("unknown");

	/* The conventions have words for some providers. */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memmem(provider.p, provider.n, known[i].part, strlen(known[i].part)))
			provider = slice_of(known[i].provider);
	return -(put_operation(to, "invoke_agent") || put_text(to, "gen_ai.provider.name", provider) ||
		put_text(to, "gen_ai.agent.name", agent) ||
		put_text(to, "gen_ai.agent.version", s ? usage_agent_version(u, s->agent) : slice(NULL, 0)) ||
		put_text(to, "gen_ai.request.model", s ? usage_name(u, s->model) : slice(NULL, 0)));
}

/* Adds the turn's tokens (below 0: unknown) and time to the metrics. agent: the attributes from put_agent. */
static int
measure(struct trace_export *t, const struct span_turn *turn, struct slice agent, const decimal_units tokens[2], struct slice error)
{
	static const char *const types[] = {"input", "output"};
	SCOPED struct buf attributes = {0};
	int r = -(buf_add_slice(&attributes, agent) || put_text(&attributes, "error.type", error));

	r |= add_value(&t->metrics, METRIC_DURATION, buf_slice(&attributes), (double)(turn->end - turn->begin) / 1e6);
	for (size_t i = 0; i < 2; i++) {
		attributes.n = 0;
		if (tokens[i] < 0)
			continue;
		r |= -(buf_add_slice(&attributes, agent) || put_text(&attributes, "gen_ai.token.type", slice_of(types[i])));
		r |= add_value(&t->metrics, METRIC_TOKENS, buf_slice(&attributes), (double)tokens[i]);
	}
	t->changed = true;
	return r;
}

static int
put_turn(struct trace_export *t, const struct span_turn *turn, struct buf *to)
{
	const struct usage_session *s = turn->usage;
	struct slice agent = s ? usage_agent_name(span_usage(t->span), s->agent) : slice(NULL, 0), code = json_get(turn->error, "code");
	struct slice error = turn->unfinished ? slice_of("unfinished") : !turn->failed ? slice(NULL, 0) :
		json_type(code) == JSON_NUMBER ? code : slice_of("_OTHER");
	decimal_units types[USAGE_TYPES] = {0}, sums[2];
	const unsigned has = turn->own.has;
	SCOPED struct buf common = {0};
	int r = begin_span(t, turn->session, turn, true, span_of(t, turn), turn->begin, turn->end, to);

	usage_disjoint(&turn->own, s && s->now ? usage_inside(span_usage(t->span), s->now) : 0, types);
	sums[0] = has & 1u << USAGE_INPUT ? types[USAGE_INPUT] + types[USAGE_READ] + types[USAGE_WRITE] : -1;
	sums[1] = has & 1u << USAGE_OUTPUT ? types[USAGE_OUTPUT] + types[USAGE_THOUGHT] : -1;
	r |= -(put_name(to, "invoke_agent", agent) || put_agent(t, s, &common) || buf_add_slice(to, buf_slice(&common)));
	r |= put_text(to, "gen_ai.conversation.id", id_of(turn->session));
	if (json_type(turn->stop) == JSON_STRING)
		r |= -(buf_add_string(to, ",{\"key\":\"gen_ai.response.finish_reasons\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":") ||
			trace_put_string(to, turn->stop) || buf_add_string(to, "}]}}}"));
	r |= -(put_number(to, "gen_ai.usage.input_tokens", sums[0]) || put_number(to, "gen_ai.usage.output_tokens", sums[1]));
	if (has & 1u << USAGE_READ)
		r |= put_number(to, "gen_ai.usage.cache_read.input_tokens", types[USAGE_READ]);
	if (has & 1u << USAGE_WRITE)
		r |= put_number(to, "gen_ai.usage.cache_creation.input_tokens", types[USAGE_WRITE]);
	return end_span(error, to) | measure(t, turn, buf_slice(&common), sums, error) | r;
}

static int
put_tool(struct trace_export *t, const struct span_tool *c, struct buf *to)
{
	struct slice id = slice(c->id, c->n), name = c->name.n ? buf_slice(&c->name) : c->kind.n ? buf_slice(&c->kind) : slice_of("other");
	uint64_t span_id = hash(trace_time(t, c->begin), "tool", id_of(c->session), hash(0, "id", id, 0));
	int r = begin_span(t, c->session, c->turn, false, span_id, c->begin, c->end, to);

	r |= -(put_name(to, "execute_tool", name) || put_operation(to, "execute_tool") ||
		put_text(to, "gen_ai.tool.name", name) || put_text(to, "gen_ai.tool.call.id", id));
	r |= put_text(to, "gen_ai.conversation.id", id_of(c->session));
	return r | end_span(slice_of(c->failed ? "_OTHER" : c->unfinished ? "unfinished" : ""), to);
}

static int
put_wait(struct trace_export *t, const struct span_wait *w, struct buf *to)
{
	uint64_t span_id = hash(t->waits, "wait", id_of(w->session), trace_time(t, w->begin));
	int r = begin_span(t, w->session, w->turn, false, span_id, w->begin, w->end, to);

	r |= json_format(to, ",\"name\":%b,\"attributes\":[{\"key\":\"acp.waiting_for\",\"value\":{\"stringValue\":\"user\"}}", w->method);
	r |= put_text(to, "gen_ai.conversation.id", id_of(w->session));
	if (w->tool)
		r |= put_text(to, "gen_ai.tool.call.id", slice(w->tool->id, w->tool->n));
	return r | end_span(slice_of(w->unfinished ? "unfinished" : ""), to);
}

/* Appends a line with the batch of spans, or with the metrics (report). */
static int
put_line(const struct trace_export *t, bool report, struct buf *to)
{
	const char *what = report ? "Metrics" : "Spans";

	return -(buf_printf(to, "{\"resource%s\":[{\"resource\":{\"attributes\":["
		"{\"key\":\"service.name\",\"value\":{\"stringValue\":\"acp\"}},"
		"{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"%016" PRIx64 "\"}}]},\"scope%s\":["
		"{\"scope\":{\"name\":\"acp-export\",\"version\":\"" VERSION "\"},\"%s\":[", what, t->instance, what, report ? "metrics" : "spans") ||
		(report ? put_metrics(&t->metrics, t->first, t->now, to) : buf_add_slice(to, buf_slice(&t->batch))) ||
		buf_add_string(to, "]}]}]}\n"));
}

const struct trace_format trace_otlp = {.begin = "", .end = "", .line = put_line, .turn = put_turn, .tool = put_tool,
	.wait = put_wait, .close = metrics_free};
