/* What --summary -f json has written of whole recordings is added up: equal to one run over all of them. */
#include "cmd/acp-usage/tool.h"
#include "lib/recording/operands.h"
#include "lib/run/input.h"

struct merge {
	struct tool tool;
	struct operands in;
	size_t number;   /* of the line */
	size_t sessions; /* since the last total */
	size_t totals;   /* summaries that were read */
};

static void
bad(struct merge *m, const char *what)
{
	cli_warn(tool_name, "%s: line %zu: %s", m->in.name, m->number, what);
	m->in.bad = true;
	m->in.status = EXIT_USAGE;
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

/* Until the first line that is wrong, which says enough. */
static void
read_lines(struct merge *m, struct input *in)
{
	enum input_got got;
	struct line line;

	while (!m->in.bad && !m->in.failed && (got = input_next(in, &line)) != INPUT_END) {
		m->number = line.number;
		if (got == INPUT_NOTHING)
			operands_fail(&m->in);
		else if (got != INPUT_PIECE)
			read_line(m, line.text);
		else if (line.last)
			bad(m, "longer than the limit");
	}
}

static void
read_files(struct merge *m)
{
	size_t before;
	struct input in;
	int fd;

	while ((fd = operands_open(&m->in)) >= 0) {
		before = m->totals;
		m->number = m->sessions = 0;
		if (input_open(&in, fd, m->tool.options->frame.limit) < 0) {
			operands_fail(&m->in);
			continue;
		}
		read_lines(m, &in);
		input_close(&in);
		if (m->in.bad || m->in.failed)
			continue;
		if (m->totals == before && m->sessions == 0)
			cli_warn(tool_name, "%s: no summary in it", m->in.name);
		if (m->sessions)
			bad(m, "the summary has no end: its total is missing");
	}
}

int
merge_run(const struct options *original)
{
	struct options o = *original;
	struct merge m = {.in = {.tool = tool_name, .files = o.frame.files}};
	int status;

	o.summary = true;
	if (tool_open(&m.tool, &o, false) < 0)
		return EXIT_FAILED;
	files_open_output(&m.tool);
	read_files(&m);
	m.in.any = m.totals > 0;
	status = operands_close(&m.in);
	/* Sums of what is damaged would be wrong without saying so. */
	if (status == 0 && summary_put(&m.tool) < 0)
		tool_fail(&m.tool, "out of memory");
	status = status ? status : m.tool.status;
	if (out_close(&m.tool.out) < 0 || m.tool.failed)
		status = EXIT_FAILED;
	tool_close(&m.tool);
	return status;
}
