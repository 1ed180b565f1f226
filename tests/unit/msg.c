/* msg: what is a message, whose id is the same, and envelopes that come off as they went on. */
#include "lib/acp/msg.h"
#include "lib/acp/shape.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct json_error error;

static struct msg
scan(const char *text)
{
	struct msg m;

	error = (struct json_error){0};
	msg_scan(slice_of(text), &m, &error);
	return m;
}

static enum msg_kind
kind(const char *text)
{
	return scan(text).kind;
}

/* Is it noise, for this reason, at this byte? */
static bool
noise(const char *text, size_t at, const char *what)
{
	struct msg m = scan(text);

	if (m.kind == MSG_NOISE && error.what && strcmp(error.what, what) == 0 && error.at == at)
		return true;
	fprintf(stderr, "\t%s: kind %d, byte %zu: %s\n", text, m.kind, error.at, error.what ? error.what : "-");
	return false;
}

static void
test_kinds(void)
{
	struct msg m = scan("  {\"jsonrpc\":\"2.0\",\"id\": 7 ,\"method\":\"session/prompt\",\"params\":[1, 2]}\r");

	CHECK(m.kind == MSG_REQUEST && m.what == ACP_SESSION_PROMPT);
	CHECK(slice_is(m.id, "7") && slice_is(m.method, "\"session/prompt\"") && slice_is(m.params, "[1, 2]"));
	CHECK(!m.result.p && !m.error.p && m.text.p[0] == '{' && m.text.p[m.text.n - 1] == '}');
	CHECK(kind("{\"method\":\"x\"}") == MSG_NOTIFICATION);
	CHECK(kind("{\"method\":\"x\",\"id\":null}") == MSG_REQUEST);
	CHECK(kind("{\"id\":1,\"result\":null}") == MSG_RESPONSE);
	CHECK(kind("{\"id\":null,\"error\":{}}") == MSG_RESPONSE);
	CHECK(kind("{\"id\":1,\"method\":\"\"}") == MSG_REQUEST);
	CHECK(kind("{\"result\":{\"method\":\"x\",\"error\":1},\"id\":\"a\"}") == MSG_RESPONSE);
	CHECK(kind("{\"\\u006dethod\":\"x\",\"\\u0069d\":1}") == MSG_REQUEST);
	CHECK(kind("{\"Method\":\"x\",\"id\":1,\"result\":1}") == MSG_RESPONSE);
}

static void
test_noise(void)
{
	CHECK(kind("") == MSG_NOISE && error.what);
	CHECK(kind("\r") == MSG_NOISE && kind("   ") == MSG_NOISE);
	CHECK(kind("starting up...") == MSG_NOISE && error.at == 1);
	CHECK(kind("\033[2J") == MSG_NOISE && kind("{\"method\":\"x\"") == MSG_NOISE);
	CHECK(kind("{\"method\":\"x\"} {\"method\":\"x\"}") == MSG_NOISE);
	CHECK(kind("\xef\xbb\xbf{\"method\":\"x\"}") == MSG_NOISE);
	CHECK(kind("{\"method\":\"\xff\"}") == MSG_NOISE);
	CHECK(noise("42", 1, "expected an object"));
	CHECK(noise(" \"text\"", 2, "expected an object"));
	CHECK(noise("null", 1, "expected an object"));
	CHECK(noise("[ ]", 1, "an array: ACP has no batches"));
	CHECK(noise(" [{\"method\":\"x\"}]\r", 2, "an array: ACP has no batches"));
	CHECK(noise("{}", 1, "neither method, result nor error"));
	CHECK(noise(" {\"id\":1}", 2, "neither method, result nor error"));
	CHECK(noise("{\"id\":1,\"result\":1,\"error\":{}}", 28, "result beside error"));
	CHECK(noise("{\"result\":1}", 1, "a response without an id"));
	CHECK(noise("{\"error\":{}}", 1, "a response without an id"));
	CHECK(noise("{\"method\":7}", 11, "expected a string as method"));
	CHECK(noise("{\"method\":null,\"id\":1,\"result\":1}", 11, "expected a string as method"));
	CHECK(noise("{\"id\":1,\"method\":\"m\",\"result\":1}", 18, "method beside result or error"));
	CHECK(noise("{\"id\":1,\"error\":1,\"method\":\"m\"}", 28, "method beside result or error"));
	CHECK(noise("{\"jsonrpc\":\"1.0\",\"method\":\"m\"}", 12, "expected \"2.0\" as jsonrpc"));
	CHECK(noise("{\"jsonrpc\":2.0,\"method\":\"m\"}", 12, "expected \"2.0\" as jsonrpc"));
	CHECK(kind("{\"jsonrpc\":\"\\u0032.0\",\"method\":\"m\"}") == MSG_NOTIFICATION);
}

