/* declare: what an agent says that it takes, what is claimed in its place, and what a session is told of. */
#include "cmd/acp-mcp/mcp.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/frame/frame_parts.h"
#include "tests/unit/check.h"


static const struct filter filter = {.name = tool_name};
static char name[] = "\"mine\"", id[] = "\"mine-7\"";
static struct provided mine = {.name = {.p = name, .n = sizeof(name) - 1}, .id = {.p = id, .n = sizeof(id) - 1}};
static char directory[4096];
static struct options options = {.socket_dir = directory};
static struct frame frame = {.filter = &filter};
static struct mcp mcp = {.options = &options, .frame = &frame};

/* The text with a change made, to be freed; NULL where there is none. */
static char *
changed(struct slice text, int r, struct slice what, struct buf *with)
{
	struct splice change = {what.p, what.p + what.n, buf_slice(with)};
	struct buf to = {0};

	if (r == 1 && CHECK(splice_write(text, &change, 1, &to) == 0))
		CHECK(buf_string(&to) != NULL);
	buf_free(with);
	return to.p;
}

/* --- what the agent takes --- */

static void
test_taken(void)
{
	static const struct {
		const char *result;
		enum agent_kind taken;
		bool v2;
		const char *claim; /* NULL: it is not asked for one */
	} is[] = {
		{"{\"protocolVersion\":1,\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true}}}", AGENT_ACP, false, NULL},
		{"{\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":1}}}", AGENT_STDIO, false,
			"{\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true}}}"},
		{"{ \"agentCapabilities\" : { \"mcpCapabilities\" : { \"acp\" : false , \"x\" : 1.50 } } }", AGENT_STDIO, false,
			"{ \"agentCapabilities\" : { \"mcpCapabilities\" : { \"acp\" : true , \"x\" : 1.50 } } }"},
		{"{\"agent\\u0043apabilities\":{\"mcpCapabilities\":null}}", AGENT_STDIO, false,
			"{\"agent\\u0043apabilities\":{\"mcpCapabilities\":{\"acp\":true}}}"},
		{"{\"agentCapabilities\":{ }}", AGENT_STDIO, false, "{\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true} }}"},
		{"{\"a\":1}", AGENT_STDIO, false, "{\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true}},\"a\":1}"},
		{"{}", AGENT_STDIO, false, "{\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true}}}"},
		{"7", AGENT_STDIO, false, ""},
		{"{\"protocolVersion\":\"2\"}", AGENT_STDIO, false, NULL},
		{"{\"protocolVersion\":2}", AGENT_NEITHER, true, NULL},
		{"{\"protocolVersion\":2,\"agentCapabilities\":{\"mcpCapabilities\":{\"acp\":true}}}", AGENT_NEITHER, true, NULL},
		{"{\"protocolVersion\":2,\"capabilities\":{\"session\":{\"mcp\":{\"stdio\":{},\"acp\":true}}}}", AGENT_STDIO, true,
			"{\"protocolVersion\":2,\"capabilities\":{\"session\":{\"mcp\":{\"stdio\":{},\"acp\":{}}}}}"},
		{"{\"protocolVersion\":2,\"capabilities\":{\"session\":{\"mcp\":{\"stdio\":{},\"acp\":{\"a\":1}}}}}", AGENT_ACP, true, NULL},
	};
	struct slice what = {NULL, 0};
	struct buf with = {0};
	char *text;
	bool v2;
	size_t i;
	int r;

	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		CHECK(declare_agent_kind(slice_of(is[i].result), &v2) == is[i].taken);
		CHECK(v2 == is[i].v2);
		if (!is[i].claim)
			continue;
		r = declare_claim(slice_of(is[i].result), v2, &what, &with);
		text = changed(slice_of(is[i].result), r, what, &with);
		CHECK_STR(text, *is[i].claim ? is[i].claim : NULL);
		free(text);
	}
}

/* --- what it is told of --- */

/* session/new with these params as the agent gets it, to be freed; NULL where nothing is changed. */
static char *
told(const char *params)
{
	struct buf text = {0}, with = {0};
	struct slice what = {NULL, 0};
	struct json_error error;
	struct msg m;
	char *to;
	int r;

	if (!CHECK(buf_printf(&text, "{\"id\":1,\"method\":\"session/new\",\"params\":%s}", params) == 0)
		|| !CHECK(msg_scan(buf_slice(&text), &m, &error) == MSG_REQUEST))
		return NULL;
	r = declare_change(&mcp, &m, &what, &with);
	CHECK(r >= 0);
	to = changed(buf_slice(&text), r, what, &with);
	buf_free(&text);
	if (!to)
		return NULL;
	/* The params alone: behind "params": and before the }. */
	memmove(to, strstr(to, "\"params\":") + 9, strlen(strstr(to, "\"params\":") + 9) + 1);
	to[strlen(to) - 1] = '\0';
	return to;
}

