/* recording: what is written is read again byte for byte, and what others write is read too. */
#include "lib/recording/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/base64.h"
#include "lib/run/proc.h"
#include "tests/unit/check.h"

static struct recording *
open_text(struct slice text, const char *hop)
{
	char path[4200];
	int fd;
	struct recording *rec;

	snprintf(path, sizeof(path), "%s/recording", check_folder());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	unlink(path);
	CHECK(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n && lseek(fd, 0, SEEK_SET) == 0);
	rec = recording_open(fd, 1024 * 1024, hop);
	if (!CHECK(rec != NULL))
		exit(check_done());
	return rec;
}

static struct recording *
open_string(const char *text)
{
	return open_text(slice_of(text), NULL);
}

static enum record_kind
next(struct recording *rec, struct record *r)
{
	CHECK(recording_next(rec, r) == 0);
	return r->kind;
}

/* Ends a reading: nothing follows. */
static void
no_more(struct recording *rec)
{
	struct record r;

	CHECK(next(rec, &r) == RECORD_END);
	CHECK(next(rec, &r) == RECORD_END);
	recording_close(rec);
}

static char *
copy(struct slice s)
{
	static char text[8192];

	snprintf(text, sizeof(text), "%.*s", (int)s.n, s.n ? s.p : "");
	return text;
}

/* Reads one line and tells its record in short. */
static const char *
told(const char *line)
{
	static const char *const kinds[] = {"end", "header", "message", "noise", "stderr", "exit", "eof", "lost",
		"restart", "other", "bad"};
	static char text[8192];
	struct recording *rec = open_string(line);
	struct record r;
	size_t n;

	next(rec, &r);
	n = (size_t)snprintf(text, sizeof(text), "%s %s", kinds[r.kind], acp_side_name(r.from));
	if (r.timed || r.t != 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " t=%ju", (uintmax_t)r.t);
	if (r.at.p)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " at=%s", copy(r.at));
	if (r.guest)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " guest");
	if (r.text.p)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " [%s]", copy(r.text));
	if (r.kind == RECORD_EXIT)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " status=%d signal=%s", r.status, copy(r.signal));
	if (r.kind == RECORD_LOST)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " count=%ju", (uintmax_t)r.count);
	if (r.kind == RECORD_HEADER)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " started=%.6f", r.started);
	if (r.kind == RECORD_BAD)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " at %zu: %s", r.error.at, r.error.what);
	if (r.torn)
		snprintf(text + n, sizeof(text) - n, " torn");
	recording_close(rec);
	return text;
}

#define M "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}"
/* A message as a JSON string. */
#define QUOTED "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"method\\\":\\\"x\\\"}"

/* Appends a record to b. */
#define PUT(at, ...) recording_put(&b, at, &(struct record){.kind = __VA_ARGS__})

