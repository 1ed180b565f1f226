/* session: the rules that streams of real peers touch, one by one; random streams are tests/model/session.py's. */
#include "lib/session/session.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct sessions *c;
static struct buf log_text;
static uint64_t now;

/* What counts: turns, calls, questions and sessions. */
static void
event(void *arg, const struct session_event *e)
{
	(void)arg;
	switch (e->kind) {
	case SESSION_BEGAN:
	case SESSION_OPENED:
		buf_printf(&log_text, "%s=%d ", e->session->id, (int)e->session->how);
		break;
	case SESSION_CLOSED:
		buf_printf(&log_text, "%s closed ", e->session->id);
		break;
	case SESSION_TURN_BEGAN:
		buf_printf(&log_text, "+%s/%llu ", e->session->id, (unsigned long long)e->turn->number);
		break;
	case SESSION_TURN_ENDED:
		buf_printf(&log_text, "-%s/%llu%s%s%s ", e->session->id, (unsigned long long)e->turn->number, e->turn->failed ? "!" : "",
			e->turn->unfinished ? "?" : "", e->turn->joined ? "&" : "");
		break;
	case SESSION_CALL_BEGAN:
		buf_printf(&log_text, "(%s%s ", e->call->id, e->again ? "=" : "");
		break;
	case SESSION_CALL_ENDED:
		buf_printf(&log_text, "%s%s%s) ", e->call->id, e->call->failed ? "!" : "", e->call->unfinished ? "?" : "");
		break;
	case SESSION_CALL_FORGOTTEN:
	case SESSION_FORGOTTEN:
		if (e->limit)
			buf_printf(&log_text, "~%s ", e->call ? e->call->id : e->session->id);
		break;
	case SESSION_ASKED:
		buf_printf(&log_text, "ask(%s ", e->call ? e->call->id : "-");
		break;
	case SESSION_ANSWERED:
		buf_printf(&log_text, "ask%s) ", e->question->unfinished ? "?" : "");
		break;
	case SESSION_DISCONNECTED:
		buf_printf(&log_text, "| ");
		break;
	default:
		break;
	}
}

static void
say(enum acp_side from, const char *text)
{
	struct message s = {.from = from, .t = ++now, .line = slice_of(text)};

	CHECK(msg_scan(s.line, &s.msg, NULL) != MSG_NOISE);
	CHECK(sessions_see(c, &s, NULL) == 0);
}

#define CLIENT(id, method, params) say(ACP_CLIENT, "{\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}")
#define AGENT(id, method, params) say(ACP_AGENT, "{\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}")
#define RESULT(id, result) say(ACP_AGENT, "{\"id\":" id ",\"result\":{" result "}}")
#define S "\"sessionId\":\"S\""
#define PROMPT(id) CLIENT(id, "session/prompt", S)
#define UPDATE(update) say(ACP_AGENT, "{\"method\":\"session/update\",\"params\":{" S ",\"update\":{\"sessionUpdate\":" update "}}}")
#define STATE(state) UPDATE("\"state_update\",\"state\":" state)
#define CALL(id, status) UPDATE("\"tool_call\",\"toolCallId\":\"" id "\",\"status\":\"" status "\"")
#define FAR(message) "{\"method\":\"proxy/successor\",\"params\":{" message "}}"

static void
begin(void)
{
	sessions_begin(c);
	log_text.n = 0;
	now = 0;
}

static void
want(const char *text)
{
	sessions_end(c);
	CHECK_STR(log_text.n ? buf_string(&log_text) : "", text);
}

static void
test_turns(void)
{
	begin();
	CLIENT("0", "session/new", "\"cwd\":\"/\"");
	RESULT("0", S);
	PROMPT("1");
	PROMPT("2");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	say(ACP_CLIENT, "{\"method\":\"session/cancel\",\"params\":{" S "}}");
	RESULT("2", "\"stopReason\":\"cancelled\"");
	PROMPT("3");
	want("S=1 +S/1 -S/1 +S/2 -S/2 +S/3 -S/3? | ");
	/* One that waits is refused. */
	begin();
	PROMPT("1");
	PROMPT("2");
	say(ACP_AGENT, "{\"id\":2,\"error\":{\"code\":-32603,\"message\":\"busy\"}}");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 -S/0! -S/1 | ");
	/* What initialize ends, no later response ends. */
	begin();
	PROMPT("1");
	CLIENT("9", "initialize", "\"protocolVersion\":1");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 -S/1? | | ");
	/* Who uses an id again does not wait for the older response. */
	begin();
	PROMPT("1");
	PROMPT("1");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 -S/1? +S/2 -S/2 | ");
}

