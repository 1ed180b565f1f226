/*
 * jqprog_edit: what a program does not change keeps its bytes. Random texts and changes: the seed
 * is printed where one fails, and taken from ACP_SEED.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "lib/json/json.h"
#include "lib/filter/jqprog.h"
#include "tests/unit/check.h"

static bool
collect(void *arg, struct slice output)
{
	struct buf *b = arg;

	return buf_add_slice(b, output) == 0 && buf_add(b, "\n", 1) == 0;
}

static struct jqprog *
compile(const char *program, const struct jqprog_var *vars, size_t n)
{
	char *why;
	struct jqprog *prog = jqprog_new(program, vars, n, NULL, 0, &why);

	if (!prog)
		fprintf(stderr, "%s: %s\n", program, why ? why : "(no message)");
	if (!CHECK(prog != NULL))
		exit(check_done());
	return prog;
}

/* The outputs, a line each. */
static const char *
edited(const char *program, const char *text)
{
	static struct buf b;
	struct jqprog *prog = compile(program, NULL, 0);
	char *why;
	int r;

	b.n = 0;
	r = jqprog_edit(prog, slice_of(text), NULL, 0, collect, &b, &why);
	CHECK((why != NULL) == (r == 1));
	if (r != 0)
		CHECK(buf_printf(&b, "%d: %s\n", r, why ? why : "") == 0);
	free(why);
	jqprog_free(prog);
	if (b.n)
		b.n--;
	return buf_string(&b);
}

static void
test_members(void)
{
	const char *text = "{ \"a\" : 12345678901234567890 , \"b\":{\"c\" : 1.50,\"d\":\"\\u00e9\\/\"},\"e\":[ ] }";

	CHECK_STR(edited(".", text), text);
	CHECK_STR(edited(".b.c = 2", text), "{ \"a\" : 12345678901234567890 , \"b\":{\"c\" : 2,\"d\":\"\\u00e9\\/\"},\"e\":[ ] }");
	CHECK_STR(edited(".b.c = 1.5", text), text);
	CHECK_STR(edited(".b.d = \"\xc3\xa9/\"", text), text);
	CHECK_STR(edited(".a += 1", "{\"a\":1.0,\"b\":1e2}"), "{\"a\":2,\"b\":1e2}");
	CHECK_STR(edited(".b.x = null", text), "{ \"a\" : 12345678901234567890 , \"b\":{\"c\" : 1.50,\"d\":\"\\u00e9\\/\",\"x\":null},\"e\":[ ] }");
	CHECK_STR(edited(".z = 1 | .y = 2", "{ \"a\" : 0 }"), "{ \"a\" : 0,\"z\":1,\"y\":2 }");
	CHECK_STR(edited(".z = 1", "{ }"), "{\"z\":1 }");
	CHECK_STR(edited("{e, b, a}", text), text);
	CHECK_STR(edited("tojson | fromjson | del(.a)", text), "{ \"b\":{\"c\" : 1.50,\"d\":\"\\u00e9\\/\"},\"e\":[ ] }");
}

static void
test_members_that_go(void)
{
	const char *text = "{ \"a\" : 1 , \"b\" : 2 , \"c\" : 3 }";

	CHECK_STR(edited("del(.a)", text), "{ \"b\" : 2 , \"c\" : 3 }");
	CHECK_STR(edited("del(.b)", text), "{ \"a\" : 1 , \"c\" : 3 }");
	CHECK_STR(edited("del(.c)", text), "{ \"a\" : 1 , \"b\" : 2 }");
	CHECK_STR(edited("del(.a, .b)", text), "{ \"c\" : 3 }");
	CHECK_STR(edited("del(.b, .c)", text), "{ \"a\" : 1 }");
	CHECK_STR(edited("del(.a, .c)", text), "{ \"b\" : 2 }");
	CHECK_STR(edited("{}", text), "{  }");
	CHECK_STR(edited("{x: 1}", text), "{ \"x\":1 }");
	CHECK_STR(edited("with_entries(.key |= \"_\" + .)", "{\"a\":1}"), "{\"_a\":1}");
}

