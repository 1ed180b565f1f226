/*
 * Reads any lines as a conversation: whatever is in them, acp-check's memory stays its own. The first byte is the version, the schema's
 * stage and the format; a line's first byte is its side, or (3) the end of one.
 */
#include <stdlib.h>

#include "cmd/acp-check/check.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct watch watch;

static void
event(void *arg, const struct session_event *e)
{
	check_event(arg, e);
}

static void
read_line(struct check *c, unsigned side, struct slice line)
{
	struct message s = {.from = side % 3, .line = line, .t = ++watch.number};
	const struct session_message *seen;

	watch.t = s.t;
	c->where = (struct where){.file = watch.file, .number = watch.number, .from = s.from};
	if (side == 3)
		check_eof(c, line.n % 2);
	else if (msg_scan(line, &s.msg, NULL) == MSG_NOISE)
		check_noise(c, line);
	else if (sessions_see(watch.sessions, &s, &seen) == 0)
		check_message(c, seen);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct options o = {.level = LEVEL_NOTE, .select = select_new()};
	struct check c = {.options = &o, .watch = &watch};
	char *copy = malloc(size + 1), *p, *end, *newline;

	if (!watch.out.log && out_open(&watch.out, check_name, "/dev/null", true, NULL))
		abort();
	watch.sessions = sessions_new(event, &c, NULL);
	watch.number = 0;
	watch.file = "fuzz";
	if (!copy || !o.select || !watch.sessions || size == 0)
		goto out;
	memcpy(copy, data, size);
	o.protocol = data[0] % 3;
	o.unstable = data[0] & 4;
	o.format = (enum check_format)(data[0] / 8 % (CHECK_SARIF + 1));
	check_begin(&c, false);
	end = copy + size;
	for (p = copy + 1; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			newline = end;
		if (newline > p)
			read_line(&c, (unsigned char)*p % 4, slice_between(p + 1, newline));
	}
	watch.ending = WATCH_OVER;
	sessions_end(watch.sessions);
	watch.ending = WATCH_OPEN;
	report_end(&c, false);
	check_close(&c);
	out_print(&watch.out);
out:
	sessions_free(watch.sessions);
	select_free(o.select);
	free(copy);
	return 0;
}
