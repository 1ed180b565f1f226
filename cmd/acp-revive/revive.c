/*
 * While the agent runs, lines pass as they are; open requests, and what a later process needs, are stored on the way. When the agent dies,
 * the lines that it had not read are taken back, its other requests fail, and a new process gets the sessions of the last one, while the
 * client's messages wait. From the second process on, requests of the agent get new ids on their way to the client: each process
 * counts its ids from the beginning, and the client may respond late to the process before.
 */
#include "revive.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

enum {
	WAITING = 1024 * 1024,            /* bytes for the agent that wait, before the client is not read any more ... */
	WAITING_LONGEST = 64 * 1024 * 1024, /* ... and while the agent itself waits for a response of the client */
	AFTER_TERM = 2 * 1000 * 1000,     /* us */
	LAST_WORDS = 1000 * 1000,         /* us that the end waits for a slow reader of standard error */
};

/* --- open requests --- */

/* The request may be NULL. */
static void
request_free(struct revive *r, struct request *request)
{
	if (!request)
		return;
	requests_remove(r->requests, request);
	free(request->owner);
	requests_done(request);
}

static void
request_open(struct revive *r, enum acp_side from, const struct msg *m, struct slice kept)
{
	struct request *request = requests_open(r->requests, from, 0, m);

	if (request && kept.p)
		request->owner = strndup(kept.p, kept.n);
	need(request && (!kept.p || request->owner) ? 0 : -1);
}

/* The owner of a request as text; the request may be NULL. */
static struct slice
kept_with(const struct request *request)
{
	return request && request->owner ? slice_of(request->owner) : slice(NULL, 0);
}

/* --- to the client --- */

static void
to_client(struct revive *r, const struct buf *line)
{
	need(endpoint_put_line(&r->client, NULL, buf_slice(line), false));
}

static void
refuse(struct revive *r, struct slice id, int code, const char *why, struct slice data)
{
	SCOPED struct buf line = {0};

	need(msg_make_error(&line, id, code, why, data));
	to_client(r, &line);
}

static void
fail(struct revive *r, const struct msg *m)
{
	SCOPED struct buf why = {0};

	need(buf_printf(&why, "the agent died (%s) before it responded", r->deaths.how) < 0 || !buf_string(&why) ? -1 : 0);
	refuse(r, m->id, ACP_ERR_INTERNAL, why.p, buf_slice(&r->deaths.reason));
}

static void
notify(struct revive *r, const char *method, const struct buf *params)
{
	SCOPED struct buf line = {0};

	need(msg_make_notification(&line, method, buf_slice(params)));
	to_client(r, &line);
}

/* --- lines --- */

/* Scans a line, or the first piece of one that is too long, for its id. Any other piece, or one without an id, is MSG_NOISE. */
static enum msg_kind
scan(enum input_got got, const struct line *line, struct msg *m)
{
	if (got != INPUT_PIECE)
		return msg_scan(line->text, m, NULL);
	*m = (struct msg){.kind = MSG_NOISE};
	if (line->first)
		m->kind = msg_guess_kind(line->text, &m->id);
	return m->kind = m->id.p && !msg_null_id(m) ? m->kind : MSG_NOISE;
}

/* Forwards a line or a piece. torn: the line gets no newline. */
static void
put(struct endpoint *to, enum input_got got, const struct line *line, bool torn)
{
	struct block *block = got == INPUT_TORN ? NULL : line->block;

	need(got == INPUT_PIECE ? endpoint_put(to, block, line->text) : endpoint_put_line(to, block, line->text, torn));
}

/* The same with another id. */
static void
put_renamed(struct endpoint *to, enum input_got got, const struct line *line, struct slice id, struct slice with)
{
	struct splices splices = {0};
	SCOPED struct buf text = {0};

	splice_value(&splices, id, with);
	need(splice_write(line->text, splices.at, splices.n, &text));
	need(got == INPUT_PIECE ? endpoint_put(to, NULL, buf_slice(&text)) : endpoint_put_line(to, NULL, buf_slice(&text), false));
}

/* --- client to agent --- */