static void
test_duplicates(void)
{
	static const char *const members[] = {"id", "method", "params", "result", "error", "jsonrpc"};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		snprintf(text, sizeof(text), "{\"%s\":\"2.0\",\"x\":1,\"%s\":\"2.0\"}", members[i], members[i]);
		CHECK(kind(text) == MSG_NOISE);
		CHECK_STR(error.what, "duplicate member");
	}
	CHECK(kind("{\"id\":1,\"method\":\"m\",\"\\u0069d\":1}") == MSG_NOISE);
	CHECK(kind("{\"x\":1,\"x\":2,\"method\":\"m\"}") == MSG_NOTIFICATION);
	CHECK(kind("{\"method\":\"m\",\"params\":{\"id\":1,\"id\":2}}") == MSG_NOTIFICATION);
}

static void
test_ids(void)
{
	static const char *const good[] = {"1", "-1", "0", "-0", "1.0", "1e0", "10e-1", "1e5", "9223372036854775807",
		"18446744073709551616", "\"\"", "\"x\"", "\"\\u0000\"", "null"};
	static const char *const bad[] = {"1.5", "1e-1", "true", "false", "{}", "[]", "[1]", "1e9999999999"};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "{\"id\":%s,\"method\":\"m\"}", good[i]);
		if (!CHECK(kind(text) == MSG_REQUEST))
			fprintf(stderr, "\t%s\n", text);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "{\"id\":%s,\"method\":\"m\"}", bad[i]);
		CHECK(noise(text, 7, "expected a string, an integer or null as id"));
	}
}

static bool
same_id(const char *a, const char *b)
{
	struct buf x = {0}, y = {0};
	bool same;

	CHECK(msg_id_key(slice_of(a), &x) == 0 && msg_id_key(slice_of(b), &y) == 0);
	same = slice_eq(buf_slice(&x), buf_slice(&y));
	buf_free(&x);
	buf_free(&y);
	return same;
}