static void
test_what_is_written(void)
{
	char *command[] = {"agent", "--acp", "a\"b", NULL}, *hops[] = {"tap", "agent", NULL};
	struct slice m = slice_of(M "\r");
	struct buf b = {0};

	CHECK(recording_put_header(&b, 1795190162.123456, "acp-tap 0.1.0", command, NULL) == 0);
	CHECK(recording_put_header(&b, 0.9999999, "x", NULL, hops) == 0);
	CHECK(recording_put_message(&b, 360, -1, ACP_CLIENT, m) == 0);
	CHECK(recording_put_message(&b, 12345678901, 10, ACP_AGENT, m) == 0);
	CHECK(recording_put_message(&b, 0, 0, ACP_UNKNOWN, m) == 0);
	CHECK(PUT(-1, RECORD_NOISE, .t = 1500000, .from = ACP_AGENT, .text = slice_of("a \"banner\"\t\r")) == 0);
	CHECK(PUT(-1, RECORD_NOISE, .t = 1500000, .from = ACP_AGENT, .text = slice("", 0)) == 0);
	CHECK(PUT(-1, RECORD_NOISE, .t = 1500000, .from = ACP_AGENT, .text = slice_of("a\xff")) == 0);
	CHECK(PUT(1, RECORD_STDERR, .t = 2000000, .from = ACP_AGENT, .text = slice_of("oh")) == 0);
	CHECK(PUT(-1, RECORD_STDERR, .t = 2000000, .from = ACP_AGENT, .text = slice_of("\xc0\x80")) == 0);
	CHECK(PUT(-1, RECORD_EXIT, .t = 3000000, .status = 7 << 8) == 0);
	CHECK(PUT(1, RECORD_EXIT, .t = 3000000, .status = 9) == 0);
	CHECK(PUT(-1, RECORD_EXIT, .t = 3000000, .status = 40) == 0); /* one without a name */
	CHECK(PUT(-1, RECORD_EOF, .t = 3000000, .from = ACP_CLIENT) == 0);
	CHECK(PUT(-1, RECORD_EOF, .t = 3000000, .from = ACP_AGENT, .torn = true) == 0);
	CHECK(PUT(-1, RECORD_LOST, .t = 3000000, .from = ACP_UNKNOWN, .count = 2, .text = slice_of("No space left on device")) == 0);
	CHECK(PUT(0, RECORD_LOST, .t = 3000000, .from = ACP_AGENT, .count = 1, .text = slice_of("longer than \"64M\"")) == 0);
	CHECK(PUT(-1, RECORD_RESTART, .t = 3000000, .text = slice_of("killed by \"KILL\"")) == 0);
	CHECK(PUT(2, RECORD_RESTART, .t = 3000000) == 0);
	CHECK_STR(buf_string(&b),
		"{\"acp-recording\":1,\"started\":\"2026-11-20T15:56:02.123456Z\",\"by\":\"acp-tap 0.1.0\","
		"\"command\":[\"agent\",\"--acp\",\"a\\\"b\"]}\n"
		"{\"acp-recording\":1,\"started\":\"1970-01-01T00:00:01.000000Z\",\"by\":\"x\","
		"\"hops\":[\"tap\",\"agent\"]}\n"
		"{\"t\":0.000360,\"from\":\"client\",\"msg\":" M "\r}\n"
		"{\"t\":12345.678901,\"at\":10,\"from\":\"agent\",\"msg\":" M "\r}\n"
		"{\"t\":0.000000,\"at\":0,\"from\":\"unknown\",\"msg\":" M "\r}\n"
		"{\"t\":1.500000,\"from\":\"agent\",\"noise\":\"a \\\"banner\\\"\\t\\r\"}\n"
		"{\"t\":1.500000,\"from\":\"agent\",\"noise\":\"\"}\n"
		"{\"t\":1.500000,\"from\":\"agent\",\"noise64\":\"Yf8=\"}\n"
		"{\"t\":2.000000,\"at\":1,\"from\":\"agent\",\"stderr\":\"oh\"}\n"
		"{\"t\":2.000000,\"from\":\"agent\",\"stderr64\":\"wIA=\"}\n"
		"{\"t\":3.000000,\"event\":\"exit\",\"status\":7}\n"
		"{\"t\":3.000000,\"at\":1,\"event\":\"exit\",\"signal\":\"KILL\"}\n"
		"{\"t\":3.000000,\"event\":\"exit\",\"signal\":\"40\"}\n"
		"{\"t\":3.000000,\"event\":\"eof\",\"from\":\"client\"}\n"
		"{\"t\":3.000000,\"event\":\"eof\",\"from\":\"agent\",\"torn\":true}\n"
		"{\"t\":3.000000,\"event\":\"lost\",\"count\":2,\"why\":\"No space left on device\"}\n"
		"{\"t\":3.000000,\"at\":0,\"event\":\"lost\",\"from\":\"agent\",\"count\":1,"
		"\"why\":\"longer than \\\"64M\\\"\"}\n"
		"{\"t\":3.000000,\"event\":\"restart\",\"why\":\"killed by \\\"KILL\\\"\"}\n"
		"{\"t\":3.000000,\"at\":2,\"event\":\"restart\"}\n");
	buf_free(&b);
}

