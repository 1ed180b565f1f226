/* What --summary -f json has written of pieces is added up: equal to one run over all of it. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"
#include "lib/input.h"

/* The objects of one piece: a line each, the total last. */
struct piece {
	struct buf lines;
	size_t total;     /* where the total's line begins */
	uint64_t first;
	bool timed, begun;
	size_t number;
};

struct merge {
	struct tool tool;
	struct piece *pieces;
	size_t n;
	struct piece *now; /* that is being read */
	const char *name;
	int status;
};

static struct piece *
next_piece(struct merge *m)
{
	struct piece *more = realloc(m->pieces, (m->n + 1) * sizeof(*more));

	if (!more)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	m->pieces = more;
	more[m->n] = (struct piece){.number = m->n};
	return &more[m->n++];
}

static void
bad(struct merge *m, const char *what)
{
	cli_warn(tool_name, "%s: %s", m->name, what);
	m->status = EXIT_USAGE;
}

static void
read_line(struct merge *m, struct slice line)
{
	static const char *const names[] = {"total", "session", "partial"};
	struct slice v[3];
	struct json_error error;
	size_t at;

	if (line.n == 0)
		return;
	if (json_scan(line, JSON_DEPTH, names, 3, v, &error) != JSON_OBJECT || !v[2].p) {
		bad(m, "a line that --summary --format json has not written");
		return;
	}
	if (!m->now)
		m->now = next_piece(m);
	at = m->now->lines.n;
	if (buf_add_slice(&m->now->lines, line) < 0 || buf_add(&m->now->lines, "\n", 1) < 0)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	if (!v[0].p)
		return;
	m->now->total = at;
	m->now->timed = usage_piece_begins(v[2], &m->now->first, &m->now->begun);
	m->now = NULL;
}

static void
read_file(struct merge *m, const char *name)
{
	int fd = cli_open(name, &m->name);
	struct input in;
	enum input_got got;
	struct line line;

	if (fd < 0 || input_open(&in, fd, m->tool.options->frame.limit) < 0) {
		bad(m, strerror(errno));
		return;
	}
	while ((got = input_line(&in, &line)) != INPUT_END) {
		if (got == INPUT_NOTHING) {
			struct pollfd p = {.fd = in.io.fd, .events = POLLIN};

			if (input_fill(&in) < 0 && (errno != EAGAIN || (poll(&p, 1, -1) < 0 && errno != EINTR))) {
				bad(m, strerror(errno));
				break;
			}
		} else if (got == INPUT_PIECE) {
			if (line.last)
				bad(m, "a line longer than the limit");
		} else {
			read_line(m, line.text);
		}
	}
	input_close(&in);
	if (m->now)
		bad(m, "the last piece has no total: it is left out");
	if (m->now) {
		buf_free(&m->now->lines);
		m->n--;
		m->now = NULL;
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Pieces of one recording go by their times; of several, or without times, in the order given. */
static void
sort(struct merge *m)
{
	size_t i, begun = 0;

	for (i = 0; i < m->n; i++) {
		begun += m->pieces[i].begun;
		if (!m->pieces[i].timed || m->pieces[i].first == 0)
			return;
	}
	if (begun <= 1 && m->n > 1)
		qsort(m->pieces, m->n, sizeof(*m->pieces), by_time);
}

static int
join_line(struct merge *m, struct slice line, bool total)
{
	struct slice partial = json_get(line, "partial");
	bool ordered = !m->tool.options->unordered;

	if (total)
		return usage_join_stream(m->tool.usage, partial, ordered);
	return usage_join_session(m->tool.usage, json_get(line, "session"), partial, ordered);
}

/* The piece's stream first: it has the answers to prompts of the pieces before. */
static void
join(struct merge *m, struct piece *p)
{
	const char *at = p->lines.p, *end;
	int r = join_line(m, slice(p->lines.p + p->total, p->lines.n - 1 - p->total), true);

	for (; r == 0 && at < p->lines.p + p->total; at = end + 1) {
		end = memchr(at, '\n', (size_t)(p->lines.p + p->total - at));
		r = join_line(m, slice_between(at, end), false);
	}
	if (r > 0)
		bad(m, "a line that --summary --format json has not written");
	if (r < 0)
		tool_fail(&m->tool, "out of memory");
	buf_free(&p->lines);
}

int
merge_run(const struct options *given)
{
	struct options o = *given;
	struct merge m = {.name = ""};
	char **name;
	size_t i;
	int status;

	o.summary = true;
	if (tool_open(&m.tool, &o, false) < 0)
		return EXIT_FAILED;
	files_open_output(&m.tool);
	for (name = o.files; *name; name++)
		read_file(&m, *name);
	sort(&m);
	for (i = 0; i < m.n; i++)
		join(&m, &m.pieces[i]);
	free(m.pieces);
	if (((o.format != FORMAT_JSON || o.unordered) && usage_join_end(m.tool.usage) < 0)
		|| summary_put(&m.tool, NULL) < 0)
		tool_fail(&m.tool, "out of memory");
	status = m.status ? m.status : m.tool.status;
	if (files_close_output(&m.tool) < 0 || m.tool.failed)
		status = EXIT_FAILED;
	tool_close(&m.tool);
	return status;
}