static void
test_ids_by_value(void)
{
	CHECK(same_id("1", "1.0") && same_id("1", "1e0") && same_id("1", "10e-1") && same_id("1", "0.1E+1"));
	CHECK(same_id("\"1\"", "\"\\u0031\"") && same_id("\"A\"", "\"\\u0041\""));
	CHECK(same_id("\"\\/\"", "\"/\"") && same_id("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""));
	CHECK(same_id("0", "-0") && same_id("0", "0.0e7") && same_id("null", "null"));
	CHECK(same_id("9223372036854775807", "9223372036854775807.0"));
	CHECK(!same_id("9223372036854775807", "9223372036854775808"));
	CHECK(!same_id("1", "\"1\"") && !same_id("1", "-1") && !same_id("1", "10"));
	CHECK(!same_id("null", "\"null\"") && !same_id("null", "0") && !same_id("null", "\"\""));
	CHECK(!same_id("\"n1\"", "1") && !same_id("\"a\"", "\"A\"") && !same_id("\"\"", "\"\\u0000\""));
}

static void
test_null_id(void)
{
	struct msg a = scan("{\"id\": null,\"error\":{}}"), b = scan("{\"id\":\"null\",\"error\":{}}"), c = scan("{\"method\":\"m\"}");

	CHECK(msg_null_id(&a) && !msg_null_id(&b) && !msg_null_id(&c));
}

/* The kind that a line of noise was meant as, and the id that is answered. */
static const char *
meant(const char *text)
{
	static const char *const kinds[] = {"noise", "request", "notification", "response"};
	static char result[64];
	struct slice id;
	enum msg_kind k = msg_guess_kind(slice_of(text), &id);

	CHECK(kind(text) == MSG_NOISE);
	snprintf(result, sizeof(result), "%s %.*s", kinds[k], (int)id.n, id.p);
	return result;
}

static void
test_noise_meant(void)
{
	CHECK_STR(meant("[{\"id\":1,\"method\":\"x\"}]"), "request null");
	CHECK_STR(meant("[]"), "request null");
	CHECK_STR(meant("[INFO] starting"), "noise null");
	CHECK_STR(meant("starting"), "noise null");
	CHECK_STR(meant("42"), "noise null");
	CHECK_STR(meant("{oops"), "noise null");
	CHECK_STR(meant("{}"), "noise null");
	CHECK_STR(meant("{\"id\":7}"), "response 7");
	CHECK_STR(meant("{\"id\":7,\"params\":{}}"), "request 7");
	CHECK_STR(meant("{\"id\":7,\"jsonrpc\":\"2.0\""), "request 7");
	CHECK_STR(meant(" {\"id\" : \"a\\\"b\" , \"method\":\"x\",\"params\":{\"a\":\"\xff\"}} \r"), "request \"a\\\"b\"");
	CHECK_STR(meant("{\"method\":\"x\",\"params\":{\"a\":tru},\"id\":8}"), "request 8");
	CHECK_STR(meant("{\"method\":\"x\",\"params\":{\"id\":9,\"a\":tru}}"), "notification null");
	CHECK_STR(meant("{\"id\":1,\"id\":2,\"method\":\"x\"}"), "request null");
	CHECK_STR(meant("{\"id\":1.5,\"method\":\"x\"}"), "request null");
	CHECK_STR(meant("{\"id\":{},\"method\":\"x\"}"), "request null");
	CHECK_STR(meant("{\"id\":1,\"method\":7}"), "request 1");
	CHECK_STR(meant("{\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"b"), "request 1");
	CHECK_STR(meant("{\"id\":12"), "request null");
	CHECK_STR(meant("{\"id\":\"12"), "request null");
	CHECK_STR(meant("{\"method\":\"x\",\"params\":{\"a"), "request null");
	CHECK_STR(meant("{\"id\":1,\"result\":\"\xff\"}"), "response 1");
	CHECK_STR(meant("{\"id\":1,\"result\":1,\"error\":2}"), "response 1");
	CHECK_STR(meant("{\"id\":1,\"result\":{\"a\":\"b"), "response 1");
	CHECK_STR(meant("{\"id\":1,\"id\":1,\"result\":1}"), "noise null");
	CHECK_STR(meant("{\"result\":1}"), "noise null");
	CHECK_STR(meant("{\"id\":7,\"method\":null,\"params\":null,\"result\":{},\"error\":null}"), "response 7");
	CHECK_STR(meant("{\"id\":7,\"method\":\"x\",\"params\":{},\"result\":null,\"error\":null}"), "request 7");
	CHECK_STR(meant("{\"id\":7,\"method\":null}"), "request 7");
}

static void
test_sessions(void)
{
	struct msg m = scan("{\"method\":\"session/update\",\"params\":{\"x\":{\"sessionId\":\"no\"},\"sessionId\":\"s\\u0031\",\"update\":{\"sessionUpdate\":\"plan\"}}}");

	CHECK(slice_is(msg_session(&m), "\"s\\u0031\"") && slice_is(msg_update_kind(&m), "\"plan\""));
	m = scan("{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"p\\\"n\"}}}");
	CHECK(slice_is(msg_update_kind(&m), "\"p\\\"n\""));
	m = scan("{\"id\":1,\"result\":{\"sessionId\":\"r\"}}");
	CHECK(slice_is(msg_session(&m), "\"r\"") && !msg_update_kind(&m).p);
	m = scan("{\"method\":\"m\",\"params\":[\"sessionId\",1]}");
	CHECK(!msg_session(&m).p);
	m = scan("{\"method\":\"session/update\",\"params\":{\"sessionId\":7,\"update\":[]}}");
	CHECK(!msg_session(&m).p && !msg_update_kind(&m).p);
	m = scan("{\"method\":\"session/update\"}");
	CHECK(!msg_session(&m).p && !msg_update_kind(&m).p);
	m = scan("{\"method\":\"other\",\"params\":{\"update\":{\"sessionUpdate\":\"plan\"}}}");
	CHECK(!msg_update_kind(&m).p);
}

/* --- splices --- */

static void
test_splices(void)
{
	static const char text[] = "{\"a\":1, \"b\":22,\"c\":333}\r";
	struct splices s = {.n = 0};
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct buf b = {0}, joined = {0};
	struct slice line = slice_of(text);
	size_t i, n;

	/* Given in any order, with empty ones and an insertion. */
	splice_value(&s, slice(strstr(text, "333"), 3), slice_of("THREE"));
	splice_value(&s, slice(strstr(text, "1,"), 1), slice_of(""));
	splice_value(&s, slice(strstr(text, "\"b\""), 0), slice_of("ins:"));
	splice_value(&s, slice(strstr(text, "22"), 2), slice(text + 5, 1));
	CHECK(splice_write(line, s.at, s.n, &b) == 0);
	CHECK_STR(buf_string(&b), "{\"a\":, ins:\"b\":1,\"c\":THREE}\r");
	n = splice_parts(line, s.at, s.n, parts);
	CHECK(n <= 2 * s.n + 1);
	for (i = 0; i < n; i++)
		CHECK(parts[i].iov_len > 0 && buf_add(&joined, parts[i].iov_base, parts[i].iov_len) == 0);
	CHECK(slice_eq(buf_slice(&b), buf_slice(&joined)));
	b.n = joined.n = 0;
	CHECK(splice_write(line, NULL, 0, &b) == 0 && slice_eq(buf_slice(&b), line));
	CHECK(splice_parts(line, NULL, 0, parts) == 1 && parts[0].iov_base == text);
	CHECK(splice_parts(slice(text, 0), NULL, 0, parts) == 0);
	buf_free(&b);
	buf_free(&joined);
}

/* --- envelopes --- */

static struct buf wrapped, unwrapped, pieces;

/* What msg_moved says of the spliced text is what a scan of it says. */
static void
check_moved(const char *text, const struct splices *s, struct msg *moved)
{
	struct buf made = {0};
	struct msg m;

	CHECK(splice_write(slice_of(text), s->at, s->n, &made) == 0);
	m = scan(buf_string(&made));
	msg_moved(slice_of(text), s->at, s->n, made.p, moved);
	CHECK(m.kind == moved->kind && m.what == moved->what);
	CHECK(m.text.p == moved->text.p && m.text.n == moved->text.n);
	CHECK(m.id.p == moved->id.p && m.id.n == moved->id.n);
	CHECK(m.method.p == moved->method.p && m.method.n == moved->method.n);
	CHECK(m.params.p == moved->params.p && m.params.n == moved->params.n);
	CHECK(m.result.p == moved->result.p && m.result.n == moved->result.n);
	CHECK(m.error.p == moved->error.p && m.error.n == moved->error.n);
	buf_free(&made);
}

/* An answer gets another id: shorter, longer, before the result and behind it. */
static void
test_moved(void)
{
	static const char *const texts[] = {" {\"id\":12,\"result\":{\"a\":1}} \r", "{\"result\":null , \"id\" : \"abc\"}",
		"{\"error\":{\"code\":-1},\"x\":1,\"id\":3}"};
	static const char *const ids[] = {"1", "\"a long one\"", "null"};
	struct splices s;
	struct msg m;
	size_t i, k;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < 3; k++) {
			m = scan(texts[i]);
			s.n = 0;
			splice_value(&s, m.id, slice_of(ids[k]));
			m.id = slice_of(ids[k]);
			check_moved(texts[i], &s, &m);
		}
	}
}

static const char *
wrap(const char *text, enum acp_dialect dialect)
{
	struct msg m = scan(text);
	struct splices s = {.n = 0};

	wrapped.n = pieces.n = 0;
	CHECK(m.kind == MSG_REQUEST || m.kind == MSG_NOTIFICATION);
	CHECK(msg_wrap(&m, dialect, NULL, &s, &pieces) == 0 && s.n <= MSG_SPLICES - 1);
	CHECK(splice_write(slice_of(text), s.at, s.n, &wrapped) == 0);
	return buf_string(&wrapped);
}

static const char *
unwrap(const char *text)
{
	struct msg m = scan(text), inner;
	struct splices s = {.n = 0};
	const char *why = NULL;

	unwrapped.n = 0;
	if (m.what != ACP_PROXY_SUCCESSOR || msg_open_envelope(&m, &inner, NULL, &why) < 0)
		return why ? why : "no envelope";
	CHECK(inner.kind == m.kind && slice_eq(inner.id, m.id));
	msg_unwrap(&m, &inner, &s);
	CHECK(splice_write(slice_of(text), s.at, s.n, &unwrapped) == 0);
	check_moved(text, &s, &inner);
	return buf_string(&unwrapped);
}

static void
test_wrap(void)
{
	CHECK_STR(wrap("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\",\"params\":{\"x\":1}}", ACP_PLAIN),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"a/b\",\"params\":{\"x\":1}}}");
	CHECK_STR(wrap("{\"params\" : [ 1 ] , \"method\" : \"a\"}\r", ACP_UNDERSCORE),
		"{\"params\" : {\"method\":\"a\",\"params\":[ 1 ]} , \"method\" : \"_proxy/successor\"}\r");
	CHECK_STR(wrap("{\"method\":\"\\u0061\",\"id\":null}", ACP_PLAIN),
		"{\"method\":\"proxy/successor\",\"params\":{\"method\":\"\\u0061\"},\"id\":null}");
	CHECK_STR(wrap("{\"method\":\"a\",\"params\":null}", ACP_PLAIN),
		"{\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"params\":null}}");
}

/* As other peers write them. */
static void
test_unwrap(void)
{
	CHECK_STR(unwrap("{\"params\":{\"_meta\":{\"hop\":1},\"params\":{\"_meta\":{\"inner\":1}},\"method\":\"a\"},\"id\":\"x\",\"method\":\"_proxy/successor\"}"),
		"{\"params\":{\"_meta\":{\"inner\":1}},\"id\":\"x\",\"method\":\"a\"}");
	CHECK_STR(unwrap("{\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"params\":[1]}}"),
		"{\"method\":\"a\",\"params\":[1]}");
	CHECK_STR(unwrap("{\"method\":\"proxy/successor\", \"params\" : {\"method\":\"a\",\"meta\":{}} , \"id\":1}"),
		"{\"method\":\"a\" , \"id\":1}");
	CHECK_STR(unwrap("{ \"par\\u0061ms\" : {\"method\":\"a\"} , \"method\":\"proxy/successor\"}"),
		"{ \"method\":\"a\"}");
	CHECK_STR(unwrap("{\"params\":{\"method\":\"a\"},\"method\":\"proxy\\/successor\"}\r"), "{\"method\":\"a\"}\r");
	CHECK_STR(unwrap("{\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"params\":null}}"),
		"{\"method\":\"a\",\"params\":null}");
}

static void
test_malformed_envelopes(void)
{
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\"}"), "an envelope without params");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":null}"), "an envelope without params");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":[\"a\"]}"), "an envelope without params");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":{}}"), "an envelope without a method");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":1}}"), "an envelope without a method");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"peer\":\"p\"}}"),
		"an envelope for a peer: there is only one successor");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"method\":\"b\"}}"),
		"an envelope with a member twice");
	CHECK_STR(unwrap("{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"method\":\"a\",\"params\":1,\"\\u0070arams\":2}}"),
		"an envelope with a member twice");
}

