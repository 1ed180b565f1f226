/* usage: reading, inclusion, levels, bases by name, and the search for lines that matter. */
#include "lib/usage/usage.h"

#include <glob.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct usage_counts
counts(uint64_t total, uint64_t in, uint64_t out, uint64_t thought, uint64_t read, uint64_t write)
{
	return (struct usage_counts){{total, in, out, thought, read, write}, 63};
}

static void
test_parts(void)
{
	struct usage_counts c;

	c = counts(136, 100, 20, 0, 10, 6);
	CHECK(usage_inclusion(&c) == (USAGE_READ_BESIDE | USAGE_WRITE_BESIDE));
	c = counts(120, 100, 20, 0, 10, 6);
	CHECK(usage_inclusion(&c) == (USAGE_READ_INSIDE | USAGE_WRITE_INSIDE));
	c = counts(120, 100, 20, 5, 10, 0);
	CHECK(usage_inclusion(&c) == (USAGE_READ_INSIDE | USAGE_THOUGHT_INSIDE));
	c = counts(125, 100, 20, 5, 10, 0);
	CHECK(usage_inclusion(&c) == (USAGE_READ_INSIDE | USAGE_THOUGHT_BESIDE));
	/* Two combinations give it: what they do not agree on is not told. */
	c = counts(130, 100, 20, 10, 10, 0);
	CHECK(usage_inclusion(&c) == 0);
	c = counts(999, 100, 20, 5, 10, 0);
	CHECK(usage_inclusion(&c) == 0);
	c = counts(UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 1, 1);
	CHECK(usage_inclusion(&c) != 255);
	c = (struct usage_counts){{0, 100, 20, 5, 10, 0}, 62};
	CHECK(usage_inclusion(&c) == 0);
}

static void
test_sums(void)
{
	struct usage_counts c = counts(UINT64_MAX, 1, 2, 3, 4, 5);
	struct usage_sums a = {0}, b = {0};
	struct buf text = {0};
	int i;

	for (i = 0; i < 3; i++)
		usage_sums_count(&a, &c);
	usage_sums_add(&b, &a);
	usage_sums_add(&b, &a);
	CHECK(usage_sum_put(&b, USAGE_TOTAL, &text) == 0);
	CHECK_STR(buf_string(&text), "110680464442257309690");
	text.n = 0;
	CHECK(usage_sum_put(&b, USAGE_WRITE, &text) == 0);
	CHECK_STR(buf_string(&text), "30");
	usage_sums_less(&b, &a);
	CHECK(b.n[USAGE_TOTAL] == 3 * (decimal_units)UINT64_MAX && b.n[USAGE_WRITE] == 15);
	buf_free(&text);
}

/* What becomes of an answer when another is added. */
static const char *
added(const char *base, const char *more, bool idle, enum usage_basis basis)
{
	static struct buf text;

	text.n = 0;
	CHECK(usage_add_responses(slice_of(base), slice_of(more), idle, basis, &text) == 0);
	return buf_string(&text);
}