/* Sends a line of the client to the agent, which is ready for it. A response gets the agent's own id back, if the request had got a new one. */
static void
forward_down(struct revive *r, enum input_got got, const struct line *line)
{
	struct output *out = &r->agent.pipes.out;
	struct request *request;
	struct revive_session *lost;
	struct msg m;

	if (got == INPUT_PIECE && line->first)
		r->piece_at = out->written + out->queued;
	switch (scan(got, line, &m)) {
	case MSG_RESPONSE:
		request = requests_find(r->requests, ACP_AGENT, m.id);
		/* The process that asked is gone. */
		r->skips = !request && r->deaths.processes > 1 && got == INPUT_PIECE;
		if (!request && r->deaths.processes > 1)
			return;
		if (kept_with(request).p)
			put_renamed(&r->agent.pipes, got, line, m.id, kept_with(request));
		else
			put(&r->agent.pipes, got, line, got == INPUT_TORN);
		request_free(r, request);
		return;
	case MSG_REQUEST:
	case MSG_NOTIFICATION:
		lost = memory_use_session(&r->memory, &m);
		if (lost && m.kind == MSG_REQUEST)
			refuse(r, m.id, ACP_ERR_NOT_FOUND, lost->lost.p, buf_slice(&lost->refusal));
		if (lost)
			return;
		if (m.kind == MSG_REQUEST)
			request_open(r, ACP_CLIENT, &m, memory_params(&m));
		break;
	case MSG_NOISE:
		break;
	}
	put(&r->agent.pipes, got, line, got == INPUT_TORN);
}

static bool
on_client_line(void *arg, enum input_got got, const struct line *line)
{
	struct revive *r = arg;
	struct msg m;

	if (r->state == OVER) {
		if (scan(got, line, &m) == MSG_REQUEST)
			fail(r, &m);
		return true;
	}
	if (got == INPUT_PIECE && !line->first && r->skips)
		return true;
	r->skips = false;
	/* The restoration may wait for a response. */
	if (r->state == RUNNING ? !r->agent.pipes.out.error : got == INPUT_LINE && msg_scan(line->text, &m, NULL) == MSG_RESPONSE)
		forward_down(r, got, line);
	else
		need(buf_add_slice(&r->waiting, slice(line->text.p, line->text.n + (got == INPUT_LINE))));
	return true;
}

/* Removes the first of the lines that wait: the last of them may be the first piece of one that still comes. INPUT_NOTHING: no more. */
static enum input_got
next_waiting(const struct revive *r, struct slice *lines, struct line *line)
{
	*line = (struct line){.first = true};
	if (!line_next(lines, &line->text))
		return INPUT_NOTHING;
	return lines->p[-1] == '\n' ? INPUT_LINE : r->client.in.over ? INPUT_PIECE : INPUT_TORN;
}

/* --- the end of a restoration --- */

/* Tells the client in a session that the session goes on, or is lost. */
static void
send_notice(struct revive *r, struct revive_session *s)
{
	SCOPED struct buf text = {0}, params = {0};

	need(buf_printf(&text, "The agent ended unexpectedly (%s) and was restarted. %s", r->deaths.how,
		s->lost.n ? s->lost.p : "This session continues; requests that were in progress have failed."));
	need(json_format(&params, "{\"sessionId\":%b,\"update\":{\"sessionUpdate\":\"notice\",\"severity\":\"%s\",\"title\":%j}}",
		buf_slice(&s->id), s->lost.n ? "error" : "warning", buf_slice(&text)));
	s->notified = s->lost.n > 0;
	notify(r, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), &params);
}

/* Ends the turn in version 2, in which the prompt has its response already. */
static void
send_idle(struct revive *r, struct revive_session *s)
{
	SCOPED struct buf params = {0};

	need(json_format(&params, "{\"sessionId\":%b,\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"idle\",\"stopReason\":"
		"\"error\",\"error\":{\"code\":-32603,\"message\":\"the agent died in this turn\"}}}", buf_slice(&s->id)));
	s->running = false;
	notify(r, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), &params);
}

/* Ends the restoration: tells the client, and forwards what has waited, unless the agent has closed its input: then it goes on waiting. */
static void
finish_restoration(struct revive *r)
{
	SCOPED struct buf all = r->waiting;
	struct slice left = buf_slice(&all);
	struct line line;
	struct revive_session *s;
	enum input_got got;

	if (!r->end.begun)
		loop_remove_timer(r->loop, &r->timer);
	r->state = RUNNING;
	r->waiting = (struct buf){0};
	DL_FOREACH(r->memory.sessions, s) {
		if (r->memory.notices && !s->notified)
			send_notice(r, s);
		if (s->running)
			send_idle(r, s);
	}
	while (!r->agent.pipes.out.error && (got = next_waiting(r, &left, &line)) != INPUT_NOTHING)
		forward_down(r, got, &line);
	need(buf_add_slice(&r->waiting, left));
}

