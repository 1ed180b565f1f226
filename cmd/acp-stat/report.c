/* The report: which format it has, and where it goes. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-stat/stat.h"

static void
fail(struct tool *t, const char *name, const char *what)
{
	cli_warn(tool_name, "%s%s%s", name ? name : "", name ? ": " : "", what);
	t->failed = true;
}

int
report_open(struct watch *w)
{
	struct tool *t = w->state;
	const struct options *o = t->options;
	char *why;
	int status;

	if (o->format != FORMAT_PROM || !o->frame.output || replace_open(&t->prom, o->frame.output, o->frame.files, &why) == 0)
		return 0;
	status = errno == EINVAL || errno == ENOTSUP ? EXIT_USAGE : EXIT_FAILED;
	cli_warn(tool_name, "%s", why ? why : "out of memory");
	free(why);
	return status;
}

static int
put(struct tool *t, bool final, struct buf *to)
{
	table_sort(&t->table);
	switch (t->options->format) {
	case FORMAT_TSV:
		return report_tsv(&t->table, to);
	case FORMAT_JSON:
		return json_put(&t->table, final, to);
	case FORMAT_PROM:
		return prom_put(&t->table, t->options->by, to);
	default:
		return t->table.rows ? report_text(&t->table, cli_wants_color(t->options->color, log_fd(t->watch->out.log)), to) :
			 buf_add_string(to, "none was seen\n");
	}
}

void
report(struct tool *t, bool final)
{
	SCOPED struct buf text = {0};
	struct buf *to;

	/* Its lines are written already; or they are those of limits_check. */
	if (t->options->by == BY_TURN || t->options->open || t->options->format >= FORMAT_JUNIT)
		return;
	if (put(t, final, &text)) {
		fail(t, NULL, "out of memory: no report");
	} else if (t->prom.path) {
		if (replace_with(&t->prom, 0644, buf_slice(&text)) < 0)
			fail(t, t->options->frame.output, strerror(errno));
	} else if (text.n) {
		to = out_buf(&t->watch->out);
		if (buf_add_slice(to, buf_slice(&text)) < 0)
			fail(t, NULL, "out of memory: no report");
		out_mark(&t->watch->out, to->n - text.n);
	}
}
