/* The JSON scanner: what it takes and refuses, with every set of instructions that the machine has.
 */
#include <glob.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/json/json_set.h"
#include "tests/unit/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { EACH_QUICK = 64, EACH_FULL = 16 };
#else
enum { EACH_QUICK = 64, EACH_FULL = 1 };
#endif
static size_t each; /* of this many cases the long loops try one */

enum { KEYS = 6, ROOM = 16 << 10 };
static const struct json_keys keys = {KEYS, {"jsonrpc", "id", "method", "params", "result", "error"}};
static const struct json_set *sets[5];
static size_t nsets;

/* What a scan says. */
struct said {
	enum json_type type;
	struct slice values[KEYS];
	struct json_error error;
};

static struct said
scan_by(const struct json_set *set, struct slice text, unsigned depth)
{
	struct said s = {0};

	s.type = json_members_by(set, text, depth, &keys, s.values, &s.error);
	return s;
}

static bool
same(const struct said *a, const struct said *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == JSON_NONE)
		return a->error.at == b->error.at && strcmp(a->error.what, b->error.what) == 0;
	for (int i = 0; i < KEYS; i++)
		if (a->values[i].p != b->values[i].p || a->values[i].n != b->values[i].n)
			return false;
	return true;
}

/*
 * Scans with all sets, of which portable comes last; false where they do not agree. A wide set must
 * not say yes to what portable refuses; json_scan hides where it says no to what is right, so that
 * is not seen here.
 */
static bool
agree(struct slice text, unsigned depth, struct said *said)
{
	struct said other;
	bool ok = true;

	*said = scan_by(sets[nsets - 1], text, depth);
	for (size_t i = 0; i + 1 < nsets; i++) {
		other = scan_by(sets[i], text, depth);
		ok &= same(said, &other);
	}
	return ok;
}

/* The text right before memory that must not be touched, and behind such memory. */
static struct slice
at_the_edge(struct slice text, bool behind)
{
	static char *room;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p;

	if (!room) {
		room = mmap(NULL, page * 2 + ROOM * 8, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED || mprotect(room, page, PROT_NONE) < 0 ||
			mprotect(room + page + ROOM * 8, page, PROT_NONE) < 0)
			abort();
	}
	p = behind ? room + page : room + page + ROOM * 8 - text.n;
	if (text.n > 0)
		memcpy(p, text.p, text.n);
	return slice(p, text.n);
}

/* clang-format off */
static const char *const right[] = {
	"null", "true", "false", "0", "-0", "1", "-1", "10", "1234567890123456789012345678901234567890",
	"0.0", "-0.1", "1.5", "123.456789", "1e5", "1E5", "1e+5", "1e-5", "0e0", "0E+0", "-0e-0", "1.5e300",
	"1e400", "123123e100000", "-123123e100000", "0.4e00669999999999999999999999999999999999999999999",
	"\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"", "\"\\/\\b\\f\\n\\r\\t\"", "\"\\u0000\"", "\"\\u12aB\"",
	"\"\\uD834\\uDd1e\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\uDFAA\\uD800\"", "\"\\ud800\\u0041\"", "\"\\ud800\\n\"",
	"\"\\uFFFF\"", "\"\\uFDD0\"", "\"\x7f\"", "\"\xc2\x80\"", "\"\xdf\xbf\"", "\"\xe0\xa0\x80\"",
	"\"\xe1\x80\x80\"", "\"\xed\x9f\xbf\"", "\"\xee\x80\x80\"", "\"\xef\xbf\xbf\"", "\"\xf0\x90\x80\x80\"",
	"\"\xf1\x80\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\xe2\x80\xa8\xe2\x80\xa9\"", "\"\xef\xbb\xbf\"",
	"[]", "[ ]", "[[]]", "[[],[]]", "[1]", "[ 1 , 2 ]", "[null,1,\"1\",{}]", "[1,null,null,null,2]", "[\"a\"]",
	"[\"a\",\"b\"]", "[{}]", "[{},[]]", "[[{}],{\"a\":[]}]", "[-0]", "[1 ]", "[true\t]", "[\"\\\\\",\"\\\"\"]",
	"{}", "{ }", "{\"a\":1}", "{ \"a\" : 1 }", "{\"\":0}", "{\"a\":1,\"b\":2}", "{\"a\":{},\"b\":[]}", "{\"a\":[1,2],\"b\":{}}",
	"{\"a\":\"b\",\"a\":\"c\"}", "{\"a\\u0000b\":1}", "{\"a\":[{\"b\":[{\"c\":null}]}]}", "{\"a\":\"{\",\"b\":\"]\"}",
	"{\"a\":\",\",\"b\":\":\",\"c\":\"\\\"\"}", "{\"a\":true,\"b\":false,\"c\":null,\"d\":-1.5e+3}",
	" 1", "1 ", "\n1\n", "\r\n{\t\"a\"\n:\r1 }\r\n", " [] ", "\t\"a\"\r",
};

struct refused {
	const char *text;
	size_t at;
	const char *what;
};

#define VALUE "expected a value"
#define NAME "expected a member's name"
#define COLON "expected ':'"
#define IN_OBJECT "expected ',' or '}'"
#define IN_ARRAY "expected ',' or ']'"
#define AFTER "text after the value"
#define UTF8 "not UTF-8"
#define ESCAPE "not an escape"
#define CONTROL "control character in a string"
#define STRING_ENDS "the text ends in a string"
#define DIGIT "expected a digit"
#define ZERO "digit after a leading zero"