static void
test_answers(void)
{
	CHECK_STR(added("{ \"stopReason\" : \"end_turn\" , \"usage\":{\"outputTokens\" : 5.0e0, \"x\":1.50} }",
		"{\"stopReason\":\"refusal\",\"usage\":{\"outputTokens\":7,\"x\":2}}", false, USAGE_TURN),
		"{ \"stopReason\" : \"end_turn\" , \"usage\":{\"outputTokens\" : 12, \"x\":1.50} }");
	/* Spellings may differ, null is nothing, and what only one has is there. */
	CHECK_STR(added("{\"usage\":{\"total_tokens\":1,\"thoughtTokens\":null}}",
		"{\"usage\":{\"totalTokens\":2,\"thoughtTokens\":3,\"cachedReadTokens\":4,\"outputTokens\":null}}", false, USAGE_TURN),
		"{\"usage\":{\"total_tokens\":3,\"thoughtTokens\":3,\"cachedReadTokens\":4}}");
	CHECK_STR(added("{}", "{\"usage\":{\"totalTokens\":2}}", false, USAGE_TURN), "{\"usage\":{\"totalTokens\":2}}");
	CHECK_STR(added("{\"usage\":null }", "{\"usage\":{\"totalTokens\":2}}", false, USAGE_TURN), "{\"usage\":{\"totalTokens\":2} }");
	CHECK_STR(added("{\"usage\":{\"totalTokens\":2}}", "{\"a\":1}", false, USAGE_TURN), "{\"usage\":{\"totalTokens\":2}}");
	CHECK_STR(added("{\"usage\":{}}", "{\"usage\":{\"totalTokens\":2}}", false, USAGE_TURN), "{\"usage\":{\"totalTokens\":2}}");
	CHECK_STR(added("{\"usage\":{\"totalTokens\":18446744073709551615}}", "{\"usage\":{\"totalTokens\":2}}", false, USAGE_TURN),
		"{\"usage\":{\"totalTokens\":18446744073709551615}}");
	/* A running total, or the last call's. */
	CHECK_STR(added("{\"usage\":{\"totalTokens\":2}}", "{\"usage\":{\"totalTokens\":5}}", false, USAGE_SESSION),
		"{\"usage\":{\"totalTokens\":5}}");
	/* The vendors' places; rows of a model are added, a new model's follow. */
	CHECK_STR(added("{\"_meta\":{\"a\":1,\"quota\":{\"token_count\":{\"output_tokens\":1},\"model_usage\":["
		"{\"model\":\"m\",\"token_count\":{\"output_tokens\":1}}, {\"model\":\"n\",\"token_count\":null}]}}}",
		"{\"_meta\":{\"quota\":{\"token_count\":{\"output_tokens\":2},\"model_usage\":["
		"{\"model\":\"o\",\"token_count\":{\"output_tokens\":4}},{\"model\":\"\\u006e\",\"token_count\":{\"output_tokens\":8}},"
		"{\"model\":\"m\",\"token_count\":{\"output_tokens\":2}}]}}}", false, USAGE_TURN),
		"{\"_meta\":{\"a\":1,\"quota\":{\"token_count\":{\"output_tokens\":3},\"model_usage\":["
		"{\"model\":\"m\",\"token_count\":{\"output_tokens\":3}}, {\"model\":\"n\",\"token_count\":{\"output_tokens\":8}},"
		"{\"model\":\"o\",\"token_count\":{\"output_tokens\":4}}]}}}");
	/* Of members that the first lacks, only what is counted is there. */
	CHECK_STR(added("{\"usage\":{\"outputTokens\":1}}", "{\"_meta\":{\"a\":1,\"quota\":{\"b\":1,\"token_count\":{\"output_tokens\":2}},\"c\":3}}",
		false, USAGE_TURN), "{\"usage\":{\"outputTokens\":1},\"_meta\":{\"quota\":{\"token_count\":{\"output_tokens\":2}}}}");
	CHECK_STR(added("{\"_meta\":{}}", "{\"_meta\":{\"quota\":{\"b\":1}}}", false, USAGE_TURN), "{\"_meta\":{}}");
	CHECK_STR(added("{\"a\":1}", "{\"_meta\":{\"quota\":[{}]}}", false, USAGE_TURN), "{\"a\":1}");
	CHECK_STR(added("{\"a\":1}", "{\"_meta\":5}", false, USAGE_TURN), "{\"a\":1}");
	/* The same holds for those that are null in the first. */
	CHECK_STR(added("{\"_meta\":null}", "{\"_meta\":{\"a\":1,\"quota\":{\"b\":1,\"token_count\":{\"output_tokens\":2}},\"c\":3}}",
		false, USAGE_TURN), "{\"_meta\":{\"quota\":{\"token_count\":{\"output_tokens\":2}}}}");
	CHECK_STR(added("{\"_meta\":null}", "{\"_meta\":{\"a\":1}}", false, USAGE_TURN), "{\"_meta\":null}");
	CHECK_STR(added("{\"_meta\":null}", "{\"_meta\":5}", false, USAGE_TURN), "{\"_meta\":null}");
	/* What an idle state has in _meta.usage is a call's. */
	CHECK_STR(added("{\"usage\":{\"outputTokens\":1},\"_meta\":{\"usage\":{\"outputTokens\":1}}}",
		"{\"usage\":{\"outputTokens\":1},\"_meta\":{\"usage\":{\"outputTokens\":1}}}", true, USAGE_TURN),
		"{\"usage\":{\"outputTokens\":2},\"_meta\":{\"usage\":{\"outputTokens\":1}}}");
}

static void
test_levels(void)
{
	CHECK(!usage_reaches(7499, 10000, 75, true));
	CHECK(usage_reaches(7500, 10000, 75, true));
	CHECK(!usage_reaches(7500, 10000, 75, false));
	CHECK(usage_reaches(7501, 10000, 75, false));
	CHECK(usage_reaches(UINT64_MAX, UINT64_MAX, 100, true));
	CHECK(!usage_reaches(UINT64_MAX, UINT64_MAX, 100, false));
	CHECK(usage_percent(1, 0) == 0);
	CHECK(usage_percent(UINT64_MAX, UINT64_MAX) == 100);
	CHECK(usage_percent(UINT64_MAX - 1, UINT64_MAX) == 99);
	CHECK(usage_percent(UINT64_MAX, 1) == 100000);
	CHECK(usage_reaches(UINT64_C(17524406870024074035), UINT64_MAX, 95, true));
	CHECK(!usage_reaches(UINT64_C(17524406870024074034), UINT64_MAX, 95, true));
}

