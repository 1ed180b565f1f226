/* jqprog: users' programs, with new values for their variables at each run. */
#include "lib/filter/jqprog.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

static struct jqprog_var vars[] = {{"from", {"\"client\"", 8}}, {"t", {"0.5", 3}}};
enum { NVARS = 2 };

static struct jqprog *
compile(const char *program)
{
	char *why;
	struct jqprog *prog = jqprog_new(program, vars, NVARS, NULL, 0, &why);

	if (!CHECK(prog != NULL)) {
		fprintf(stderr, "%s: %s\n", program, why ? why : "(no message)");
		exit(check_done());
	}
	CHECK(why == NULL);
	return prog;
}

static bool
collect(void *arg, struct slice output)
{
	struct buf *b = arg;

	CHECK(buf_add_slice(b, output) == 0 && buf_add(b, "\n", 1) == 0);
	return true;
}

/* The outputs, a line each, and how it ended. */
static const char *
outputs(const char *program, const char *text)
{
	static struct buf b;
	struct jqprog *prog = compile(program);
	char *why;
	int r;

	b.n = 0;
	r = jqprog_run(prog, slice_of(text), vars, NVARS, collect, &b, &why);
	CHECK((why != NULL) == (r == 1));
	if (r != 0)
		CHECK(buf_printf(&b, "%d: %s", r, why ? why : "") == 0);
	free(why);
	jqprog_free(prog);
	return buf_string(&b);
}

static const char *
refused(const char *program)
{
	static char text[4096];
	char *why;

	CHECK(jqprog_new(program, vars, NVARS, NULL, 0, &why) == NULL);
	snprintf(text, sizeof(text), "%s", why ? why : "(nothing)");
	free(why);
	return text;
}

/* Without a program of its own it is `.`, but jq 1.8 wants one. */
static void
nothing(const char *program)
{
	char *why;
	struct jqprog *prog = jqprog_new(program, vars, NVARS, NULL, 0, &why);

	if (prog)
		CHECK_STR(outputs(program, "1"), "1\n");
	else
		CHECK(why && strstr(why, "Top-level program not given"));
	free(why);
	jqprog_free(prog);
}

static void
test_outputs(void)
{
	CHECK_STR(outputs(".", "{\"a\" : [1, 2.5, \"\\u00e9\"]}"), "{\"a\":[1,2.5,\"\xc3\xa9\"]}\n");
	CHECK_STR(outputs(".[]", "[1,{\"b\":null},\"x\"]"), "1\n{\"b\":null}\n\"x\"\n");
	CHECK_STR(outputs("empty", "1"), "");
	CHECK_STR(outputs("1, 2 | . + 1", "null"), "2\n3\n");
	CHECK_STR(outputs("[$from, $t, .]", " 7 "), "[\"client\",0.5,7]\n");
	CHECK_STR(outputs("limit(2; repeat(1))", "0"), "1\n1\n");
	CHECK_STR(outputs("[range(100000)] | length", "0"), "100000\n");
}

/* The program goes into another, which it must not notice. */
static void
test_any_program_can_be_wrapped(void)
{
	nothing("");
	nothing("# nothing");
	nothing("# nothing \\");
	CHECK_STR(outputs(". + 1 # and a comment ) |", "1"), "2\n");
	CHECK_STR(outputs("def f: . + 1; f | f", "1"), "3\n");
	nothing("def f: . + 1; def g: f;");
	CHECK_STR(outputs("def f: $t; f", "1"), "0.5\n");
	CHECK_STR(outputs(". as [$a, $b] | $b, $from", "[1,2]"), "2\n\"client\"\n");
	CHECK_STR(outputs("label $out | 1, break $out, 2", "1"), "1\n");
	CHECK_STR(outputs(". as $t | $t", "1"), "1\n");
	CHECK_STR(outputs("\"a ) \\(. + 1) # b\"", "1"), "\"a ) 2 # b\"\n");
	CHECK_STR(outputs("[paths]", "{\"a\":[0]}"), "[[\"a\"],[\"a\",0]]\n");
	CHECK_STR(outputs("$__loc__.line", "1"), "1\n");
	CHECK_STR(outputs("1 |\n$__loc__.line", "1"), "2\n");
}

