/* requests: answers find their questions, whatever ids the peers make up. */
#include "lib/acp/requests.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct requests *rs;

static struct msg
scan(const char *text)
{
	struct json_error error;
	struct msg m;

	CHECK(msg_scan(slice_of(text), &m, &error) != MSG_NOISE);
	return m;
}

static struct request *
ask(enum acp_side from, const char *id, const char *method)
{
	char text[256];
	struct msg m;

	snprintf(text, sizeof(text), "{\"id\":%s,\"method\":\"%s\",\"params\":{\"sessionId\":\"S\"}}", id, method);
	m = scan(text);
	return requests_open(rs, from, 7, &m);
}

static struct request *
find(enum acp_side from, const char *id)
{
	return requests_find(rs, from, slice_of(id));
}

/* Takes the answer to an id: the method of its request, or "" where there is none. */
static const char *
answered(enum acp_side from, const char *id)
{
	static char method[64];
	struct request *r = find(from, id);

	method[0] = '\0';
	if (r) {
		requests_remove(rs, r);
		snprintf(method, sizeof(method), "%.*s", (int)r->method.n - 2, r->method.p + 1);
		requests_done(r);
	}
	return method;
}

static void
test_both_directions(void)
{
	struct request *down = ask(ACP_CLIENT, "1", "down"), *up = ask(ACP_AGENT, "1", "up");

	CHECK(down && up && requests_count(rs) == 2);
	CHECK(find(ACP_CLIENT, "1") == down && find(ACP_AGENT, "1") == up);
	CHECK(down->from == ACP_CLIENT && down->t == 7 && slice_is(down->id, "1"));
	CHECK(slice_is(down->session, "\"S\"") && slice_is(down->method, "\"down\"") && !down->owner);
	CHECK_STR(answered(ACP_AGENT, "1"), "up");
	CHECK_STR(answered(ACP_AGENT, "1"), "");
	CHECK_STR(answered(ACP_CLIENT, "1"), "down");
	CHECK(requests_count(rs) == 0);
}

static void
test_ids_by_value(void)
{
	CHECK(ask(ACP_CLIENT, "1", "number"));
	CHECK(ask(ACP_CLIENT, "\"1\"", "string"));
	CHECK(ask(ACP_CLIENT, "null", "null"));
	CHECK(ask(ACP_CLIENT, "9223372036854775807", "large"));
	CHECK(ask(ACP_CLIENT, "9223372036854775808", "larger"));
	CHECK_STR(answered(ACP_CLIENT, "1.0"), "number");
	CHECK_STR(answered(ACP_CLIENT, "1e0"), "");
	CHECK_STR(answered(ACP_CLIENT, "\"\\u0031\""), "string");
	CHECK_STR(answered(ACP_CLIENT, "\"null\""), "");
	CHECK_STR(answered(ACP_CLIENT, "null"), "null");
	CHECK_STR(answered(ACP_CLIENT, "9223372036854775808"), "larger");
	CHECK_STR(answered(ACP_CLIENT, "9223372036854775807"), "large");
	CHECK_STR(answered(ACP_CLIENT, "2"), "");
	CHECK(requests_count(rs) == 0);
}

static void
test_side_unknown(void)
{
	CHECK(ask(ACP_AGENT, "1", "agent") && ask(ACP_UNKNOWN, "2", "unknown"));
	CHECK_STR(answered(ACP_UNKNOWN, "1"), "agent");
	CHECK_STR(answered(ACP_UNKNOWN, "2"), "unknown");
	CHECK_STR(answered(ACP_UNKNOWN, "3"), "");
	CHECK(ask(ACP_CLIENT, "4", "turn") && ask(ACP_AGENT, "4", "permission") && ask(ACP_UNKNOWN, "4", "unknown"));
	CHECK_STR(answered(ACP_UNKNOWN, "4"), "unknown");
	CHECK_STR(answered(ACP_UNKNOWN, "4"), "permission");
	CHECK_STR(answered(ACP_UNKNOWN, "4"), "turn");
	CHECK(ask(ACP_AGENT, "4", "first") && ask(ACP_CLIENT, "4", "second"));
	CHECK_STR(answered(ACP_UNKNOWN, "4"), "second");
	CHECK_STR(answered(ACP_UNKNOWN, "4"), "first");
}

