/* What --summary -f json has written of whole recordings is added up: equal to one run over all of them. */
#include "cmd/acp-usage/tool.h"
#include "lib/recording/operands.h"

struct merge {
	struct tool tool;
	struct operands in;
	size_t sessions; /* since the last total */
	struct buf why;
};

/* The line that ends a summary: are all sessions there that it was written with? */
static int
take_total(struct merge *m, struct slice version, struct slice sessions, const char **why)
{
	uint64_t n;

	*why = "a summary of another version of acp-usage";
	if (json_type(version) != JSON_NUMBER || !json_u64(version, &n) || n != SUMMARY_VERSION)
		return 1;
	*why = "sessions are missing before this total";
	if (json_type(sessions) != JSON_NUMBER || !json_u64(sessions, &n) || n != m->sessions)
		return 1;
	m->sessions = 0;
	m->in.found = m->in.any = true;
	return 0;
}

static int
take_session(struct merge *m, struct slice line, const char **why)
{
	const char *what;
	int r = usage_get_parts(m->tool.usage, line, &what);

	m->sessions++;
	m->why.n = 0;
	if (r > 0 && (buf_printf(&m->why, "a damaged summary: %s", what) < 0 || !(*why = buf_string(&m->why))))
		return -1;
	return r;
}

/* As operands_lines has it. */
static int
take_line(void *arg, struct slice line, const char **why)
{
	static const char *const names[] = {"total", "session", "recordings", "acp-usage", "sessions"};
	struct merge *m = arg;
	struct slice v[5];
	struct json_error error;

	if (m->in.first)
		m->sessions = 0;
	if (!line.p) {
		if (!m->in.found && !m->sessions)
			cli_warn(tool_name, "%s: no summary in it", m->in.name);
		*why = "the summary has no end: its total is missing";
		return m->sessions != 0;
	}
	*why = "a line that --summary --format json has not written";
	if (json_scan(line, JSON_DEPTH, names, 5, v, &error) != JSON_OBJECT || (!v[0].p && !v[2].p))
		return 1;
	return v[0].p ? take_total(m, v[3], v[4], why) : take_session(m, line, why);
}

int
merge_run(const struct options *original)
{
	struct options o = *original;
	struct merge m = {.in = {.tool = tool_name, .files = o.frame.files, .limit = o.frame.limit}};
	int status;

	o.summary = true;
	if (tool_open(&m.tool, &o, false) < 0)
		return EXIT_FAILED;
	files_open_output(&m.tool);
	operands_lines(&m.in, take_line, &m);
	status = operands_close(&m.in);
	/* Sums of what is damaged would be wrong without saying so. */
	if (status == 0 && summary_put(&m.tool) < 0)
		tool_fail(&m.tool, "out of memory");
	status = status ? status : m.tool.status;
	if (out_close(&m.tool.out) < 0 || m.tool.failed)
		status = EXIT_FAILED;
	tool_close(&m.tool);
	buf_free(&m.why);
	return status;
}
