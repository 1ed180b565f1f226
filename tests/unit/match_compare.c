/* compare: what is the same at which level, and what is said of what is not. */
#include "lib/match/compare.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct buf told; /* what differs, one a line: kind path recorded live */

static bool
tell(void *arg, const struct difference *d)
{
	static const char kinds[] = "=-+#~";

	(void)arg;
	return buf_printf(&told, "%c%s %.*s %.*s\n", kinds[d->kind], d->path.p, (int)d->recorded.n,
		d->recorded.p ? d->recorded.p : "", (int)d->live.n, d->live.p ? d->live.p : "") == 0;
}

static struct msg
scan(const char *text)
{
	struct json_error error;
	struct msg m;

	CHECK(msg_scan(slice_of(text), &m, &error) != MSG_NOISE);
	return m;
}

static int
messages(const struct compare *c, const char *recorded, const char *live)
{
	struct msg a = scan(recorded), b = scan(live);

	return compare_messages(c, &a, &b);
}

/* The differences at this level. */
static const char *
differences(enum match match, const char *recorded, const char *live)
{
	struct compare c = {.match = match, .differs = tell}, quick = {.match = match};
	int r;

	told.n = 0;
	r = messages(&c, recorded, live);
	CHECK(r == (told.n > 0));
	CHECK(messages(&quick, recorded, live) == r);
	/* What differs one way differs the other way. */
	CHECK(messages(&quick, live, recorded) == r);
	return buf_string(&told);
}

/* The levels at which two values are the same: "m", "ms", "msp", "mspe". */
static const char *
levels(const char *recorded, const char *live)
{
	static char at[5];
	struct compare c = {0};
	size_t n = 0;

	for (int m = MATCH_METHOD; m <= MATCH_EXACT; m++) {
		c.match = (enum match)m;
		if (compare_values(&c, slice_of(recorded), slice_of(live)) == 0)
			at[n++] = "mspe"[m];
	}
	at[n] = '\0';
	return at;
}

static void
test_values(void)
{
	CHECK_STR(levels("1", "1"), "mspe");
	CHECK_STR(levels("1", "1.0"), "mspe");
	CHECK_STR(levels("100e-2", "1e0"), "mspe");
	CHECK_STR(levels("-0", "0"), "mspe");
	CHECK_STR(levels("1", "2"), "ms");
	CHECK_STR(levels("9007199254740992", "9007199254740993"), "ms");
	CHECK_STR(levels("0.1", "0.10000000000000001"), "ms");
	CHECK_STR(levels("1e999999999999", "1e999999999998"), "ms");
	CHECK_STR(levels("\"a\"", "\"\\u0061\""), "mspe");
	CHECK_STR(levels("\"a\"", "\"b\""), "ms");
	CHECK_STR(levels("true", "false"), "ms");
	CHECK_STR(levels("null", "false"), "m");
	CHECK_STR(levels("\"1\"", "1"), "m");
	CHECK_STR(levels("{}", "[]"), "m");
	CHECK_STR(levels("[1,2]", "[1]"), "ms");
	CHECK_STR(levels("[1,2]", "[1,\"2\"]"), "m");
	CHECK_STR(levels("[1, 2]", "[2,1]"), "ms");
	CHECK_STR(levels("{\"a\":1,\"b\":[]}", "{\"b\":[],\"\\u0061\":1}"), "msp");
	CHECK_STR(levels("{\"a\":1}", "{\"a\":1,\"b\":1}"), "m");
	CHECK_STR(levels("{\"a\":1,\"_meta\":{}}", "{\"a\":1}"), "msp");
	CHECK_STR(levels("{\"a\":1,\"_meta\":{}}", "{\"_meta\":1,\"a\":1}"), "msp");
	CHECK_STR(levels("{\"_meta\":{\"x\":{\"y\":1,\"z\":[]}}}", "{\"_meta\":{\"x\":{\"y\":2,\"q\":0}}}"), "msp");
	CHECK_STR(levels("{\"_meta\":{\"x\":{\"y\":1}}}", "{\"_meta\":{\"x\":{\"y\":\"\"}}}"), "msp");
	CHECK_STR(levels("{\"cost\":{\"amount\":1}}", "{\"cost\":{\"amount\":2}}"), "msp");
	CHECK_STR(levels("{\"rawInput\":{\"cost\":1}}", "{\"rawInput\":{\"cost\":2}}"), "ms");
	/* The same name twice: the first with the first. */
	CHECK_STR(levels("{\"a\":1,\"b\":0,\"a\":2}", "{\"a\":1,\"a\":2,\"b\":0}"), "msp");
	CHECK_STR(levels("{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"), "ms");
	CHECK_STR(levels("{\"a\":1,\"a\":1}", "{\"a\":1}"), "m");
	CHECK_STR(levels("{\"\":1,\"b\":2}", "{\"b\":2,\"\":1}"), "msp");
	CHECK_STR(levels("{}", "{ }"), "mspe");
}

