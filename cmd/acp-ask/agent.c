/* The agent: its process, requests to the agent, and the messages that come from it. */
#include <errno.h>
#include <signal.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

enum { AFTER_TERM = 2 * 1000 * 1000, STDERR_LINE = 16 * 1024, NOISE = 200 };

/* A request of acp-ask without a response: the data of its session_request. */
struct call {
	struct buf *response;
	const char *member;     /* which member of the response was put there; or NULL */
	bool done;
};

/* Sends a message, whose buffer it frees. Returns the request, if the message is a request; else NULL. */
static struct session_request *
send_message(struct ask *a, struct buf *message)
{
	struct message m = {.from = ACP_CLIENT, .t = loop_now(a->loop), .line = buf_slice(message)};
	const struct session_message *seen = NULL;

	msg_scan(m.line, &m.msg, NULL);
	need(sessions_see(a->sessions, &m, &seen));
	need(endpoint_put_line(&a->agent.live, NULL, m.line, false));
	buf_free(message);
	return seen && seen->message.msg.kind == MSG_REQUEST ? seen->request : NULL;
}

/* --- the end --- */

bool
ask_fail(struct ask *a, int status)
{
	if (!a->status)
		a->status = status;
	return false;
}

void
ask_over(struct ask *a, int status)
{
	ask_fail(a, status);
	a->over = true;
	loop_stop(a->loop);
}

void
ask_cancel(struct ask *a)
{
	struct buf message = {0};
	SCOPED struct buf params = {0};

	put_object(&params, {acp_session_id, buf_slice(&a->session_id)});
	need(msg_make_notification(&message, acp_name(ACP_SESSION_CANCEL, ACP_PLAIN), buf_slice(&params)));
	send_message(a, &message);
	a->turn.cancelled = true;
	answer_cancel(a, slice(NULL, 0));
}

void
ask_stop(struct ask *a, int status)
{
	ask_fail(a, status);
	loop_remove_timer(a->loop, &a->timeout);
	if (!a->turn.running || a->stopping) {
		ask_over(a, status);
		return;
	}
	a->stopping = true;
	ask_cancel(a);
	loop_add_timer(a->loop, &a->timeout, a->options->grace);
}

static void
on_timeout(void *arg)
{
	struct ask *a = arg;

	if (!a->stopping)
		show_note(a, "acp-ask: there was no end within --timeout");
	ask_stop(a, EXIT_TIMEOUT);
}

static void
on_signal(void *arg, int signal)
{
	struct ask *a = arg;

	if (signal == SIGCONT) {
		line_resume(a);
		return;
	}
	/* In a conversation Ctrl-C ends only the turn, or the line; a second Ctrl-C in the same turn ends all. */
	if (a->talks && signal == SIGINT && !a->over && !(a->turn.running && a->signals)) {
		if (a->turn.running)
			a->signals++, ask_cancel(a);
		else
			talk_interrupt(a);
		return;
	}
	if (++a->signals == 1 && !a->agent.leaving) {
		ask_stop(a, 128 + signal);
		return;
	}
	a->status = 128 + signal;
	a->agent.stopped = true;
	proc_signal(a->agent.child.pid, a->signals > 2 ? SIGKILL : SIGTERM);
	ask_over(a, 128 + signal);
}

bool
ask_wait(struct ask *a, const bool *done)
{
	while (!*done && !a->over)
		if (loop_run(a->loop) < 0)
			cli_die(EXIT_FAILED, tool_name, "%s", strerror(errno));
	/* The time that a person takes for the next prompt does not count. */
	loop_remove_timer(a->loop, &a->timeout);
	return *done;
}

/* --- sending --- */

struct session_request *
ask_request(struct ask *a, const char *method, struct slice params)
{
	struct slice id = json_get(params, acp_session_id), meta = json_get(params, "_meta");
	char digits[SLICE_DIGITS];
	SCOPED struct buf filled = {0};
	struct splices splices = {0};
	struct buf message = {0};

	if (a->over)
		return NULL;
	if (json_type(id) == JSON_NULL && a->session_id.n)
		splice_value(&splices, id, buf_slice(&a->session_id));
	if (json_type(meta) == JSON_NULL && a->options->meta)
		splice_value(&splices, meta, slice_of(a->options->meta));
	need(splice_write(params, splices.at, splices.n, &filled));
	need(msg_make_request(&message, slice_digits(++a->id, digits), method, buf_slice(&filled)));
	if (a->options->timeout)
		loop_add_timer(a->loop, &a->timeout, a->options->timeout);
	return send_message(a, &message);
}

const char *
ask_call(struct ask *a, struct slice request, struct buf *response)
{
	struct call call = {.response = response};
	struct json_iter it = {.in = request};
	SCOPED struct buf name = {0};
	struct slice method, params;
	struct session_request *sent;

	json_item(&it, &method);
	json_item(&it, &params);
	sent = ask_request(a, plain_of(method, &name), params);
	response->n = 0;
	if (sent)
		sent->data = &call;
	if (sent && !ask_wait(a, &call.done))
		sent->data = NULL;
	return call.member;
}