static const struct refused wrong[] = {
	{"", 1, VALUE}, {" ", 2, VALUE}, {"\n\n", 3, VALUE}, {",", 1, VALUE}, {":", 1, VALUE}, {"]", 1, VALUE}, {"}", 1, VALUE},
	{"[", 2, VALUE}, {"{", 2, NAME}, {"[1", 3, IN_ARRAY}, {"[1,", 4, VALUE}, {"[,1]", 2, VALUE}, {"[1,]", 4, VALUE},
	{"[1,,2]", 4, VALUE}, {"[,]", 2, VALUE}, {"[1 2]", 4, IN_ARRAY}, {"[1}", 3, IN_ARRAY}, {"[}", 2, VALUE},
	{"[1:2]", 3, IN_ARRAY}, {"[\"a\":1]", 5, IN_ARRAY}, {"[\"a\" \"b\"]", 6, IN_ARRAY}, {"[\"a\"1]", 5, IN_ARRAY},
	{"[1\"a\"]", 3, IN_ARRAY}, {"[[]", 4, IN_ARRAY}, {"[]]", 3, AFTER}, {"[][]", 3, AFTER}, {"[],", 3, AFTER},
	{"[[]]]", 5, AFTER}, {"[[],[]", 7, IN_ARRAY}, {"[{]", 3, NAME}, {"[{}", 4, IN_ARRAY}, {"[{}}", 4, IN_ARRAY},
	{"[1]x", 4, AFTER}, {"[1],", 4, AFTER}, {"[1],2", 4, AFTER}, {"[\"\",]", 5, VALUE}, {"[]{}", 3, AFTER},
	{"{]", 2, NAME}, {"{\"a\"", 5, COLON}, {"{\"a\"}", 5, COLON}, {"{\"a\":", 6, VALUE}, {"{\"a\":}", 6, VALUE},
	{"{\"a\":1", 7, IN_OBJECT}, {"{\"a\":1]", 7, IN_OBJECT}, {"{\"a\":1,", 8, NAME}, {"{\"a\":1,}", 8, NAME},
	{"{\"a\":1,,\"b\":2}", 8, NAME}, {"{,\"a\":1}", 2, NAME}, {"{\"a\" 1}", 6, COLON}, {"{\"a\"::1}", 6, VALUE},
	{"{\"a\":1:2}", 7, IN_OBJECT}, {"{\"a\",\"b\":1}", 5, COLON}, {"{\"a\":1 \"b\":2}", 8, IN_OBJECT}, {"{1:2}", 2, NAME},
	{"{null:1}", 2, NAME}, {"{a:1}", 2, NAME}, {"{'a':1}", 2, NAME}, {"{[]:1}", 2, NAME}, {"{{}:1}", 2, NAME}, {"{{}}", 2, NAME},
	{"{\"a\":1,2}", 8, NAME}, {"{\"a\":1,\"b\"}", 11, COLON}, {"{\"a\":1,{}}", 8, NAME}, {"{\"a\":{}", 8, IN_OBJECT},
	{"{}}", 3, AFTER}, {"{}{}", 3, AFTER}, {"{},{}", 3, AFTER}, {"{},\"a\":{}", 3, AFTER}, {"{} {}", 4, AFTER},
	{"{\"a\":1}}", 8, AFTER}, {"{\"a\":1},{\"b\":2}", 8, AFTER}, {"{\"a\":[}", 7, VALUE}, {"{\"a\":[1}]}", 8, IN_ARRAY},
	{"{\"a\":{\"b\":1]}", 12, IN_OBJECT}, {"{\"a\":1}/**/", 8, AFTER}, {"{\"a\":\"b\"}#", 10, AFTER}, {"{\"a\":\"b\" x}", 10, IN_OBJECT},
	{"1 2", 3, AFTER}, {"1,2", 2, AFTER}, {"\"a\":1", 4, AFTER}, {"\"a\" \"b\"", 5, AFTER}, {"nullnull", 5, AFTER},
	{"nul", 1, VALUE}, {"nulL", 1, VALUE}, {"True", 1, VALUE}, {"tru", 1, VALUE}, {"truex", 5, AFTER}, {"[truex]", 6, IN_ARRAY},
	{"[fals]", 2, VALUE}, {"[falsey]", 7, IN_ARRAY}, {"[nan]", 2, VALUE}, {"[NaN]", 2, VALUE}, {"[Infinity]", 2, VALUE},
	{"undefined", 1, VALUE}, {"[true\"\"]", 6, IN_ARRAY}, {"[null{}]", 6, IN_ARRAY}, {"'a'", 1, VALUE}, {"\\u0022a\"", 1, VALUE},
	{"-", 2, DIGIT}, {"[-]", 3, DIGIT}, {"+1", 1, VALUE}, {"--1", 2, DIGIT}, {"01", 2, ZERO}, {"-01", 3, ZERO}, {"00", 2, ZERO},
	{"[012]", 3, ZERO}, {"1.", 3, DIGIT}, {"[1.]", 4, DIGIT}, {".5", 1, VALUE}, {"1.e5", 3, DIGIT}, {"1e", 3, DIGIT}, {"1e+", 4, DIGIT},
	{"[1e]", 4, DIGIT}, {"1.5.5", 4, AFTER}, {"1e5.5", 4, AFTER}, {"1e5e5", 4, AFTER}, {"0x1", 2, AFTER}, {"[0x1]", 3, IN_ARRAY},
	{"1a", 2, AFTER}, {"[1a]", 3, IN_ARRAY}, {"[1-2]", 3, IN_ARRAY}, {"[1+2]", 3, IN_ARRAY}, {"[-a]", 3, DIGIT}, {"[- 1]", 3, DIGIT},
	{"[1_000]", 3, IN_ARRAY}, {"[1\\n]", 3, IN_ARRAY}, {"[\xef\xbc\x91]", 2, VALUE}, {"-Infinity", 2, DIGIT},
	{"\"", 2, STRING_ENDS}, {"\"a", 3, STRING_ENDS}, {"\"\\", 3, STRING_ENDS}, {"\"\\\"", 4, STRING_ENDS}, {"\"\\u", 4, STRING_ENDS},
	{"\"\\u00", 6, STRING_ENDS}, {"[\"a]", 5, STRING_ENDS}, {"[\"\\\\\\\"]", 8, STRING_ENDS}, {"{\"a", 4, STRING_ENDS},
	{"\"\\a\"", 3, ESCAPE}, {"\"\\x00\"", 3, ESCAPE}, {"\"\\'\"", 3, ESCAPE}, {"\"\\0\"", 3, ESCAPE}, {"\"\\U0041\"", 3, ESCAPE},
	{"\"\\u\"", 4, ESCAPE}, {"\"\\u12\"", 6, ESCAPE}, {"\"\\u123\"", 7, ESCAPE}, {"\"\\u12g4\"", 6, ESCAPE}, {"\"\\u 123\"", 4, ESCAPE},
	{"\"\\uD800\\u1\"", 11, ESCAPE}, {"\"\\\xc3\xa9\"", 3, ESCAPE}, {"\"\\\n\"", 3, ESCAPE}, {"\"\\ \"", 3, ESCAPE},
	{"\"\t\"", 2, CONTROL}, {"\"\n\"", 2, CONTROL}, {"\"a\x1f\"", 3, CONTROL}, {"\"\x01\"", 2, CONTROL}, {"{\"a\r\":1}", 4, CONTROL},
	{"\"\x80\"", 2, UTF8}, {"\"\xbf\"", 2, UTF8}, {"\"\xc0\x80\"", 2, UTF8}, {"\"\xc1\xbf\"", 2, UTF8}, {"\"\xc2\"", 2, UTF8},
	{"\"\xc2", 2, UTF8}, {"\"\xc2\xc2\x80\"", 2, UTF8}, {"\"\xe0\x80\x80\"", 2, UTF8}, {"\"\xe0\x9f\xbf\"", 2, UTF8}, {"\"\xe1\x80\"", 2, UTF8},
	{"\"\xed\xa0\x80\"", 2, UTF8}, {"\"\xed\xbf\xbf\"", 2, UTF8}, {"\"\xf0\x80\x80\x80\"", 2, UTF8}, {"\"\xf0\x8f\xbf\xbf\"", 2, UTF8},
	{"\"\xf0\x90\x80\"", 2, UTF8}, {"\"\xf4\x90\x80\x80\"", 2, UTF8}, {"\"\xf5\x80\x80\x80\"", 2, UTF8}, {"\"\xf8\x88\x80\x80\x80\"", 2, UTF8},
	{"\"\xff\"", 2, UTF8}, {"\"\xfe\"", 2, UTF8}, {"\"a\xe9\"", 3, UTF8}, {"\"\xe2\x82\"", 2, UTF8}, {"\"\xc3\xa9\xa9\"", 4, UTF8},
	{"\xef\xbb\xbf{}", 1, VALUE}, {"[\xc3\xa9]", 2, VALUE}, {"[\xff]", 2, VALUE}, {"{\"a\":1}\xff", 8, AFTER}, {"\xff", 1, VALUE},
	{"[1\x0b]", 3, IN_ARRAY}, {"[\x0c]", 2, VALUE}, {"[1\xc2\xa0]", 3, IN_ARRAY}, {"\x0b[]", 1, VALUE}, {"[1\x1a]", 3, IN_ARRAY},
	{"[1\x0c,2]", 3, IN_ARRAY}, {"[\"a\"\x1b]", 5, IN_ARRAY}, {"[1\\,2]", 3, IN_ARRAY}, {"[\\\"a\"]", 2, VALUE},
	{"{\"id\":1,\"id\":1}", 9, "duplicate member"}, {"{\"id\":1,\"\\u0069d\":2}", 9, "duplicate member"},
	{"{\"id\":1,\"method\":\"a\",\"\\u0069\\u0064\":2}", 22, "duplicate member"},
};
/* clang-format on */