static void
test_each_kind_is_read(void)
{
	CHECK_STR(told("{\"t\":0.000360,\"from\":\"client\",\"msg\":" M "}"), "message client t=360 [" M "]");
	CHECK_STR(told("{\"t\":1.5,\"from\":\"agent\",\"noise\":\"\\ta\\u00e9\"}\n"), "noise agent t=1500000 [\ta\xc3\xa9]");
	CHECK_STR(told("{\"t\":1.5,\"from\":\"agent\",\"noise\":\"\"}\n"), "noise agent t=1500000 []");
	CHECK_STR(told("{\"t\":1,\"from\":\"agent\",\"noise64\":\"Yf8=\"}\n"), "noise agent t=1000000 [a\xff]");
	CHECK_STR(told("{\"from\":\"agent\",\"noise64\":\"\"}\n"), "noise agent []");
	CHECK_STR(told("{\"t\":2,\"from\":\"agent\",\"stderr\":\"oh\"}\n"), "stderr agent t=2000000 [oh]");
	CHECK_STR(told("{\"t\":2,\"from\":\"agent\",\"stderr64\":\"wIA\\u003d\"}\n"), "stderr agent t=2000000 [\xc0\x80]");
	CHECK_STR(told("{\"t\":3,\"event\":\"exit\",\"status\":7}\n"), "exit unknown t=3000000 status=7 signal=");
	CHECK_STR(told("{\"t\":3,\"event\":\"exit\",\"signal\":\"KILL\"}\n"), "exit unknown t=3000000 status=-1 signal=KILL");
	CHECK_STR(told("{\"t\":3,\"event\":\"eof\",\"from\":\"client\"}\n"), "eof client t=3000000");
	CHECK_STR(told("{\"t\":3,\"event\":\"eof\",\"from\":\"agent\",\"torn\":true}\n"), "eof agent t=3000000 torn");
	CHECK_STR(told("{\"t\":3,\"event\":\"lost\",\"count\":2,\"why\":\"No space\"}\n"), "lost unknown t=3000000 [No space] count=2");
	CHECK_STR(told("{\"t\":3,\"event\":\"lost\"}\n"), "lost unknown t=3000000 count=1");
	CHECK_STR(told("{\"t\":3,\"event\":\"restart\",\"why\":\"killed\"}\n"), "restart unknown t=3000000 [killed]");
	CHECK_STR(told("{\"t\":3,\"event\":\"restart\"}\n"), "restart unknown t=3000000");
	CHECK_STR(told("{\"acp-recording\":1,\"started\":\"2026-11-20T15:56:02.123456Z\",\"by\":\"x\"}\n"),
		"header unknown started=1795190162.123456");
	CHECK_STR(told("{\"acp-recording\":1,\"started\":\"2026-11-20T16:56:02+01:00\"}\n"), "header unknown started=1795190162.000000");
	CHECK_STR(told("{\"acp-recording\":1,\"started\":\"2026-11-20T15:26:02.5-00:30\"}\n"), "header unknown started=1795190162.500000");
	CHECK_STR(told("{\"acp-recording\":1,\"started\":\"yesterday at five o'clock\"}\n"), "header unknown started=0.000000");
	CHECK_STR(told("{\"acp-recording\":2}\n"), "header unknown started=0.000000");
}

/* What went into a running chain is answered to who sent it: told however the record is written. */
static void
test_an_answer_to_a_guest(void)
{
	static const char *const lines[] = {
		"{\"t\":1.000000,\"from\":\"agent\",\"to\":\"guest\",\"msg\":{\"id\":1,\"result\":{}}}\n",
		"{\"t\":1, \"to\":\"guest\",\"from\":\"agent\",\"msg\":{\"id\":1,\"result\":{}}}\n",
		"{\"t\":1,\"from\":\"agent\",\"msg\":{\"id\":1,\"result\":{}},\"to\":\"guest\"}\n"};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_STR(told(lines[i]), "message agent t=1000000 guest [{\"id\":1,\"result\":{}}]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":{\"id\":1,\"to\":\"guest\",\"result\":{}}}\n"),
		"message agent t=1000000 [{\"id\":1,\"to\":\"guest\",\"result\":{}}]");
	CHECK_STR(told("{\"t\":1,\"from\":\"agent\",\"to\":7,\"msg\":{\"id\":1,\"result\":{}}}\n"),
		"message agent t=1000000 [{\"id\":1,\"result\":{}}]");
}

static void
test_how_it_ended(void)
{
	struct record r = {.kind = RECORD_EXIT, .status = 7};

	CHECK(WIFEXITED(recording_status(&r)) && WEXITSTATUS(recording_status(&r)) == 7);
	r.status = -1;
	r.signal = slice_of("KILL");
	CHECK(WIFSIGNALED(recording_status(&r)) && WTERMSIG(recording_status(&r)) == SIGKILL);
	r.signal = slice_of("40");
	CHECK(WIFSIGNALED(recording_status(&r)) && WTERMSIG(recording_status(&r)) == 40);
	r.signal = slice_of("WHATEVER");
	CHECK(WIFSIGNALED(recording_status(&r)) && WTERMSIG(recording_status(&r)) == PROC_SIGNAL_UNKNOWN);
	r.signal = slice_of("9");
	CHECK(WIFSIGNALED(recording_status(&r)) && WTERMSIG(recording_status(&r)) == 9);
}