static void
test_members_of_one_name(void)
{
	CHECK_STR(edited(".b = 1", "{\"a\":1,\"a\":2}"), "{\"a\":1,\"a\":2,\"b\":1}");
	CHECK_STR(edited(".a = 1", "{\"a\":1,\"a\":2}"), "{\"a\":1,\"a\":1}");
	CHECK_STR(edited(".a = 3", "{\"a\":1,\"x\":0,\"\\u0061\":2}"), "{\"a\":1,\"x\":0,\"\\u0061\":3}");
	CHECK_STR(edited("del(.a)", "{\"a\":1,\"x\":0,\"a\":2}"), "{\"x\":0}");
}

static void
test_elements(void)
{
	const char *text = "[ 1.0 , {\"n\":9007199254740993} , \"\\u0041\" ]";

	CHECK_STR(edited(".[0] = 2", text), "[ 2 , {\"n\":9007199254740993} , \"\\u0041\" ]");
	CHECK_STR(edited("[0] + .", text), "[ 0,1.0 , {\"n\":9007199254740993} , \"\\u0041\" ]");
	CHECK_STR(edited("[0, 0.5] + .", text), "[ 0,0.5,1.0 , {\"n\":9007199254740993} , \"\\u0041\" ]");
	CHECK_STR(edited(". + [0, 5]", text), "[ 1.0 , {\"n\":9007199254740993} , \"\\u0041\",0,5 ]");
	CHECK_STR(edited(".[:1] + [7] + .[1:]", text), "[ 1.0,7 , {\"n\":9007199254740993} , \"\\u0041\" ]");
	CHECK_STR(edited("del(.[0])", text), "[ {\"n\":9007199254740993} , \"\\u0041\" ]");
	CHECK_STR(edited("del(.[1])", text), "[ 1.0 , \"\\u0041\" ]");
	CHECK_STR(edited("del(.[2])", text), "[ 1.0 , {\"n\":9007199254740993} ]");
	CHECK_STR(edited("del(.[0, 1])", text), "[ \"\\u0041\" ]");
	CHECK_STR(edited("[]", text), "[  ]");
	CHECK_STR(edited(". + [1]", "[ ]"), "[1 ]");
	CHECK_STR(edited(".[1].m = 1 | del(.[0])", text), "[ {\"n\":9007199254740993,\"m\":1} , \"\\u0041\" ]");
	CHECK_STR(edited("[{m: 1}] + (.[1].m = 1)", text), "[ {\"m\":1},1.0 , {\"n\":9007199254740993,\"m\":1} , \"\\u0041\" ]");
	CHECK_STR(edited("map(select(type == \"object\")) | .[0].m = 1", text), "[ {\"n\":9007199254740993,\"m\":1} ]");
	CHECK_STR(edited(".[1:] + [8]", text), "[ {\"n\":9007199254740993} , \"\\u0041\",8 ]");
	CHECK_STR(edited(".[0] = \"x\" | del(.[1])", text), "[ \"x\" , \"\\u0041\" ]");
}

static void
test_other_values(void)
{
	CHECK_STR(edited("2", "1"), "2");
	CHECK_STR(edited(".", "1.0"), "1.0");
	CHECK_STR(edited(".b = 1", "{\"a\":1e400}"), "{\"a\":1e400,\"b\":1}");
	CHECK_STR(edited("[.]", "{\"a\":1}"), "[{\"a\":1}]");
	CHECK_STR(edited("., .a, empty", "{\"a\" :1}"), "{\"a\" :1}\n1");
	CHECK_STR(edited("empty", "1"), "");
	CHECK_STR(edited(".a = 1, error(\"x\")", "{}"), "{\"a\":1}\n1: x");
}

