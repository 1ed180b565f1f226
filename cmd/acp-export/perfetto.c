/*
 * -f perfetto: the trace event format that Perfetto and Chrome read. A session is a process; its turns, which never overlap, are
 * one track; tool calls and waits for the user, which may, are asynchronous pairs; updates are instants.
 */
#include "cmd/acp-export/trace.h"

enum { TURNS = 1, UPDATES, TOOLS, WAITS };

static int
put_session(struct trace_export *t, const struct session *s, struct buf *to)
{
	static const char *const tracks[] = {[TURNS] = "turns", [UPDATES] = "updates", [TOOLS] = "tools",
		[WAITS] = "waiting for the user"};
	int r = -(trace_comma(t, to) || buf_printf(to, "{\"ph\":\"M\",\"pid\":%llu,\"name\":\"process_name\",\"args\":{\"name\":",
		(unsigned long long)s->number));

	r |= -(json_quote(slice(s->id, s->n), to) || buf_add_string(to, "}}"));
	for (unsigned track = TURNS; track <= WAITS; track++)
		r |= -(trace_comma(t, to) || buf_printf(to, "{\"ph\":\"M\",\"pid\":%llu,\"tid\":%u,\"name\":\"thread_name\","
			"\"args\":{\"name\":\"%s\"}}", (unsigned long long)s->number, track, tracks[track]));
	return r;
}

/* All that an event begins with; ph: its phase. */
static int
put_event(struct trace_export *t, const char *ph, const struct session *s, unsigned track, uint64_t us, struct slice name,
	struct buf *to)
{
	int r = -(trace_comma(t, to) || buf_printf(to, "{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%u,\"ts\":%llu,\"name\":", ph,
		(unsigned long long)s->number, track, (unsigned long long)trace_time(t, us)));

	return r | json_quote(name, to);
}

static int
put_update(struct trace_export *t, const struct span_request *q, struct buf *to)
{
	int r = -(trace_comma(t, to) || buf_printf(to, "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%llu,\"tid\":%u,\"ts\":%llu,\"name\":",
		(unsigned long long)q->at->number, UPDATES, (unsigned long long)trace_time(t, q->begin)));

	return -(r || trace_put_string(to, q->update) || buf_add_string(to, "}"));
}

static int
put_turn(struct trace_export *t, const struct span_turn *turn, struct buf *to)
{
	char room[SLICE_DIGITS];
	int r = put_event(t, "X", turn->session, TURNS, turn->begin, slice_of(turn->failed ? "turn (failed)" : "turn"), to);

	r |= buf_printf(to, ",\"dur\":%llu,\"args\":{\"turn\":", (unsigned long long)(turn->end - turn->begin));
	r |= buf_add_slice(to, slice_digits(turn->number, room));
	if (json_type(turn->stop) == JSON_STRING)
		r |= -(buf_add_string(to, ",\"stop\":") || trace_put_string(to, turn->stop));
	if (turn->unfinished)
		r |= buf_add_string(to, ",\"unfinished\":true");
	r |= buf_printf(to, ",\"tools_us\":%llu,\"user_us\":%llu,\"model_us\":%llu", (unsigned long long)turn->times[SPAN_TOOLS],
		(unsigned long long)turn->times[SPAN_USER], (unsigned long long)turn->times[SPAN_MODEL]);
	if (turn->own.has & 1u << USAGE_OUTPUT)
		r |= -(buf_add_string(to, ",\"output_tokens\":") || usage_sum_put(&turn->own, USAGE_OUTPUT, to));
	return -((r | buf_add_string(to, "}}")) != 0);
}

/* A pair; args: JSON members, which the first of the two has. */
static int
put_pair(struct trace_export *t, const struct session *s, const char *category, uint64_t id, struct slice name,
	const uint64_t at[2], struct slice args, struct buf *to)
{
	const unsigned track = *category == 't' ? TOOLS : WAITS;
	int r = 0;

	for (unsigned i = 0; i < 2; i++) {
		r |= put_event(t, i ? "e" : "b", s, track, at[i], name, to);
		r |= buf_printf(to, ",\"cat\":\"%s\",\"id\":\"%s%llu\"", category, category, (unsigned long long)id);
		if (i == 0 && args.n)
			r |= -(buf_add_string(to, ",\"args\":{") || buf_add_slice(to, args) || buf_add_string(to, "}"));
		r |= buf_add_string(to, "}");
	}
	return -(r != 0);
}

static int
put_tool(struct trace_export *t, const struct span_tool *c, struct buf *to)
{
	struct slice name = c->title.n ? buf_slice(&c->title) : c->name.n ? buf_slice(&c->name) : slice_of("tool call");
	SCOPED struct buf args = {0};
	int r = -(buf_add_string(&args, "\"toolCallId\":") || json_quote(slice(c->id, c->n), &args));

	r |= -(buf_add_string(&args, ",\"kind\":") || json_quote(c->kind.n ? buf_slice(&c->kind) : slice_of("other"), &args));
	r |= buf_printf(&args, ",\"ran_us\":%llu,\"result\":\"%s\"", (unsigned long long)c->ran,
		c->failed ? "failed" : c->unfinished ? "unfinished" : "completed");
	r |= put_pair(t, c->session, "tool", t->tools, name, (uint64_t[]){c->begin, c->end}, buf_slice(&args), to);
	return -(r != 0);
}

static int
put_wait(struct trace_export *t, const struct span_wait *w, struct buf *to)
{
	struct slice method = slice(w->method.p + 1, w->method.n - 2);

	return put_pair(t, w->session, "user", t->waits, method, (uint64_t[]){w->begin, w->end}, slice(NULL, 0), to);
}

const struct trace_format trace_perfetto = {.begin = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", .end = "]}\n",
	.session = put_session, .update = put_update, .turn = put_turn, .tool = put_tool, .wait = put_wait};
