/* select: which messages a tool is about (HACKING.md, rule 8). */
#include "lib/filter/select.h"

#include <stdlib.h>

#include "lib/filter/choice.h"

#include "tests/unit/check.h"

#define UPDATE(kind) "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"" kind "\"}}}"

/* A session in short; each message has the letter by which it is told. */
static const struct {
	enum acp_side from;
	const char *line;
} session[] = {
	{ACP_CLIENT, "{\"id\":0,\"method\":\"initialize\"}"},                                        /* a */
	{ACP_AGENT, "{\"id\":0,\"result\":{}}"},                                                     /* b */
	{ACP_CLIENT, "{\"id\":\"p\",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s1\"}}"}, /* c */
	{ACP_AGENT, UPDATE("agent_message_chunk")},                                                  /* d */
	{ACP_AGENT, UPDATE("usage_update")},                                                         /* e */
	{ACP_AGENT, "{\"id\":0,\"method\":\"fs/read_text_file\",\"params\":{\"sessionId\":\"s2\"}}"}, /* f */
	{ACP_CLIENT, "{\"id\":0,\"result\":{}}"},                                                    /* g */
	{ACP_AGENT, "{\"id\":\"\\u0070\",\"result\":{\"stopReason\":\"end_turn\"}}"},                /* h */
	{ACP_AGENT, "{\"id\":99,\"result\":{}}"},                                                    /* i: answers nothing known */
	{ACP_CLIENT, "{\"method\":\"session\\/cancel\",\"params\":{\"sessionId\":\"s\\u0031\"}}"},                      /* j */
	{ACP_CLIENT, "{\"method\":\"x\"}"},                                                                        /* k */
};
enum { LINES = sizeof(session) / sizeof(*session) };

struct picked {
	struct select *s;
	char letters[LINES + 2], *out, letter;
	char *why;
	int told;
};

static void
show(void *arg, const struct message *m)
{
	struct picked *c = arg;
	char *why;

	if (select_match(c->s, m, &why))
		*c->out++ = c->letter;
	c->letter++;
	if (why) {
		c->told++;
		free(c->why);
		c->why = why;
	}
}

static bool
given(struct select *s, char *option, char *argument)
{
	const struct cli_tool tool = {"select", NULL, select_options};
	char *words[] = {option, option, argument, NULL};
	struct cli_line line;

	cli_read(&tool, 3, words, s, &line);
	return !line.words[0];
}

/* Takes over s. */
static struct picked
choose(struct select *s)
{
	struct requests *rs = requests_new();
	struct picked c = {.s = s, .letter = 'a'};
	struct json_error error;
	struct message message;
	struct request *r;
	struct msg m;
	size_t i;

	c.out = c.letters;
	CHECK(rs != NULL);
	for (i = 0; i < LINES; i++) {
		struct slice line = slice_of(session[i].line);

		CHECK(msg_scan(line, &m, &error) != MSG_NOISE);
		message = (struct message){.from = session[i].from, .t = i * 1000000, .line = line, .msg = m};
		CHECK(m.kind != MSG_REQUEST || requests_open(rs, message.from, message.t, &m));
		r = m.kind == MSG_RESPONSE ? requests_find(rs, acp_other_side(message.from), m.id) : NULL;
		message.request = r;
		show(&c, &message);
		if (r) {
			requests_remove(rs, r);
			requests_done(r);
		}
	}
	requests_free(rs);
	select_free(s);
	*c.out = '\0';
	return c;
}

/* The messages that a selection by some globs takes. */
static const char *
by_globs(const char *a, const char *b)
{
	static struct picked c;
	struct select *s = select_new();
	char *why;

	CHECK(s && select_glob(s, a, &why) == 0 && (!b || select_glob(s, b, &why) == 0));
	c = choose(s);
	return c.letters;
}

static const char *
by_program(const char *program)
{
	static struct picked c;
	struct select *s = select_new();
	char *why;

	CHECK(s && select_where(s, program, NULL, 0, &why) == 0);
	c = choose(s);
	CHECK(c.told == 0);
	return c.letters;
}