static void
test_unknown_records_and_events_are_told_as_other(void)
{
	CHECK_STR(told("{\"t\":3,\"event\":\"weather\"}\n"), "other unknown t=3000000");
	CHECK_STR(told("{\"t\":3,\"event\":{}}\n"), "other unknown t=3000000");
	CHECK_STR(told("{\"t\":3,\"event\":\"exit\"}\n"), "other unknown t=3000000");
	CHECK_STR(told("{\"t\":3,\"from\":\"agent\",\"picture\":\"\"}\n"), "other agent t=3000000");
	CHECK_STR(told("{\"t\":1,\"from\":\"agent\",\"colour\":{\"a\":[1]},\"noise\":\"x\",\"n\":1}\n"), "noise agent t=1000000 [x]");
	CHECK_STR(told("{\"t\":1,\"from\":\"moon\",\"noise\":\"x\"}\n"), "noise unknown t=1000000 [x]");
}

static void
test_time(void)
{
	CHECK_STR(told("{\"t\":1e-05,\"noise\":\"\"}"), "noise unknown t=10 []");
	CHECK_STR(told("{\"t\":0.1234567891,\"noise\":\"\"}"), "noise unknown t=123456 []");
	CHECK_STR(told("{\"t\":12.5e1,\"noise\":\"\"}"), "noise unknown t=125000000 []");
	CHECK_STR(told("{\"t\":-3,\"noise\":\"\"}"), "noise unknown t=0 []");
	CHECK_STR(told("{\"t\":1e99,\"noise\":\"\"}"), "noise unknown []");
	CHECK_STR(told("{\"t\":\"1\",\"noise\":\"\"}"), "noise unknown []");
	CHECK_STR(told("{\"t\":999999999999,\"noise\":\"\"}"), "noise unknown t=999999999999000000 []");
	CHECK_STR(told("{\"t\":123456789012345678901234567890,\"noise\":\"\"}"), "noise unknown []");
	CHECK_STR(told("{\"from\":\"client\",\"msg\":" M "}"), "message client [" M "]");
}

/* The text of a message is all from the colon to the record's last brace. */
static void
test_the_bytes_of_a_message_come_back(void)
{
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\": \t" M " \r}\n"), "message agent t=1000000 [ \t" M " \r]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M "}\r\n"), "message agent t=1000000 [" M "]");
	CHECK_STR(told("  {\"t\":1,\"from\":\"agent\",\"msg\":" M " }\r\n"), "message agent t=1000000 [" M " ]");
	CHECK_STR(told("{ \"t\" : 1 , \"from\" : \"agent\" , \"msg\" :  " M " } \n"), "message agent t=1000000 [  " M " ]");
	CHECK_STR(told("{\"msg\": " M " ,\"from\":\"agent\",\"t\":1}\n"), "message agent t=1000000 [" M "]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M ",\"at\":0}\n"), "message agent t=1000000 at=0 [" M "]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M ",\"note\":{\"a\":{}}}\n"), "message agent t=1000000 [" M "]");
	CHECK_STR(told("{\"\\u006dsg\":" M "}\n"), "message unknown [" M "]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":[" M ",1]}\n"), "noise agent t=1000000 [[" M ",1]]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":5}\n"), "noise agent t=1000000 [5]");
	CHECK_STR(told("{\"t\":1.000000,\"from\":\"agent\",\"msg\":{\"id\":[]}}\n"), "noise agent t=1000000 [{\"id\":[]}]");
	CHECK_STR(told("{\"t\":1.000000,\"at\":,\"from\":\"agent\",\"msg\":" M "}\n"), "bad unknown at 20: expected a value");
}