/* libjq 1.6 does not read half a surrogate pair. */
static void
test_half_a_surrogate_pair(void)
{
	const char *text = "{\"s\":\"\\ud800 \\uDC00\\ud83d\\ude00\\\\ud800\",\"\\udfff\":1,\"n\":1.0}";

	CHECK_STR(edited(".", text), text);
	CHECK_STR(edited(".n = 2", text), "{\"s\":\"\\ud800 \\uDC00\\ud83d\\ude00\\\\ud800\",\"\\udfff\":1,\"n\":2}");
	CHECK_STR(edited(".n = 2", "{\"s\":\"\\uD800 \\uDBFF \\uDFFF\\uD83D\\uDE00\",\"n\":1}"),
		"{\"s\":\"\\uD800 \\uDBFF \\uDFFF\\uD83D\\uDE00\",\"n\":2}");
	CHECK_STR(edited(".n = (.s | length)", "{\"s\":\"\\uD800\\uDBFF\\uDFFF\",\"n\":1}"),
		"{\"s\":\"\\uD800\\uDBFF\\uDFFF\",\"n\":2}");
	CHECK_STR(edited("del(.[\"\\ufffd\"])", text), "{\"s\":\"\\ud800 \\uDC00\\ud83d\\ude00\\\\ud800\",\"n\":1.0}");
}

/* An array of the numbers from 0, every step, but one. */
static const char *
numbers(int step, int without, struct buf *to)
{
	bool ok = true;
	int i;

	to->n = 0;
	for (i = 0; i < 200000; i += step)
		if (i != without)
			ok &= buf_printf(to, "%s%d.0", i ? " , " : "[", i) == 0;
	CHECK(ok && buf_add(to, "]", 1) == 0);
	return buf_string(to);
}

static void
test_large(void)
{
	struct buf text = {0}, want = {0};

	numbers(1, -1, &text);
	CHECK_STR(edited("del(.[70000])", text.p), numbers(1, 70000, &want));
	CHECK_STR(edited("map(select(. != 70000))", text.p), numbers(1, 70000, &want));
	CHECK_STR(edited("map(select(. % 2 == 0))", text.p), numbers(2, -1, &want));
	buf_free(&text);
	buf_free(&want);
}

static void
test_constants(void)
{
	const struct jqprog_var c[] = {{"a", slice_of("\"x\"")}, {"j", slice_of("{\"k\":[1]}")}};
	const struct jqprog_var v[] = {{"t", slice_of("1")}};
	struct buf b = {0};
	char *why;
	struct jqprog *prog = jqprog_new("[$a, $j.k[0], $t]", v, 1, c, 2, &why);

	CHECK(prog && jqprog_edit(prog, slice_of("0"), v, 1, collect, &b, &why) == 0);
	CHECK_STR(buf_string(&b), "[\"x\",1,1]\n");
	jqprog_free(prog);
	CHECK(!jqprog_new("$b", v, 1, c, 2, &why) && strstr(why, "$b is not defined"));
	free(why);
	buf_free(&b);
}

/* --- random texts and changes --- */

static uint64_t state;

static unsigned
below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 11) % n);
}

static void
add(struct buf *b, const char *s)
{
	if (buf_add_string(b, s) < 0)
		abort();
}

static void
space(struct buf *b)
{
	static const char *const some[] = {"", "", "", " ", "  ", "\t", "\r "};

	add(b, some[below(7)]);
}

static void
random_scalar(struct buf *b)
{
	static const char *const some[] = {"0", "-0", "1.0", "1.50", "1e2", "9007199254740993", "12345678901234567890123", "0.1",
		"1E-7", "\"\"", "\"a\"", "\"\\u0061\\/\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"\\udc00x\"", "\"\\\"\\\\\"",
		"\"\xf0\x9f\x98\x80\"", "true", "false", "null", "1e300", "\"a,]}b\""};

	add(b, some[below(22)]);
}

static void
random_name(struct buf *b)
{
	static const char *const some[] = {"\"a\"", "\"b\"", "\"c\"", "\"\\u0064\"", "\"e\\n\"", "\"\"", "\"\xc3\xa9\"", "\"\\ud800\"",
		"\"a,b\"", "\"f\""};

	add(b, some[below(10)]);
}