void
ask_reply(struct ask *a, struct slice id, struct slice result)
{
	struct buf message = {0};

	need(msg_make_result(&message, id, result));
	send_message(a, &message);
}

void
ask_refuse(struct ask *a, struct slice id, int code, const char *format, ...)
{
	SCOPED struct buf why = {0};
	struct buf message = {0};
	va_list args;

	va_start(args, format);
	need(buf_vprintf(&why, format, args));
	va_end(args);
	need(buf_string(&why) ? msg_make_error(&message, id, code, why.p, slice(NULL, 0)) : -1);
	send_message(a, &message);
}

/* --- what comes from the agent --- */

static void
on_session(void *arg, const struct session_event *e)
{
	struct ask *a = arg;
	struct call *call = e->request ? e->request->data : NULL;
	const struct msg *m = e->message ? &e->message->message.msg : NULL;

	switch (e->kind) {
	case SESSION_RESPONDED:
		if (!call)
			return;
		call->done = true;
		if (!e->unanswered) {
			call->member = m->error.p ? "error" : "result";
			put_slice(call->response, m->error.p ? m->error : m->result);
		}
		loop_stop(a->loop);
		return;
	case SESSION_TURN_ENDED:
		if (!e->turn->data)
			return;
		a->turn.running = a->turn.cancelled = false;
		a->turn.over = true;
		a->turn.failed = e->turn->failed || e->turn->unfinished;
		put_slice(&a->turn.stop, e->turn->stop);
		put_slice(&a->turn.error, e->turn->error);
		loop_stop(a->loop);
		return;
	case SESSION_CALL_BEGAN:
	case SESSION_CALL_CHANGED:
	case SESSION_CALL_ENDED:
	case SESSION_CALL_FORGOTTEN:
		show_call(a, e);
		return;
	case SESSION_BEGAN:
	case SESSION_OPENED:
		/* At once: updates may follow before session_open goes on. */
		if (!a->session && (e->session->how == SESSION_NEW || e->session->how == SESSION_LOADED || e->session->how == SESSION_RESUMED))
			a->session = e->session;
		return;
	case SESSION_FORGOTTEN:
		if (a->session == e->session)
			a->session = NULL;
		return;
	default:
		return;
	}
}

/* Handles a line that is not a message, or is of no use. A broken request gets an error; acp-ask does not wait for a response that is broken. */
static void
handle_noise(struct ask *a, const struct line *line, const char *why)
{
	struct slice id, text = slice_cut(line->text, NOISE);
	enum msg_kind kind;

	if (!a->options->quiet)
		show_note(a, "acp-ask: agent: line %" PRIu64 ": %s: %.*s", line->number, why, (int)text.n, text.p);
	kind = msg_guess_kind(line->text, &id);
	if (kind == MSG_REQUEST)
		ask_refuse(a, id, ACP_ERR_INVALID_REQUEST, "%s", why);
	else if (kind == MSG_RESPONSE)
		sessions_give_up(a->sessions, ACP_CLIENT, id);
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct ask *a = arg;
	struct message m = {.from = ACP_AGENT, .t = loop_now(a->loop), .line = line->text, .number = line->number};
	const struct session_message *seen;
	struct slice id;

	if (got == INPUT_PIECE) {
		if (line->first)
			handle_noise(a, line, "a line beyond --max-line");
		return true;
	}
	if (line_is_blank(line))
		return true;
	if (msg_scan(line->text, &m.msg, NULL) == MSG_NOISE) {
		handle_noise(a, line, "not a message");
		return true;
	}
	if (a->options->format == FORMAT_NDJSON)
		show_line(a, line->text);
	need(sessions_see(a->sessions, &m, &seen));
	if (!seen)
		return true;
	m.msg = seen->message.msg;
	if (m.msg.kind == MSG_REQUEST && (m.msg.what == ACP_REQUEST_PERMISSION || m.msg.what == ACP_ELICITATION_CREATE))
		answer_begin(a, &m.msg);
	else if (m.msg.kind == MSG_REQUEST)
		offer_serve(a, &m.msg);
	else if (m.msg.kind == MSG_RESPONSE && !seen->request)
		handle_noise(a, line, "a response to no open request");
	else if (m.msg.kind != MSG_NOTIFICATION || m.msg.what != ACP_CANCEL_REQUEST)
		show_update(a, seen);
	else if ((id = json_get(m.msg.params, acp_request_id)).p && !offer_cancel(a, id))
		answer_cancel(a, id);
	return true;
}