static void
test_a_message_is_scanned(void)
{
	struct recording *rec = open_string("{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M "}\n");
	struct record r;

	CHECK(next(rec, &r) == RECORD_MESSAGE);
	CHECK(r.msg.kind == MSG_REQUEST && slice_is(r.msg.method, "\"x\"") && slice_is(r.msg.id, "1"));
	CHECK(r.number == 1 && r.raw.n == strlen("{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M "}"));
	no_more(rec);
}

static void
test_depth(void)
{
	struct buf b = {0}, m = {0};
	struct recording *rec;
	struct record r;
	int depth, i;

	for (depth = JSON_DEPTH; depth <= JSON_DEPTH + 1; depth++) {
		m.n = b.n = 0;
		CHECK(buf_add_string(&m, "{\"method\":\"x\",\"params\":") == 0);
		for (i = 1; i < depth; i++)
			CHECK(buf_add(&m, "[", 1) == 0);
		for (i = 1; i < depth; i++)
			CHECK(buf_add(&m, "]", 1) == 0);
		CHECK(buf_add(&m, "}", 1) == 0);
		CHECK(recording_put_message(&b, 1, -1, ACP_AGENT, buf_slice(&m)) == 0);
		CHECK(buf_add_string(&b, "{\"msg\":") == 0 && buf_add_slice(&b, buf_slice(&m)) == 0);
		CHECK(buf_add_string(&b, ",\"t\":1}\n") == 0);
		rec = open_text(buf_slice(&b), NULL);
		for (i = 0; i < 2; i++) {
			if (depth == JSON_DEPTH) {
				CHECK(next(rec, &r) == RECORD_MESSAGE);
				CHECK(slice_eq(r.text, buf_slice(&m)));
			} else {
				CHECK(next(rec, &r) == RECORD_BAD);
			}
		}
		no_more(rec);
	}
	buf_free(&b);
	buf_free(&m);
}

static void
test_other_shapes(void)
{
	CHECK_STR(told(M "\r\n"), "message unknown [" M "\r]");
	CHECK_STR(told(" {\"method\":\"x\",\"params\":{\"t\":1}}"), "message unknown [ {\"method\":\"x\",\"params\":{\"t\":1}}]");
	CHECK_STR(told("{\"result\":{},\"id\":7,\"jsonrpc\":\"2.0\",\"msg\":1}"),
		"message unknown [{\"result\":{},\"id\":7,\"jsonrpc\":\"2.0\",\"msg\":1}]");
	CHECK_STR(told("{\"t\":0.5,\"from\":\"client\",\"line\":\"" QUOTED "\\r\"}"), "message client t=500000 [" M "\r]");
	CHECK_STR(told("{\"t\":0.5,\"from\":\"agent\",\"line\":\"a banner\"}"), "noise agent t=500000 [a banner]");
	CHECK_STR(told("{\"t\":0.5,\"from\":\"agent\",\"line\":\"a\\nb\"}\n"), "bad agent t=500000 [a\nb] at 32: a newline in a message");
}

static void
test_trace_events(void)
{
	const char *ask = "{\"type\":\"request\",\"ts\":0.25,\"protocol\":\"acp\",\"from\":\"Client\",\"to\":\"Proxy(0)\","
		"\"id\":1,\"method\":\"session/prompt\",\"session\":null,\"params\":{\"a\":[1]}}\n";
	const char *lower = "{\"type\":\"request\",\"ts\":0.25,\"protocol\":\"acp\",\"from\":\"Proxy(0)\",\"to\":\"Proxy(1)\","
		"\"id\":\"u\",\"method\":\"_proxy/initialize\",\"params\":null}\n";
	struct recording *rec;
	struct record r;

	CHECK_STR(told(ask), "message client t=250000 "
		"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{\"a\":[1]}}]");
	CHECK_STR(told("{\"type\":\"response\",\"ts\":1,\"from\":\"Agent\",\"to\":\"Client\",\"id\":1,"
		"\"is_error\":false,\"payload\":{\"x\":null}}"),
		"message agent t=1000000 [{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":null}}]");
	CHECK_STR(told("{\"type\":\"response\",\"ts\":1,\"from\":\"Proxy(0)\",\"to\":\"Client\",\"id\":1,"
		"\"is_error\":true,\"payload\":{\"code\":-32603,\"message\":\"\"}}"),
		"message agent t=1000000 [{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"\"}}]");
	CHECK_STR(told("{\"type\":\"notification\",\"ts\":1,\"from\":\"Proxy(0)\",\"to\":\"Client\",\"method\":\"m\",\"params\":{}}"),
		"message agent t=1000000 [{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}]");
	CHECK_STR(told("{\"type\":\"notification\",\"ts\":1,\"from\":\"Proxy()\",\"to\":\"Client\",\"method\":\"m\"}"), "other unknown t=1000000");
	CHECK_STR(told("{\"type\":\"notification\",\"ts\":1,\"from\":\"Proxy(1x)\",\"to\":\"Client\",\"method\":\"m\"}"), "other unknown t=1000000");
	CHECK_STR(told("{\"type\":\"weather\",\"ts\":1}"), "other unknown t=1000000");
	CHECK_STR(told(lower), "end unknown");
	rec = open_text(slice_of(lower), "1");
	CHECK(next(rec, &r) == RECORD_MESSAGE && r.from == ACP_CLIENT);
	CHECK_STR(copy(r.text), "{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"_proxy/initialize\"}");
	no_more(rec);
	rec = open_text(slice_of(lower), "proxy(1)");
	CHECK(next(rec, &r) == RECORD_MESSAGE);
	no_more(rec);
	rec = open_text(slice_of(ask), "agent");
	no_more(rec);
}

