/* span: turns, tool calls, waits and requests as intervals. */
#include "lib/span/span.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct span *sp;
static struct buf log_text;

static void
put(const struct span_event *e)
{
	const struct span_turn *t = e->turn;
	const struct span_tool *c = e->tool;

	buf_printf(&log_text, "%llu-%llu ", (unsigned long long)e->begin, (unsigned long long)e->end);
	switch (e->kind) {
	case SPAN_REQUEST:
		buf_printf(&log_text, "%s %s %.*s%s%s", e->request->kind == MSG_REQUEST ? "req" : "ntf", acp_side_name(e->request->from),
			(int)e->request->method.n - 2, e->request->method.p + 1, e->request->failed ? " failed" : "",
			e->request->unfinished ? " unfinished" : "");
		break;
	case SPAN_TURN:
		buf_printf(&log_text, "turn %s/%llu update %lld text %lld silence %llu user %llu tools %llu model %llu chunks %llu",
			t->session->id, (unsigned long long)t->number, (long long)t->times[SPAN_FIRST_UPDATE], (long long)t->times[SPAN_FIRST_TEXT],
			(unsigned long long)t->times[SPAN_SILENCE], (unsigned long long)t->times[SPAN_USER], (unsigned long long)t->times[SPAN_TOOLS],
			(unsigned long long)t->times[SPAN_MODEL], (unsigned long long)t->chunks);
		buf_printf(&log_text, " stop %.*s", (int)t->stop.n, t->stop.p);
		if (t->own.has) {
			buf_add_string(&log_text, " output ");
			usage_sum_put(&t->own, USAGE_OUTPUT, &log_text);
		}
		buf_printf(&log_text, "%s%s", t->failed ? " failed" : "", t->unfinished ? " unfinished" : "");
		break;
	case SPAN_TOOL:
		buf_printf(&log_text, "tool %s %.*s ran %llu%s%s", c->id, (int)c->kind.n, c->kind.p, (unsigned long long)c->ran,
			c->failed ? " failed" : "", c->unfinished ? " unfinished" : "");
		break;
	case SPAN_RAN:
		buf_printf(&log_text, "ran %s", c->id);
		break;
	case SPAN_WAIT:
		buf_printf(&log_text, "wait %s%s", e->wait->tool ? e->wait->tool->id : "-", e->wait->unfinished ? " unfinished" : "");
		break;
	}
	buf_add_string(&log_text, "\n");
}

/* All but what the test is not about: requests and notifications are shown only where it asks for them. */
static bool with_requests;

static void
event(void *arg, const struct span_event *e)
{
	(void)arg;
	if (e->kind != SPAN_REQUEST || with_requests)
		put(e);
}

static void
say(enum acp_side from, uint64_t t, const char *text)
{
	struct message s = {.from = from, .t = t, .line = slice_of(text)};
	struct json_error error;

	CHECK(msg_scan(s.line, &s.msg, &error) != MSG_NOISE);
	CHECK(span_see(sp, &s) == 0);
}

static void
client(uint64_t t, const char *text)
{
	say(ACP_CLIENT, t, text);
}

static void
agent(uint64_t t, const char *text)
{
	say(ACP_AGENT, t, text);
}

static void
update(uint64_t t, const char *session, const char *body)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\",\"update\":{\"sessionUpdate\":%s}}}",
		session, body);
	agent(t, text);
}

static void
prompt(uint64_t t, int id)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]}}", id);
	client(t, text);
}

static void
begin(void)
{
	log_text.n = 0;
	with_requests = false;
	CHECK(span_begin(sp, 0) == 0);
}

static void
want(const char *text)
{
	const char *is = buf_string(&log_text);

	CHECK_STR(log_text.n ? is : "", text);
}