static void
test_nothing_given_selects_everything(void)
{
	struct select *s = select_new();

	CHECK(s && !select_is_set(s));
	CHECK(select_match_other(s, ACP_CLIENT) && select_match_other(s, ACP_UNKNOWN));
	CHECK_STR(choose(s).letters, "abcdefghijk");
	select_free(NULL);
}

static void
test_globs(void)
{
	CHECK_STR(by_globs("initialize", NULL), "ab");
	CHECK_STR(by_globs("session/prompt", NULL), "ch");
	CHECK_STR(by_globs("session/*", NULL), "cdehj");
	CHECK_STR(by_globs("*", NULL), "abcdefghjk");
	CHECK_STR(by_globs("*prompt", "fs/*"), "cfgh");
	CHECK_STR(by_globs("fs*file", NULL), "fg");
	CHECK_STR(by_globs("usage_update", NULL), "e");
	CHECK_STR(by_globs("*_chunk", "initialize"), "abd");
	CHECK_STR(by_globs("[if]*", NULL), "abfg");
	CHECK_STR(by_globs("nothing", NULL), "");
}

static void
refused(const char *glob, const char *expected)
{
	struct select *s = select_new();
	char *why = NULL;

	CHECK(s && select_glob(s, glob, &why) < 0 && why);
	CHECK_STR(why, expected);
	free(why);
	select_free(s);
}

static void
test_bad_globs(void)
{
	refused("", "an empty pattern");
	refused("!", "an empty pattern");
	refused("[", "a [ without a ]");
	refused("![a", "a [ without a ]");
	refused("[]", "a [ without a ]");
	refused("[!]", "a [ without a ]");
	refused("[if][", "a [ without a ]");
	refused("session/\\", "nothing follows the last \\");
	refused("[if]\\", "nothing follows the last \\");
	CHECK_STR(by_globs("\\[", NULL), "");
	CHECK_STR(by_globs("[]if]*[e]", NULL), "abfg");
	CHECK_STR(by_globs("[if][!s]*", NULL), "ab");
}

static void
test_negated_globs(void)
{
	CHECK_STR(by_globs("!session/update", NULL), "abcfghijk");
	CHECK_STR(by_globs("!*_chunk", NULL), "abcefghijk");
	CHECK_STR(by_globs("session/*", "!*_chunk"), "cehj");
	CHECK_STR(by_globs("!*_chunk", "session/*"), "cehj");
	CHECK_STR(by_globs("!session/*", "!initialize"), "fgik");
}

static void
test_programs(void)
{
	CHECK_STR(by_program(".result"), "bghi");
	CHECK_STR(by_program("$method == \"session/prompt\""), "ch");
	CHECK_STR(by_program("$from == \"agent\" and $method == null"), "i");
	CHECK_STR(by_program("$session == \"s1\""), "cdehj");
	CHECK_STR(by_program("$t >= 8"), "ijk");
	CHECK_STR(by_program(".id == 0 and $t < 1.5"), "ab");
	CHECK_STR(by_program("empty"), "");
}

static void
test_sides_and_sessions(void)
{
	struct select *s = select_new();

	CHECK(given(s, "--from", "client") && select_is_set(s));
	CHECK(select_match_other(s, ACP_CLIENT) && !select_match_other(s, ACP_AGENT));
	CHECK(!select_match_other(s, ACP_UNKNOWN));
	CHECK_STR(choose(s).letters, "acgjk");
	s = select_new();
	CHECK(given(s, "--from", "client") && given(s, "--from", "agent"));
	CHECK_STR(choose(s).letters, "bdefhi");
	s = select_new();
	CHECK(given(s, "--session", "s1") && select_is_set(s));
	CHECK(!select_match_other(s, ACP_CLIENT));
	CHECK_STR(choose(s).letters, "cdehj");
	s = select_new();
	CHECK(given(s, "--session", "s2"));
	CHECK_STR(choose(s).letters, "fg");
	s = select_new();
	CHECK(given(s, "--session", "s3"));
	CHECK_STR(choose(s).letters, "");
}