static const char *
shown(const char *text)
{
	return *text ? text : "(empty)";
}

static void
test_tables(void)
{
	struct said said;
	struct slice text;

	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		text = slice_of(right[i]);
		if (!CHECK(agree(text, JSON_DEPTH, &said)) || !CHECK(said.type != JSON_NONE))
			fprintf(stderr, "\t%s\n", right[i]);
		CHECK(said.type == json_type(slice(json_skip_space(text.p, text.p + text.n), 1)));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		text = slice_of(wrong[i].text);
		if (!CHECK(agree(text, JSON_DEPTH, &said)) || !CHECK(said.type == JSON_NONE) ||
			!CHECK(said.error.at == wrong[i].at) ||
			!CHECK_STR(said.error.what, wrong[i].what))
			fprintf(stderr, "\t%s: %zu %s\n", shown(wrong[i].text), said.error.at,
				said.error.what);
	}
	CHECK(agree(slice("[\0]", 3), JSON_DEPTH, &said) && said.type == JSON_NONE &&
		said.error.at == 2);
	CHECK(agree(slice("\"\0\"", 3), JSON_DEPTH, &said) && said.type == JSON_NONE);
	CHECK_STR(said.error.what, CONTROL);
	CHECK(agree(slice("\"\\\0\"", 4), JSON_DEPTH, &said) && said.type == JSON_NONE &&
		said.error.at == 3);
	CHECK(agree(slice("\"\\u00\0"
			  "0\"",
			    8),
		      JSON_DEPTH, &said) &&
		said.error.at == 6);
	CHECK(agree(slice(NULL, 0), JSON_DEPTH, &said) && said.type == JSON_NONE &&
		said.error.at == 1);
}

/* Each text of the tables as a value at every offset from the beginning of a block. */
static void
test_block_boundaries(void)
{
	static char text[1024];
	struct said said;
	bool agreed = true, right_one = true, wrong_one = true;
	int n;

	for (size_t offset = 0; offset <= 130; offset++) {
		for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
			n = snprintf(text, sizeof(text), "{\"%0*d\":[\"\",%s],\"id\":%s}",
				(int)offset, 0, right[i], right[i]);
			agreed &= agree(slice(text, (size_t)n), JSON_DEPTH, &said);
			right_one &= said.type == JSON_OBJECT && said.values[1].n > 0;
		}
		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			/* In an array and an object some of them would not be wrong. */
			n = snprintf(
				text, sizeof(text), "[\"%0*d\",[%s", (int)offset, 0, wrong[i].text);
			agreed &= agree(slice(text, (size_t)n), JSON_DEPTH, &said);
			wrong_one &= said.type == JSON_NONE;
			n = snprintf(text, sizeof(text), "{\"%0*d\":1,\"params\":%s}", (int)offset,
				0, wrong[i].text);
			agreed &= agree(slice(text, (size_t)n), JSON_DEPTH, &said);
			n = snprintf(text, sizeof(text), "[\"%0*d\",{\"a\":%s}]", (int)offset, 0,
				wrong[i].text);
			agreed &= agree(slice(text, (size_t)n), JSON_DEPTH, &said);
		}
	}
	CHECK(agreed);
	CHECK(right_one);
	CHECK(wrong_one);
}