/* --- agent to client --- */

/* Forwards a request of a later process, or its cancellation, with a new id. A cancellation of nothing goes nowhere. */
static void
renumber(struct revive *r, enum input_got got, const struct line *line, struct msg *m)
{
	struct slice own = m->id, named = json_get(m->params, acp_request_id);
	struct request *request = requests_next(r->requests, NULL);
	SCOPED struct buf id = {0};

	if (m->kind == MSG_REQUEST) {
		restore_put_id(r, &id);
		m->id = buf_slice(&id);
		request_open(r, ACP_AGENT, m, own);
		put_renamed(&r->client, got, line, own, m->id);
		return;
	}
	while (request && (request->from != ACP_AGENT || !msg_same_id(kept_with(request), named)))
		request = requests_next(r->requests, request);
	if (request)
		put_renamed(&r->client, got, line, named, request->id);
}

static bool
on_agent_line(void *arg, enum input_got got, const struct line *line)
{
	struct revive *r = arg;
	bool whole = got != INPUT_PIECE || !r->agent.pipes.torn; /* a line that the agent's death cuts off is no response */
	struct msg m;

	scan(got, line, &m);
	if (got != INPUT_PIECE || line->first) {
		r->own = m.kind == MSG_RESPONSE && msg_same_id(m.id, buf_slice(&r->restore.id));
		r->responds_to = m.kind == MSG_RESPONSE && !msg_null_id(&m) ? requests_find(r->requests, ACP_CLIENT, m.id) : NULL;
	}
	if (r->own) {
		if (got == INPUT_PIECE)
			m = (struct msg){.error = slice_of("\"the response is longer than --max-line\"")};
		if (whole && restore_response(r, &m))
			finish_restoration(r);
		return true;
	}
	if (r->deaths.processes > 1 && (m.kind == MSG_REQUEST || (m.kind == MSG_NOTIFICATION && m.what == ACP_CANCEL_REQUEST))) {
		renumber(r, got, line, &m);
		return true;
	}
	if (m.kind == MSG_REQUEST) {
		request_open(r, ACP_AGENT, &m, slice(NULL, 0));
	} else if (m.kind == MSG_NOTIFICATION && m.what == ACP_SESSION_UPDATE) {
		/* A history that is replayed: the client has it already. */
		if (r->state == RESTORING)
			return true;
		memory_note_update(&r->memory, &m);
	} else if (m.kind == MSG_NOISE && got == INPUT_TORN && r->memory.initialize.n && endpoint_can_read(&r->client)) {
		/* The half line of a dying process would spoil the first line of the next one. */
		return true;
	}
	put(&r->client, got, line, got == INPUT_TORN && m.kind == MSG_NOISE);
	if (whole && r->responds_to) {
		if (got != INPUT_PIECE)
			memory_note_response(&r->memory, r->responds_to, kept_with(r->responds_to), &m);
		request_free(r, r->responds_to);
		r->responds_to = NULL;
	}
	return true;
}

/* --- a death --- */

/* Calls fn for each request that waits. */
static void
for_each_waiting(struct revive *r, void (*fn)(struct revive *, const struct msg *))
{
	struct slice left = buf_slice(&r->waiting);
	struct line line;
	enum input_got got;
	struct msg m;

	while ((got = next_waiting(r, &left, &line)) != INPUT_NOTHING)
		if (scan(got, &line, &m) == MSG_REQUEST)
			fn(r, &m);
}

/* Closes a request that the dead process had not read: it is opened again when the line is sent again. */
static void
forget_unread(struct revive *r, const struct msg *m)
{
	request_free(r, requests_find(r->requests, ACP_CLIENT, m->id));
}

