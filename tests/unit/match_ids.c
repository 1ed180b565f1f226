/* ids: a recorded id has one live twin, and back; folders and the paths below them. */
#include "lib/match/ids.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static struct ids *ids;

static struct slice
none(void)
{
	return slice(NULL, 0);
}

static struct ids_scope
place(enum acp_id what, const char *session)
{
	return (struct ids_scope){.what = what, .session = session ? slice_of(session) : none()};
}

static enum ids_verdict
learn(enum acp_id what, const char *session, const char *recorded, const char *live)
{
	return ids_learn(ids, place(what, session), slice_of(recorded), slice_of(live));
}

static const char *
text(struct slice s)
{
	static char copy[128];

	snprintf(copy, sizeof(copy), "%.*s", (int)s.n, s.p ? s.p : "(none)");
	return s.p ? copy : "(none)";
}

static void
test_pairs(void)
{
	struct ids_scope s = place(ACP_ID_SESSION, NULL);

	CHECK(learn(ACP_ID_SESSION, NULL, "\"a\"", "\"x\"") == IDS_NEW);
	CHECK(learn(ACP_ID_SESSION, NULL, "\"a\"", "\"x\"") == IDS_SAME);
	CHECK(learn(ACP_ID_SESSION, NULL, "\"\\u0061\"", "\"x\"") == IDS_SAME);
	CHECK(learn(ACP_ID_SESSION, NULL, "\"a\"", "\"y\"") == IDS_CONFLICT);
	CHECK(learn(ACP_ID_SESSION, NULL, "\"b\"", "\"x\"") == IDS_CONFLICT);
	CHECK(ids_judge(ids, s, slice_of("\"c\""), slice_of("\"z\"")) == IDS_NEW);
	CHECK(ids_judge(ids, s, slice_of("\"c\""), slice_of("\"z\"")) == IDS_NEW);
	CHECK_STR(text(ids_live(ids, s, slice_of("\"a\""))), "\"x\"");
	CHECK_STR(text(ids_recorded(ids, s, slice_of("\"x\""))), "\"a\"");
	CHECK_STR(text(ids_live(ids, s, slice_of("\"x\""))), "(none)");
	CHECK_STR(text(ids_live(ids, s, slice_of("\"b\""))), "(none)");
	/* A number is not the string of its digits. */
	CHECK(learn(ACP_ID_SESSION, NULL, "\"1\"", "\"one\"") == IDS_NEW);
	CHECK(learn(ACP_ID_SESSION, NULL, "1", "2") == IDS_NEW);
	CHECK(learn(ACP_ID_SESSION, NULL, "1.0", "20e-1") == IDS_SAME);
}

static void
test_places(void)
{
	struct ids_scope down = {.what = ACP_ID_REQUEST, .from = ACP_CLIENT}, up = {.what = ACP_ID_REQUEST, .from = ACP_AGENT};

	CHECK(learn(ACP_ID_TOOL_CALL, "\"s\"", "\"t\"", "\"1\"") == IDS_NEW);
	CHECK(learn(ACP_ID_TOOL_CALL, "\"r\"", "\"t\"", "\"2\"") == IDS_NEW);
	CHECK(learn(ACP_ID_TOOL_CALL, "\"s\"", "\"t\"", "\"2\"") == IDS_CONFLICT);
	CHECK(learn(ACP_ID_MESSAGE, "\"s\"", "\"t\"", "\"2\"") == IDS_NEW);
	/* Where the session ends and the id begins. */
	CHECK(learn(ACP_ID_MESSAGE, "\"ab\"", "\"c\"", "\"1\"") == IDS_NEW);
	CHECK(learn(ACP_ID_MESSAGE, "\"a\"", "\"bc\"", "\"1\"") == IDS_NEW);
	/* Both sides count their requests; an id may be used again. */
	CHECK(ids_learn(ids, down, slice_of("1"), slice_of("\"x\"")) == IDS_NEW);
	CHECK(ids_learn(ids, up, slice_of("1"), slice_of("\"y\"")) == IDS_NEW);
	CHECK_STR(text(ids_live(ids, down, slice_of("1"))), "\"x\"");
	CHECK(ids_learn(ids, down, slice_of("1"), slice_of("\"z\"")) == IDS_CONFLICT);
	CHECK(ids_renew(ids, down, slice_of("1"), slice_of("\"z\"")) == 0);
	CHECK_STR(text(ids_live(ids, down, slice_of("1"))), "\"z\"");
	CHECK_STR(text(ids_recorded(ids, down, slice_of("\"x\""))), "(none)");
	CHECK_STR(text(ids_live(ids, up, slice_of("1"))), "\"y\"");
}