/* Runs of backslashes of every length at every offset, before a quote and before an n. */
static void
test_backslashes(void)
{
	static char text[400];
	struct said said;
	bool agreed = true, even = true, odd = true;
	size_t n;

	for (size_t offset = 0; offset <= 70; offset++) {
		for (size_t run = 0; run <= 140; run++) {
			memset(text, 'x', sizeof(text));
			text[0] = '[';
			text[1] = '"';
			memset(text + 2 + offset, '\\', run);
			n = 2 + offset + run;
			text[n++] = '"';
			text[n++] = ']';
			agreed &= agree(slice(text, n), JSON_DEPTH, &said);
			even &= (said.type == JSON_ARRAY) == (run % 2 == 0);
			text[n - 2] = 'n';
			text[n - 1] = '"';
			text[n++] = ']';
			agreed &= agree(slice(text, n), JSON_DEPTH, &said);
			odd &= said.type == JSON_ARRAY;
		}
	}
	CHECK(agreed);
	CHECK(even);
	CHECK(odd);
}

static void
test_depth(void)
{
	static char text[JSON_DEPTH_MOST * 8];
	static const unsigned depths[] = {
		0, 1, 2, 3, 59, 60, 61, 62, 63, 64, 65, JSON_DEPTH, JSON_DEPTH_MOST};
	struct said said;
	unsigned most;
	size_t n;

	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		most = depths[i];
		for (unsigned depth = most > 1 ? most - 1 : 1; depth <= most + 1; depth++) {
			memset(text, '[', depth);
			memset(text + depth, ']', depth);
			if (!CHECK(agree(slice(text, depth * 2), most, &said)))
				fprintf(stderr, "\tdepth %u of %u\n", depth, most);
			CHECK((said.type == JSON_ARRAY) == (depth <= most));
			if (depth > most) {
				CHECK_STR(said.error.what, "nested too deep");
				CHECK(said.error.at == most + 1);
			}
			n = 0;
			for (unsigned d = 0; d < depth; d++)
				n += (size_t)sprintf(text + n, d % 2 ? "[" : "{\"a\":");
			n += (size_t)sprintf(text + n, "1");
			for (unsigned d = depth; d-- > 0;)
				text[n++] = d % 2 ? ']' : '}';
			CHECK(agree(slice(text, n), most, &said));
			CHECK((said.type == JSON_OBJECT) == (depth <= most));
		}
	}
	CHECK(agree(slice_of("1"), 0, &said) && said.type == JSON_NUMBER);
	CHECK(agree(slice_of("[]"), 0, &said) && said.type == JSON_NONE && said.error.at == 1);
	/* Wide rather than deep: never deeper than 2, thousands of containers. */
	n = 0;
	text[n++] = '[';
	while (n < sizeof(text) - 8)
		n += (size_t)sprintf(text + n, n % 3 ? "[]," : "{},");
	n += (size_t)sprintf(text + n, "1]");
	CHECK(agree(slice(text, n), 2, &said) && said.type == JSON_ARRAY);
	CHECK(agree(slice(text, n), 1, &said) && said.type == JSON_NONE);
}

static bool
value_is(const struct said *said, int key, const char *want)
{
	return want ? said->values[key].p && slice_is(said->values[key], want)
		    : said->values[key].p == NULL;
}

static void
test_members(void)
{
	static char text[20000];
	struct said said;
	struct slice none[1];
	static const struct json_keys no_keys = {0};
	struct json_error error;
	size_t n;

	CHECK(agree(slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/"
			     "b\",\"params\":{\"id\":2,\"x\":[{}]}}"),
		9, &said));
	CHECK(value_is(&said, 0, "\"2.0\"") && value_is(&said, 1, "1") &&
		value_is(&said, 2, "\"a/b\""));
	CHECK(value_is(&said, 3, "{\"id\":2,\"x\":[{}]}") && value_is(&said, 4, NULL) &&
		value_is(&said, 5, NULL));
	CHECK(agree(slice_of(" { \"result\" : [ 1 , 2 ] , \"id\" : null } "), 9, &said));
	CHECK(value_is(&said, 4, "[ 1 , 2 ]") && value_is(&said, 1, "null") &&
		value_is(&said, 0, NULL));
	CHECK(agree(slice_of("{\n\"result\"\t:\r{}\n,\"id\"\n:\n\"\\\"\"\n}\n"), 9, &said));
	CHECK(value_is(&said, 4, "{}") && value_is(&said, 1, "\"\\\"\""));
	CHECK(agree(slice_of("{\"\\u0069d\":5,\"meth\\u006fd\":6,\"par\\u0061ms\":7}"), 9, &said));
	CHECK(value_is(&said, 1, "5") && value_is(&said, 2, "6") && value_is(&said, 3, "7"));
	CHECK(agree(slice_of("{\"i\":1,\"idx\":2,\"ID\":3,\"\":4,\"id "
			     "\":5,\"jsonrpc2\":6,\"\\\\id\":7,\"id\\u0000\":8}"),
		9, &said));
	CHECK(said.type == JSON_OBJECT && value_is(&said, 1, NULL) && value_is(&said, 0, NULL));
	CHECK(agree(slice_of("{\"x\":{\"id\":1},\"id\":2,\"y\":[{\"id\":3}]}"), 9, &said));
	CHECK(value_is(&said, 1, "2"));
	CHECK(agree(slice_of("[{\"id\":1}]"), 9, &said) && said.type == JSON_ARRAY &&
		value_is(&said, 1, NULL));
	CHECK(agree(slice_of("\"id\""), 9, &said) && said.type == JSON_STRING &&
		value_is(&said, 1, NULL));
	CHECK(agree(slice_of("{\"id\":1,\"x\":{\"id\":1,\"id\":2},\"y\":0,\"y\":0}"), 9, &said) &&
		said.type == JSON_OBJECT);
	CHECK(agree(slice_of("{\"id\":true,\"error\":-1.5e3}"), 9, &said));
	CHECK(value_is(&said, 1, "true") && value_is(&said, 5, "-1.5e3"));
	for (size_t i = 0; i < nsets; i++)
		CHECK(json_members_by(sets[i], slice_of("{\"id\":1,\"id\":2}"), 9, &no_keys, none, &error) == JSON_OBJECT);
	/* Members before, astride and behind the end of a chunk. */
	for (size_t fill = 3900; fill < 4300; fill += each) {
		n = (size_t)sprintf(text,
			"{\"id\":\"%0*d\",\"method\":[%0*d,{}],\"params\":\"%0*d\",\"result\":7}",
			(int)fill, 0, 0, 1, 4096, 0);
		if (!CHECK(agree(slice(text, n), 9, &said)) ||
			!CHECK(said.values[1].n == fill + 2) ||
			!CHECK(value_is(&said, 2, "[1,{}]")) || !CHECK(said.values[3].n == 4098) ||
			!CHECK(value_is(&said, 4, "7")))
			break;
	}
}

