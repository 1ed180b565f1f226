/* --fill: adds usage that the agent reports only in its own format to its messages, in the protocol's format. */
#include "cmd/acp-usage/tool.h"

/* Bits of usage_session.tool_flags, beside those of alerts.c: what the agent itself sends in the protocol's format. */
enum { OWN_UPDATES = 256, OWN_COUNTS = 512 };

static const char filled_member[] = "\"_meta\":{\"acputils\":{\"filled\":true}}";

/* The size of the context window: from the agent, --size of the model, --size of all models, or the price list; 0: not known. */
static uint64_t
size_of(const struct tool *t, const struct usage_session *s)
{
	const struct options *o = t->options;
	struct slice model = usage_name(t->usage, s->model);
	uint64_t size = 0;
	bool named = false;

	if (s->size)
		return s->size;
	for (size_t i = 0; i < o->nsizes; i++) {
		if (o->sizes[i].model ? !slice_is(model, o->sizes[i].model) : named)
			continue;
		named = o->sizes[i].model != NULL;
		size = o->sizes[i].size;
	}
	return size || !t->prices || !model.n ? size : prices_size(t->prices, model);
}

/* Adds the standard usage to a response that has only the vendor's. 0, or -1 out of memory. */
static int
fill_counts(struct tool *t, const struct message *message, const struct usage_session *s)
{
	static const char *const names[USAGE_TYPES] = {"totalTokens", "inputTokens", "outputTokens", "thoughtTokens",
		"cachedReadTokens", "cachedWriteTokens"};
	const unsigned needed = 1u << USAGE_TOTAL | 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;
	SCOPED struct buf with = {0};
	struct usage_sums own;
	int r;

	if (!usage_turn_tokens(t->usage, s, &own) || (own.has & needed) != needed)
		return 0;
	r = buf_add_string(&with, "\"usage\":{");
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if (own.has & 1u << i)
			r |= -(buf_printf(&with, "\"%s\":", names[i]) || usage_sum_put(&own, (enum usage_type)i, &with)
				|| buf_add(&with, ",", 1));
	return r || buf_add_string(&with, filled_member) || buf_add(&with, "}", 1)
		? -1 : frame_add_members(t->watch->stream, message->msg.result, buf_slice(&with));
}

/* Makes a usage_update that follows the response, and adds it to the tool's own figures. 0, or -1 out of memory. */
static int
make_update(struct tool *t, const struct message *message, struct usage_session *s)
{
	struct usage_report own = {.what = USAGE_UPDATE, .has_used = true};

	if (!usage_turn_context(t->usage, s, &own.used))
		return 0;
	own.size = size_of(t, s);
	if (own.size == 0) {
		if (!(s->noted & USAGE_NOTE_SIZE))
			watch_say(t->watch, "--fill: the context window's size is not known: no usage_update (give it with --size)");
		s->noted |= USAGE_NOTE_SIZE;
		return 0;
	}
	own.session = message->request->session;
	return json_format(&t->added, "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":%b,\"update\":{"
		"\"sessionUpdate\":\"usage_update\",\"used\":%u,\"size\":%u,%s}}}", own.session, own.used, own.size, filled_member)
		| usage_add(t->usage, message->t, &own);
}

/* Replaces a `used` that is a running total with the tokens in the context. */
static int
fill_used(struct frame *frame, const struct message *message, uint64_t used)
{
	struct slice update = json_get(message->msg.params, acp_update), old = json_get(update, "used"), meta = json_get(update, "_meta");
	SCOPED struct buf with = {0};
	int r = -(json_format(&with, "%u", used) || frame_replace(frame, old, buf_slice(&with)));

	if (json_type(meta) == JSON_OBJECT)
		r |= frame_add_members(frame, meta, slice_of("\"acputils\":{\"filled\":true}"));
	else if (!meta.p)
		r |= frame_add_members(frame, update, slice_of(filled_member));
	return r;
}

void
fill_flush(struct tool *t)
{
	if (t->added.n > 0)
		frame_send(t->watch->stream, ACP_UP, buf_slice(&t->added));
	t->added.n = 0;
}

static struct usage_session *
session_of(struct tool *t, const struct usage_report *r)
{
	SCOPED struct buf room = {0};
	struct slice id = json_text(r->session, &room);

	return id.p ? usage_find_session(t->usage, id) : NULL;
}

static int
fill_response(struct tool *t, const struct message *message, struct usage_session *s)
{
	struct slice standard = json_get(message->msg.result, "usage");
	int r = 0;

	if (!message->request || json_type(message->msg.result) != JSON_OBJECT)
		return 0;
	if (json_type(standard) == JSON_OBJECT)
		s->tool_flags |= OWN_COUNTS;
	if (!(s->tool_flags & OWN_COUNTS) && !standard.p)
		r = fill_counts(t, message, s);
	if (r == 0 && !(s->tool_flags & OWN_UPDATES))
		r = make_update(t, message, s);
	return r;
}

int
fill_message(void *arg, const struct message *message, const struct usage_report *original)
{
	struct tool *t = arg;
	struct usage_report r = *original;
	struct usage_session *s = session_of(t, &r);
	uint64_t used;
	int e = 0;

	if (r.what == USAGE_UPDATE && r.has_used && s && s->noted & USAGE_NOTE_LIFETIME && usage_turn_context(t->usage, s, &used)
		&& used < r.used) {
		e = fill_used(t->watch->stream, message, used);
		r.used = used;
	}
	if (e < 0 || usage_add(t->usage, message->t, &r) < 0)
		return -1;
	s = session_of(t, &r);
	if (s && r.what == USAGE_UPDATE && r.has_used)
		s->tool_flags |= OWN_UPDATES;
	return s && r.what == USAGE_RESPONSE ? fill_response(t, message, s) : 0;
}