/* Reads one message of an agent. */
static bool
read_text(const char *text, struct usage_report *r)
{
	struct message s = {.from = ACP_AGENT, .line = slice_of(text)};
	struct json_error error;

	CHECK(msg_scan(s.line, &s.msg, &error) != MSG_NOISE);
	return usage_read(&s, r);
}

#define UPDATE "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{"

static void
test_reading(void)
{
	struct usage_report r;

	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2}}}", &r));
	CHECK(r.what == USAGE_UPDATE && r.has_used && r.used == 1 && r.size == 2 && !r.wrong);
	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":0}}}", &r) && !r.size);
	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":[],\"size\":2}}}", &r) && r.wrong && !r.has_used);
	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":1,\"cost\":{\"amount\":-1,\"currency\":\"USD\"}}}}", &r)
		&& r.wrong && !r.amount.p);
	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":1,\"cost\":{\"amount\":1,\"currency\":\"\"}}}}", &r)
		&& r.wrong && !r.amount.p);
	CHECK(!read_text(UPDATE "\"sessionUpdate\":\"agent_message_chunk\",\"used\":1,\"size\":2}}}", &r));
	CHECK(!read_text("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":[]}", &r));
	CHECK(!read_text("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}", &r));
	CHECK(!read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", &r));
	CHECK(!read_text("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}", &r));
	CHECK(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}", &r) && r.what == USAGE_RESPONSE);
	CHECK(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"usage\":{\"totalTokens\":1},\"_meta\":{\"quota\":"
		"{\"token_count\":{\"totalTokens\":2}}}}}", &r) && r.counts.n[USAGE_TOTAL] == 1);
	CHECK(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"usage\":null,\"_meta\":{\"quota\":"
		"{\"token_count\":{\"totalTokens\":2}}}}}", &r) && r.counts.n[USAGE_TOTAL] == 2);
}

static void
test_twice(void)
{
	struct usage_report r;

	CHECK(read_text(UPDATE "\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"used\":3}}}", &r) && r.wrong && r.used == 1);
	CHECK(read_text("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":"
		"\"usage_update\",\"used\":1,\"size\":2},\"sessionId\":\"s\",\"sessionId\":\"t\"}}", &r) && r.wrong);
	CHECK(!read_text("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":[1,{}]}}", &r));
	CHECK(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"a\",\"stopReason\":\"b\"}}", &r) && r.wrong);
}

/* Names are made up by peers: only so many are kept. */
static void
test_names(void)
{
	struct usage_spec spec = {0};
	struct usage *u = usage_new(&spec);
	struct usage_session *s;
	struct usage_report r;
	char text[200];
	int i, failed = 0;

	for (i = 0; u && i < 65540; i++) {
		snprintf(text, sizeof(text), "{\"model\":\"m%d\"}", i);
		r = (struct usage_report){.what = USAGE_UPDATE, .session = slice_of("\"s\""), .has_used = true};
		r.model = json_get(slice_of(text), "model");
		failed += usage_add(u, 1, &r) < 0;
	}
	CHECK(failed == 0);
	s = u ? usage_find_session(u, slice_of("s")) : NULL;
	CHECK(s && slice_is(usage_name(u, s->model), "(others)"));
	usage_free(u);
}

/* Every word is found wherever it stands, by both ways of looking, and nothing else is. */
static void
test_finding(void)
{
	static const char *const words[] = {"usage\":", "usage\" \t:", "usage_update", "usage\\\"", "context_update", "state_update", "\"id\":",
		"\"id\\\":", "/restarted", "/successor", "acp-recording", "\"restart\"", "subagent_update", "config_option_update",
		"session_info_update", "compaction_update", "\\u0075", "\\u005f", "\\u004f", "\\u002f", "\\u006f"};
	struct usage_words wide, plain;
	char text[300];
	size_t i, at, n, missed = 0, wrong = 0;
	const char *a, *b;

	usage_words(&wide);
	plain = wide;
	plain.wide = false;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		n = strlen(words[i]);
		for (at = 0; at + n <= sizeof(text); at++) {
			memset(text, 'u', sizeof(text));
			memcpy(text + at, words[i], n);
			a = usage_find(&wide, text, text + sizeof(text));
			b = usage_find(&plain, text, text + sizeof(text));
			wrong += a != b;
			missed += a < text + at || a >= text + at + n;
		}
	}
	CHECK(missed == 0);
	CHECK(wrong == 0);
	/* Bytes of the words in any order, in texts of all lengths. */
	srand(4);
	for (i = 0, wrong = 0; i < 20000; i++) {
		for (at = 0; at < sizeof(text); at++)
			text[at] = "usage_diostaeVr\\/\"np-05"[rand() % 22];
		n = i % (sizeof(text) + 1);
		b = usage_find(&plain, text, text + n);
		wrong += usage_find(&wide, text, text + n) != b;
	}
	CHECK(wrong == 0);
	memset(text, 'e', sizeof(text));
	CHECK(!usage_may_matter(&wide, slice(text, sizeof(text))));
	CHECK(!usage_may_matter(&wide, slice_of("{\"name\":\"usage\",\"id\" ")));
	CHECK(!usage_may_matter(&wide, slice_of("the usage of \\u001b[31m an error")));
}