static uint64_t
random_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Soups of pieces: most are wrong, some are right, and the sets agree on all. */
static void
test_soups(void)
{
	/* clang-format off */
	static const char *const pieces[] = {
		"{", "}", "[", "]", ",", ":", "\"\"", "\"a\":", "\"id\":", "\"a\"", ",\"b\":", "1", "-0.5e1", "true", "null",
		" ", "\"\\\\\"", "\"\\\"", "\\", "\"", "{}", "[]", "\"x\":{", "},", "[{", "}]", "\xc3\xa9", "\"\xe2\x82\xac\"", "tru", "01",
		"\t", "\"long string that has nothing in it but fills most of a block ......\"", ",1", "\"method\":\"m\",",
	};
	/* clang-format on */
	static char text[4096];
	uint64_t state = 0x9e3779b97f4a7c15;
	struct said said;
	size_t rights = 0, n, end;
	bool agreed = true;
	const char *piece;

	for (int i = 0; i < 400000 / (int)each; i++) {
		n = (size_t)sprintf(text, random_number(&state) % 2 ? "{" : "[");
		end = random_number(&state) % 3 ? 2 + random_number(&state) % 20
						: 2 + random_number(&state) % 1500;
		while (n < end) {
			piece = pieces[random_number(&state) % (sizeof(pieces) / sizeof(*pieces))];
			n += (size_t)sprintf(text + n, "%s", piece);
		}
		n += (size_t)sprintf(text + n, text[0] == '{' ? "}" : "]");
		agreed &= agree(slice(text, n), JSON_DEPTH, &said);
		rights += said.type != JSON_NONE;
	}
	CHECK(agreed);
	CHECK(rights > 100);
}

/* The messages of the fixtures, one after the other. */
static struct buf messages;
static struct slice *lines;
static size_t nlines;

static void
read_fixture(const char *name)
{
	static const char *const line_key[] = {"line"};
	char *record = NULL;
	size_t cap = 0, from;
	struct json_error error;
	struct slice line;
	ssize_t n;
	FILE *f = fopen(name, "r");

	if (!CHECK(f != NULL))
		return;
	while ((n = getline(&record, &cap, f)) > 0) {
		CHECK(json_scan(slice(record, (size_t)n), JSON_DEPTH, line_key, 1, &line, &error) ==
			JSON_OBJECT);
		if (!line.p)
			continue;
		from = messages.n;
		CHECK(json_unescape(line, &messages) == 0);
		lines = realloc(lines, (nlines + 1) * sizeof(*lines));
		if (!lines)
			abort();
		/* The buffer still moves: places now, pointers later. */
		lines[nlines++] = slice((const char *)from, messages.n - from);
	}
	free(record);
	fclose(f);
}

static void
read_fixtures(void)
{
	glob_t found;

	if (!CHECK(glob("tests/fixtures/*.jsonl", 0, NULL, &found) == 0))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		read_fixture(found.gl_pathv[i]);
	globfree(&found);
	for (size_t i = 0; i < nlines; i++)
		lines[i].p = messages.p + (size_t)lines[i].p;
	CHECK(nlines > 500);
}

/* A message is right, in all sets without the help of portable; no truncation of it is. */
static void
test_truncations(void)
{
	struct slice values[KEYS];
	static const struct json_keys wanted = {
		KEYS, {"jsonrpc", "id", "method", "params", "result", "error"}};
	const struct json_want want = {&wanted, values};
	static char closed[ROOM];
	bool agreed = true, whole = true, none = true, wide = true;
	struct said said;

	for (size_t i = 0; i < nlines; i++) {
		agreed &= agree(lines[i], JSON_DEPTH, &said);
		whole &= said.type == JSON_OBJECT;
		for (size_t k = 0; k + 1 < nsets; k++) {
			memset(values, 0, sizeof(values));
			wide &= sets[k]->scan(lines[i], JSON_DEPTH, &want) == JSON_OBJECT;
		}
		for (size_t n = i % each; n < lines[i].n; n += each) {
			agreed &= agree(slice(lines[i].p, n), JSON_DEPTH, &said);
			none &= said.type == JSON_NONE;
			/* A bracket behind it brings it past the first look. */
			memcpy(closed, lines[i].p, n);
			closed[n] = '}';
			agreed &= agree(slice(closed, n + 1), JSON_DEPTH, &said);
		}
	}
	CHECK(agreed);
	CHECK(whole);
	CHECK(none);
	CHECK(wide);
}

/*
 * Every byte value at every position of every message, with the set that the machine would choose.
 * In long messages most positions take the bytes that mean something, and one in sixteen takes all;
 * JSON_EVERY in the environment makes it all everywhere.
 */
static void
test_substitutions(void)
{
	static const char telling[] =
		"{}[]:,\"\\ \n/ubtrue0-.e+\x01\x1f\x7f\x80\xbf\xc1\xc2\xe0\xed\xf0\xf4\xf5\xff";
	static char text[ROOM];
	bool every = getenv("JSON_EVERY") != NULL, agreed = true, all;
	struct said said, other;
	size_t n;

	for (size_t i = 0; i < nlines; i++) {
		n = lines[i].n;
		memcpy(text, lines[i].p, n);
		for (size_t at = i % each; at < n; at += each) {
			all = every || n < 1000 || at % 16 == 0;
			for (size_t b = 0; b < (all ? 256 : sizeof(telling)); b++) {
				text[at] = all ? (char)b : telling[b];
				said = scan_by(sets[0], slice(text, n), JSON_DEPTH);
				other = scan_by(sets[nsets - 1], slice(text, n), JSON_DEPTH);
				agreed &= same(&said, &other);
			}
			text[at] = lines[i].p[at];
		}
	}
	CHECK(agreed);
}

