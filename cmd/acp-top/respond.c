/* The response to a question: by a connection of its own, for which acp-share has to be started with --answers. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-top/top.h"
#include "lib/attach/attach.h"
#include "lib/recording/recording.h"
#include "lib/run/proc.h"
#include "lib/run/socket.h"

/* It does not survive its question. */
struct respond {
	struct top *top;
	struct stream *stream;
	const struct session_question *question;
	const struct request *request;
	size_t chosen;
	struct attaching asked;
	struct loop_fd ready;  /* first acp-share's response to our request to attach, then the stream */
	struct attached to;
};

/* A form is filled in where it is shown. */
static const char *const actions[] = {"decline", "cancel"};

/* The option of that number that a permission request has; p NULL: there is none. */
static struct slice
find_option(const struct respond *r, size_t i)
{
	struct slice options = json_get(buf_slice(&((const struct ask *)r->question->data)->params), acp_options), key, option;
	struct json_iter it = {.in = options};

	while (json_type(options) == JSON_ARRAY && json_next(&it, &key, &option))
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

struct respond *
respond_open(struct top *t, const struct row *row)
{
	struct respond *r = row->question->question->data ? calloc(1, sizeof(*r)) : NULL;

	if (r)
		*r = (struct respond){.top = t, .stream = row->stream, .question = row->question->question, .request = row->question->request,
			.asked = {.fd = -1, .passed = -1}, .to.fd = -1};
	return r;
}

static void
disconnect(struct respond *r)
{
	if (r->ready.added)
		loop_remove_fd(r->top->loop, &r->ready);
	attach_give_up(&r->asked);
	r->to.fd = proc_close(r->to.fd);
}

/* acp-share does not read from a guest who does not read what it sends. */
static void
discard(void *arg, short revents)
{
	struct respond *r = arg;
	char some[16 * 1024];

	(void)revents;
	if (read(r->to.fd, some, sizeof(some)) == 0)
		disconnect(r);
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
		|| buf_printf(to, "{\"from\":\"client\",\"asked\":%s,\"msg\":", t) || msg_make_result(to, r->request->id, buf_slice(&result))
		|| buf_add_string(to, "}\n") ? -1 : 0;
}

static void
attached(void *arg, short revents)
{
	struct respond *r = arg;
	SCOPED struct buf record = {0}, option = {0};
	char *why = NULL;
	int got = attach_go_on(&r->asked, &r->to, &why);

	(void)revents;
	if (got > 0)
		return;
	loop_remove_fd(r->top->loop, &r->ready);
	if (got < 0) {
		top_say(r->top, "%s", why ? why : "out of memory");
		free(why);
		disconnect(r);
		return;
	}
	if (respond_put_option(r, r->chosen, &option) || !buf_string(&option) || put_response(r, &record)
		|| socket_send(r->to.fd, buf_slice(&record), -1) != (ssize_t)record.n) {
		top_say(r->top, "the response could not be sent");
		disconnect(r);
		return;
	}
	top_say(r->top, "sent: %s", option.p);
	r->ready = (struct loop_fd){.fd = r->to.fd, .events = POLLIN, .ready = discard, .arg = r};
	loop_add_fd(r->top->loop, &r->ready);
}

void
respond_send(struct respond *r, size_t i)
{
	SCOPED struct buf option = {0};
	char *why;

	disconnect(r);
	r->chosen = i;
	if (respond_put_option(r, i, &option) > 0) {
		top_say(r->top, "the request has no options: only its client can respond");
	} else if (attach_begin(&r->asked, r->stream->path, ATTACH_ANSWER, NULL, &why) < 0) {
		top_say(r->top, "%s", why ? why : "out of memory");
		free(why);
	} else {
		r->ready = (struct loop_fd){.fd = r->asked.fd, .events = POLLIN, .ready = attached, .arg = r};
		loop_add_fd(r->top->loop, &r->ready);
	}
}

void
respond_close(struct respond *r)
{
	if (!r)
		return;
	disconnect(r);
	free(r);
}
