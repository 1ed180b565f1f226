/* For programs: an object a line for each difference, and one at the end. */
#include "cmd/acp-replay/report_parts.h"

#include <inttypes.h>

static const char *const kinds[] = {"value", "missing", "unexpected", "id", "order"};

static int
put_value(struct buf *to, const char *name, struct slice value)
{
	if (!value.p)
		return 0;
	if (buf_printf(to, ",\"%s\":", name) < 0)
		return -1;
	/* A line is a line: white space in a message may be a newline only where somebody put it there by hand. */
	for (const char *p = value.p, *end = p + value.n; p < end; p++)
		if (buf_add(to, *p == '\n' || *p == '\r' ? " " : p, 1) < 0)
			return -1;
	return 0;
}

static int
put_text(struct buf *to, const char *name, struct slice text)
{
	return buf_printf(to, ",\"%s\":", name) < 0 ? -1 : json_quote(text, to);
}

static int
put_line(struct buf *to, const char *name, uint64_t line)
{
	return line ? buf_printf(to, ",\"%s\":%" PRIu64, name, line) : 0;
}

static int
put_found(struct buf *to, const struct diff_turn *t, const struct found *f)
{
	if (buf_printf(to, "{\"turn\":%" PRIu64, t->number) < 0 || put_value(to, "session", t->session) < 0 ||
		put_value(to, "prompt", t->prompt) < 0 ||
		buf_printf(to, ",\"from\":\"%s\"", acp_side_name(f->from)) < 0 || put_text(to, "message", f->what) < 0 ||
		put_line(to, "recordedLine", f->line[DIFF_RECORDED]) < 0 || put_line(to, "liveLine", f->line[DIFF_LIVE]) < 0 ||
		buf_printf(to, ",\"difference\":\"%s\"", kinds[f->kind]) < 0 || put_text(to, "path", f->path) < 0 ||
		put_value(to, "recorded", f->value[DIFF_RECORDED]) < 0 || put_value(to, "live", f->value[DIFF_LIVE]) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

int
report_json_turn(struct report *r, const struct diff_turn *t)
{
	for (size_t i = 0; i < t->nfound; i++)
		if (put_found(&r->out, t, t->found[i]) < 0)
			return -1;
	return 0;
}

int
report_json_end(struct report *r)
{
	return buf_printf(&r->out, "{\"turns\":%" PRIu64 ",\"differing\":%" PRIu64 ",\"messages\":%" PRIu64
		",\"differences\":%" PRIu64 "}\n", r->turns, r->differing, r->messages, r->differences);
}