/* What reads values, over anything at all: nothing outside is touched, and every walk ends. */
static void
read_everything(struct slice text)
{
	struct json_iter it = {.in = text};
	struct slice key, value;
	struct buf out = {0};
	uint64_t number;
	bool integer;
	size_t steps = 0;

	while (json_next(&it, &key, &value) && steps <= text.n)
		steps++;
	CHECK(steps <= text.n);
	json_type(text);
	json_get(text, "id");
	json_path(text, "params.update.sessionUpdate");
	json_string_is(text, "id");
	json_string_eq(text, slice_of("\"\\u0069d\""));
	json_u64(text, &number);
	json_number_key(text, &out, &integer);
	json_utf8(text);
	CHECK(json_unescape(text, &out) == 0);
	CHECK(json_quote(text, &out) == 0);
	buf_free(&out);
}

/* Right before and right behind memory that must not be touched. */
static void
test_edges(void)
{
	uint64_t state = 88172645463325252;
	char garbage[100];
	struct said said;
	bool agreed = true;
	size_t n;

	for (int behind = 0; behind < 2; behind++) {
		for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
			agreed &= agree(at_the_edge(slice_of(right[i]), behind), JSON_DEPTH, &said);
			read_everything(at_the_edge(slice_of(right[i]), behind));
		}
		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			agreed &= agree(
				at_the_edge(slice_of(wrong[i].text), behind), JSON_DEPTH, &said);
			read_everything(at_the_edge(slice_of(wrong[i].text), behind));
		}
		for (size_t i = 0; i < nlines; i++) {
			agreed &= agree(at_the_edge(lines[i], behind), JSON_DEPTH, &said);
			for (n = 1; n < 200 && n < lines[i].n; n += 7) {
				agreed &= agree(
					at_the_edge(slice(lines[i].p + lines[i].n - n, n), behind),
					JSON_DEPTH, &said);
				read_everything(
					at_the_edge(slice(lines[i].p, lines[i].n - n), behind));
			}
		}
		for (int i = 0; i < 20000 / (int)each; i++) {
			for (n = 0; n < random_number(&state) % sizeof(garbage); n++)
				garbage[n] =
					"{}[]:,\"\\u0 1eE-.+\x80\xe9n"[random_number(&state) % 21];
			agreed &= agree(at_the_edge(slice(garbage, n), behind), JSON_DEPTH, &said);
			read_everything(at_the_edge(slice(garbage, n), behind));
		}
	}
	CHECK(agreed);
}

static void
test_walking(void)
{
	struct slice object = slice_of("{ \"a\" : 1 , \"b\\n\":[1,{\"x\":\"]}\\\"\"}] "
				       ",\"c\":{},\"a\":2, \"d.e\":\"\\\\\" }");
	struct slice array = slice_of("[ 1,\"a,]\" ,{\"b\":[]},[[]],null ]");
	static const char *const elements[] = {"1", "\"a,]\"", "{\"b\":[]}", "[[]]", "null"};
	struct json_iter it = {.in = object};
	struct slice key, value;
	int n = 0;

	CHECK(json_next(&it, &key, &value) && slice_is(key, "\"a\"") && slice_is(value, "1"));
	CHECK(json_next(&it, &key, &value) && slice_is(key, "\"b\\n\"") &&
		slice_is(value, "[1,{\"x\":\"]}\\\"\"}]"));
	CHECK(json_next(&it, &key, &value) && slice_is(key, "\"c\"") && slice_is(value, "{}"));
	CHECK(json_next(&it, &key, &value) && slice_is(key, "\"a\"") && slice_is(value, "2"));
	CHECK(json_next(&it, &key, &value) && slice_is(key, "\"d.e\"") &&
		slice_is(value, "\"\\\\\""));
	CHECK(!json_next(&it, &key, &value) && key.n == 0);
	CHECK(!json_next(&it, &key, &value));
	for (it = (struct json_iter){.in = array}; json_next(&it, &key, &value); n++)
		CHECK(n < 5 && key.n == 0 && slice_is(value, elements[n]));
	CHECK(n == 5);
	it = (struct json_iter){.in = slice_of("{}")};
	CHECK(!json_next(&it, &key, &value));
	it = (struct json_iter){.in = slice_of("[ ]")};
	CHECK(!json_next(&it, &key, &value));
	it = (struct json_iter){.in = slice_of("\"a\"")};
	CHECK(!json_next(&it, &key, &value));
	n = 0;
	for (it = (struct json_iter){.in = array}; json_item(&it, &value); n++)
		CHECK(n < 5 && slice_is(value, elements[n]));
	CHECK(n == 5);
	it = (struct json_iter){.in = object};
	CHECK(!json_item(&it, &value));
	it = (struct json_iter){.in = {0}};
	CHECK(!json_item(&it, &value));
	CHECK(slice_is(json_get(object, "a"), "1") &&
		slice_is(json_get(object, "b\n"), "[1,{\"x\":\"]}\\\"\"}]"));
	CHECK(json_get(object, "z").p == NULL && json_get(object, "").p == NULL &&
		json_get(array, "a").p == NULL);
	CHECK(json_get((struct slice){0}, "a").p == NULL);
	object = slice_of(
		"{\"params\":{\"x\":[],\"upd\\u0061te\":{\"sessionUpdate\":\"plan\"}},\"n\":1}");
	CHECK(slice_is(json_path(object, "params.update.sessionUpdate"), "\"plan\""));
	CHECK(slice_is(json_path(object, "n"), "1") && json_path(object, "n.x").p == NULL);
	CHECK(json_path(object, "params.x.y").p == NULL &&
		json_path(object, "nothing.at.all").p == NULL);
	CHECK(json_type(slice_of("-1")) == JSON_NUMBER && json_type(slice_of("")) == JSON_NONE);
}

/* All messages, walked: keys and values are what a scan of the value says they are. */
static size_t
walk(struct slice value, int depth)
{
	struct json_iter it = {.in = value};
	struct slice key, inner, values[1];
	struct json_error error;
	size_t n = 1;

	if (depth == 0)
		return 1;
	while (json_next(&it, &key, &inner)) {
		CHECK(json_scan(inner, JSON_DEPTH, NULL, 0, values, &error) == json_type(inner));
		CHECK((key.n > 0) == (json_type(value) == JSON_OBJECT));
		n += walk(inner, depth - 1);
	}
	return n;
}