#define TEXT "\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}"
#define TOOL(id, kind) "\"tool_call\",\"toolCallId\":\"" id "\",\"title\":\"t\",\"kind\":\"" kind "\",\"status\":\"pending\""
#define DONE(id, status) "\"tool_call_update\",\"toolCallId\":\"" id "\",\"status\":\"" status "\""
#define END "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}"
#define ASK(id, tool) "{\"id\":" id ",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"S\"," \
	"\"toolCall\":{\"toolCallId\":\"" tool "\"},\"options\":[]}}"
#define OK(id) "{\"id\":" id ",\"result\":{}}"

/* Overlapping calls are counted once, and a question to the user goes before them. */
static void
test_parts_of_a_turn(void)
{
	begin();
	prompt(100, 1);
	update(110, "S", "\"plan\",\"entries\":[]");
	update(130, "S", TEXT);
	update(200, "S", TOOL("a", "read"));
	update(220, "S", TOOL("b", "edit"));
	agent(230, ASK("7", "b"));
	client(280, OK("7"));
	update(300, "S", DONE("a", "completed"));
	update(350, "S", DONE("b", "failed"));
	agent(400, "{\"id\":1,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"totalTokens\":9,\"inputTokens\":5,\"outputTokens\":4}}}");
	want("220-230 ran b\n"
		"230-280 wait b\n"
		"200-300 ran a\n200-300 tool a read ran 100\n"
		"280-350 ran b\n220-350 tool b edit ran 80 failed\n"
		"100-400 turn S/1 update 10 text 30 silence 70 user 50 tools 100 model 150 chunks 1 stop \"end_turn\" output 4\n");
}

static void
test_queued_prompts(void)
{
	begin();
	prompt(0, 1);
	prompt(10, 2);
	prompt(20, 3);
	client(25, "{\"id\":4,\"method\":\"x\"}");
	agent(30, "{\"id\":3,\"error\":{\"code\":-32600,\"message\":\"no\"}}");
	agent(40, END);
	agent(90, "{\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}");
	want("0-40 turn S/1 update -1 text -1 silence 30 user 0 tools 0 model 40 chunks 0 stop \"end_turn\"\n"
		"40-90 turn S/2 update -1 text -1 silence 50 user 0 tools 0 model 50 chunks 0 stop \"cancelled\"\n");
}

static void
test_version_2(void)
{
	begin();
	client(0, "{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":2}}");
	agent(1, "{\"id\":0,\"result\":{\"protocolVersion\":2}}");
	update(5, "S", "\"state_update\",\"state\":\"idle\"");
	prompt(10, 1);
	agent(12, "{\"id\":1,\"result\":{\"messageId\":\"m\"}}");
	update(15, "S", "\"state_update\",\"state\":\"running\"");
	update(20, "S", "\"tool_call_update\",\"toolCallId\":\"a\",\"status\":\"in_progress\"");
	update(30, "S", DONE("a", "completed"));
	update(31, "S", "\"tool_call_update\",\"toolCallId\":\"a\",\"content\":[]");
	update(50, "S", "\"state_update\",\"state\":\"idle\",\"stopReason\":\"end_turn\"");
	update(51, "S", "\"state_update\",\"state\":\"idle\",\"stopReason\":\"end_turn\"");
	update(60, "S", "\"state_update\",\"state\":\"running\"");
	update(80, "S", "\"state_update\",\"state\":\"idle\",\"stopReason\":\"end_turn\"");
	want("20-30 ran a\n20-30 tool a  ran 10\n"
		"10-50 turn S/1 update 10 text -1 silence 19 user 0 tools 10 model 30 chunks 0 stop \"end_turn\"\n"
		"60-80 turn S/2 update -1 text -1 silence 20 user 0 tools 0 model 20 chunks 0 stop \"end_turn\"\n");
}