static void
is_told(const char *params, const char *want)
{
	char *text = told(params);

	CHECK_STR(text, want);
	free(text);
}

static void
test_left_alone(void)
{
	static const char declared[] = "{\"mcpServers\":[{\"type\":\"acp\",\"name\":\"x\",\"id\":\"X\"}]}";

	mcp.agent = AGENT_ACP;
	is_told(declared, NULL);
	mcp.agent = AGENT_NEITHER;
	is_told(declared, NULL);
	mcp.agent = AGENT_STDIO;
	is_told("{\"mcpServers\":[ {\"type\":\"http\",\"name\":\"x\"} , 7 , [] ]}", NULL);
	is_told("{\"mcpServers\":{\"type\":\"acp\"}}", NULL);
	is_told("{}", NULL);
	is_told("[]", NULL);
	is_told("null", NULL);
	CHECK(mcp.servers == NULL && mcp.sockets.path == NULL);
}

static void
test_left_out(void)
{
	mcp.agent = AGENT_STDIO;
	is_told("{\"mcpServers\":[{\"type\":\"acp\"}]}", "{\"mcpServers\":[]}");
	is_told("{\"mcpServers\":[ {\"type\":\"acp\"} , {\"a\":1} , {\"type\":\"acp\",\"name\":7,\"id\":\"X\"} ]}", "{\"mcpServers\":[{\"a\":1} ]}");
	is_told("{\"mcpServers\":[{\"a\":1},{\"type\":\"acp\",\"name\":\"x\",\"id\":{}}],\"z\":1}", "{\"mcpServers\":[{\"a\":1}],\"z\":1}");
	CHECK(mcp.servers == NULL);
}

static void
test_rewritten(void)
{
	char *one, *two, *three;
	struct stat st;

	mcp.agent = AGENT_UNKNOWN;
	one = told("{\"mcpServers\":[{\"type\":\"\\u0061cp\",\"id\":\"X\",\"name\":\"\\u0078\"}]}");
	CHECK(mcp.servers && stat(mcp.servers->path, &st) == 0 && S_ISSOCK(st.st_mode));
	CHECK(one && strstr(one, "[{\"name\":\"\\u0078\",\"command\":\"/bin/\\\"me\\\"\",\"args\":[\"--connect\",\"") != NULL);
	/* The same server has the same socket, another one another. */
	two = told("{\"mcpServers\":[{\"id\":\"\\u0058\",\"name\":\"x\",\"type\":\"acp\"}]}");
	CHECK(two && mcp.servers && !mcp.servers->next && strstr(two, mcp.servers->path));
	mcp.v2 = true;
	three = told("{\"mcpServers\":[{\"serverId\":\"X\",\"name\":\"x\",\"type\":\"acp\"}]}");
	CHECK(three && strncmp(three, "{\"mcpServers\":[{\"type\":\"stdio\",\"name\":\"x\"", 41) == 0);
	CHECK(mcp.servers && mcp.servers->next && mcp.servers->by_server_id && !mcp.servers->next->by_server_id);
	mcp.v2 = false;
	free(one);
	free(two);
	free(three);
	server_end_all(&mcp);
	CHECK(rmdir(directory) == 0 && mkdir(directory, 0700) == 0);
}

#define MINE "{\"type\":\"acp\",\"name\":\"mine\",\"id\":\"mine-7\",\"serverId\":\"mine-7\"}"

static void
test_provided(void)
{
	options.provided = &mine;
	options.nprovided = 1;
	mcp.agent = AGENT_ACP;
	is_told("{}", "{\"mcpServers\":[" MINE "]}");
	is_told("{\"mcpServers\":[]}", "{\"mcpServers\":[" MINE "]}");
	is_told("{\"mcpServers\":null}", "{\"mcpServers\":[" MINE "]}");
	is_told("{ \"a\":1}", "{\"mcpServers\":[" MINE "], \"a\":1}");
	is_told("{\"mcpServers\":[ {\"a\":1} ]}", "{\"mcpServers\":[ {\"a\":1} ," MINE "]}");
	/* Whoever has the name keeps it, and what is no list is the agent's to refuse. */
	is_told("{\"mcpServers\":[{\"name\":\"min\\u0065\"}]}", NULL);
	is_told("{\"mcpServers\":7}", NULL);
	options.nprovided = 0;
}

int
main(void)
{
	static const int none[] = {0};

	frame.loop = loop_new(none, NULL, NULL);
	snprintf(directory, sizeof(directory), "%s", check_folder());
	if (!CHECK(frame.loop != NULL))
		return check_done();
	mcp.self = strdup("/bin/\"me\"");
	test_taken();
	test_left_alone();
	test_left_out();
	test_rewritten();
	test_provided();
	free(mcp.self);
	loop_free(frame.loop);
	return check_done();
}