/* With a peer, what is wrapped names it, and what is opened says which. */
static void
test_peers(void)
{
	static const char *const texts[] = {"{\"id\":1,\"method\":\"a\",\"params\":[]}", "{\"method\":\"a\"}"};
	static const char *const expected[] = {
		"{\"id\":1,\"method\":\"proxy/successor\",\"params\":{\"peer\":\"p\",\"method\":\"a\",\"params\":[]}}",
		"{\"method\":\"proxy/successor\",\"params\":{\"peer\":\"p\",\"method\":\"a\"}}"};
	struct slice peer;
	struct splices s;
	struct msg m, inner;
	const char *why;
	size_t i;

	for (i = 0; i < 2; i++) {
		m = scan(texts[i]);
		s.n = wrapped.n = pieces.n = 0;
		CHECK(msg_wrap(&m, ACP_PLAIN, "p", &s, &pieces) == 0);
		CHECK(splice_write(slice_of(texts[i]), s.at, s.n, &wrapped) == 0);
		CHECK_STR(buf_string(&wrapped), expected[i]);
		m = scan(wrapped.p);
		CHECK(msg_open_envelope(&m, &inner, &peer, &why) == 0 && slice_is(peer, "\"p\"") && slice_is(inner.method, "\"a\""));
		s.n = unwrapped.n = 0;
		msg_unwrap(&m, &inner, &s);
		CHECK(splice_write(m.text, s.at, s.n, &unwrapped) == 0);
		CHECK_STR(buf_string(&unwrapped), texts[i]);
	}
	m = scan("{\"method\":\"proxy/successor\",\"params\":{\"peer\":1,\"method\":\"a\"}}");
	CHECK(msg_open_envelope(&m, &inner, &peer, &why) < 0);
}

