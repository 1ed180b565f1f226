/* The response to a question: by a connection of its own, for which acp-share has to be started with --answers. */
#include <stdlib.h>

#include "cmd/acp-top/top.h"
#include "lib/recording/recording.h"

/* A form is filled in where it is shown. */
static const char *const actions[] = {"decline", "cancel"};

/* The option of that number that a permission request has; p NULL: there is none. */
static struct slice
find_option(const struct respond *r, size_t i)
{
	struct json_iter it = {.in = json_get(buf_slice(&((const struct ask *)r->question->data)->params), acp_options)};
	struct slice key, option;

	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &option))
		if (json_get_string(option, acp_option_id).p && i-- == 0)
			return option;
	return slice(NULL, 0);
}

int
respond_put_option(const struct respond *r, size_t i, struct buf *to)
{
	struct slice option, name, kind;

	if (r->request->what == ACP_ELICITATION_CREATE)
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
	loop_remove_fd(r->top->loop, &r->response);
	attach_give_up(&r->asked);
	endpoint_close(&r->guest);
}

void
respond_close(struct respond *r)
{
	if (r->question)
		disconnect(r);
	r->question = NULL;
}

void
respond_open(struct respond *r, struct top *t, const struct row *row)
{
	respond_close(r);
	*r = (struct respond){.top = t, .stream = row->stream, .question = row->question->question,
		.request = row->question->request, .asked = {.fd = -1, .passed = -1}};
}

/* acp-share does not read from a guest who does not read what it sends. */
static bool
discard(void *arg, enum input_got got, const struct line *line)
{
	(void)arg;
	(void)got;
	(void)line;
	return true;
}

/* As a record, with the time of the question. */
static int
put_response(const struct respond *r, struct buf *to)
{
	SCOPED struct buf result = {0};
	char t[RECORDING_TIME];

	*recording_put_time(t, r->request->t) = '\0';
	return (r->request->what == ACP_ELICITATION_CREATE ? buf_printf(&result, "{\"action\":\"%s\"}", actions[r->chosen])
		: acp_put_selected(&result, json_get(find_option(r, r->chosen), acp_option_id)))
		|| buf_printf(to, "{\"from\":\"client\",\"asked\":%s,\"msg\":", t)
		|| msg_make_result(to, r->request->id, buf_slice(&result)) || buf_add_string(to, "}\n") ? -1 : 0;
}

static void
fail(struct respond *r, const char *why)
{
	top_say(r->top, "%s", why ? why : "out of memory");
	disconnect(r);
}

static void
attached(void *arg, short revents)
{
	struct respond *r = arg;
	SCOPED struct buf record = {0}, option = {0};
	struct attached to;
	char *why;
	int got = attach_go_on(&r->asked, &to, &why);

	(void)revents;
	if (got > 0)
		return;
	loop_remove_fd(r->top->loop, &r->response);
	r->guest = (struct endpoint){.line = discard};
	if (got < 0)
		fail(r, why);
	else if (endpoint_open(&r->guest, r->top->loop, to.fd, to.fd, 0) < 0 || respond_put_option(r, r->chosen, &option)
		|| !buf_string(&option) || put_response(r, &record) || endpoint_put(&r->guest, NULL, buf_slice(&record)) < 0)
		fail(r, "the response could not be sent");
	else
		top_say(r->top, "sent: %s", option.p);
	free(why);
}

void
respond_send(struct respond *r, size_t i)
{
	SCOPED struct buf option = {0};
	char *why = NULL;

	disconnect(r);
	r->chosen = i;
	if (respond_put_option(r, i, &option) > 0) {
		top_say(r->top, "the request has no options: only its client can respond");
	} else if (attach_begin(&r->asked, r->stream->path, ATTACH_ANSWER, NULL, &why) < 0) {
		fail(r, why);
	} else {
		r->response = (struct loop_fd){.fd = r->asked.fd, .events = POLLIN, .ready = attached, .arg = r};
		loop_add_fd(r->top->loop, &r->response);
	}
	free(why);
}