static bool
on_error_line(void *arg, enum input_got got, const struct line *line)
{
	const struct ask *a = arg;

	(void)got;
	if (!a->options->quiet)
		show_note(arg, "%.*s", (int)line->text.n, line->text.p);
	return true;
}

/* --- the process --- */

/* Ends all if the agent has ended: its process has ended, and its output has been read. */
static void
end_if_over(struct ask *a)
{
	char room[64];

	if (!a->agent.reaped || endpoint_can_read(&a->agent.live) || a->agent.ended)
		return;
	a->agent.ended = true;
	loop_remove_timer(a->loop, &a->agent.grace);
	endpoint_read_now(&a->agent.errors, true);
	if (!a->over && !a->agent.leaving) {
		show_note(a, "acp-ask: the agent ended%s (%s)", a->initialized.n ? "" : " before it responded to initialize",
			proc_describe(a->agent.status, room, sizeof(room)));
		ask_fail(a, a->agent.status ? proc_status(a->agent.status) : EXIT_NEGATIVE);
	}
	sessions_end(a->sessions); /* the turn, too: in version 2 its prompt may have its response */
	ask_over(a, 0);
}

static void
on_live_event(void *arg, enum endpoint_event event)
{
	struct ask *a = arg;

	/* An agent that reads nothing more, or writes nothing more, must end within the grace period. */
	if ((event == ENDPOINT_ENDED || (event == ENDPOINT_CLOSED && a->agent.live.out.error)) && !a->agent.grace.added)
		loop_add_timer(a->loop, &a->agent.grace, a->options->grace);
	end_if_over(a);
}

static void
on_exit_of_agent(void *arg, int status)
{
	struct ask *a = arg;

	a->agent.reaped = true;
	a->agent.status = status;
	proc_signal(a->agent.child.pid, SIGTERM); /* for processes that the agent has started, and left running */
	endpoint_drain(&a->agent.live);
	end_if_over(a);
}

static void
on_grace(void *arg)
{
	struct ask *a = arg;

	if (a->agent.reaped) {
		endpoint_close_in(&a->agent.live);
		end_if_over(a);
		return;
	}
	if (!a->agent.stopped)
		show_note(a, "acp-ask: the agent did not end within the grace period: sending it SIGTERM");
	proc_signal(a->agent.child.pid, a->agent.stopped ? SIGKILL : SIGTERM);
	a->agent.stopped = true;
	loop_add_timer(a->loop, &a->agent.grace, AFTER_TERM);
}

bool
agent_start(struct ask *a)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCONT, 0};
	struct proc_spec spec = {.argv = a->options->command, .death_signal = SIGKILL, .variables = a->variables};
	enum proc_stage stage = PROC_FORK;
	struct agent *agent = &a->agent;
	int ours[3];

	if (!a->loop) {
		a->loop = loop_new(signals, on_signal, a);
		a->sessions = sessions_new(on_session, a, NULL);
		need(a->loop && a->sessions ? 0 : -1);
		a->timeout = (struct loop_timer){.expired = on_timeout, .arg = a};
		show_open(a);
		person_open(a);
	}
	*agent = (struct agent){.grace = {.expired = on_grace, .arg = a}, .ended = true};
	agent->child = (struct loop_child){.pid = proc_start_piped(&spec, 3, ours, &stage), .ended = on_exit_of_agent, .arg = a};
	if (agent->child.pid < 0)
		return ask_fail(a, cli_not_started(tool_name, spec.argv[0], stage == PROC_EXEC, errno));
	agent->ended = false;
	loop_add_child(a->loop, &agent->child);
	agent->live = (struct endpoint){.line = on_line, .event = on_live_event, .arg = a};
	agent->errors = (struct endpoint){.line = on_error_line, .arg = a};
	if ((endpoint_open(&agent->live, a->loop, ours[1], ours[0], a->options->line_limit) |
		endpoint_open(&agent->errors, a->loop, ours[2], -1, STDERR_LINE)) < 0)
		cli_die(EXIT_FAILED, tool_name, "%s", strerror(errno));
	sessions_begin(a->sessions);
	a->over = false;
	return true;
}

void
agent_end(struct ask *a)
{
	a->agent.leaving = true;
	offer_close(a);
	loop_remove_timer(a->loop, &a->timeout);
	endpoint_finish(&a->agent.live);
	if (!a->agent.ended && !a->agent.grace.added)
		loop_add_timer(a->loop, &a->agent.grace, a->agent.stopped ? AFTER_TERM : a->options->grace);
	while (!a->agent.ended && loop_run(a->loop) == 0)
		;
	endpoint_close(&a->agent.live);
	endpoint_close(&a->agent.errors);
	if (a->agent.child.added) {
		proc_signal(a->agent.child.pid, SIGKILL);
		loop_reap(a->loop, &a->agent.child);
	}
	if (!a->status && !a->agent.stopped)
		a->status = proc_status(a->agent.status);
}