/* Each order of the members, each spacing, each kind of params: what comes off is what went on. */
static void
test_unwrap_after_wrap(void)
{
	static const char *const params[] = {NULL, "null", "{}", "[]", "{\"a\":\"\\\"}\",\"method\":\"x\",\"params\":[{}]}",
		" [1 , 2] ", "[\"},{\"]", "{\"_meta\":{\"traceparent\":\"00-1\"}}", "{\"n\":1.50e+3,\"big\":123456789012345678901234567890}"};
	static const char *const methods[] = {"\"a\"", "\"\"", "\"sess\\u0069on\\/prompt\"", "\"proxy/successor\"", "\"\\\"params\\\":{\""};
	static const char *const ids[] = {NULL, "1", "\"i,d\"", "null"};
	static const char *const spaces[] = {"", " ", "\t\r  "};
	char member[5][128], text[1024];
	size_t p, me, id, sp, order, n, i, k, left[5], at;

	for (p = 0; p < sizeof(params) / sizeof(params[0]); p++)
	for (me = 0; me < sizeof(methods) / sizeof(methods[0]); me++)
	for (id = 0; id < sizeof(ids) / sizeof(ids[0]); id++)
	for (sp = 0; sp < sizeof(spaces) / sizeof(spaces[0]); sp++)
	for (order = 0; order < 120; order++) {
		const char *s = spaces[sp];

		n = 0;
		snprintf(member[n++], 128, "%s\"jsonrpc\"%s:%s\"2.0\"%s", s, s, s, s);
		snprintf(member[n++], 128, "%s\"method\"%s:%s%s%s", s, s, s, methods[me], s);
		if (params[p])
			snprintf(member[n++], 128, "%s\"params\"%s:%s%s%s", s, s, s, params[p], s);
		if (ids[id])
			snprintf(member[n++], 128, "%s\"id\"%s:%s%s%s", s, s, s, ids[id], s);
		snprintf(member[n++], 128, "%s\"more\"%s:%s[\"params\",{\"method\":0}]%s", s, s, s, s);
		for (i = 0; i < n; i++)
			left[i] = i;
		at = (size_t)snprintf(text, sizeof(text), "%s{", s);
		for (i = 0, k = order; i < n; i++) {
			size_t pick = k % (n - i);

			k /= n - i;
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "," : "", member[left[pick]]);
			memmove(left + pick, left + pick + 1, (n - i - pick - 1) * sizeof(left[0]));
		}
		snprintf(text + at, sizeof(text) - at, "}%s\r", s);
		wrap(text, order % 2 ? ACP_PLAIN : ACP_UNDERSCORE);
		if (!CHECK_STR(unwrap(buf_string(&wrapped)), text))
			return;
	}
}

