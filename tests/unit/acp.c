/* acp: names of methods, whoever spells them how. */
#include "lib/acp/acp.h"

#include "tests/unit/check.h"

static enum acp_method
method(const char *name)
{
	return acp_method(slice_of(name));
}

static enum acp_side
sender(const char *name)
{
	return acp_sender(slice_of(name));
}

static void
test_methods(void)
{
	CHECK(method("\"initialize\"") == ACP_INITIALIZE);
	CHECK(method("\"session/update\"") == ACP_SESSION_UPDATE);
	CHECK(method("\"session/prompt\"") == ACP_SESSION_PROMPT);
	CHECK(method("\"$/cancel_request\"") == ACP_CANCEL_REQUEST);
	CHECK(method("\"proxy/successor\"") == ACP_PROXY_SUCCESSOR);
	CHECK(method("\"_proxy/successor\"") == ACP_PROXY_SUCCESSOR);
	CHECK(method("\"proxy/initialize\"") == ACP_PROXY_INITIALIZE);
	CHECK(method("\"_proxy/initialize\"") == ACP_PROXY_INITIALIZE);
	CHECK(method("\"_acp-revive/restarted\"") == ACP_RESTARTED);
	CHECK(method("\"_proxy\\/initi\\u0061lize\"") == ACP_PROXY_INITIALIZE);
	CHECK(method("\"session\\/\\u0075pdate\"") == ACP_SESSION_UPDATE);
	CHECK(method("\"fs/read_text_file\"") == ACP_OTHER);
	CHECK(method("\"session/updates\"") == ACP_OTHER);
	CHECK(method("\"Session/update\"") == ACP_OTHER);
	CHECK(method("\"session/updat\"") == ACP_OTHER);
	CHECK(method("\"\"") == ACP_OTHER);
	CHECK(method("\"\\u0000\"") == ACP_OTHER);
	CHECK(method("\"initialize\\u0000\"") == ACP_OTHER);
	CHECK(acp_method(slice(NULL, 0)) == ACP_OTHER);
}

static void
test_dialects(void)
{
	CHECK(acp_dialect(slice_of("\"proxy/initialize\"")) == ACP_PLAIN);
	CHECK(acp_dialect(slice_of("\"_proxy/initialize\"")) == ACP_UNDERSCORE);
	CHECK_STR(acp_name(ACP_PROXY_SUCCESSOR, ACP_PLAIN), "proxy/successor");
	CHECK_STR(acp_name(ACP_PROXY_SUCCESSOR, ACP_UNDERSCORE), "_proxy/successor");
	CHECK_STR(acp_name(ACP_PROXY_INITIALIZE, ACP_UNDERSCORE), "_proxy/initialize");
	CHECK_STR(acp_name(ACP_INITIALIZE, ACP_UNDERSCORE), "initialize");
	CHECK_STR(acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), "$/cancel_request");
	CHECK_STR(acp_name(ACP_OTHER, ACP_PLAIN), "");
}

static void
test_senders(void)
{
	CHECK(sender("\"session/prompt\"") == ACP_CLIENT);
	CHECK(sender("\"session/set_model\"") == ACP_CLIENT);
	CHECK(sender("\"session/update\"") == ACP_AGENT);
	CHECK(sender("\"fs/write_text_file\"") == ACP_AGENT);
	CHECK(sender("\"terminal/create\"") == ACP_AGENT);
	CHECK(sender("\"terminal/cancel\"") == ACP_CLIENT);
	CHECK(sender("\"elicitation/create\"") == ACP_AGENT);
	CHECK(sender("\"providers/list\"") == ACP_CLIENT);
	CHECK(sender("\"_auth/status_update\"") == ACP_AGENT);
	CHECK(sender("\"mcp/message\"") == ACP_UNKNOWN);
	CHECK(sender("\"$/cancel_request\"") == ACP_UNKNOWN);
	CHECK(sender("\"_vendor/thing\"") == ACP_UNKNOWN);
	/* A prefix alone is no method of its family. */
	CHECK(sender("\"fs/\"") == ACP_UNKNOWN);
}

static void
test_notifications(void)
{
	CHECK(acp_is_notification("session/update") && acp_is_notification("session/cancel"));
	CHECK(acp_is_notification("$/cancel_request"));
	CHECK(!acp_is_notification("session/prompt") && !acp_is_notification("unheard/of"));
}

static void
test_sides(void)
{
	CHECK(acp_other_side(ACP_CLIENT) == ACP_AGENT && acp_other_side(ACP_AGENT) == ACP_CLIENT);
	CHECK(acp_other_side(ACP_UNKNOWN) == ACP_UNKNOWN);
	CHECK_STR(acp_side_name(ACP_CLIENT), "client");
	CHECK_STR(acp_side_name(ACP_AGENT), "agent");
	CHECK_STR(acp_side_name(ACP_UNKNOWN), "unknown");
}