static void
test_oldest_first(void)
{
	struct request *middle, *last;

	CHECK(ask(ACP_CLIENT, "1", "a"));
	CHECK(ask(ACP_CLIENT, "5", "other"));
	CHECK(ask(ACP_CLIENT, "1", "b"));
	middle = ask(ACP_CLIENT, "1.0", "c");
	CHECK(ask(ACP_CLIENT, "1", "d"));
	last = ask(ACP_CLIENT, "1", "e");
	CHECK_STR(answered(ACP_CLIENT, "1"), "a");
	requests_remove(rs, middle);
	requests_done(middle);
	requests_remove(rs, last);
	requests_done(last);
	CHECK(ask(ACP_CLIENT, "1", "f"));
	CHECK_STR(answered(ACP_CLIENT, "1"), "b");
	CHECK_STR(answered(ACP_CLIENT, "1"), "d");
	CHECK_STR(answered(ACP_CLIENT, "1"), "f");
	CHECK_STR(answered(ACP_CLIENT, "1"), "");
	CHECK_STR(answered(ACP_CLIENT, "5"), "other");
}

static void
test_all_that_are_open(void)
{
	struct request *r = NULL;
	char id[16], want[16];
	int i;

	for (i = 0; i < 2000; i++) {
		snprintf(id, sizeof(id), "%d", i);
		CHECK(ask(i % 2 ? ACP_AGENT : ACP_CLIENT, id, "x"));
	}
	CHECK(requests_count(rs) == 2000);
	for (i = 1; i < 2000; i += 3) {
		snprintf(id, sizeof(id), "%d", i);
		CHECK_STR(answered(i % 2 ? ACP_AGENT : ACP_CLIENT, id), "x");
	}
	for (i = 0; i < 2000; i++) {
		if (i % 3 == 1)
			continue;
		r = requests_next(rs, r);
		snprintf(want, sizeof(want), "%d", i);
		if (!CHECK(r && slice_is(r->id, want)))
			break;
	}
	CHECK(!requests_next(rs, r));
	while ((r = requests_next(rs, NULL))) {
		requests_remove(rs, r);
		requests_done(r);
	}
	CHECK(requests_count(rs) == 0);
}

enum { MANY = 300000 };

/* The same id over and over, taken from the front, the back and the middle: each step is short. */
static void
test_liar(void)
{
	struct request **all = calloc(MANY, sizeof(struct request *));
	size_t i;

	if (!CHECK(all != NULL))
		return;
	for (i = 0; i < MANY; i++)
		all[i] = ask(ACP_AGENT, "\"same\"", "x");
	for (i = MANY / 3; i < 2 * MANY / 3; i++) {
		requests_remove(rs, all[i]);
		requests_done(all[i]);
	}
	for (i = MANY; i-- > 2 * MANY / 3;) {
		requests_remove(rs, all[i]);
		requests_done(all[i]);
	}
	for (i = 0; i < MANY / 3; i++) {
		if (find(ACP_AGENT, "\"same\"") != all[i])
			break;
		requests_remove(rs, all[i]);
		requests_done(all[i]);
	}
	CHECK(i == MANY / 3 && requests_count(rs) == 0);
	free(all);
}

int
main(void)
{
	rs = requests_new();
	CHECK(rs && !find(ACP_UNKNOWN, "1") && !requests_next(rs, NULL));
	test_both_directions();
	test_ids_by_value();
	test_side_unknown();
	test_oldest_first();
	test_all_that_are_open();
	test_liar();
	requests_free(rs);
	requests_free(NULL);
	return check_done();
}
