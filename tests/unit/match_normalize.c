/* normalize: what a program makes of a message, and what it may not. */
#include "lib/match/normalize.h"

#include <stdlib.h>

#include "tests/unit/check.h"

/* What comes of the message: its text, "nothing", or "failed: " and why. */
static const char *
run(const char *program, const char *message)
{
	static struct buf to;
	const struct msg m = {.text = slice_of(message), .method = slice_of("\"session/update\"")};
	struct normalize *n;
	char *why;

	to.n = 0;
	n = normalize_new(program, &why);
	if (!CHECK(n != NULL))
		return why;
	switch (normalize_message(n, ACP_AGENT, &m, NULL, &to, &why)) {
	case NORMALIZE_FAILED:
		to.n = 0;
		CHECK(buf_printf(&to, "failed: %s", why ? why : "no memory") == 0);
		free(why);
		break;
	case NORMALIZE_NOTHING:
		CHECK(to.n == 0 && buf_add_string(&to, "nothing") == 0);
		break;
	case NORMALIZE_DONE:
		break;
	}
	normalize_free(n);
	return buf_string(&to);
}

int
main(void)
{
	struct normalize *n;
	char *why;

	CHECK_STR(run(".", "{\"method\" : \"m\"}"), "{\"method\":\"m\"}");
	CHECK_STR(run("del(.params.x)", "{\"params\":{\"x\":1,\"y\":2}}"), "{\"params\":{\"y\":2}}");
	CHECK_STR(run("select(.method)", "{\"id\":1}"), "nothing");
	CHECK_STR(run("[$from, $method, $session]", "{}"), "[\"agent\",\"session/update\",null]");
	CHECK_STR(run(".a, .b", "{}"), "failed: it has more than one output for a message");
	CHECK(strncmp(run(".a.b", "{\"a\":1}"), "failed: ", 8) == 0);
	n = normalize_new(".a[", &why);
	CHECK(!n && why && strstr(why, "syntax"));
	free(why);
	return check_done();
}
