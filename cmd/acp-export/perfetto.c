/*
 * -f perfetto: the trace event format that Perfetto and Chrome read. A session is a process. Its turns, which never overlap, are
 * one track. Tool calls and waits for the user, which may overlap, are asynchronous pairs. Updates are instants.
 */
#include "cmd/acp-export/trace.h"

enum { TURNS = 1, UPDATES, TOOLS, WAITS };

static int
put_session(struct trace_export *t, const struct session *s, struct buf *to)
{
	static const char *const tracks[] = {[TURNS] = "turns", [UPDATES] = "updates", [TOOLS] = "tools",
		[WAITS] = "waiting for the user"};
	int r = -(trace_comma(t, to) || json_format(to, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":%j}}",
		s->number, slice(s->id, s->n)));

	for (uint64_t track = TURNS; track <= WAITS; track++)
		r |= -(trace_comma(t, to) || json_format(to, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\","
			"\"args\":{\"name\":\"%s\"}}", s->number, track, tracks[track]));
	return r;
}

/* Begins an event, up to its name. ph: the phase; may contain further members, without the outer quotes. */
static int
put_event(struct trace_export *t, const char *ph, const struct session *s, uint64_t track, uint64_t us, struct buf *to)
{
	return -(trace_comma(t, to) || json_format(to, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"name\":", ph, s->number, track,
		trace_time(t, us)));
}

static int
put_update(struct trace_export *t, const struct span_request *q, struct buf *to)
{
	return -(put_event(t, "i\",\"s\":\"t", q->at, UPDATES, q->begin, to) || trace_put_string(to, q->update) || buf_add_string(to, "}"));
}

static int
put_turn(struct trace_export *t, const struct span_turn *turn, struct buf *to)
{
	int r = put_event(t, "X", turn->session, TURNS, turn->begin, to);

	r |= json_format(to, "\"%s\",\"dur\":%u,\"args\":{\"turn\":%u", turn->failed ? "turn (failed)" : "turn", turn->end - turn->begin,
		turn->number);
	if (json_type(turn->stop) == JSON_STRING)
		r |= -(buf_add_string(to, ",\"stop\":") || trace_put_string(to, turn->stop));
	r |= json_format(to, "%s,\"tools_us\":%u,\"user_us\":%u,\"model_us\":%u", turn->unfinished ? ",\"unfinished\":true" : "",
		turn->times[SPAN_TOOLS], turn->times[SPAN_USER], turn->times[SPAN_MODEL]);
	if (turn->own.has & 1u << USAGE_OUTPUT)
		r |= -(buf_add_string(to, ",\"output_tokens\":") || usage_sum_put(&turn->own, USAGE_OUTPUT, to));
	return r | buf_add_string(to, "}}");
}

/* Appends the two events of a pair: begin and end. args: a JSON member of the first event. */
static int
put_pair(struct trace_export *t, const struct session *s, const char *category, uint64_t id, struct slice name,
	const uint64_t at[2], struct slice args, struct buf *to)
{
	int r = 0;

	for (unsigned i = 0; i < 2; i++)
		r |= -(put_event(t, i ? "e" : "b", s, *category == 't' ? TOOLS : WAITS, at[i], to) ||
			json_format(to, "%j,\"cat\":\"%s\",\"id\":\"%s%u\"%b}", name, category, category, id, i ? slice(NULL, 0) : args));
	return r;
}

static int
put_tool(struct trace_export *t, const struct span_tool *c, struct buf *to)
{
	struct slice name = c->title.n ? buf_slice(&c->title) : c->name.n ? buf_slice(&c->name) : slice_of("tool call");
	const char *result = c->failed ? "failed" : c->unfinished ? "unfinished" : "completed";
	SCOPED struct buf args = {0};

	return -(json_format(&args, ",\"args\":{\"toolCallId\":%j,\"kind\":%j,\"ran_us\":%u,\"result\":\"%s\"}", slice(c->id, c->n),
		c->kind.n ? buf_slice(&c->kind) : slice_of("other"), c->ran, result) ||
		put_pair(t, c->session, "tool", t->tools, name, (uint64_t[]){c->begin, c->end}, buf_slice(&args), to));
}

static int
put_wait(struct trace_export *t, const struct span_wait *w, struct buf *to)
{
	SCOPED struct buf method = {0};

	return -(json_unescape(w->method, &method) ||
		put_pair(t, w->session, "user", t->waits, buf_slice(&method), (uint64_t[]){w->begin, w->end}, slice(NULL, 0), to));
}

const struct trace_format trace_perfetto = {.begin = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", .end = "]}\n",
	.session = put_session, .update = put_update, .turn = put_turn, .tool = put_tool, .wait = put_wait};
