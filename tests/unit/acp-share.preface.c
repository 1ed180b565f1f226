/* preface: what a guest who comes late gets, and what is asked of each message on the way. */
#include "cmd/acp-share/preface.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct preface p;
static uint64_t clock_us;

/* Shows it a message; is it wanted? answers: of a response, what its request was, under the same id, of that session. */
static bool
show(const char *text, enum acp_direction dir, enum acp_method answers, const char *session)
{
	struct request request = {.from = dir == ACP_UP ? ACP_CLIENT : ACP_AGENT, .what = answers};
	struct message message = {.from = dir == ACP_UP ? ACP_AGENT : ACP_CLIENT, .t = ++clock_us, .line = slice_of(text)};
	struct json_error error;

	msg_scan(slice_of(text), &message.msg, &error);
	if (message.msg.kind == MSG_RESPONSE) {
		request.id = message.msg.id;
		request.session = session ? slice_of(session) : slice(NULL, 0);
		message.request = &request;
	}
	return preface_see(&p, &message);
}

static bool
wants(const char *params)
{
	struct buf text = {0};
	bool wanted;

	buf_printf(&text, "{\"method\":\"session/update\",\"params\":%s}", params);
	wanted = show(buf_string(&text), ACP_UP, ACP_OTHER, NULL);
	buf_free(&text);
	return wanted;
}

static const char *
put(void)
{
	static struct buf text;

	text.n = 0;
	return preface_put(&p, &text) == 0 && buf_add(&text, "", 1) == 0 ? text.p : NULL;
}

/* The list without what comes before the sessions. */
static const char *
listed(void)
{
	static struct buf text;

	text.n = 0;
	return preface_put_list(&p, &text) == 0 && buf_string(&text) ? strstr(text.p, "\"sessions\"") : NULL;
}

static void
kinds(void)
{
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"context_update\",\"used\":1}}"));
	CHECK(wants("{ \"sessionId\":\"a\",\"update\":{\"used\":1,\"sessionUpdate\":\"usage_update\"}}"));
	CHECK(wants("{\"update\":{\"sessionUpdate\":\"usage_\\u0075pdate\"},\"sessionId\":\"a\"}"));
	CHECK(wants("{\"sessionId\":\"a\\\"\",\"update\":{\"sessionUpdate\":\"usage_update\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"session\\u0055pdate\":\"usage_update\"}}"));
	CHECK(!wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"x\":\"usage_update\"}}"));
	CHECK(!wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"plan_updates\"}}"));
	CHECK(!wants("{\"sessionId\":\"a\",\"update\":{\"x\":{\"sessionUpdate\":\"usage_update\"}}}"));
	CHECK(!wants("{\"sessionId\":\"a\",\"update\":3}") && !wants("{\"sessionId\":\"a\"}") && !wants("{}") && !wants("[]") && !wants("1"));
	preface_free(&p);
}

static void
sessions(void)
{
	CHECK(!preface_initialized(&p));
	CHECK(show("{\"id\":1,\"method\":\"initialize\"}", ACP_DOWN, 0, NULL) && !preface_initialized(&p));
	CHECK(show("{\"id\":1,\"error\":{}}", ACP_UP, ACP_INITIALIZE, NULL) && !preface_initialized(&p));
	CHECK(show("{\"id\":1,\"result\":{}}", ACP_UP, ACP_INITIALIZE, NULL) && preface_initialized(&p));
	CHECK(show("{\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/x\"}}", ACP_DOWN, 0, NULL));
	CHECK(show("{\"id\":2,\"error\":{\"code\":1,\"message\":\"\"}}", ACP_UP, ACP_SESSION_NEW, NULL));
	CHECK_STR(listed(), "\"sessions\":[]");
	CHECK(show("{\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/y\"}}", ACP_DOWN, 0, NULL));
	CHECK(show("{\"id\":2,\"result\":{\"sessionId\":\"a\"}}", ACP_UP, ACP_SESSION_NEW, NULL));
	CHECK(show("{\"id\":2,\"result\":null}", ACP_UP, ACP_SESSION_LOAD, "\"\\u0062\""));
	CHECK_STR(listed(), "\"sessions\":[{\"id\":\"a\",\"cwd\":\"/y\"},{\"id\":\"b\",\"cwd\":null}]");
	CHECK(strstr(put(), "\"cwd\":\"/y\"") && strstr(put(), "\"result\":{\"sessionId\":\"a\"}") && !strstr(put(), "\"cwd\":\"/x\""));
	CHECK(wants("{\"sessionId\":\"b\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":2}}"));
	CHECK(wants("{\"sessionId\":\"b\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":3}}"));
	/* In the order in which they passed. */
	CHECK(strstr(put(), "\"used\":2") < strstr(put(), "\"used\":3") && !strstr(put(), "\"used\":1"));
	CHECK(show("{\"id\":3,\"result\":{}}", ACP_UP, ACP_SESSION_CLOSE, "\"b\""));
	CHECK_STR(listed(), "\"sessions\":[{\"id\":\"a\",\"cwd\":\"/y\"}]");
	CHECK(!strstr(put(), "\"used\":3"));
	CHECK(show("{\"id\":3,\"result\":{}}", ACP_UP, ACP_SESSION_DELETE, "\"nobody\""));
	CHECK_STR(listed(), "\"sessions\":[{\"id\":\"a\",\"cwd\":\"/y\"}]");
	preface_free(&p);
	p = (struct preface){.number = 0};
}