/* Into a value and out again, without looking for its end. */
static void
test_entering(void)
{
	static const char *const wanted[] = {"b", "c"};
	struct slice object = slice_of(" {\"a\":1, \"in\" : { \"b\":[2,{}],\"\\u0063\" :\"}\" } , \"e\":[],\"z\":\"x\"} ");
	struct json_iter it, in;
	struct slice key, values[2];

	object = slice(object.p + 1, object.n - 2);
	it = (struct json_iter){.in = object};
	CHECK(json_step(&it, &key) && slice_is(key, "\"a\"") && !json_enter(&it, &in) && slice_is(json_value(&it), "1"));
	CHECK(json_step(&it, &key) && slice_is(key, "\"in\"") && json_enter(&it, &in));
	CHECK(json_pick(&in, wanted, 2, values) && slice_is(values[0], "[2,{}]") && slice_is(values[1], "\"}\""));
	json_leave(&it, &in);
	CHECK(json_step(&it, &key) && slice_is(key, "\"e\"") && json_enter(&it, &in) && !json_step(&in, &key));
	json_leave(&it, &in);
	CHECK(json_step(&it, &key) && slice_is(key, "\"z\"") && slice_is(json_value(&it), "\"x\""));
	CHECK(!json_step(&it, &key) && key.n == 0);
	it = (struct json_iter){.in = slice_of("{\"b\":1,\"x\":2,\"b\":3}")};
	CHECK(!json_pick(&it, wanted, 2, values) && slice_is(values[0], "1") && !values[1].p);
	it = (struct json_iter){.in = slice_of("[1,2]")};
	CHECK(json_pick(&it, wanted, 2, values) && !values[0].p);
}

static void
test_fixture_walks(void)
{
	size_t n = 0;

	for (size_t i = 0; i < nlines; i++)
		n += walk(lines[i], 20);
	CHECK(n > 5000);
}

static const char *
unescaped(const char *string)
{
	static struct buf out;

	out.n = 0;
	return json_unescape(slice_of(string), &out) == 0 ? buf_string(&out) : NULL;
}

static const char *
quoted(const char *text, size_t n)
{
	static struct buf out;

	out.n = 0;
	return json_quote(slice(text, n), &out) == 0 ? buf_string(&out) : NULL;
}

static void
test_put(void)
{
	struct buf out = {0};

	CHECK(json_format(&out, "%s-%u %b", "a%", UINT64_MAX, slice_of("b%s\x1b")) == 0);
	CHECK_STR(buf_string(&out), "a%-18446744073709551615 b%s\x1b");
	out.n = 0;
	CHECK(json_format(&out, "{%j:%j}%t%b", slice_of("k\""), slice(NULL, 0), slice_of("x\x1b\n"), slice(NULL, 0)) == 0);
	CHECK_STR(buf_string(&out), "{\"k\\\"\":\"\"}x^[ ");
	buf_free(&out);
}