static const char prompt[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\","
	"\"prompt\":[{\"type\":\"text\",\"text\":\"hi\"}]}}";

static void
test_messages(void)
{
	CHECK_STR(differences(MATCH_EXACT, prompt, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"session/prompt\","
		"\"params\":{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"hi\"}]}}"), "");
	CHECK_STR(differences(MATCH_PARAMS, prompt, "{\"id\":\"x\",\"method\":\"session/prompt\",\"params\":{\"prompt\":"
		"[{\"text\":\"ho\",\"type\":\"text\"},1],\"sessionId\":\"s\"}}"),
		"=.params.prompt[0].text \"hi\" \"ho\"\n+.params.prompt[1]  1\n");
	CHECK_STR(differences(MATCH_EXACT, prompt, "{\"id\":\"x\",\"method\":\"session/prompt\",\"params\":{\"prompt\":"
		"[{\"text\":\"hi\",\"type\":\"text\"}],\"sessionId\":\"s\"}}"),
		"-.jsonrpc \"2.0\" \n"
		"~.params {\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"hi\"}]} "
		"{\"prompt\":[{\"text\":\"hi\",\"type\":\"text\"}],\"sessionId\":\"s\"}\n"
		"~.params.prompt[0] {\"type\":\"text\",\"text\":\"hi\"} {\"text\":\"hi\",\"type\":\"text\"}\n");
	CHECK_STR(differences(MATCH_METHOD, prompt, "{\"id\":2,\"method\":\"session/prompt\",\"params\":[]}"), "");
	CHECK_STR(differences(MATCH_SHAPE, prompt, "{\"id\":2,\"method\":\"session/prompt\",\"params\":[]}"),
		"=.params {\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"hi\"}]} []\n");
	CHECK_STR(differences(MATCH_METHOD, "{\"id\":2,\"method\":\"a\"}", "{\"id\":2,\"method\":\"b\"}"),
		"=.method \"a\" \"b\"\n");
	CHECK_STR(differences(MATCH_METHOD, "{\"id\":2,\"method\":\"a\"}", "{\"method\":\"a\"}"),
		"=. {\"id\":2,\"method\":\"a\"} {\"method\":\"a\"}\n");
	CHECK_STR(differences(MATCH_METHOD, "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"plan\"}}}",
		"{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\"}}}"),
		"=.params.update.sessionUpdate \"plan\" \"tool_call\"\n");
	CHECK_STR(differences(MATCH_PARAMS, "{\"id\":2,\"method\":\"a\"}", "{\"id\":2,\"method\":\"a\",\"params\":null}"), "");
	CHECK_STR(differences(MATCH_EXACT, "{\"id\":2,\"method\":\"a\"}", "{\"id\":2,\"method\":\"a\",\"params\":null}"),
		"+.params  null\n");
	CHECK_STR(differences(MATCH_SHAPE, "{\"id\":2,\"result\":{\"a\":1}}", "{\"id\":2,\"error\":{\"code\":1}}"),
		"-.result {\"a\":1} \n+.error  {\"code\":1}\n");
	CHECK_STR(differences(MATCH_PARAMS, "{\"id\":2,\"result\":{\"a-b\":{\"\":1,\"2\":[[3]]}}}",
		"{\"id\":2,\"result\":{\"a-b\":{\"\":2,\"2\":[[4]]}}}"),
		"=.result.\"a-b\".\"\" 1 2\n=.result.\"a-b\".\"2\"[0][0] 3 4\n");
}

static bool
once(void *arg, const struct difference *d)
{
	(void)d;
	++*(int *)arg;
	return false;
}

static void
test_enough(void)
{
	int n = 0;
	struct compare c = {.match = MATCH_EXACT, .differs = once, .arg = &n};

	CHECK(compare_values(&c, slice_of("[1,{\"a\":2,\"b\":3}]"), slice_of("[2,{\"b\":1,\"a\":1}]")) == 1);
	CHECK(n == 1);
}

/* --- with ids --- */

static struct compare paired = {.match = MATCH_PARAMS, .learn = true, .differs = tell};

static const char *
pair(const char *recorded, const char *live)
{
	told.n = 0;
	CHECK(messages(&paired, recorded, live) == (told.n > 0));
	return buf_string(&told);
}

static void
test_ids(void)
{
	paired.ids = ids_new(false);
	paired.from = ACP_CLIENT;
	CHECK_STR(pair("{\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/a\",\"mcpServers\":[]}}",
		"{\"id\":\"n\",\"method\":\"session/new\",\"params\":{\"mcpServers\":[],\"cwd\":\"/b\"}}"), "");
	paired.from = ACP_AGENT;
	paired.what = ACP_SESSION_NEW;
	CHECK_STR(pair("{\"id\":1,\"result\":{\"sessionId\":\"s\"}}", "{\"id\":\"n\",\"result\":{\"sessionId\":\"S\"}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"toolCallId\":\"t\",\"p\":\"/a/x\"}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"toolCallId\":\"T\",\"p\":\"/b/x\"}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"toolCallId\":\"t\"}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"toolCallId\":\"t\"}}"), "#.params.toolCallId \"t\" \"t\"\n");
	/* A known id is known under any name that looks like one of an id, and nowhere else. */
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"ofId\":\"t\",\"task_id\":\"t\",\"ids\":[\"t\"]}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"ofId\":\"T\",\"task_id\":\"T\",\"ids\":[\"T\"]}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"text\":\"t\",\"grid\":[\"t\"]}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"text\":\"T\",\"grid\":[\"T\"]}}"),
		"=.params.text \"t\" \"T\"\n=.params.grid[0] \"t\" \"T\"\n");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"rawInput\":{\"sessionId\":\"q\"}}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"rawInput\":{\"sessionId\":\"r\"}}}"),
		"=.params.rawInput.sessionId \"q\" \"r\"\n");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s\",\"p\":\"/a/x\"}}",
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"S\",\"p\":\"/a/x\"}}"), "=.params.p \"/a/x\" \"/a/x\"\n");
	paired.from = ACP_CLIENT;
	CHECK_STR(pair("{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":1}}",
		"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"n\"}}"), "");
	CHECK_STR(pair("{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":1}}",
		"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"q\"}}"), "#.params.requestId 1 \"q\"\n");
	/* Ids are values: they do not matter to the shape. But they are learned. */
	paired.match = MATCH_METHOD;
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s2\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S2\"}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s2\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S\"}}"), "");
	paired.match = MATCH_SHAPE;
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s2\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S\"}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s2\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":1}}"),
		"=.params.sessionId \"s2\" 1\n");
	paired.match = MATCH_EXACT;
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s2\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S\"}}"),
		"#.params.sessionId \"s2\" \"S\"\n");
	/* Nothing is learned of two that only might belong together. */
	paired.learn = false;
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s3\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S3\"}}"), "");
	CHECK_STR(pair("{\"method\":\"m\",\"params\":{\"sessionId\":\"s3\"}}", "{\"method\":\"m\",\"params\":{\"sessionId\":\"S4\"}}"), "");
	ids_free(paired.ids);
}