/* A session that the client has closed comes back only where the client names it; one that a request does not open is as before. */
static void
closed(void)
{
	static const char load[] = "{\"id\":1,\"method\":\"session/load\",\"params\":{\"sessionId\":\"a\"}}";
	static const char prompt[] = "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"a\",\"prompt\":[]}}";
	static const char error[] = "{\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", done[] = "{\"id\":1,\"result\":{}}";
	static const char used[] = "{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}";
	static const char open[] = "\"sessions\":[{\"id\":\"a\",\"cwd\":null}]", none[] = "\"sessions\":[]";

	/* It was open before, though nothing was seen that opened it. */
	CHECK(wants(used) && show(load, ACP_DOWN, 0, NULL) && show(error, ACP_UP, ACP_SESSION_LOAD, "\"a\""));
	CHECK_STR(listed(), open);
	CHECK(strstr(put(), "usage_update"));
	CHECK(show(done, ACP_UP, ACP_SESSION_CLOSE, "\"a\"") && wants(used));
	CHECK_STR(listed(), none);
	CHECK(show(load, ACP_DOWN, 0, NULL) && wants(used) && show(error, ACP_UP, ACP_SESSION_LOAD, "\"a\"") && wants(used));
	CHECK_STR(listed(), none);
	CHECK(show(prompt, ACP_DOWN, 0, NULL) && wants(used) && show(error, ACP_UP, ACP_SESSION_PROMPT, "\"a\"") && wants(used));
	CHECK_STR(listed(), none);
	CHECK(show(prompt, ACP_DOWN, 0, NULL) && wants(used) && show(done, ACP_UP, ACP_SESSION_PROMPT, "\"a\""));
	CHECK_STR(listed(), open);
	CHECK(strstr(put(), "usage_update"));
	/* The response to a prompt that was sent before. */
	CHECK(show(prompt, ACP_DOWN, 0, NULL) && show(done, ACP_UP, ACP_SESSION_CLOSE, "\"a\""));
	CHECK(show(done, ACP_UP, ACP_SESSION_PROMPT, "\"a\""));
	CHECK_STR(listed(), none);
	CHECK(show(load, ACP_DOWN, 0, NULL) && wants(used) && show(done, ACP_UP, ACP_SESSION_LOAD, "\"a\""));
	CHECK_STR(listed(), open);
	preface_free(&p);
	p = (struct preface){.number = 0};
}

/* The mode that counts is the last, whoever chose it; a title stays where an update has none. */
static void
parts(void)
{
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"ask\"}}"));
	CHECK(show("{\"id\":4,\"method\":\"session/set_mode\",\"params\":{\"modeId\":\"code\"}}", ACP_DOWN, 0, NULL));
	CHECK(strstr(put(), "\"ask\"") && strstr(put(), "\"code\""));
	CHECK(show("{\"id\":4,\"result\":{}}", ACP_UP, ACP_SESSION_SET_MODE, "\"a\""));
	CHECK(!strstr(put(), "\"ask\"") && strstr(put(), "\"code\""));
	CHECK(show("{\"id\":5,\"method\":\"session/set_mode\",\"params\":{\"modeId\":\"no\"}}", ACP_DOWN, 0, NULL));
	CHECK(show("{\"id\":5,\"error\":{\"code\":1,\"message\":\"\"}}", ACP_UP, ACP_SESSION_SET_MODE, "\"a\""));
	CHECK(strstr(put(), "\"code\"") && !strstr(put(), "\"no\""));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"current_mode_update\",\"currentModeId\":\"plan\"}}"));
	CHECK(!strstr(put(), "\"code\"") && strstr(put(), "\"plan\""));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"session_info_update\",\"title\":\"T\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"session_info_update\",\"updatedAt\":\"now\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"config_option_update\",\"configOptions\":[]}}"));
	CHECK(strstr(put(), "\"T\"") && !strstr(put(), "\"now\"") && strstr(put(), "configOptions"));
	preface_free(&p);
	p = (struct preface){.number = 0};
}

