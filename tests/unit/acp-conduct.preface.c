/* preface: what is told to who comes late, and what is asked of each message on the way. */
#include "cmd/acp-conduct/preface.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct preface p;
static uint64_t clock_us;

/* Shows it a message; is it wanted? */
static bool
show(const char *text, enum lane lane, enum acp_method answers, const char *session)
{
	struct json_error error;
	struct msg m;

	msg_scan(slice_of(text), &m, &error);
	if (m.kind == MSG_RESPONSE)
		m.what = answers;
	if (!preface_wants(&m))
		return false;
	preface_see(&p, lane, ++clock_us, slice_of(text), &m, session ? slice_of(session) : slice(NULL, 0));
	return true;
}

static bool
wants(const char *params)
{
	struct buf text = {0};
	bool wanted;

	buf_printf(&text, "{\"method\":\"session/update\",\"params\":%s}", params);
	wanted = show(buf_string(&text), LANE_UP, ACP_OTHER, NULL);
	buf_free(&text);
	return wanted;
}

static const char *
told(void)
{
	static struct buf text;

	text.n = 0;
	return preface_put(&p, 0, &text) == 0 ? buf_string(&text) : NULL;
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
	CHECK(show("{\"id\":1,\"method\":\"initialize\"}", LANE_DOWN, 0, NULL));
	CHECK(show("{\"id\":1,\"result\":{}}", LANE_UP, ACP_INITIALIZE, NULL));
	CHECK(!show("{\"id\":2,\"method\":\"session/new\"}", LANE_DOWN, 0, NULL));
	CHECK(!show("{\"id\":2,\"error\":{\"code\":1,\"message\":\"\"}}", LANE_UP, ACP_SESSION_NEW, NULL));
	CHECK(preface_sessions(&p) == 0);
	CHECK(show("{\"id\":2,\"result\":{\"sessionId\":\"a\"}}", LANE_UP, ACP_SESSION_NEW, NULL));
	CHECK(show("{\"id\":2,\"result\":null}", LANE_UP, ACP_SESSION_LOAD, "\"\\u0062\""));
	CHECK(preface_sessions(&p) == 2);
	CHECK(wants("{\"sessionId\":\"b\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":1}}"));
	CHECK(wants("{\"sessionId\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":2}}"));
	CHECK(wants("{\"sessionId\":\"b\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":3}}"));
	CHECK(preface_sessions(&p) == 2);
	/* In the order in which they were last heard of. */
	CHECK(strstr(told(), "\"used\":2") < strstr(told(), "\"used\":3") && !strstr(told(), "\"used\":1"));
	CHECK(show("{\"id\":3,\"result\":{}}", LANE_UP, ACP_SESSION_CLOSE, "\"b\""));
	CHECK(preface_sessions(&p) == 1 && !strstr(told(), "\"used\":3"));
	CHECK(show("{\"id\":3,\"result\":{}}", LANE_UP, ACP_SESSION_DELETE, "\"nobody\""));
	CHECK(preface_sessions(&p) == 1);
	preface_free(&p);
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
	CHECK(preface_sessions(&p) == 10000 && p.bytes <= 4 * 1024 * 1024);
	CHECK(!strstr(told(), "\"s19999\"") && strstr(told(), "\"s20000\"") && strstr(told(), "\"s29999\""));
	preface_free(&p);
}

int
main(void)
{
	kinds();
	sessions();
	many();
	return check_done();
}