static void
test_version_2(void)
{
	begin();
	PROMPT("1");
	RESULT("1", "\"messageId\":\"m\"");
	STATE("\"running\"");
	PROMPT("2");
	RESULT("2", "\"messageId\":\"n\"");
	PROMPT("3");
	STATE("\"idle\",\"stopReason\":\"end_turn\"");
	STATE("\"idle\",\"stopReason\":\"end_turn\"");
	RESULT("3", "\"messageId\":\"o\"");
	STATE("\"idle\",\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 -S/0& -S/1 +S/2 -S/2 | ");
	/* Work without a prompt; a repeat; another that nobody announced; an unknown state. */
	begin();
	STATE("\"idle\"");
	STATE("\"running\"");
	STATE("\"unknown\"");
	STATE("\"idle\",\"usage\":{\"totalTokens\":1}");
	STATE("\"idle\",\"usage\":{\"totalTokens\":1}");
	STATE("\"idle\",\"usage\":{\"totalTokens\":2}");
	want("S=0 +S/1 -S/1 +S/2 -S/2 | ");
	/* A result without anything accepts where the version is agreed upon. */
	begin();
	CLIENT("0", "initialize", "\"protocolVersion\":2");
	RESULT("0", "\"protocolVersion\":2");
	PROMPT("1");
	RESULT("1", "");
	CALL("a", "pending");
	STATE("\"idle\",\"stopReason\":\"error\",\"background\":[{\"type\":\"terminal\"}]");
	CALL("a", "rejected");
	want("S=0 +S/1 (a -S/1! a) | ");
}

static void
test_calls(void)
{
	begin();
	PROMPT("1");
	CALL("a", "pending");
	CALL("b", "rejected");
	CALL("b", "pending");
	AGENT("7", "session/request_permission", S ",\"toolCall\":{\"toolCallId\":\"c\"}");
	CALL("c", "paused");
	say(ACP_CLIENT, "{\"id\":7,\"result\":{}}");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	CALL("a", "failed");
	want("S=0 +S/1 (a (b b) (b= (c ask(c ask) a?) b?) c?) -S/1 (a= a!) | ");
	/* A sub-agent's call survives the turn, in which it began. */
	begin();
	PROMPT("1");
	UPDATE("\"subagent_update\",\"sessionId\":\"K\",\"state\":{\"state\":\"running\"}");
	say(ACP_AGENT, "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"K\",\"update\":{\"sessionUpdate\":\"tool_call\","
		"\"toolCallId\":\"k\"}}}");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	UPDATE("\"subagent_update\",\"sessionId\":\"K\",\"state\":{\"state\":\"idle\"}");
	want("S=0 +S/1 K=5 (k -S/1 k?) | ");
}

static void
test_sessions(void)
{
	begin();
	CLIENT("1", "session/load", S);
	CALL("a", "pending");
	STATE("\"running\"");
	RESULT("1", "");
	CALL("b", "completed");
	CLIENT("2", "session/close", S);
	RESULT("2", "");
	PROMPT("3");
	CLIENT("4", "session/delete", "\"sessionId\":\"other\"");
	CLIENT("5", "session/fork", S);
	RESULT("5", "\"sessionId\":\"F\"");
	CLIENT("6", "nes/start", "");
	RESULT("6", "\"sessionId\":\"N\"");
	want("S=2 (b b) S closed S=0 +S/1 F=4 N=6 -S/1? | ");
}

static void
test_envelopes(void)
{
	/* The far side of a proxy alone. */
	begin();
	say(ACP_AGENT, "{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"session/prompt\",\"params\":{" S "}}}");
	say(ACP_CLIENT, FAR("\"method\":\"session/update\",\"params\":{" S ",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"a\"}}"));
	say(ACP_CLIENT, "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}");
	want("S=0 +S/1 (a a?) -S/1 | ");
	/* Both sides of it: once. The initialization that it sends on begins no connection. */
	begin();
	CLIENT("0", "proxy/initialize", "\"protocolVersion\":1");
	say(ACP_AGENT, "{\"id\":70,\"method\":\"_proxy/successor\",\"params\":{\"method\":\"initialize\",\"params\":{}}}");
	PROMPT("1");
	say(ACP_AGENT, "{\"id\":71,\"method\":\"_proxy/successor\",\"params\":{\"method\":\"session/prompt\",\"params\":{" S "}}}");
	say(ACP_CLIENT, "{\"id\":71,\"result\":{\"stopReason\":\"end_turn\"}}");
	CALL("a", "completed");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 (a a) -S/1 | ");
}

static void
test_sides_unknown(void)
{
	begin();
	say(ACP_UNKNOWN, "{\"id\":1,\"method\":\"session/request_permission\",\"params\":{" S "}}");
	say(ACP_UNKNOWN, "{\"id\":1,\"method\":\"session/prompt\",\"params\":{" S "}}");
	say(ACP_UNKNOWN, "{\"id\":1,\"result\":{\"outcome\":{}}}");
	say(ACP_UNKNOWN, "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}");
	want("S=0 ask(- +S/1 ask) -S/1 | ");
}

static void
test_limits(void)
{
	const struct session_limits limits = {.sessions = 2, .calls = 2, .requests = 2};
	struct sessions *usual = c;

	c = sessions_new(event, NULL, &limits);
	if (!CHECK(c != NULL))
		return;
	begin();
	CALL("a", "pending");
	CALL("b", "completed");
	CALL("c", "pending");
	PROMPT("1");
	CLIENT("2", "session/prompt", "\"sessionId\":\"T\"");
	CLIENT("3", "session/prompt", "\"sessionId\":\"U\"");
	want("S=0 (a (b b) a?) ~a (c +S/1 T=0 +T/1 c?) -S/1? ~S U=0 +U/1 -T/1? -U/1? | ");
	sessions_free(c);
	c = usual;
}