/* What goes on: prompts and questions without a response, calls that have not ended, states and sub-agents. */
static void
work(void)
{
	static const char turn[] = "{\"id\":7,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"a\",\"prompt\":[\"hello\"]}}";

	CHECK(show(turn, ACP_DOWN, 0, NULL) && strstr(put(), "hello"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"first\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",\"title\":\"second\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",\"status\":\"pending\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"u\",\"title\":\"other\"}}"));
	CHECK(strstr(put(), "first") && !strstr(put(), "second") && strstr(put(), "pending") && strstr(put(), "other"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",\"status\":\"completed\"}}"));
	CHECK(!strstr(put(), "first") && !strstr(put(), "pending") && strstr(put(), "other"));
	CHECK(show("{\"id\":\"q\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"a\"}}", ACP_UP, 0, NULL));
	CHECK(strstr(put(), "request_permission"));
	CHECK(show("{\"id\":\"q\",\"result\":{}}", ACP_DOWN, ACP_REQUEST_PERMISSION, "\"a\"") && !strstr(put(), "request_permission"));
	CHECK(show("{\"id\":7,\"result\":{}}", ACP_UP, ACP_SESSION_PROMPT, "\"a\""));
	CHECK(!strstr(put(), "hello") && !strstr(put(), "other"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"running\"}}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"requires_action\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"first\"}}"));
	CHECK(strstr(put(), "requires_action") && strstr(put(), "running") && strstr(put(), "first"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"idle\"}}"));
	CHECK(!strstr(put(), "requires_action") && strstr(put(), "running") && strstr(put(), "idle") && !strstr(put(), "first"));
	/* The first state of work has begun the turn to which a sub-agent belongs; the last one counts. */
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"running\",\"n\":\"one\"}}"));
	CHECK(!strstr(put(), "idle"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"d\",\"state\":{\"state\":\"new\"}}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"requires_action\"}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"running\",\"n\":\"three\"}}"));
	CHECK(!strstr(put(), "requires_action") && strstr(put(), "one") && strstr(put(), "three") && strstr(put(), "one") < strstr(put(), "new"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"idle\"}}"));
	CHECK(!strstr(put(), "one") && !strstr(put(), "three") && strstr(put(), "idle"));
	preface_free(&p);
	CHECK(p.bytes == 0 && p.waiting_bytes == 0);
	p = (struct preface){.number = 0};
}

/* Sessions that nobody closes do not fill the memory. */
static void
many(void)
{
	char text[256];
	int i;

	for (i = 0; i < 30000; i++) {
		snprintf(text, sizeof(text), "{\"sessionId\":\"s%d\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":%d}}", i, i);
		wants(text);
	}
	CHECK(p.bytes <= 4 * 1024 * 1024);
	CHECK(!strstr(put(), "\"s19999\"") && strstr(put(), "\"s20000\"") && strstr(put(), "\"s29999\""));
	for (i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "{\"id\":%d,\"method\":\"session/new\",\"params\":{\"cwd\":\"/x\"}}", i);
		show(text, ACP_DOWN, 0, NULL);
	}
	CHECK(p.nwaiting == 1024);
	preface_free(&p);
	p = (struct preface){.number = 0};
	/* An open session that is silent stays, however many are closed after it. */
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}"));
	for (i = 0; i < 10100; i++) {
		snprintf(text, sizeof(text), "{\"sessionId\":\"s%d\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}", i);
		wants(text);
		snprintf(text, sizeof(text), "\"s%d\"", i);
		show("{\"id\":3,\"result\":{}}", ACP_UP, ACP_SESSION_CLOSE, text);
	}
	CHECK_STR(listed(), "\"sessions\":[{\"id\":\"a\",\"cwd\":null}]");
	preface_free(&p);
}

/* Shows a prompt, or an update of a tool call, of n bytes. */
static void
show_large(const char *start, size_t n)
{
	struct buf text = {0};

	buf_add_string(&text, start);
	while (text.n < n)
		buf_add_string(&text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	buf_add_string(&text, "\"}}}");
	show(buf_string(&text), start[2] == 'i' ? ACP_DOWN : ACP_UP, 0, NULL);
	buf_free(&text);
}

/* A large message is remembered, and drives out older requests only. */
static void
large(void)
{
	static const char request[] = "{\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"a\",\"x\":{\"y\":\"";
	static const char call[] = "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"tool_call\","
		"\"toolCallId\":\"t%d\",\"title\":\"";
	char text[200];

	CHECK(wants("{\"sessionId\":\"b\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}"));
	for (int i = 1; i <= 5; i++) {
		snprintf(text, sizeof(text), request, i);
		show_large(text, i < 5 ? 1500000 : 4300000);
		snprintf(text, sizeof(text), call, i);
		show_large(text, 1500000);
	}
	CHECK(!strstr(put(), "\"id\":2") && strstr(put(), "\"id\":3") && strstr(put(), "\"id\":4") && !strstr(put(), "\"id\":5"));
	CHECK(strstr(put(), "\"t1\"") && strstr(put(), "\"t2\"") && !strstr(put(), "\"t3\"") && strstr(put(), "usage_update"));
	preface_free(&p);
}

int
main(void)
{
	kinds();
	sessions();
	closed();
	parts();
	work();
	many();
	large();
	return check_done();
}