/* However long it goes on, so many are kept; sessions are never forgotten. */
static void
test_bound(void)
{
	char a[32], b[32];
	int i;

	CHECK(learn(ACP_ID_SESSION, NULL, "\"kept\"", "\"held\"") == IDS_NEW);
	for (i = 0; i < 3 * IDS_MOST; i++) {
		snprintf(a, sizeof(a), "\"a%d\"", i);
		snprintf(b, sizeof(b), "\"b%d\"", i);
		if (learn(ACP_ID_MESSAGE, "\"long\"", a, b) != IDS_NEW)
			break;
	}
	CHECK(i == 3 * IDS_MOST);
	CHECK_STR(text(ids_live(ids, place(ACP_ID_MESSAGE, "\"long\""), slice_of(a))), b);
	CHECK_STR(text(ids_live(ids, place(ACP_ID_MESSAGE, "\"long\""), slice_of("\"a0\""))), "(none)");
	CHECK_STR(text(ids_recorded(ids, place(ACP_ID_MESSAGE, "\"long\""), slice_of("\"b0\""))), "(none)");
	CHECK_STR(text(ids_live(ids, place(ACP_ID_SESSION, NULL), slice_of("\"kept\""))), "\"held\"");
}

static bool
same(const char *session, const char *recorded, const char *live)
{
	return ids_same_text(ids, session ? slice_of(session) : none(), slice_of(recorded), slice_of(live)) == 1;
}

static void
folder(const char *request, const char *session, const char *recorded, const char *live)
{
	CHECK(ids_learn_directory(ids, request ? slice_of(request) : none(), session ? slice_of(session) : none(),
		slice_of(recorded), slice_of(live)) == 0);
}

static void
test_paths(void)
{
	CHECK(same(NULL, "\"/p/x\"", "\"/p/x\"") && !same(NULL, "\"/p/x\"", "\"/q/x\""));
	folder("7", NULL, "\"/home/u/p\"", "\"/tmp/w 1/\"");
	CHECK(same("\"s\"", "\"/home/u/p\"", "\"/tmp/w 1\""));
	CHECK(same("\"s\"", "\"/home/u/p/a.c\"", "\"/tmp/w 1/a.c\""));
	CHECK(same("\"s\"", "\"\\/home\\/u\\/p\\/a.c\"", "\"/tmp/w 1/a.c\""));
	CHECK(!same("\"s\"", "\"/home/u/p/a.c\"", "\"/tmp/w 1/b.c\""));
	/* What lies in the recorded folder has to lie in the live one. */
	CHECK(!same("\"s\"", "\"/home/u/p/a.c\"", "\"/home/u/p/a.c\""));
	CHECK(!same("\"s\"", "\"/home/u/p\"", "\"/home/u/p\""));
	/* Not every beginning is the folder. */
	CHECK(!same("\"s\"", "\"/home/u/pool\"", "\"/tmp/w 1ool\""));
	CHECK(same("\"s\"", "\"/home/u/pool\"", "\"/home/u/pool\""));
	CHECK(same("\"s\"", "\"/home/u/p.old/x\"", "\"/home/u/p.old/x\""));
	for (const char *c = "09azAZ_-"; *c; c++) {
		char other[32];

		snprintf(other, sizeof(other), "\"/home/u/p%c\"", *c);
		CHECK(same("\"s\"", other, other));
		snprintf(other, sizeof(other), "\"%c/home/u/p\"", *c);
		CHECK(same("\"s\"", other, other));
	}
	CHECK(same("\"s\"", "\"/home/u/pé\"", "\"/home/u/pé\""));
	/* What cannot stand in a name ends it. */
	for (const char *c = ":@[`{ ,)"; *c; c++) {
		char recorded[32], live[32];

		snprintf(recorded, sizeof(recorded), "\"/home/u/p%c\"", *c);
		snprintf(live, sizeof(live), "\"/tmp/w 1%c\"", *c);
		CHECK(same("\"s\"", recorded, live) && !same("\"s\"", recorded, recorded));
	}
	CHECK(same("\"s\"", "\"/mnt/home/u/p/x\"", "\"/mnt/home/u/p/x\""));
	CHECK(same("\"s\"", "\"~/home/u/p/x\"", "\"~/home/u/p/x\""));
	/* In the middle of prose, and more than once. */
	CHECK(same("\"s\"", "\"wrote /home/u/p/a (see '/home/u/p').\"", "\"wrote /tmp/w 1/a (see '/tmp/w 1').\""));
	CHECK(same("\"s\"", "\"line\\n/home/u/p.\"", "\"line\\n/tmp/w 1.\""));
	CHECK(!same("\"s\"", "\"/home/u/p and /home/u/p\"", "\"/tmp/w 1 and /home/u/p\""));
	CHECK(same("\"s\"", "\"PATH=/bin:/home/u/p/bin\"", "\"PATH=/bin:/tmp/w 1/bin\""));
	/* URIs are percent-encoded. */
	CHECK(same("\"s\"", "\"file:///home/u/p/a%20b\"", "\"file:///tmp/w%201/a%20b\""));
	CHECK(same("\"s\"", "\"file:///home/u%2Fp/a\"", "\"file:///tmp/w%201/a\""));
	CHECK(!same("\"s\"", "\"file:///home/u/p/a\"", "\"file:///tmp/w%202/a\""));
	CHECK(same("\"s\"", "\"file:///home/u%2fp/a\"", "\"file:///tmp/%77%201/a\""));
	CHECK(!same("\"s\"", "\"file:///home/u%2gp/a\"", "\"file:///tmp/w%201/a\""));
	CHECK(!same("\"s\"", "\"file:///home/u/p\"", "\"file:///tmp/w%2\""));
	CHECK(!same("\"s\"", "\"/\"", "\"\"") && same("\"s\"", "\"\"", "\"\""));
}