static void
test_variables_are_new_at_each_run(void)
{
	struct jqprog *prog = compile("[$from, $t]");
	struct jqprog_var now[] = {{"from", slice_of("\"agent\"")}, {"t", slice(NULL, 0)}};
	struct buf b = {0};
	char *why;

	CHECK(jqprog_run(prog, slice_of("1"), vars, NVARS, collect, &b, &why) == 0);
	CHECK(jqprog_run(prog, slice_of("1"), now, NVARS, collect, &b, &why) == 0);
	now[1].value = slice_of("{\"x\":[]}");
	CHECK(jqprog_run(prog, slice_of("1"), now, NVARS, collect, &b, &why) == 0);
	CHECK_STR(buf_string(&b), "[\"client\",0.5]\n[\"agent\",null]\n[\"agent\",{\"x\":[]}]\n");
	buf_free(&b);
	jqprog_free(prog);
}

static void
test_what_does_not_compile(void)
{
	const char *why = refused(". |\n\n foo(1)");

	CHECK(strstr(why, "foo/1 is not defined") && strstr(why, "line 3"));
	CHECK(strncmp(why, "jq: ", 4) != 0 && why[strlen(why) - 1] != '\n');
	CHECK(!strstr(why, "$t |") && !strstr(why, "compile error"));
	CHECK(strstr(refused("$session"), "$session is not defined"));
	CHECK(strstr(refused("1) | (2"), "syntax error"));
	CHECK(strstr(refused(". +"), "syntax error"));
	CHECK(strlen(refused("import \"acp-there-is-none\" as x; 1")) > 0);
}

static void
test_programs_that_fail(void)
{
	CHECK_STR(outputs("1, error(\"no\"), 2", "1"), "1\n1: no");
	CHECK_STR(outputs("error({a: 1})", "1"), "1: (not a string): {\"a\":1}");
	CHECK(strstr(outputs(".a", "[1]"), "1: Cannot index array with ") != NULL);
	CHECK_STR(outputs("try error(\"x\") catch .", "1"), "\"x\"\n");
	CHECK(strncmp(outputs("input", "1"), "1: ", 3) == 0); /* "break" before 1.7 */
	CHECK_STR(outputs("[inputs]", "1"), "[]\n");
	CHECK_STR(outputs("1, halt, 2", "1"), "1\n");
	CHECK_STR(outputs("\"over\" | halt_error", "1"), "1: over");
	CHECK_STR(outputs("1, debug", "5"), "1\n5\n");
	CHECK(strlen(outputs("input_line_number", "5")) > 0);
	CHECK(strlen(outputs("input_filename", "5")) > 0);
}

static void
test_a_program_lives_on_after_a_failure(void)
{
	struct jqprog *prog = compile("if . == 1 then error(\"one\") elif . == 2 then halt else ., . end");
	struct buf b = {0};
	char *why;
	int i;

	for (i = 0; i < 3; i++) {
		CHECK(jqprog_run(prog, slice_of("1"), vars, NVARS, collect, &b, &why) == 1);
		CHECK_STR(why, "one");
		free(why);
		CHECK(jqprog_run(prog, slice_of("2"), vars, NVARS, collect, &b, &why) == 0);
		CHECK(jqprog_run(prog, slice_of("3"), vars, NVARS, collect, &b, &why) == 0);
	}
	CHECK_STR(buf_string(&b), "3\n3\n3\n3\n3\n3\n");
	buf_free(&b);
	jqprog_free(prog);
}

static bool
stop(void *arg, struct slice output)
{
	(void)output;
	++*(int *)arg;
	return false;
}

static void
test_fn_can_stop(void)
{
	struct jqprog *prog = compile("repeat(.)");
	int n = 0;
	char *why;

	CHECK(jqprog_run(prog, slice_of("1"), vars, NVARS, stop, &n, &why) == 0 && n == 1);
	CHECK(jqprog_run(prog, slice_of("1"), vars, NVARS, stop, &n, &why) == 0 && n == 2);
	jqprog_free(prog);
}