/* Requests, responses, and what else begins and ends turns or says something about usage are found by their words. False where not. */
static bool
agrees(const struct usage_words *words, struct slice text)
{
	struct message s = {.from = ACP_AGENT, .line = text};
	struct usage_report r;
	struct json_error error;
	bool matters;

	if (msg_scan(text, &s.msg, &error) == MSG_NOISE)
		return true;
	matters = s.msg.kind != MSG_NOTIFICATION || s.msg.what == ACP_RESTARTED || s.msg.what == ACP_PROXY_SUCCESSOR || usage_read(&s, &r);
	return !matters || usage_may_matter(words, text);
}

/* Puts another word of the protocol in the place of one, or another byte in the place of one. */
static void
mutate(struct slice text, struct buf *to)
{
	static const char *const words[] = {"usage_update", "context_update", "state_update", "subagent_update", "config_option_update",
		"session_info_update", "compaction_update", "agent_message_chunk", "usage", "used", "size", "cost", "amount", "currency", "_meta",
		"model", "_claude/model", "_claude/origin", "kind", "quota", "token_count", "model_usage", "parentToolCallId", "inputTokens",
		"percentage", "remaining", "messageId", "stopReason", "state", "status", "title", "configOptions", "models", "sessionId",
		"update", "sessionUpdate", "params", "result", "error", "method", "session/update", "session/prompt", "session/load", "session/new", "session/set_config_option", "initialize",
		"_acp-revive/restarted"};
	enum { WORDS = sizeof(words) / sizeof(*words) };
	const char *word = words[rand() % WORDS], *at = memmem(text.p, text.n, word, strlen(word)), *end = text.p + text.n;

	to->n = 0;
	if (at) {
		buf_add_slice(to, slice_between(text.p, at));
		buf_add_string(to, words[rand() % WORDS]);
		buf_add_slice(to, slice_between(at + strlen(word), end));
	} else {
		buf_add_slice(to, text);
		to->p[(size_t)rand() % to->n] = "\"\\{}[]:,0u/_ "[rand() % 13];
	}
}

/* The scanner and the table of places agree on the fixtures, and on what resembles them. */
static void
test_agreement(void)
{
	struct usage_words words;
	struct buf mutated = {0};
	struct slice text;
	size_t i, cap = 0, seen = 0, wrong = 0;
	char *line = NULL, *from, *end;
	glob_t found;
	ssize_t n;
	FILE *f;
	int times;

	usage_words(&words);
	srand(5);
	if (!CHECK(glob("tests/fixtures/usage/*.[rn]*", 0, NULL, &found) == 0 && glob("tests/fuzz/corpus/usage/*", GLOB_APPEND, NULL, &found) == 0))
		return;
	for (i = 0; i < found.gl_pathc && CHECK((f = fopen(found.gl_pathv[i], "r")) != NULL); i++) {
		while ((n = getline(&line, &cap, f)) > 0) {
			end = line + n - (line[n - 1] == '\n');
			from = memmem(line, (size_t)(end - line), "\"msg\":", 6);
			text = from ? slice_between(from + 6, end - 1) : slice_between(line, end);
			if (text.n == 0)
				continue;
			seen++;
			wrong += !agrees(&words, text);
			for (times = 0; times < 200; times++) {
				mutate(text, &mutated);
				wrong += !agrees(&words, buf_slice(&mutated));
			}
		}
		fclose(f);
	}
	CHECK(seen > 200);
	CHECK(wrong == 0);
	globfree(&found);
	free(line);
	buf_free(&mutated);
}

int
main(void)
{
	test_parts();
	test_sums();
	test_answers();
	test_levels();
	test_reading();
	test_twice();
	test_names();
	test_finding();
	test_agreement();
	return check_done();
}
