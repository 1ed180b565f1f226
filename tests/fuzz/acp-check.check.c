/*
 * Reads any lines as a conversation: whatever is in them, acp-check's memory stays its own, and a finding names a place that is
 * there. The first byte is the version, and the schema's stage; a line's first byte is its side.
 */
#include <stdlib.h>

#include "cmd/acp-check/check.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
read_line(struct check *c, enum acp_side from, struct slice line)
{
	struct message s = {.from = from, .line = line};
	struct json_error error;

	c->where = (struct where){.file = "fuzz", .number = 1, .from = from};
	if (msg_scan(line, &s.msg, &error) == MSG_NOISE)
		check_noise(c, line);
	else
		check_message(c, &s);
	/* What was reported is a line each. */
	if (c->out.own.n && c->out.own.p[c->out.own.n - 1] != '\n')
		abort();
	c->out.own.n = 0;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct options o = {.level = LEVEL_NOTE, .select = select_new()};
	char *copy = malloc(size + 1), *p, *end, *newline;
	struct check c;

	if (!copy || !o.select || size == 0)
		goto out;
	memcpy(copy, data, size);
	o.protocol = data[0] % 3;
	o.unstable = data[0] & 4;
	o.format = data[0] & 8 ? CHECK_JSON : CHECK_TEXT;
	check_open(&c, &o);
	end = copy + size;
	for (p = copy + 1; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			newline = end;
		if (newline > p)
			read_line(&c, (enum acp_side)((unsigned char)*p % 3), slice_between(p + 1, newline));
	}
	check_end(&c, false);
	check_close(&c);
out:
	select_free(o.select);
	free(copy);
	return 0;
}