static void
test_bad_lines_are_told_and_reading_goes_on(void)
{
	struct recording *rec = open_string("\n# a comment {\n \t\r\n{\"t\":1.000000,\"from\":\"agent\",\"msg\":{\"a\":{}\n"
		"nonsense\n  #\n5\n{\"t\":1,\"t\":2,\"noise\":\"\"}\n{\"foo\":1}\n"
		"{\"t\":1.000000,\"from\":\"agent\",\"msg\":" M "}\n");
	struct record r;
	uint64_t number;

	CHECK(next(rec, &r) == RECORD_BAD && !r.torn);
	CHECK(r.number == 4 && r.error.at == r.raw.n + 1);
	for (number = 5; number <= 9; number++) {
		number += number == 6;
		CHECK(next(rec, &r) == RECORD_BAD && !r.torn && r.error.what && r.number == number);
	}
	CHECK(next(rec, &r) == RECORD_MESSAGE && r.number == 10);
	no_more(rec);
	CHECK_STR(told("{\"noise\":5}\n"), "bad unknown at 10: expected a string");
	CHECK_STR(told("{\"stderr64\":\"a\"}\n"), "bad unknown at 13: expected base64");
	CHECK_STR(told("{\"noise64\":[]}\n"), "bad unknown at 12: expected a string");
}

/* Each truncation of a recording: what is whole is read, the torn rest is told as such. */
static void
test_torn_end(void)
{
	static const char text[] = "{\"t\":0.000360,\"from\":\"client\",\"msg\":{\"method\":\"x\",\"params\":{\"a\":{}}}}\n"
		"{\"t\":2.000000,\"from\":\"agent\",\"stderr\":\"oh\"}\n";
	const char *first = strchr(text, '\n');
	size_t n;

	for (n = 0; n < sizeof(text); n++) {
		struct recording *rec = open_text(slice(text, n), NULL);
		bool one = text + n >= first, two = n >= sizeof(text) - 2, torn = !two && text[n ? n - 1 : 0] != '\n';
		struct record r;

		if (one)
			CHECK(next(rec, &r) == RECORD_MESSAGE);
		if (two)
			CHECK(next(rec, &r) == RECORD_STDERR);
		if (torn && n > 0 && text + n != first)
			CHECK(next(rec, &r) == RECORD_BAD && r.torn);
		no_more(rec);
	}
}

static void
test_a_line_beyond_the_limit(void)
{
	size_t n = 2 * 1024 * 1024;
	struct buf b = {0};
	struct recording *rec;
	struct record r;

	CHECK(buf_reserve(&b, n) == 0);
	memset(b.p, 'x', n);
	b.n = n;
	CHECK(buf_add_string(&b, "\n" M "\n") == 0 && buf_reserve(&b, n) == 0);
	memset(b.p + b.n, 'x', n);
	b.n += n;
	rec = open_text(buf_slice(&b), NULL);
	CHECK(next(rec, &r) == RECORD_BAD && r.number == 1);
	CHECK_STR(r.error.what, "longer than --max-line");
	CHECK(next(rec, &r) == RECORD_MESSAGE && r.number == 2);
	CHECK(next(rec, &r) == RECORD_BAD && r.number == 3);
	no_more(rec);
	buf_free(&b);
}