static void
test_strings(void)
{
	struct buf out = {0};

	CHECK_STR(unescaped("\"\""), "");
	CHECK_STR(unescaped("\"plain\""), "plain");
	CHECK_STR(unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t");
	CHECK_STR(unescaped("\"a\\u00e9\\u20AC\\u0041z\""),
		"a\xc3\xa9\xe2\x82\xac"
		"Az");
	CHECK_STR(unescaped("\"\\ud834\\udd1e\""), "\xf0\x9d\x84\x9e");
	CHECK_STR(unescaped("\"\\udbff\\udfff\""), "\xf4\x8f\xbf\xbf");
	CHECK_STR(unescaped("\"\\ud834\""), "\xef\xbf\xbd");
	CHECK_STR(unescaped("\"\\udd1e\\ud834x\""), "\xef\xbf\xbd\xef\xbf\xbdx");
	CHECK_STR(unescaped("\"\\ud834\\u0041\""),
		"\xef\xbf\xbd"
		"A");
	CHECK_STR(unescaped("\"\\ud834\\ud834\\udd1e\""), "\xef\xbf\xbd\xf0\x9d\x84\x9e");
	CHECK(json_unescape(slice(NULL, 0), &out) == 0 && out.n == 0);
	CHECK(json_unescape(slice_of("\"a\\u0000b\""), &out) == 0 && out.n == 3 &&
		memcmp(out.p, "a\0b", 3) == 0);
	buf_free(&out);

	CHECK_STR(quoted("", 0), "\"\"");
	CHECK_STR(quoted("a\"b\\c/d", 7), "\"a\\\"b\\\\c/d\"");
	CHECK_STR(quoted("\b\f\n\r\t\0\x1f\x7f", 8), "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"");
	CHECK_STR(quoted("\xc3\xa9\xf0\x9d\x84\x9e", 6), "\"\xc3\xa9\xf0\x9d\x84\x9e\"");
	CHECK_STR(quoted("a\xff"
			 "b\xc3",
			  4),
		"\"a\xef\xbf\xbd"
		"b\xef\xbf\xbd\"");
	CHECK_STR(quoted("\xed\xa0\x80", 3), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");

	CHECK(json_string_is(slice_of("\"id\""), "id") &&
		json_string_is(slice_of("\"\\u0069\\u0064\""), "id"));
	CHECK(!json_string_is(slice_of("\"id\""), "i") && !json_string_is(slice_of("\"i\""), "id"));
	/* The bytes of an escape are another text. */
	CHECK(json_string_is(slice_of("\"a\\\\n\""), "a\\n") && !json_string_is(slice_of("\"a\\n\""), "a\\n"));
	CHECK(!json_string_is(slice_of("\"\\u0069\""), "id") &&
		!json_string_is(slice_of("\"\\u0069d\""), "i"));
	CHECK(!json_string_is(slice_of("\"\\u0000\""), "") && json_string_is(slice_of("\"\""), ""));
	CHECK(json_string_is(slice_of("\"\\u20ac\""), "\xe2\x82\xac") &&
		json_string_is(slice_of("\"\\ud800\""), "\xef\xbf\xbd"));
	CHECK(json_string_eq(slice_of("\"a\\n\""), slice_of("\"\\u0061\\u000a\"")));
	/* A lone surrogate equals itself, and U+FFFD only where it is compared with plain text, in which it has become that. */
	CHECK(json_string_eq(slice_of("\"\\ud800\""), slice_of("\"\\uD800\"")) &&
		!json_string_eq(slice_of("\"\\ud800\""), slice_of("\"\\ud801\"")) &&
		!json_string_eq(slice_of("\"\\ud800\""), slice_of("\"\xef\xbf\xbd\"")));
	CHECK(json_string_is(slice_of("\"\\ud800\""), "\xef\xbf\xbd"));
	CHECK(json_string_eq(slice_of("\"\""), slice_of("\"\"")) &&
		json_string_eq(slice_of("\"\\/\""), slice_of("\"/\"")));
	CHECK(!json_string_eq(slice_of("\"a\\n\""), slice_of("\"a\\r\"")) &&
		!json_string_eq(slice_of("\"a\""), slice_of("\"b\"")));
	CHECK(!json_string_eq(slice_of("\"\\u0061\""), slice_of("\"ab\"")) &&
		!json_string_eq(slice_of("\"ab\""), slice_of("\"\\u0061\"")));

	CHECK(json_utf8(slice_of("")) &&
		json_utf8(slice_of(
			"plain \xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e text that is long")));
	CHECK(!json_utf8(slice_of("01234567\xff")) && !json_utf8(slice_of("\xc3")) &&
		!json_utf8(slice_of("12345678\xed\xa0\x80")));
	CHECK(json_utf8(slice("\0", 1)) && json_utf8(slice(NULL, 0)));
}

static void
check_u64(const char *text, bool ok, uint64_t want)
{
	uint64_t is = 0;

	if (!CHECK(json_u64(slice_of(text), &is) == ok) || !CHECK(!ok || is == want))
		fprintf(stderr, "\t%s\n", text);
}

static void
check_number_key(const char *text, const char *want, bool integer)
{
	struct buf out = {0};
	bool is;

	if (!CHECK(json_number_key(slice_of(text), &out, &is) == 0) ||
		!CHECK_STR(buf_string(&out), want) || !CHECK(is == integer))
		fprintf(stderr, "\t%s\n", text);
	buf_free(&out);
}

static void
test_numbers(void)
{
	static char text[10001];
	struct buf out = {0};
	bool integer;

	check_u64("0", true, 0);
	check_u64("-0", true, 0);
	check_u64("-0.0e5", true, 0);
	check_u64("0e999999999999999999999999", true, 0);
	check_u64("1", true, 1);
	check_u64("5.3e4", true, 53000);
	check_u64("53000e-3", true, 53);
	check_u64("1.0", true, 1);
	check_u64("100e-2", true, 1);
	check_u64("0.001e3", true, 1);
	check_u64("18446744073709551615", true, UINT64_MAX);
	check_u64("1844674407370955161.5e1", true, UINT64_MAX);
	check_u64("18446744073709551615000e-3", true, UINT64_MAX);
	check_u64("18446744073709551616", false, 0);
	check_u64("1e19", true, UINT64_C(10000000000000000000));
	check_u64("1e20", false, 0);
	check_u64("1.8446744073709551616e19", false, 0);
	check_u64("-1", false, 0);
	check_u64("0.5", false, 0);
	check_u64("15e-1", false, 0);
	check_u64("1e-99999999999999999999", false, 0);
	check_u64("1e99999999999999999999", false, 0);
	check_u64("\"1\"", false, 0);
	check_u64("null", false, 0);
	check_u64("", false, 0);
	memset(text, '0', 10000);
	text[0] = '7';
	memcpy(text + 9994, "e-9993", 6);
	check_u64(text, true, 7);

	check_number_key("1", "1e0", true);
	check_number_key("1.0", "1e0", true);
	check_number_key("10e-1", "1e0", true);
	check_number_key("100", "1e2", true);
	check_number_key("1E+2", "1e2", true);
	check_number_key("-12.50", "-125e-1", false);
	check_number_key("0.00125", "125e-5", false);
	check_number_key("1020.3040e1", "1020304e-2", false);
	check_number_key("0", "0e0", true);
	check_number_key("-0.000e17", "0e0", true);
	check_number_key("9007199254740993", "9007199254740993e0", true);
	check_number_key("1e1000000000", "1e1000000000", true);
	check_number_key("10e999999999", "1e1000000000", true);
	check_number_key("1e-1000000000", "1e-1000000000", false);
	CHECK(json_number_key(slice_of("1e1000000001"), &out, &integer) == -1);
	CHECK(json_number_key(slice_of("1e-99999999999999999999999"), &out, &integer) == -1);
	CHECK(json_number_key(slice_of("true"), &out, &integer) == -1 && out.n == 0);
	buf_free(&out);
}

static void
test_sets(void)
{
	const struct json_set *set = json_sets;

	do {
		if (set->here())
			sets[nsets++] = set;
	} while (set++->scan);
	CHECK(nsets > 0 && strcmp(sets[nsets - 1]->name, "portable") == 0);
	CHECK(json_set_here() == sets[0]);
	for (size_t i = 0; i < nsets; i++)
		fprintf(stderr, "%s%s", sets[i]->name, i + 1 < nsets ? " " : "\n");
}

/* However many keys there are: a name that is empty is none of them, and nothing is written behind the values. */
static void
test_empty_names(void)
{
	struct json_keys wanted = {0, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"}};
	struct slice values[17], text = slice_of("{\"\":1,\"a\":2,\"\":3,\"x\\u0000\":4}");
	struct json_error error;

	for (size_t i = 0; i < nsets; i++) {
		for (wanted.n = 0; wanted.n <= 15; wanted.n++) {
			memset(values, 0, sizeof(values));
			CHECK(json_members_by(sets[i], text, 9, &wanted, values, &error) == JSON_OBJECT);
			CHECK(wanted.n == 0 || slice_is(values[0], "2"));
			CHECK(!values[wanted.n].p);
			CHECK(!values[wanted.n + 1].p);
		}
	}
}

int
main(void)
{
	each = (size_t)check_sample(EACH_QUICK, EACH_FULL);
	test_sets();
	test_empty_names();
	read_fixtures();
	test_tables();
	test_block_boundaries();
	test_backslashes();
	test_depth();
	test_members();
	test_walking();
	test_put();
	test_strings();
	test_numbers();
	test_entering();
	test_fixture_walks();
	test_edges();
	test_soups();
	test_truncations();
	test_substitutions();
	buf_free(&messages);
	free(lines);
	return check_done();
}
