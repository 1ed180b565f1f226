/* What --summary -f json has written of whole recordings is added up: equal to one run over all of them. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"
#include "lib/run/input.h"

struct merge {
	struct tool tool;
	const char *name;
	size_t number;   /* of the line */
	size_t sessions; /* since the last total */
	size_t totals;   /* summaries that were read */
	int status;
};

static void
bad(struct merge *m, const char *what)
{
	cli_warn(tool_name, "%s: line %zu: %s", m->name, m->number, what);
	m->status = EXIT_USAGE;
}

/* The line that ends a summary: are all sessions there that it was written with? */
static void
read_total(struct merge *m, struct slice version, struct slice sessions)
{
	uint64_t n;

	if (json_type(version) != JSON_NUMBER || !json_u64(version, &n) || n != SUMMARY_VERSION)
		bad(m, "a summary of another version of acp-usage");
	else if (json_type(sessions) != JSON_NUMBER || !json_u64(sessions, &n) || n != m->sessions)
		bad(m, "sessions are missing before this total");
	m->sessions = 0;
	m->totals++;
}

static void
read_line(struct merge *m, struct slice line)
{
	static const char *const names[] = {"total", "session", "recordings", "acp-usage", "sessions"};
	const char *why = NULL;
	struct slice v[5];
	struct json_error error;
	struct buf text = {0};
	int r = 0;

	if (line.n == 0)
		return;
	if (json_scan(line, JSON_DEPTH, names, 5, v, &error) != JSON_OBJECT || (!v[0].p && !v[2].p)) {
		bad(m, "a line that --summary --format json has not written");
		return;
	}
	if (v[0].p) {
		read_total(m, v[3], v[4]);
		return;
	}
	m->sessions++;
	r = usage_get_parts(m->tool.usage, line, &why);
	if (r < 0)
		tool_fail(&m->tool, "out of memory");
	if (r > 0 && buf_printf(&text, "a damaged summary: %s", why) == 0 && buf_string(&text))
		bad(m, text.p);
	buf_free(&text);
}

static void
read_file(struct merge *m, const char *name)
{
	size_t before = m->totals;
	int fd = cli_open(tool_name, name, &m->name);
	int status = m->status;
	struct input in;
	enum input_got got;
	struct line line;

	m->number = m->sessions = 0;
	if (fd < 0 || input_open(&in, fd, m->tool.options->frame.limit) < 0) {
		bad(m, strerror(errno));
		return;
	}
	/* The first line that is wrong says enough. */
	while (m->status == status && (got = input_line(&in, &line)) != INPUT_END) {
		if (got == INPUT_NOTHING) {
			struct pollfd p = {.fd = in.io.fd, .events = POLLIN};

			if (input_fill(&in) < 0 && (errno != EAGAIN || (poll(&p, 1, -1) < 0 && errno != EINTR))) {
				bad(m, strerror(errno));
				break;
			}
			continue;
		}
		m->number = line.number;
		if (got != INPUT_PIECE)
			read_line(m, line.text);
		else if (line.last)
			bad(m, "longer than the limit");
	}
	input_close(&in);
	if (m->totals == before && m->sessions == 0 && m->status == status)
		cli_warn(tool_name, "%s: no summary in it", m->name);
	if (m->sessions && m->status == status)
		bad(m, "the summary has no end: its total is missing");
}

int
merge_run(const struct options *given)
{
	struct options o = *given;
	struct merge m = {.name = ""};
	char **name;
	int status;

	o.summary = true;
	if (tool_open(&m.tool, &o, false) < 0)
		return EXIT_FAILED;
	files_open_output(&m.tool);
	for (name = o.files; *name; name++)
		read_file(&m, *name);
	if (m.totals == 0)
		m.status = EXIT_USAGE;
	/* Sums of what is damaged would be wrong without saying so. */
	if (m.status == 0 && summary_put(&m.tool) < 0)
		tool_fail(&m.tool, "out of memory");
	status = m.status ? m.status : m.tool.status;
	if (files_close_output(&m.tool) < 0 || m.tool.failed)
		status = EXIT_FAILED;
	tool_close(&m.tool);
	return status;
}