static const char several[] =
	"{\"acp-recording\":1,\"hops\":[\"tap\",\"agent\"]}\n"
	"{\"t\":1.000000,\"at\":0,\"from\":\"agent\",\"msg\":" M "}\n"
	"{\"t\":1.000000,\"at\":1,\"from\":\"agent\",\"msg\":" M "}\n"
	"{\"t\":2.000000,\"at\":1,\"from\":\"agent\",\"stderr\":\"oh\"}\n"
	"{\"t\":3.000000,\"at\":\"agent\",\"event\":\"eof\",\"from\":\"agent\"}\n"
	"{\"t\":4.000000,\"event\":\"exit\",\"status\":0}\n";

/* The kinds of the records of a hop, a letter each. */
static const char *
kinds_of(const char *hop)
{
	static char kinds[32];
	struct recording *rec = open_text(slice_of(several), hop);
	struct record r;
	size_t n = 0;

	while (next(rec, &r) != RECORD_END)
		kinds[n++] = "-hmnsxel?!"[r.kind];
	kinds[n] = '\0';
	recording_close(rec);
	return kinds;
}

static void
test_hops(void)
{
	CHECK_STR(kinds_of(NULL), "hmx");
	CHECK_STR(kinds_of("0"), "hmx");
	CHECK_STR(kinds_of("1"), "hmsex");
	CHECK_STR(kinds_of("2"), "hx");
	CHECK_STR(kinds_of("tap"), "hmx");
	CHECK_STR(kinds_of("agent"), "hmsex");
	CHECK_STR(kinds_of("0x"), "hx");
}

/* A writer that is slow, to a pipe on which nothing may be waited for with read alone. */
static void
test_a_pipe_is_waited_for(void)
{
	struct recording *rec;
	struct record r;
	int fds[2], go[2];
	char c;
	pid_t pid;

	CHECK(pipe(fds) == 0 && pipe(go) == 0);
	CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		close(go[1]);
		_exit(write(fds[1], M "\n{\"t\":", strlen(M) + 6) < 0 || read(go[0], &c, 1) != 1
			|| write(fds[1], "1,\"noise\":\"\"}\n", 14) < 0);
	}
	close(fds[1]);
	rec = recording_open(fds[0], 1024, NULL);
	if (!CHECK(rec != NULL))
		return;
	CHECK(next(rec, &r) == RECORD_MESSAGE);
	CHECK(write(go[1], "", 1) == 1);
	CHECK(next(rec, &r) == RECORD_NOISE && r.t == 1000000);
	no_more(rec);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(go[0]);
	close(go[1]);
}

static void
test_a_folder_can_not_be_read(void)
{
	struct recording *rec = recording_open(open("/", O_RDONLY), 1024, NULL);
	struct record r;

	CHECK(rec && recording_next(rec, &r) == -1);
	recording_close(rec);
	CHECK(recording_open(-1, 1024, NULL) == NULL);
}

/* Every message of the fixtures, written as a recording and read again, is the same. */
static void
test_fixture(const char *name)
{
	struct recording *fixture = recording_open(open(name, O_RDONLY), 1024 * 1024, NULL), *rec;
	struct buf b = {0}, texts = {0};
	struct record r;
	size_t messages = 0, at = 0;

	if (!CHECK(fixture != NULL))
		return;
	while (next(fixture, &r) != RECORD_END) {
		if (r.kind == RECORD_STDERR) {
			CHECK(PUT(-1, RECORD_STDERR, .t = r.t, .from = r.from, .text = r.text) == 0);
			continue;
		}
		CHECK(r.kind == RECORD_MESSAGE && r.timed && r.from != ACP_UNKNOWN && r.msg.kind != MSG_NOISE);
		CHECK(recording_put_message(&b, r.t, 0, r.from, r.text) == 0);
		CHECK(buf_add_slice(&texts, r.text) == 0);
		messages++;
	}
	recording_close(fixture);
	CHECK(messages > 0);
	rec = open_text(buf_slice(&b), NULL);
	while (next(rec, &r) != RECORD_END) {
		CHECK(r.kind == RECORD_MESSAGE || r.kind == RECORD_STDERR);
		if (r.kind != RECORD_MESSAGE)
			continue;
		CHECK(at + r.text.n <= texts.n && slice_eq(r.text, slice(texts.p + at, r.text.n)));
		at += r.text.n;
		messages--;
	}
	CHECK(messages == 0 && at == texts.n);
	recording_close(rec);
	buf_free(&b);
	buf_free(&texts);
}

