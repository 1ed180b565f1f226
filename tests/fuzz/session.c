/*
 * Any bytes as messages, a line each; the first byte of a line says who sent it: what begins ends, what is handed out lives as long
 * as the header says, within any limits.
 */
#include "lib/session/session.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

/* Data that a tool would have: a byte that tells whether it has ended. */
static void
begin(void **data)
{
	expect(!*data && (*data = calloc(1, 1)));
}

static void
end(void **data)
{
	expect(*data && !*(char *)*data);
	*(char *)*data = 1;
}

static void
drop(void **data)
{
	free(*data);
	*data = NULL;
}

static void
event(void *arg, const struct session_event *e)
{
	uint64_t *last = arg;

	expect(e->t >= *last);
	*last = e->t;
	if (e->session)
		expect(e->session->id[e->session->n] == '\0' && session_root(e->session));
	if (e->session && e->kind > SESSION_BEGAN)
		expect(e->session->data);
	switch (e->kind) {
	case SESSION_BEGAN:
		begin(&e->session->data);
		break;
	case SESSION_FORGOTTEN:
		expect(!e->session->turn && !e->session->calls);
		drop(&e->session->data);
		break;
	case SESSION_TURN_QUEUED:
		begin(&e->turn->data);
		break;
	case SESSION_TURN_BEGAN:
		if (!e->turn->data)
			begin(&e->turn->data);
		expect(e->turn->session->turn == e->turn || e->turn->session->turn->next == e->turn || !e->turn->session->turn);
		break;
	case SESSION_TURN_ENDED:
		end(&e->turn->data);
		drop(&e->turn->data);
		break;
	case SESSION_CALL_BEGAN:
		begin(&e->call->data);
		break;
	case SESSION_CALL_ENDED:
		end(&e->call->data);
		break;
	case SESSION_CALL_FORGOTTEN:
		expect(e->call->ended);
		drop(&e->call->data);
		break;
	case SESSION_ASKED:
		begin(&e->question->data);
		break;
	case SESSION_ANSWERED:
		drop(&e->question->data);
		break;
	case SESSION_REQUESTED:
		begin(&e->request->data);
		break;
	case SESSION_RESPONDED:
		expect(e->unanswered || e->message);
		drop(&e->request->data);
		break;
	default:
		break;
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *p = (const char *)data, *end_of_all = p + size, *line_end;
	struct session_limits limits = {.sessions = 3, .calls = 4, .requests = 4, .bytes = 64, .keep = size & 1};
	const struct session_message *seen;
	struct message m = {0};
	uint64_t last = 0;
	struct sessions *c = sessions_new(event, &last, &limits);

	for (; c && p < end_of_all; p = line_end + 1) {
		line_end = memchr(p, '\n', (size_t)(end_of_all - p));
		line_end = line_end ? line_end : end_of_all;
		if (line_end == p)
			continue;
		if (*p == 'b') {
			sessions_begin(c);
			last = 0;
		}
		m.from = *p == 'c' ? ACP_CLIENT : *p == 'a' ? ACP_AGENT : ACP_UNKNOWN;
		m.line = slice_between(p + 1, line_end);
		m.t++;
		msg_scan(m.line, &m.msg, NULL);
		expect(sessions_see(c, &m, &seen) == 0 && (seen != NULL) == (m.msg.kind != MSG_NOISE));
		if (seen && seen->session)
			expect(sessions_find(c, slice(seen->session->id, seen->session->n)) == seen->session);
		if (*p == 'g')
			sessions_give_up(c, ACP_CLIENT, slice(NULL, 0));
	}
	sessions_free(c);
	return 0;
}