/* Puts what the dead process had not read before what waits, without the rest of a line that it had partly read. */
static void
take_back(struct revive *r)
{
	uint64_t had_read = r->agent.pipes.out.written + r->agent.pipes.out.queued;
	SCOPED struct buf all = {0};
	struct slice left;
	struct line line;
	enum input_got got;
	struct msg m;

	agent_get_unread(&r->agent, &all);
	/* During the restoration these are acp-revive's own requests, and the client's responses to the process that has died. */
	if (r->state == RESTORING)
		return;
	had_read -= all.n;
	need(buf_add_slice(&all, buf_slice(&r->waiting)));
	left = buf_slice(&all);
	r->waiting.n = 0;
	got = next_waiting(r, &left, &line);
	if (r->client.in.over && got != INPUT_LINE && r->agent.pipes.out.torn && had_read > r->piece_at) {
		r->skips = true;
		return;
	}
	/* The rest of a whole line is no JSON object: it has a bracket too many, or is empty. */
	if (got == INPUT_PIECE || msg_scan(line.text, &m, NULL) != MSG_NOISE)
		left = buf_slice(&all);
	need(buf_add_slice(&r->waiting, left));
	for_each_waiting(r, forget_unread);
}

/* Fails the client's open requests, and cancels the agent's. Returns how many have failed. */
static size_t
fail_open(struct revive *r)
{
	struct request *request, *next;
	SCOPED struct buf params = {0};
	size_t n = 0;

	for (request = requests_next(r->requests, NULL); request; request = next) {
		next = requests_next(r->requests, request);
		if (request->from == ACP_CLIENT) {
			fail(r, &(struct msg){.id = request->id});
			n++;
		} else if (endpoint_can_read(&r->client)) {
			params.n = 0;
			need(json_format(&params, "{\"%s\":%b}", acp_request_id, request->id));
			notify(r, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), &params);
		}
		request_free(r, request);
	}
	return n;
}

/* Does --restarts allow to start the agent once more? */
static bool
may_return(struct revive *r)
{
	return r->memory.initialize.n && endpoint_can_read(&r->client) &&
		proc_may_return(&r->deaths.counted, &r->options->restarts, loop_now(r->loop));
}

/* Ends the client's input, as soon as everything is written, because the agent has ended for good. */
static void
end(struct revive *r)
{
	bool left = !endpoint_can_read(&r->client);

	if (!left && !r->end.status && r->memory.initialize.n && r->options->restarts.n)
		report_line(&r->report, "the agent died (%s), more often than --restarts %s allows", r->deaths.how, r->options->restarts.text);
	else if (!left)
		report_line(&r->report, "the agent ended (%s)", r->deaths.how);
	if (!r->end.status && !(left && r->agent.killed_for))
		r->end.status = proc_status(r->agent.status);
	fail_open(r);
	for_each_waiting(r, fail);
	r->state = OVER;
	loop_remove_timer(r->loop, &r->timer);
	endpoint_pause(&r->client, false);
	/* Requests that the client has sent by now still fail. */
	endpoint_drain(&r->client);
	revive_changed(r);
}

/* Starts the next process, and its restoration. */
static void
start_again(struct revive *r)
{
	SCOPED struct buf params = {0};
	size_t sessions, failed;

	take_back(r);
	failed = fail_open(r);
	r->restore.id.n = 0;
	need(json_format(&params, "{\"restarts\":%u,\"why\":%j}", r->deaths.processes, slice_of(r->deaths.how)));
	notify(r, "_acp-revive/restarted", &params);
	if (!agent_start(r)) {
		end(r);
		return;
	}
	r->state = RESTORING;
	sessions = restore_begin(r);
	report_line(&r->report, "the agent died (%s) and was restarted; requests failed: %zu; sessions to restore: %zu", r->deaths.how,
		failed, sessions);
}

/* Goes on after the end of a process, once everything that it wrote has been read. */
static void
agent_ended(struct revive *r)
{
	endpoint_read_now(&r->agent.errors.in, true);
	r->deaths.how = r->agent.killed_for ? r->agent.killed_for : proc_describe(r->agent.status, r->deaths.room, sizeof(r->deaths.room));
	r->deaths.reason.n = 0;
	need(msg_put_reason(&r->deaths.reason, "agent", r->deaths.how, buf_slice(&r->agent.errors.tail)));
	if (may_return(r))
		start_again(r);
	else
		end(r);
}

/* --- the end, and the loop --- */

/* The most bytes for the agent that may wait. The bound is higher during the restoration, which may need a response that follows them. */
static size_t
bound(const struct revive *r)
{
	const struct request *request = requests_next(r->requests, NULL);

	while (request && request->from != ACP_AGENT)
		request = requests_next(r->requests, request);
	return request && r->state == RESTORING ? WAITING_LONGEST : WAITING;
}

