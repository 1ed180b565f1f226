/* Responds to a question by a connection of its own, for which acp-share must have been started with --answers. */
#include <stdlib.h>

#include "cmd/acp-top/top.h"
#include "lib/recording/recording.h"

/* The options of a form, which can only be filled in at the client. */
static const char *const actions[] = {"decline", "cancel"};

/* The option of this number in a permission request; p NULL: there is none. */
static struct slice
find_option(const struct respond *r, size_t i)
{
	struct json_iter it = {.in = json_get(buf_slice(&((const struct ask *)r->question->question->data)->params), acp_options)};
	struct slice option;

	while (json_item(&it, &option))
		if (json_get_string(option, acp_option_id).p && i-- == 0)
			return option;
	return slice(NULL, 0);
}

int
respond_put_option(const struct respond *r, size_t i, struct buf *to)
{
	struct slice option, name, kind;

	if (r->question->request->what == ACP_ELICITATION_CREATE)
		return i < 2 ? buf_add_string(to, actions[i]) : 1;
	option = find_option(r, i);
	if (!option.p)
		return 1;
	name = json_get_string(option, "name");
	kind = json_get_string(option, acp_option_kind);
	if (json_unescape(name.p ? name : json_get(option, acp_option_id), to))
		return -1;
	return kind.p && (buf_add_string(to, "  (") || json_unescape(kind, to) || buf_add_string(to, ")")) ? -1 : 0;
}

static void
disconnect(struct respond *r)
{
	watch_detach(r->guest);
	r->guest = NULL;
}

void
respond_close(struct respond *r)
{
	disconnect(r);
	r->question = NULL;
}

void
respond_open(struct respond *r, struct top *t, const struct row *row)
{
	respond_close(r);
	*r = (struct respond){.top = t, .stream = row->stream, .question = row->question};
}

/* Appends the response as a record, with the time of the question. */
static int
put_response(const struct respond *r, struct buf *to)
{
	SCOPED struct buf result = {0};
	char t[RECORDING_TIME];

	*recording_put_time(t, r->question->request->t) = '\0';
	return (r->question->request->what == ACP_ELICITATION_CREATE ? buf_printf(&result, "{\"action\":\"%s\"}", actions[r->chosen])
		: acp_put_selected(&result, json_get(find_option(r, r->chosen), acp_option_id)))
		|| buf_printf(to, "{\"from\":\"client\",\"asked\":%s,\"msg\":", t)
		|| msg_make_result(to, r->question->request->id, buf_slice(&result)) || buf_add_string(to, "}\n") ? -1 : 0;
}

/* Sends the response, once acp-share has let us in. */
static int
begin(struct watch *w, const struct watch_start *start)
{
	struct respond *r = w->state;
	SCOPED struct buf record = {0}, option = {0};

	(void)start;
	if (r->sent)
		return 0;
	r->sent = respond_put_option(r, r->chosen, &option) == 0 && buf_string(&option) && put_response(r, &record) == 0
		&& watch_send(r->guest, buf_slice(&record)) == 0;
	if (r->sent)
		top_say(r->top, "sent: %s", option.p);
	else
		top_say(r->top, "the response could not be sent");
	return 0;
}

static void
over(struct watch *w, const char *why)
{
	struct respond *r = w->state;

	if (why && !r->sent)
		top_say(r->top, "%s", why);
	disconnect(r);
}

void
respond_send(struct respond *r, size_t i)
{
	SCOPED struct buf option = {0};
	char *why = NULL;

	disconnect(r);
	r->chosen = i;
	r->sent = false;
	if (respond_put_option(r, i, &option) > 0) {
		top_say(r->top, "the request has no options: only its client can respond");
		return;
	}
	r->watch = (struct watch){.name = top_name, .state = r, .frame = &r->top->options->frame, .begin = begin};
	r->guest = watch_attach(&r->watch, r->top->loop, r->stream->path, ATTACH_ANSWER, over, &why);
	if (!r->guest)
		top_say(r->top, "%s", why ? why : "out of memory");
	free(why);
}