/* The response of what was open may be among the messages that were lost. */
static void
test_lost(void)
{
	/* A turn ends at the next prompt, whose own response it does not wait for; one that began after the loss is sure. */
	begin();
	PROMPT("1");
	PROMPT("2");
	sessions_lost(c);
	PROMPT("3");
	PROMPT("4");
	RESULT("3", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 -S/1? +S/2 -S/2? +S/3 -S/3 +S/4 -S/4? | ");
	/* Its response may come all the same. */
	begin();
	PROMPT("1");
	sessions_lost(c);
	RESULT("1", "\"stopReason\":\"end_turn\"");
	PROMPT("2");
	want("S=0 +S/1 -S/1 +S/2 -S/2? | ");
	/* Version 2: the idle state. */
	begin();
	PROMPT("1");
	RESULT("1", "\"messageId\":\"m\"");
	sessions_lost(c);
	PROMPT("2");
	want("S=0 +S/1 -S/1? +S/2 -S/2? | ");
	/* A question ends as its call goes on, or with its turn; others wait. */
	begin();
	PROMPT("1");
	AGENT("7", "session/request_permission", S ",\"toolCall\":{\"toolCallId\":\"a\"}");
	AGENT("8", "session/request_permission", S ",\"toolCall\":{\"toolCallId\":\"b\"}");
	sessions_lost(c);
	CALL("c", "pending");
	CALL("a", "completed");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 (a ask(a (b ask(b (c ask?) a) ask?) b?) c?) -S/1 | ");
	/* Without a loss they wait. */
	begin();
	PROMPT("1");
	AGENT("7", "session/request_permission", S ",\"toolCall\":{\"toolCallId\":\"a\"}");
	CALL("a", "completed");
	RESULT("1", "\"stopReason\":\"end_turn\"");
	want("S=0 +S/1 (a ask(a a) -S/1 ask?) | ");
	/* A history does not last for ever. */
	begin();
	CLIENT("1", "session/load", S);
	sessions_lost(c);
	PROMPT("2");
	CALL("a", "completed");
	want("S=2 +S/1 (a a) -S/1? | ");
}

/* A tool's data stay with a session that is kept, across connections. */
static void
test_keep(void)
{
	const struct session_limits limits = {.keep = true};
	struct sessions *usual = c;
	struct session *s;

	c = sessions_new(event, NULL, &limits);
	if (!CHECK(c != NULL))
		return;
	begin();
	PROMPT("1");
	s = sessions_find(c, slice_of("S"));
	CHECK(s && s->turn && !s->closed);
	s->data = &now;
	sessions_begin(c);
	CHECK(sessions_find(c, slice_of("S")) == s && s->closed && !s->turn);
	CLIENT("1", "session/load", S);
	CHECK(s->data == &now && !s->closed && session_is_replayed(s) && sessions_next(c, s) == NULL);
	want("S=0 +S/1 -S/1? | S=2 | ");
	s->data = NULL;
	sessions_free(c);
	c = usual;
}

static const char *
label(struct session_label **all, const char *id, uint64_t number)
{
	static char text[9];
	struct session *s = calloc(1, sizeof(*s) + strlen(id) + 1);

	if (!s)
		return "out of memory";
	s->n = strlen(strcpy(s->id, id));
	s->number = number;
	session_label(all, s, text, 8);
	free(s);
	return text;
}

/* Short names: the beginning of the id, its end, or the number; a session keeps its name, and at most 4,096 names are remembered. */
static void
test_labels(void)
{
	struct session_label *all = NULL;
	char id[32];

	CHECK_STR(label(&all, "2026-11-29/a-long-one", 1), "2026-11-");
	CHECK_STR(label(&all, "2026-11-29/another-one", 2), "ther-one");
	CHECK_STR(label(&all, "2026-11-29/third-other-one", 3), "~3");
	CHECK_STR(label(&all, "2026-11-29/a-long-one", 9), "2026-11-");
	CHECK_STR(label(&all, "2026-11-29/another-one", 9), "ther-one");
	CHECK_STR(label(&all, "a\tb", 4), "a?b");
	CHECK_STR(label(&all, "", 5), "");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(id, sizeof(id), "%u", i);
		label(&all, id, i);
	}
	CHECK_STR(label(&all, "4000", 10), "4000");
	CHECK_STR(label(&all, "4999", 4999), "~4999");
	CHECK_STR(label(&all, "2026-11-29/a-long-one", 9), "2026-11-");
	session_labels_free(all);
}

int
main(void)
{
	c = sessions_new(event, NULL, NULL);
	if (!CHECK(c != NULL))
		return check_done();
	test_turns();
	test_version_2();
	test_calls();
	test_sessions();
	test_envelopes();
	test_sides_unknown();
	test_limits();
	test_lost();
	test_keep();
	test_labels();
	sessions_free(c);
	buf_free(&log_text);
	return check_done();
}