static void
random_value(struct buf *b, unsigned depth)
{
	unsigned kind = below(depth ? 4 : 2), n = below(5), i;

	if (kind < 2) {
		random_scalar(b);
		return;
	}
	add(b, kind == 2 ? "[" : "{");
	space(b);
	for (i = 0; i < n; i++) {
		if (i) {
			add(b, ",");
			space(b);
		}
		if (kind == 3) {
			random_name(b);
			space(b);
			add(b, ":");
			space(b);
		}
		random_value(b, depth - 1);
		space(b);
	}
	add(b, kind == 2 ? "]" : "}");
}

/* A random value inside that libjq can name: of members with one name the last. path gets a JSON array. */
static struct slice
random_place(struct slice text, struct buf *path)
{
	struct slice key, value, at = text, name = {0};
	struct json_iter it;
	unsigned n, pick, i;

	add(path, "[");
	for (;;) {
		enum json_type type = json_type(at);

		n = 0;
		if (type == JSON_ARRAY || type == JSON_OBJECT)
			for (it = (struct json_iter){.in = at}; json_next(&it, &key, &value);)
				n++;
		if (n == 0 || (at.p != text.p && below(3) == 0))
			break;
		pick = below(n);
		it = (struct json_iter){.in = at};
		for (i = 0; i <= pick; i++)
			json_next(&it, &name, &value);
		at = value;
		while (name.n && json_next(&it, &key, &value))
			if (json_string_eq(key, name))
				at = value;
		if (path->n > 1)
			add(path, ",");
		if (!name.n)
			CHECK(buf_printf(path, "%u", pick) == 0);
		else
			CHECK(buf_add_slice(path, name) == 0);
	}
	add(path, "]");
	return at;
}

struct programs {
	struct jqprog *set, *take, *alone, *same, *other, *print;
};

enum { P, V, NVARS };
static struct jqprog_var vars[NVARS] = {{.name = "p"}, {.name = "v"}};

static const char *
run(struct jqprog *prog, struct slice text, struct buf *to)
{
	char *why;

	to->n = 0;
	if (jqprog_edit(prog, text, vars, NVARS, collect, to, &why) != 0 || to->n == 0) {
		free(why);
		return NULL;
	}
	to->n--;
	return buf_string(to);
}

static bool
is_same(struct jqprog *prog, struct slice text)
{
	bool yes;
	char *why;

	return jqprog_test(prog, text, vars, NVARS, &yes, &why) == 0 && yes;
}

/* Setting one value changes the bytes of this value only, and not even them if it is the same. */
static bool
set_one(const struct programs *g, struct slice text)
{
	struct buf path = {0}, value = {0}, want = {0}, got = {0}, plain = {0};
	struct slice at = random_place(text, &path);
	const char *printed;
	bool ok;

	random_scalar(&value);
	vars[P].value = buf_slice(&path);
	vars[V].value = buf_slice(&value);
	printed = run(g->print, at, &plain);
	ok = printed && run(g->set, text, &got);
	CHECK(buf_add_slice(&want, slice_between(text.p, at.p)) == 0);
	if (is_same(g->same, at))
		CHECK(buf_add_slice(&want, at) == 0);
	else
		add(&want, printed ? printed : "");
	CHECK(buf_add_slice(&want, slice_between(at.p + at.n, text.p + text.n)) == 0);
	ok = ok && slice_eq(buf_slice(&got), buf_slice(&want));
	if (!ok)
		fprintf(stderr, "text %.*s\npath %s\nvalue %s\ngot  %s\nwant %s\n", (int)text.n, text.p, buf_string(&path),
			buf_string(&value), got.n ? buf_string(&got) : "(nothing)", buf_string(&want));
	buf_free(&path);
	buf_free(&value);
	buf_free(&want);
	buf_free(&got);
	buf_free(&plain);
	return ok;
}