/* --- making --- */

static void
test_making(void)
{
	struct buf b = {0};

	CHECK(msg_make_request(&b, slice_of("7"), "a\"b", slice_of("[1]")) == 0);
	CHECK_STR(buf_string(&b), "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\\\"b\",\"params\":[1]}");
	CHECK(kind(buf_string(&b)) == MSG_REQUEST);
	b.n = 0;
	CHECK(msg_make_notification(&b, "n", slice(NULL, 0)) == 0);
	CHECK_STR(buf_string(&b), "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
	b.n = 0;
	CHECK(msg_make_result(&b, slice_of("\"x\""), slice_of("{}")) == 0);
	CHECK_STR(buf_string(&b), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
	b.n = 0;
	CHECK(msg_make_error(&b, slice_of("null"), -32600, "no\n\xff", slice_of("[2]")) == 0);
	CHECK_STR(buf_string(&b), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\\n\xef\xbf\xbd\",\"data\":[2]}}");
	CHECK(kind(buf_string(&b)) == MSG_RESPONSE);
	buf_free(&b);
}

static bool
has_shape(struct shapes *all, const char *text)
{
	struct msg m, plain = scan(text);
	struct shape *before = NULL;

	/* Nothing is known that a scan does not say, and at the same place of the text. */
	for (int i = 0; i < 2; i++) {
		before = i > 0 ? m.shape : NULL;
		CHECK(shapes_scan(all, slice_of(text), &m, NULL) == plain.kind && m.what == plain.what && m.text.p == plain.text.p &&
			m.text.n == plain.text.n && m.method.p == plain.method.p && m.method.n == plain.method.n &&
			m.params.p == plain.params.p && m.params.n == plain.params.n && !m.id.p && !m.result.p && !m.error.p);
	}
	CHECK(before == m.shape);
	return m.shape && json_string_eq(m.shape->kind, msg_update_kind(&plain)) && json_string_eq(m.shape->session, msg_session(&plain));
}

#define CHUNK(text) "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_message_chunk\"," \
	"\"content\":{\"type\":\"text\",\"text\":\"" text "\"}},\"sessionId\":\"s\"}}"

static void
test_shapes(void)
{
	static const char *const wrong[] = {CHUNK("\""), CHUNK("\\"), CHUNK("a\\x"), CHUNK("\\u12"), CHUNK("\x01"), CHUNK("\xff"), CHUNK("\xe2\x82"),
		CHUNK("\",\"text\":"), CHUNK("a") "}"};
	struct shapes all = {0};
	struct msg m;

	CHECK(!has_shape(&all, CHUNK("")) && all.n == 0);
	CHECK(has_shape(&all, CHUNK("first")) && has_shape(&all, CHUNK("a longer one: \\u20ac \\\" \xe2\x82\xac \\\\")) && has_shape(&all, CHUNK("x")));
	CHECK(all.n == 1 && all.at[0].text);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(shapes_scan(&all, slice_of(wrong[i]), &m, NULL) == MSG_NOISE && !m.shape);
	/* A member that is there twice, and what is no text, has no shape. */
	CHECK(!has_shape(&all, CHUNK("a\",\"text\":\"b")) && !has_shape(&all, CHUNK("a\"},\"content\":{\"text\":\"b")));
	CHECK(!has_shape(&all, "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"plan\"}}}"));
	CHECK(all.n == 1);
}

int
main(void)
{
	test_shapes();
	test_kinds();
	test_noise();
	test_duplicates();
	test_ids();
	test_ids_by_value();
	test_null_id();
	test_noise_meant();
	test_sessions();
	test_splices();
	test_wrap();
	test_unwrap();
	test_moved();
	test_malformed_envelopes();
	test_peers();
	test_unwrap_after_wrap();
	test_making();
	buf_free(&wrapped);
	buf_free(&unwrapped);
	buf_free(&pieces);
	return check_done();
}