/* Each session has its own folder, though the recorded ones were the same. */
static void
test_sessions(void)
{
	folder("1", NULL, "\"/a\"", "\"/x\"");
	folder("2", NULL, "\"/a\"", "\"/y\"");
	CHECK(same("\"one\"", "\"/a/f\"", "\"/x/f\"") && same("\"one\"", "\"/a/f\"", "\"/y/f\""));
	CHECK(ids_begin_session(ids, slice_of("1"), slice_of("\"one\"")) == 0);
	CHECK(ids_begin_session(ids, slice_of("2"), slice_of("\"two\"")) == 0);
	CHECK(ids_begin_session(ids, slice_of("3"), slice_of("\"two\"")) == 0);
	CHECK(same("\"one\"", "\"/a/f\"", "\"/x/f\"") && !same("\"one\"", "\"/a/f\"", "\"/y/f\""));
	CHECK(!same("\"two\"", "\"/a/f\"", "\"/x/f\"") && same("\"two\"", "\"/a/f\"", "\"/y/f\""));
	folder(NULL, "\"one\"", "\"/a/b\"", "\"/z\"");
	CHECK(same("\"one\"", "\"/a/b/f /a/c\"", "\"/z/f /x/c\""));
	folder(NULL, "\"one\"", "\"/a\"", "\"/other\"");
	CHECK(same("\"one\"", "\"/a/f\"", "\"/other/f\"") && !same("\"one\"", "\"/a/f\"", "\"/x/f\""));
	/* An id that is given again to a request begins another session, with nothing of the first. */
	folder("9", NULL, "\"/old\"", "\"/o\"");
	CHECK(ids_begin_session(ids, slice_of("9"), slice_of("\"nine\"")) == 0);
	folder("9", NULL, "\"/new\"", "\"/n\"");
	CHECK(ids_begin_session(ids, slice_of("9"), slice_of("\"ten\"")) == 0);
	CHECK(same("\"ten\"", "\"/new/f /old/f\"", "\"/n/f /old/f\""));
	/* A pair that comes again takes no room from the others. */
	folder(NULL, NULL, "\"/k\"", "\"/kept\"");
	for (int i = 0; i < 500; i++)
		folder(NULL, NULL, "\"/again\"", "\"/a\"");
	CHECK(same(NULL, "\"/k/f\"", "\"/kept/f\""));
	/* The root stands for nothing. */
	folder(NULL, "\"root\"", "\"/\"", "\"/x\"");
	CHECK(same("\"root\"", "\"/etc\"", "\"/etc\""));
	for (int i = 0; i < 500; i++) {
		char live[32];

		snprintf(live, sizeof(live), "\"/many/%d\"", i);
		folder(NULL, NULL, "\"/m\"", live);
	}
	CHECK(same(NULL, "\"/m/f\"", "\"/many/499/f\"") && !same(NULL, "\"/m/f\"", "\"/many/3/f\""));
}