static void
test_fixtures(void)
{
	DIR *dir = opendir("tests/fixtures");
	struct dirent *e;
	char name[512];
	size_t n = 0;

	while (dir && (e = readdir(dir))) {
		if (!strstr(e->d_name, ".jsonl"))
			continue; /* recordings with events, and other things' folders */
		snprintf(name, sizeof(name), "tests/fixtures/%s", e->d_name);
		test_fixture(name);
		n++;
	}
	CHECK(n > 0);
	if (dir)
		closedir(dir);
}

static void
test_base64(void)
{
	static const struct {
		const char *plain, *coded;
	} cases[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\xfd?>", "//79Pz4="}};
	static const char *const wrong[] = {"Z", "Z===", "Zg=", "Zm9vY", "Zm 9", "Zm9v=", "====", "=", "Zm9v\n", "Zg==Zg=="};
	struct buf b = {0};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		b.n = 0;
		CHECK(base64_encode(slice_of(cases[i].plain), &b) == 0);
		CHECK_STR(buf_string(&b), cases[i].coded);
		b.n = 0;
		CHECK(base64_decode(slice_of(cases[i].coded), &b) == 0);
		CHECK_STR(buf_string(&b), cases[i].plain);
	}
	b.n = 0;
	CHECK(base64_decode(slice_of("Zm8"), &b) == 0);
	CHECK_STR(buf_string(&b), "fo");
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(base64_decode(slice_of(wrong[i]), &b) == 1 && b.n == 2);
	buf_free(&b);
}

/* --- the environment --- */

static void
test_environment(void)
{
	struct recording *rec = open_string("{\"id\":1,\"method\":\"${A_NAME}\",\"params\":\"$${A_NAME} $$ ${ $ ${} ${1} ${A_NAME\"}\n"
		"{\"from\":\"client\",\"msg\":{\"id\":1,\"method\":\"${A_NAME}\"}}\n"
		"\n{\"from\":\"client\",\"msg\":{\"id\":1,\"method\":\"${NOT_SET}\"}}\n"
		"{\"t\":0.000001,\"from\":\"client\",\"msg\":{\"id\":1,\"method\":\"${A_NAME}${A_NAME}\"}}\n");
	struct record r;

	CHECK(setenv("A_NAME", "a \"b\"\n\\", 1) == 0 && unsetenv("NOT_SET") == 0);
	recording_use_environment(rec);
	CHECK(next(rec, &r) == RECORD_MESSAGE);
	CHECK_STR(copy(r.text), "{\"id\":1,\"method\":\"a \\\"b\\\"\\n\\\\\",\"params\":\"${A_NAME} $$ ${ $ ${} ${1} ${A_NAME\"}");
	CHECK(next(rec, &r) == RECORD_MESSAGE && r.from == ACP_CLIENT);
	CHECK_STR(copy(r.text), "{\"id\":1,\"method\":\"a \\\"b\\\"\\n\\\\\"}");
	CHECK(next(rec, &r) == RECORD_BAD && r.number == 4);
	CHECK_STR(r.error.what, "NOT_SET is not set in the environment");
	CHECK(next(rec, &r) == RECORD_MESSAGE && r.t == 1);
	CHECK_STR(copy(r.msg.method), "\"a \\\"b\\\"\\n\\\\a \\\"b\\\"\\n\\\\\"");
	no_more(rec);
	/* Where nobody asks for it, it is what it is. */
	CHECK_STR(told("{\"method\":\"${A_NAME}\"}\n"), "message unknown [{\"method\":\"${A_NAME}\"}]");
}

int
main(void)
{
	test_environment();
	test_what_is_written();
	test_each_kind_is_read();
	test_an_answer_to_a_guest();
	test_how_it_ended();
	test_unknown_records_and_events_are_told_as_other();
	test_time();
	test_the_bytes_of_a_message_come_back();
	test_a_message_is_scanned();
	test_depth();
	test_other_shapes();
	test_trace_events();
	test_bad_lines_are_told_and_reading_goes_on();
	test_torn_end();
	test_a_line_beyond_the_limit();
	test_hops();
	test_a_pipe_is_waited_for();
	test_a_folder_can_not_be_read();
	test_fixtures();
	test_base64();
	return check_done();
}