/* The bytes of all scalars that are not below `but`, and not of a member that libjq does not see. */
static void
leaves(struct slice text, struct slice but, struct buf *to)
{
	struct json_iter it = {.in = text}, rest;
	struct slice key, value, k, v;
	enum json_type type = json_type(text);
	bool hidden;

	if (but.p && text.p >= but.p && text.p + text.n <= but.p + but.n)
		return;
	if (type != JSON_ARRAY && type != JSON_OBJECT) {
		CHECK(buf_add_slice(to, text) == 0);
		add(to, "\n");
		return;
	}
	while (json_next(&it, &key, &value)) {
		hidden = false;
		for (rest = it; key.n && json_next(&rest, &k, &v);)
			hidden |= json_string_eq(k, key);
		if (!hidden)
			leaves(value, but, to);
	}
}

/* Taking one out leaves the bytes of all others; which of two equal neighbours went cannot be told. */
static bool
take_one(const struct programs *g, struct slice text)
{
	struct buf path = {0}, got = {0}, before = {0}, after = {0};
	struct slice at = random_place(text, &path), none = {0};
	struct json_error error;
	bool ok = true;

	vars[P].value = buf_slice(&path);
	vars[V].value = none;
	if (at.p != text.p && is_same(g->alone, text)) {
		ok = run(g->take, text, &got) && json_scan(buf_slice(&got), JSON_DEPTH, NULL, 0, NULL, &error) != JSON_NONE;
		leaves(text, at, &before);
		if (ok)
			leaves(buf_slice(&got), none, &after);
		ok = ok && slice_eq(buf_slice(&before), buf_slice(&after));
	}
	if (!ok)
		fprintf(stderr, "text %.*s\npath %s\ngot  %s\n", (int)text.n, text.p, buf_string(&path),
			got.n ? buf_string(&got) : "(nothing)");
	buf_free(&path);
	buf_free(&got);
	buf_free(&before);
	buf_free(&after);
	return ok;
}

/* Whatever becomes of it, the text has the new value. */
static bool
becomes(const struct programs *g, struct slice text)
{
	struct buf value = {0}, got = {0};
	struct json_error error;
	bool ok;

	random_value(&value, 4);
	vars[P].value = slice(NULL, 0);
	vars[V].value = buf_slice(&value);
	ok = run(g->other, text, &got) && json_scan(buf_slice(&got), JSON_DEPTH, NULL, 0, NULL, &error) != JSON_NONE &&
		is_same(g->same, buf_slice(&got));
	if (!ok)
		fprintf(stderr, "text  %.*s\nvalue %s\ngot   %s\n", (int)text.n, text.p, buf_string(&value),
			got.n ? buf_string(&got) : "(nothing)");
	buf_free(&value);
	buf_free(&got);
	return ok;
}

static void
test_random_changes(void)
{
	const char *seed = getenv("ACP_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL), each;
	struct programs g = {compile("setpath($p; $v)", vars, NVARS), compile("delpaths([$p])", vars, NVARS),
		compile("getpath($p) as $x | getpath($p[:-1]) | type == \"object\" or ([.[] | select(. == $x)] | length) == 1",
			vars, NVARS),
		compile(". == $v", vars, NVARS), compile("$v", vars, NVARS), compile("[$v] | .[0]", vars, NVARS)};
	struct buf text = {0};
	bool ok = true;
	int i, n = check_sample(200, 5000);

	for (i = 0; ok && i < n; i++) {
		each = first + (uint64_t)i;
		state = (each + 1) * 0x9E3779B97F4A7C15u;
		text.n = 0;
		random_value(&text, 5);
		ok = CHECK(set_one(&g, buf_slice(&text)) && take_one(&g, buf_slice(&text)) && becomes(&g, buf_slice(&text)));
		if (!ok)
			fprintf(stderr, "ACP_SEED=%" PRIu64 "\n", each);
	}
	buf_free(&text);
	jqprog_free(g.set);
	jqprog_free(g.take);
	jqprog_free(g.alone);
	jqprog_free(g.same);
	jqprog_free(g.other);
	jqprog_free(g.print);
}

int
main(void)
{
	test_members();
	test_members_that_go();
	test_members_of_one_name();
	test_elements();
	test_other_values();
	test_half_a_surrogate_pair();
	test_large();
	test_constants();
	test_random_changes();
	return check_done();
}