/* Decides, before the loop waits again, which sides are read, and whether the end has come. */
static void
settle(void *arg)
{
	struct revive *r = arg;

	if (r->state == OVER) {
		if (!endpoint_can_write(&r->client))
			loop_stop(r->loop);
		else if (!endpoint_can_read(&r->client))
			endpoint_finish(&r->client);
		return;
	}
	if (r->agent.ended && !endpoint_can_read(&r->agent.pipes)) {
		agent_ended(r);
		return;
	}
	endpoint_pause(&r->client, r->agent.pipes.out.full || (r->waiting.n > WAITING && r->waiting.n > bound(r)));
	endpoint_pause(&r->agent.pipes, r->client.out.full);
	/* The client has left. Its last messages still go to an agent that is being restored. */
	if (!endpoint_can_read(&r->client) && !r->end.begun && (r->state == RUNNING || r->waiting.n == 0)) {
		r->end.begun = true;
		endpoint_finish(&r->agent.pipes);
		r->end.moved = r->agent.pipes.out.written + r->client.out.written;
		loop_add_timer(r->loop, &r->timer, r->options->grace);
	}
}

static void
on_client_event(void *arg, enum endpoint_event event)
{
	struct revive *r = arg;
	int error = r->client.out.error;

	if (event == ENDPOINT_CLOSED && error && error != EPIPE && error != ECONNRESET) {
		report_line(&r->report, "writing to the client: %s", strerror(error));
		r->end.failed = true;
	}
	if (event == ENDPOINT_CLOSED)
		endpoint_drain(&r->client); /* a client that does not read has left */
	revive_changed(r);
}

/* Handles that the restoration, or the end, has made no progress. */
static void
on_timer(void *arg)
{
	struct revive *r = arg;
	uint64_t moved = r->agent.pipes.out.written + r->client.out.written;

	if (r->state == RESTORING && !r->end.begun) {
		report_line(&r->report, "the agent did not %s within --init-timeout; killed",
			r->restore.session ? "restore a session" : "initialize again");
		agent_kill(&r->agent, SIGKILL, "no response within --init-timeout");
	} else if (!r->agent.killed_for && (moved != r->end.moved || r->client.out.full)) {
		r->end.moved = moved;
		loop_add_timer(r->loop, &r->timer, r->options->grace);
	} else {
		if (!r->agent.killed_for)
			report_line(&r->report, "the agent did not end within the grace period: sending it SIGTERM");
		agent_kill(&r->agent, r->agent.killed_for ? SIGKILL : SIGTERM, "did not end");
		loop_add_timer(r->loop, &r->timer, AFTER_TERM);
	}
}

/* Takes the first signal as the client's leaving. The second ends the agent. */
static void
on_signal(void *arg, int signal)
{
	struct revive *r = arg;

	if (r->end.signals++ == 0) {
		endpoint_drain(&r->client);
		return;
	}
	r->end.status = 128 + signal;
	agent_kill(&r->agent, SIGTERM, "stopped by a signal");
	loop_stop(r->loop);
}

int
revive_run(const struct revive_options *options)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, 0};
	struct revive r = {.options = options, .settle = {.run = settle, .arg = &r},
		.timer = {.expired = on_timer, .arg = &r},
		.client = {.line = on_client_line, .event = on_client_event, .arg = &r}, .agent_line = on_agent_line, .agent.unread = -1};
	int in, out;

	r.loop = loop_new(ending, on_signal, &r);
	r.requests = requests_new();
	in = proc_move_high(STDIN_FILENO);
	out = proc_move_high(STDOUT_FILENO);
	if (!r.loop || !r.requests || report_open(&r.report, revive_name, r.loop) < 0 ||
		endpoint_open(&r.client, r.loop, in, out, options->line_limit) < 0) {
		cli_warn(revive_name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	if (agent_start(&r) && loop_run(r.loop) < 0) {
		cli_warn(revive_name, "%s", strerror(errno));
		r.end.status = EXIT_FAILED;
	}
	agent_close(&r);
	buf_free(&r.agent.errors.tail);
	report_close(&r.report, LAST_WORDS, UINT64_MAX);
	endpoint_close(&r.client);
	for (struct request *request; (request = requests_next(r.requests, NULL));)
		request_free(&r, request);
	requests_free(r.requests);
	memory_free(&r.memory);
	restore_free(&r.restore);
	buf_free(&r.deaths.reason);
	buf_free(&r.waiting);
	free(r.deaths.counted.times);
	loop_free(r.loop);
	return !r.end.status && r.end.failed ? EXIT_FAILED : r.end.status;
}