static void
test_environment(void)
{
	CHECK(setenv("ACP_JQPROG", "yes", 1) == 0);
	CHECK_STR(outputs("env.ACP_JQPROG, $ENV.ACP_JQPROG", "1"), "\"yes\"\n\"yes\"\n");
}

/* A text that nests n arrays (and as many objects) in one another. */
static const char *
nested(size_t n, const char *open, const char *close)
{
	static struct buf b;
	size_t i;

	b.n = 0;
	for (i = 0; i < n; i++)
		CHECK(buf_add_string(&b, open) == 0);
	CHECK(buf_add(&b, "1", 1) == 0);
	for (i = 0; i < n; i++)
		CHECK(buf_add_string(&b, close) == 0);
	return buf_string(&b);
}

static void
test_depth(void)
{
	CHECK_STR(outputs("[..] | length", nested(100, "{\"a\":", "}")), "101\n");
	CHECK_STR(outputs("[..] | length", nested(250, "[", "]")), "251\n");
	/* The limit is 256 before jq 1.7, and then 10,000. */
	CHECK_STR(outputs(".", nested(10001, "[", "]")), "2: ");
	CHECK_STR(outputs(".", nested(10001, "{\"a\":", "}")), "2: ");
	CHECK_STR(outputs(".", nested(100000, "[", "]")), "2: ");
	CHECK_STR(outputs("length", "\"[[[\\\"[[[\\\\\""), "8\n");
}

static bool
holds(const char *program, const char *text)
{
	struct jqprog *prog = compile(program);
	bool yes = true;
	char *why;

	CHECK(jqprog_test(prog, slice_of(text), vars, NVARS, &yes, &why) == 0);
	jqprog_free(prog);
	return yes;
}

static void
test_truth(void)
{
	struct jqprog *prog = compile("true, .a");
	bool yes;
	char *why;

	CHECK(holds(".a == 1", "{\"a\":1}"));
	CHECK(!holds(".a == 1", "{\"a\":2}"));
	CHECK(holds(".", "0") && holds(".", "\"\"") && holds(".", "{}"));
	CHECK(!holds(".", "null") && !holds("empty", "1"));
	CHECK(holds("false, true", "1") && !holds("true, false", "1"));
	CHECK(holds("$from == \"client\" and $t < 1", "1"));
	CHECK(jqprog_test(prog, slice_of("[]"), vars, NVARS, &yes, &why) == 1 && !yes);
	CHECK(why && strstr(why, "Cannot index"));
	free(why);
	CHECK(jqprog_test(prog, slice_of(nested(10001, "[", "]")), vars, NVARS, &yes, &why) == 2 && !yes);
	jqprog_free(prog);
}

static void
test_imports_stay_in_front(void)
{
	const char *dir = check_folder();
	char name[4200], program[4400];
	FILE *f;

	snprintf(name, sizeof(name), "%s/acp.jq", dir);
	f = fopen(name, "w");
	CHECK(f && fputs("def one: 1;", f) >= 0);
	if (f)
		CHECK(fclose(f) == 0);
	snprintf(program, sizeof(program), "# first; \"\nimport \"acp\" as a {search: \"%s\"}; # ;\n"
		"a::one + 1, $from, $__loc__.line", dir);
	CHECK_STR(outputs(program, "1"), "2\n\"client\"\n3\n");
	snprintf(program, sizeof(program), "include\"acp\" {search: \"%s\", note: \"\\\";\"}; def two: one + one;", dir);
	nothing(program);
	CHECK_STR(outputs("def importer: 5; importer", "1"), "5\n");
}

int
main(void)
{
	test_outputs();
	test_any_program_can_be_wrapped();
	test_variables_are_new_at_each_run();
	test_what_does_not_compile();
	test_programs_that_fail();
	test_a_program_lives_on_after_a_failure();
	test_fn_can_stop();
	test_environment();
	test_depth();
	test_truth();
	test_imports_stay_in_front();
	jqprog_free(NULL);
	return check_done();
}