static void
test_keep_paths(void)
{
	struct compare c = {.match = MATCH_PARAMS, .ids = ids_new(true), .learn = true};

	CHECK(messages(&c, "{\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/a\"}}",
		"{\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/b\"}}") == 1);
	ids_free(c.ids);
}

/* --- size --- */

static void
nest(struct buf *b, const char *innermost)
{
	int i;

	CHECK(buf_add_string(b, "{\"method\":\"m\",\"params\":") == 0);
	for (i = 0; i < JSON_DEPTH - 1; i++)
		CHECK(buf_add_string(b, i % 2 ? "{\"a\":" : "[") == 0);
	CHECK(buf_add_string(b, innermost) == 0);
	while (i-- > 0)
		CHECK(buf_add_string(b, i % 2 ? "}" : "]") == 0);
	CHECK(buf_add_string(b, "}") == 0 && buf_string(b));
}

static void
test_depth(void)
{
	struct compare c = {.match = MATCH_EXACT, .differs = tell};
	struct buf a = {0}, b = {0};

	nest(&a, "1");
	nest(&b, "2");
	told.n = 0;
	CHECK(messages(&c, a.p, a.p) == 0 && told.n == 0);
	CHECK(messages(&c, a.p, b.p) == 1 && told.n > JSON_DEPTH);
	buf_free(&a);
	buf_free(&b);
}

/* A hundred thousand members the other way round: it takes no hundred thousand times as long. */
static void
test_many(void)
{
	enum { MANY = 100 * 1000 };
	struct compare c = {.match = MATCH_PARAMS};
	struct buf a = {0}, b = {0};

	for (int i = 0; i < MANY; i++) {
		CHECK(buf_printf(&a, "%c\"k%d\":%d", i ? ',' : '{', i, i) == 0);
		CHECK(buf_printf(&b, "%c\"k%d\":%d", i ? ',' : '{', MANY - 1 - i, MANY - 1 - i) == 0);
	}
	CHECK(buf_add_string(&a, "}") == 0 && buf_add_string(&b, "}") == 0);
	CHECK(compare_values(&c, buf_slice(&a), buf_slice(&b)) == 0);
	c.match = MATCH_EXACT;
	CHECK(compare_values(&c, buf_slice(&a), buf_slice(&b)) == 1);
	buf_free(&a);
	buf_free(&b);
}

int
main(void)
{
	test_values();
	test_messages();
	test_enough();
	test_ids();
	test_keep_paths();
	test_depth();
	test_many();
	buf_free(&told);
	return check_done();
}
