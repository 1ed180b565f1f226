/*
 * -f json: a line for each row, with its buckets, and a last line with the number of rows; and --merge, which adds such reports up. The
 * figures of a report that was not the last of its run ("final":false) are in the next report again.
 */
#include "cmd/acp-stat/stat.h"

enum { VERSION_OF_LINES = 1 };

static int
put_row(const struct row *r, struct buf *to)
{
	int e = buf_printf(to, "{\"acp-stat\":%d,\"row\":\"%s\"", VERSION_OF_LINES, row_kind_names[r->kind]);

	if (r->kind == ROW_METHOD)
		e |= json_format(to, ",\"from\":\"%s\",\"notification\":%s", acp_side_name(r->from), r->notification ? "true" : "false");
	e |= json_format(to, ",\"name\":%j", row_name(r));
	for (const struct row_figure *f = row_figures[r->kind]; f->name; f++)
		e |= json_format(to, ",\"%s\":%u", f->name, *row_figure(r, f));
	for (unsigned i = 0; i < row_times(r->kind); i++)
		e |= -(json_format(to, ",\"%s\":", row_time_name(r->kind, i)) || hist_put(&r->times[i], to));
	return e | buf_add_string(to, "}\n");
}

int
json_put(const struct table *t, bool final, struct buf *to)
{
	size_t n = 0;
	int e = 0;

	for (const struct row *r = t->rows; r; r = r->hh.next, n++)
		e |= put_row(r, to);
	return e | buf_printf(to, "{\"acp-stat\":%d,\"rows\":%zu,\"final\":%s}\n", VERSION_OF_LINES, n, final ? "true" : "false");
}

/* --- reading --- */

/* Makes an empty row for a line. NULL with *why, which is NULL out of memory. */
static struct row *
new_row(struct table *t, struct slice line, const char **why)
{
	struct slice note = json_get(line, "notification"), name = json_get(line, "name");
	enum acp_side from = ACP_UNKNOWN;
	unsigned kind = 0;
	unsigned before = HASH_COUNT(t->rows);
	SCOPED struct buf plain = {0};
	struct row *r = NULL;

	*why = "a row without its name";
	while (kind < ROWS && !json_string_is(json_get(line, "row"), row_kind_names[kind]))
		kind++;
	while (kind == ROW_METHOD && from <= ACP_AGENT && !json_string_is(json_get(line, "from"), acp_side_name(from)))
		from++;
	if (kind == ROWS || from > ACP_AGENT || json_type(name) != JSON_STRING ||
		(kind == ROW_METHOD && json_type(note) != JSON_TRUE && json_type(note) != JSON_FALSE))
		return NULL;
	*why = NULL;
	if (json_unescape(name, &plain) == 0)
		r = table_row(t, (enum row_kind)kind, from, json_type(note) == JSON_TRUE, buf_slice(&plain));
	if (!r || HASH_COUNT(t->rows) > before)
		return r;
	*why = "a row that this report has twice";
	return NULL;
}

/* Reads the line of a row. 0; 1 with *why; -1 out of memory. */
static int
get_row(struct table *t, struct slice line, const char **why)
{
	struct row *r = new_row(t, line, why);
	int e;

	if (!r)
		return *why ? 1 : -1;
	*why = "a row whose figures are missing or no numbers";
	for (const struct row_figure *f = row_figures[r->kind]; f->name; f++)
		if (!json_u64(json_get(line, f->name), row_figure(r, f)))
			return 1;
	*why = "a row whose counts do not agree";
	if (hist_sum(hist_sum(r->failed, r->open), r->cancelled) > r->count)
		return 1;
	for (unsigned i = 0; i < row_times(r->kind); i++) {
		*why = "a row whose times are missing, or whose buckets do not fit their count";
		e = hist_get(&r->times[i], json_get(line, row_time_name(r->kind, i)));
		if (e)
			return e;
		if (r->times[i].n > r->count)
			return 1;
	}
	return 0;
}

static int
get_end(struct json_reader *j, struct slice rows, struct slice final, struct table *to, const char **why)
{
	uint64_t n;
	int r = 0;

	*why = "rows are missing before this end";
	if (!json_u64(rows, &n) || n != j->n)
		return 1;
	*why = "an end that does not say whether it is final";
	if (json_type(final) != JSON_TRUE && json_type(final) != JSON_FALSE)
		return 1;
	if (json_type(final) == JSON_TRUE) {
		r = table_merge(to, &j->rows);
		j->reports++;
	}
	table_free(&j->rows);
	j->n = 0;
	return r;
}

void
json_reader_begin(struct json_reader *j)
{
	table_free(&j->rows);
	*j = (struct json_reader){0};
}

int
json_get_line(struct json_reader *j, struct slice line, struct table *to, const char **why)
{
	static const char *const names[] = {"acp-stat", "row", "rows", "final"};
	struct slice v[4];
	uint64_t version;

	*why = "a line that acp-stat --format json has not written";
	if (json_scan(line, JSON_DEPTH, names, 4, v, NULL) != JSON_OBJECT || !json_u64(v[0], &version) ||
		 !v[1].p == !v[2].p)
		return 1;
	*why = "a line of another version of acp-stat";
	if (version != VERSION_OF_LINES)
		return 1;
	if (v[2].p)
		return get_end(j, v[2], v[3], to, why);
	j->n++;
	return get_row(&j->rows, line, why);
}