static const struct acp_member *
member(const char *name, enum acp_method what)
{
	return acp_member(slice_of(name), what, false);
}

static void
test_members(void)
{
	CHECK(member("\"sessionId\"", ACP_OTHER)->id == ACP_ID_SESSION);
	CHECK(member("\"session\\u0049d\"", ACP_OTHER)->id == ACP_ID_SESSION);
	CHECK(member("\"toolCallId\"", ACP_SESSION_UPDATE)->id == ACP_ID_TOOL_CALL);
	CHECK(member("\"requestId\"", ACP_CANCEL_REQUEST)->id == ACP_ID_REQUEST);
	CHECK(member("\"requestId\"", ACP_MCP_MESSAGE)->id == ACP_ID_MCP_REQUEST);
	CHECK(member("\"requestId\"", ACP_OTHER)->id == ACP_ID_NONE);
	CHECK(member("\"id\"", ACP_OTHER)->id == ACP_ID_NONE);
	CHECK(member("\"optionId\"", ACP_REQUEST_PERMISSION)->id == ACP_ID_NONE);
	CHECK(member("\"cwd\"", ACP_SESSION_NEW)->cwd && member("\"cwd\"", ACP_SESSION_LOAD)->cwd);
	CHECK(!member("\"cwd\"", ACP_OTHER)->cwd);
	CHECK(member("\"_meta\"", ACP_OTHER)->metadata && member("\"meta\"", ACP_PROXY_SUCCESSOR)->metadata);
	CHECK(!member("\"meta\"", ACP_OTHER)->metadata && !member("\"info\"", ACP_OTHER)->metadata);
	CHECK(member("\"info\"", ACP_INITIALIZE)->metadata && member("\"clientInfo\"", ACP_INITIALIZE)->metadata);
	CHECK(member("\"capabilities\"", ACP_INITIALIZE)->metadata && !member("\"capabilities\"", ACP_OTHER)->metadata);
	CHECK(!acp_member(slice_of("\"capabilities\""), ACP_INITIALIZE, true)->metadata);
	CHECK(member("\"sessionUpdate\"", ACP_SESSION_UPDATE)->kind);
	CHECK(member("\"rawInput\"", ACP_SESSION_UPDATE)->opaque);
	CHECK(!member("\"\"", ACP_OTHER)->name && !member("\"x\"", ACP_OTHER)->name);
	CHECK(acp_opens_session(ACP_SESSION_NEW) && acp_opens_session(ACP_SESSION_FORK));
	CHECK(!acp_opens_session(ACP_SESSION_PROMPT) && !acp_opens_session(ACP_OTHER));
	CHECK(acp_id_of_session(ACP_ID_TOOL_CALL) && acp_id_of_session(ACP_ID_PLAN));
	CHECK(!acp_id_of_session(ACP_ID_SESSION) && !acp_id_of_session(ACP_ID_REQUEST));
}

static void
test_texts(void)
{
	struct acp_chunk c;

	CHECK(acp_chunk(slice_of("{\"update\":{\"content\":{\"text\":\"x\",\"type\":\"text\"},\"messageId\":\"m\","
		"\"sessionUpdate\":\"agent_message_chunk\"}}"), &c));
	CHECK(slice_is(c.kind, "\"agent_message_chunk\"") && slice_is(c.message, "\"m\"") && slice_is(c.text, "\"x\""));
	CHECK(acp_chunk(slice_of("{\"update\":{\"content\":{\"text\":\"\",\"type\":\"text\"},"
		"\"sessionUpdate\":\"user_message_chunk\"}}"), &c) && !c.message.p);
	CHECK(!acp_chunk(slice_of("{\"update\":{\"content\":{\"data\":\"\",\"type\":\"image\"},"
		"\"sessionUpdate\":\"user_message_chunk\"}}"), &c));
	CHECK(!acp_chunk(slice_of("{\"update\":{\"sessionUpdate\":\"plan\"}}"), &c));
	CHECK(!acp_chunk(slice_of("{\"update\":{\"content\":{\"text\":\"x\",\"type\":\"text\"},\"sessionUpdate\":\"notice\"}}"), &c));
	CHECK(!acp_chunk(slice_of("[]"), &c) && !acp_chunk(slice(NULL, 0), &c) && !acp_chunk(slice_of("{\"update\":1}"), &c));
	CHECK(slice_is(acp_prompt_text(slice_of("{\"prompt\":[1,{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"hi\"}]}")),
		"\"hi\""));
	CHECK(!acp_prompt_text(slice_of("{\"prompt\":{}}")).p && !acp_prompt_text(slice(NULL, 0)).p);
}

int
main(void)
{
	test_texts();
	test_members();
	test_methods();
	test_dialects();
	test_senders();
	test_notifications();
	test_sides();
	return check_done();
}