/* What a sub-agent does belongs to its root's turn; what it does after that goes on without it. */
static void
test_sub_agents(void)
{
	begin();
	prompt(0, 1);
	update(10, "S", "\"subagent_update\",\"sessionId\":\"C\",\"state\":{\"state\":\"running\"}");
	update(11, "C", "\"state_update\",\"state\":\"running\"");
	update(12, "C", TEXT);
	update(20, "C", TOOL("a", "execute"));
	update(30, "C", DONE("a", "completed"));
	update(40, "C", TOOL("b", "execute"));
	agent(50, END);
	update(70, "C", DONE("b", "completed"));
	update(71, "C", "\"state_update\",\"state\":\"idle\"");
	want("20-30 ran a\n20-30 tool a execute ran 10\n"
		"0-50 turn S/1 update 10 text -1 silence 10 user 0 tools 20 model 30 chunks 0 stop \"end_turn\"\n"
		"40-70 ran b\n40-70 tool b execute ran 30\n");
}

/* What is open at the end, or when a client connects anew, ends there, and says so. */
static void
test_unfinished(void)
{
	begin();
	with_requests = true;
	prompt(0, 1);
	update(10, "S", TOOL("a", "read"));
	agent(20, ASK("7", "a"));
	client(30, "{\"id\":5,\"method\":\"initialize\"}");
	CHECK(span_end(sp) == 0);
	want("10-10 ntf agent session/update\n"
		"10-20 ran a\n"
		"0-30 req client session/prompt unfinished\n"
		"10-30 tool a read ran 10 unfinished\n"
		"0-30 turn S/1 update 10 text -1 silence 10 user 10 tools 10 model 10 chunks 0 stop  unfinished\n"
		"20-30 req agent session/request_permission unfinished\n"
		"20-30 wait a unfinished\n"
		"30-30 req client initialize unfinished\n");
}

/* What is replayed has not happened now; calls that the agent left open end with their turn. */
static void
test_replayed_and_left_open(void)
{
	begin();
	client(0, "{\"id\":4,\"method\":\"session/load\",\"params\":{\"sessionId\":\"S\",\"cwd\":\"/\"}}");
	update(1, "S", TOOL("a", "read"));
	update(2, "S", DONE("a", "completed"));
	agent(3, OK("4"));
	prompt(10, 1);
	update(20, "S", TOOL("a", "read"));
	agent(40, END);
	update(50, "S", DONE("a", "completed"));
	want("20-40 ran a\n20-40 tool a read ran 20 unfinished\n"
		"10-40 turn S/1 update 10 text -1 silence 20 user 0 tools 20 model 10 chunks 0 stop \"end_turn\"\n");
}

/* In an envelope of a proxy chain; errors; a time that goes back counts as no time. */
static void
test_requests(void)
{
	begin();
	with_requests = true;
	say(ACP_UNKNOWN, 10, "{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"session/new\",\"params\":{}}}");
	say(ACP_UNKNOWN, 8, "{\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}");
	agent(20, "{\"id\":\"\\u0041\",\"method\":\"fs/read_text_file\",\"params\":{}}");
	client(27, "{\"id\":\"A\",\"result\":{}}");
	agent(28, "{\"id\":99,\"result\":{}}");
	want("10-10 req client session/new failed\n20-27 req agent fs/read_text_file\n");
}

/* A peer that opens calls and never ends them costs bounded memory. */
static void
test_many_open_calls(void)
{
	size_t given_up = 0, i;
	const char *p;
	char text[128];

	begin();
	prompt(0, 1);
	for (i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "\"tool_call\",\"toolCallId\":\"%zu\",\"title\":\"t\"", i);
		update(1, "S", text);
	}
	for (p = buf_string(&log_text); (p = strstr(p, "unfinished")); p++)
		given_up++;
	CHECK(given_up == 20000 - 16 * 1024);
	agent(2, END);
}

int
main(void)
{
	sp = span_new(event, NULL);
	if (!CHECK(sp != NULL))
		return check_done();
	test_parts_of_a_turn();
	test_queued_prompts();
	test_version_2();
	test_sub_agents();
	test_unfinished();
	test_replayed_and_left_open();
	test_requests();
	test_many_open_calls();
	span_free(sp);
	buf_free(&log_text);
	return check_done();
}