static const char *
written(const char *line, const char *session, const char *id)
{
	static struct buf to;
	struct json_error error;
	struct msg m;

	CHECK(msg_scan(slice_of(line), &m, &error) != MSG_NOISE);
	to.n = 0;
	CHECK(ids_write(ids, slice_of(line), &m, ACP_CLIENT, session ? slice_of(session) : none(),
		id ? slice_of(id) : none(), &to) == 0);
	return buf_string(&to);
}

static void
test_write(void)
{
	static const char plain[] = " {\"id\" : 1,\"result\":{\"x\": 1.50, \"p\":\"/r/\\u0041\"}}\r";

	CHECK_STR(written(plain, NULL, NULL), plain);
	CHECK_STR(written(plain, NULL, "\"q\""), " {\"id\" : \"q\",\"result\":{\"x\": 1.50, \"p\":\"/r/\\u0041\"}}\r");
	CHECK(learn(ACP_ID_SESSION, NULL, "\"rec\"", "\"live\\u0021\"") == IDS_NEW);
	CHECK(learn(ACP_ID_TOOL_CALL, "\"rec\"", "\"t1\"", "\"tool-9\"") == IDS_NEW);
	CHECK_STR(written("{\"method\":\"session/update\",\"params\":{\"update\":{\"toolCallId\":\"t1\",\"title\":\"t1\","
		"\"rawInput\":{\"toolCallId\":\"t1\"}}, \"sessionId\" : \"rec\",\"x\":1e2}}", NULL, NULL),
		"{\"method\":\"session/update\",\"params\":{\"update\":{\"toolCallId\":\"tool-9\",\"title\":\"t1\","
		"\"rawInput\":{\"toolCallId\":\"t1\"}}, \"sessionId\" : \"live\\u0021\",\"x\":1e2}}");
	/* Another session's tool call is another one. */
	CHECK_STR(written("{\"id\":5,\"result\":{\"toolCallId\":\"t1\"}}", "\"other\"", NULL),
		"{\"id\":5,\"result\":{\"toolCallId\":\"t1\"}}");
	CHECK_STR(written("{\"id\":5,\"result\":{\"toolCallId\":\"t1\"}}", "\"rec\"", "6"),
		"{\"id\":6,\"result\":{\"toolCallId\":\"tool-9\"}}");
	folder(NULL, "\"rec\"", "\"/r\"", "\"/l l\"");
	CHECK_STR(written("{\"method\":\"m\",\"params\":{\"sessionId\":\"rec\",\"a\":[\"/r/x\",\"say \\\"/r\\\"\",\"file:///r/y\","
		"\"/rx\"],\"cwd\":\"/r\",\"n\":1.0}}", NULL, NULL),
		"{\"method\":\"m\",\"params\":{\"sessionId\":\"live\\u0021\",\"a\":[\"/l l/x\",\"say \\\"/l l\\\"\",\"file:///l%20l/y\","
		"\"/rx\"],\"cwd\":\"/l l\",\"n\":1.0}}");
	CHECK(ids_learn(ids, (struct ids_scope){.what = ACP_ID_REQUEST, .from = ACP_CLIENT}, slice_of("3"), slice_of("\"c\"")) == IDS_NEW);
	CHECK_STR(written("{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":3}}", NULL, NULL),
		"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"c\"}}");
}

static void
test_keep_paths(void)
{
	CHECK(!ids_is_directory(ids, slice_of("\"/a\"")));
}

static void
with(bool keep_paths, void (*test)(void))
{
	ids = ids_new(keep_paths);
	if (!CHECK(ids != NULL))
		return;
	test();
	ids_free(ids);
}

int
main(void)
{
	with(false, test_pairs);
	with(false, test_places);
	with(false, test_bound);
	with(false, test_paths);
	with(false, test_sessions);
	with(false, test_write);
	with(true, test_keep_paths);
	ids_free(NULL);
	return check_done();
}