/* A session by the beginning of its id, or by its end. */
static void
test_choice(void)
{
	struct choice c = {.asked = "ab"};
	char *why;

	CHECK(!choice_is(&c, slice_of("a"), &why) && !why && !choice_is(&c, slice_of("xabx"), &why));
	CHECK(choice_is(&c, slice_of("abc"), &why) && choice_is(&c, slice_of("abc"), &why) && !why);
	CHECK(!choice_is(&c, slice_of("abd"), &why));
	CHECK_STR(why, "ab matches more than one session: using abc, not abd");
	free(why);
	CHECK(!choice_is(&c, slice_of("abe"), &why) && !why);
	CHECK(choice_is(&c, slice_of("ab"), &why) && !choice_is(&c, slice_of("abc"), &why) && !why);
	choice_free(&c);
	c = (struct choice){.asked = "ab"};
	CHECK(choice_is(&c, slice_of("xab"), &why) && !why && !choice_is(&c, slice_of("yab"), &why) && why);
	free(why);
	choice_free(&c);
}

static void
test_kinds(void)
{
	struct select *s = select_new();
	char *why;

	CHECK(select_kind(s, "request", &why) == 0 && select_is_set(s));
	CHECK(!select_match_other(s, ACP_CLIENT));
	CHECK_STR(choose(s).letters, "acf");
	s = select_new();
	CHECK(select_kind(s, "response", &why) == 0);
	CHECK_STR(choose(s).letters, "bghi");
	s = select_new();
	CHECK(select_kind(s, "notification", &why) == 0 && select_kind(s, "response", &why) == 0);
	CHECK_STR(choose(s).letters, "bdeghijk");
	s = select_new();
	CHECK(select_kind(s, "response", &why) == 0 && select_glob(s, "session/prompt", &why) == 0);
	CHECK_STR(choose(s).letters, "h");
	s = select_new();
	CHECK(select_kind(s, "answer", &why) == -1);
	CHECK_STR(why, "expected request, response or notification");
	free(why);
	select_free(s);
}

static void
test_all_that_is_given_counts(void)
{
	struct select *s = select_new();
	char *why;

	CHECK(select_glob(s, "session/*", &why) == 0 && select_glob(s, "!*_chunk", &why) == 0);
	CHECK(given(s, "--from", "agent") && given(s, "--session", "s1"));
	CHECK_STR(choose(s).letters, "eh");
	s = select_new();
	CHECK(select_where(s, "$session == \"s1\"", NULL, 0, &why) == 0 && select_where(s, ".id", NULL, 0, &why) == 0);
	CHECK(!select_match_other(s, ACP_CLIENT));
	CHECK_STR(choose(s).letters, "ch");
	s = select_new();
	CHECK(select_glob(s, "!x", &why) == 0 && select_is_set(s) && select_match_other(s, ACP_AGENT));
	CHECK(select_glob(s, "x", &why) == 0 && !select_match_other(s, ACP_AGENT));
	select_free(s);
}

static void
test_what_is_no_good_is_refused(void)
{
	struct select *s = select_new();
	char *why;

	CHECK(select_glob(s, "", &why) == -1);
	CHECK_STR(why, "an empty pattern");
	free(why);
	CHECK(select_glob(s, "!", &why) == -1);
	free(why);
	CHECK(select_where(s, ". |", NULL, 0, &why) == -1 && strstr(why, "syntax error"));
	free(why);
	CHECK(!select_is_set(s));
	select_free(s);
}

static void
test_a_program_that_fails_selects_nothing_and_says_so_once(void)
{
	struct select *s = select_new();
	struct picked c;
	char *why;

	CHECK(select_where(s, "if .id == 0 then error(\"zero\") else true end", NULL, 0, &why) == 0);
	c = choose(s);
	CHECK_STR(c.letters, "cdehijk");
	CHECK(c.told == 1);
	CHECK_STR(c.why, "zero");
	free(c.why);
}

int
main(void)
{
	test_nothing_given_selects_everything();
	test_globs();
	test_bad_globs();
	test_negated_globs();
	test_programs();
	test_sides_and_sessions();
	test_choice();
	test_kinds();
	test_all_that_is_given_counts();
	test_what_is_no_good_is_refused();
	test_a_program_that_fails_selects_nothing_and_says_so_once();
	return check_done();
}
