/* --list: the streams that this user shares, as each acp-share describes its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-share/share.h"
#include "lib/attach/attach.h"
#include "lib/base/cells.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"

enum { RESPONSE_TIME = 1000000 /* us, for one response */ };

static const char *const names[] = {"PID", "SINCE", "CLIENT", "AGENT", "HOP", "SESSIONS", "DIRECTORY", "SOCKET"};
enum { PID, SINCE, CLIENT, AGENT, HOP, SESSIONS, DIRECTORY, SOCKET, COLUMNS };

/* A table: its cells, row by row, each a plain text with a NUL at its end. */
static int
add_cell(struct buf *table, struct slice text)
{
	return text_plain(table, text.n ? text : slice_of("-")) < 0 ? -1 : buf_add(table, "", 1);
}

/* Appends a number, a string, or the ids of the objects in a list, for people. */
static int
put_value(struct buf *to, struct slice value)
{
	struct json_iter it = {.in = value};
	struct slice object;
	int r = 0;

	if (json_type(value) == JSON_STRING)
		return json_unescape(value, to);
	if (json_type(value) == JSON_NUMBER)
		return buf_add_slice(to, value);
	while (r == 0 && json_item(&it, &object))
		r = to->n && buf_add_string(to, ",") ? -1 : put_value(to, json_get(object, "id"));
	return r;
}

/* Appends a row of the table. response: p NULL if there is none. */
static int
add_row(struct buf *table, const char *path, struct slice response)
{
	static const char *const keys[] = {"pid", "started", "client", "agent", "name", "sessions", "cwd"};
	static const char silent[] = "\"does not answer\"";
	struct slice values[COLUMNS] = {{NULL, 0}};
	SCOPED struct buf cell = {0};
	char since[32];
	struct tm tm;
	time_t t;
	int i, r = 0;

	if (!response.p || json_scan(response, JSON_DEPTH, keys, SOCKET, values, NULL) != JSON_OBJECT) {
		/* The name of the socket in the directory is the process id. */
		values[PID] = slice_of(strrchr(path, '/') + 1);
		values[AGENT] = slice_of(silent);
	}
	for (i = 0; r == 0 && i < COLUMNS; i++) {
		cell.n = 0;
		t = i == SINCE && json_type(values[i]) == JSON_NUMBER ? (time_t)strtod(values[i].p, NULL) : 0;
		if (i != SINCE)
			r = i == SOCKET ? buf_add_string(&cell, path) : put_value(&cell, values[i]);
		else if (t && localtime_r(&t, &tm))
			r = buf_add(&cell, since, strftime(since, sizeof(since), "%Y-%m-%d %H:%M", &tm));
		if (r == 0)
			r = add_cell(table, buf_slice(&cell));
	}
	return r;
}

static int
put_table(const struct buf *table, struct buf *to)
{
	const char *cell, *end = table->p + table->n;
	unsigned widths[COLUMNS] = {0}, i, n;
	int r = 0;

	for (i = 0, cell = table->p; cell < end; cell += strlen(cell) + 1, i++) {
		n = cells_width(slice_of(cell));
		widths[i % COLUMNS] = n > widths[i % COLUMNS] ? n : widths[i % COLUMNS];
	}
	for (i = 0, cell = table->p; r == 0 && cell < end; cell += strlen(cell) + 1, i++)
		r = i % COLUMNS == SOCKET ? buf_printf(to, "%s\n", cell) :
			buf_printf(to, "%s%*s", cell, (int)(widths[i % COLUMNS] - cells_width(slice_of(cell)) + 2), "");
	return r;
}

/* Appends the response, with the socket as its first member. */
static int
put_object(struct buf *to, const char *path, struct slice response)
{
	const char *members = response.p ? memchr(response.p, '{', response.n) : NULL;

	if (buf_add_string(to, "{\"socket\":") < 0 || json_quote(slice_of(path), to) < 0 || buf_add_string(to, ",") < 0)
		return -1;
	if (!members)
		return buf_add_string(to, "\"error\":\"does not answer\"}\n");
	return buf_add_slice(to, slice_between(members + 1, response.p + response.n)) < 0 ? -1 : buf_add_string(to, "\n");
}

/* Adds the stream that is shared at this socket. 1; 0: no process listens there any more; -1: out of memory. */
static int
add_stream(struct buf *table, struct buf *to, bool json, const char *path)
{
	int fd = rendezvous_connect(path), r;
	struct buf response = {0};

	if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT))
		return 0;
	if (fd < 0 || attach_list(fd, RESPONSE_TIME, &response)
		|| json_scan(buf_slice(&response), JSON_DEPTH, NULL, 0, NULL, NULL) != JSON_OBJECT || !json_get(buf_slice(&response), "pid").p)
		buf_free(&response);
	r = json ? put_object(to, path, buf_slice(&response)) : add_row(table, path, buf_slice(&response));
	buf_free(&response);
	proc_close(fd);
	return r < 0 ? -1 : 1;
}

void
list_print(bool json)
{
	char *directory = rendezvous_directory(), **paths = NULL;
	struct buf table = {0}, text = {0};
	const char *why;
	int r = 0, found = 0;

	if (!directory)
		cli_die(EXIT_FAILED, share_name, "%s", strerror(errno));
	if (rendezvous_check(directory, false, &why) == 0)
		r = (paths = directory_paths(directory)) ? 0 : -1;
	else if (errno != ENOENT)
		cli_die(EXIT_USAGE, share_name, "%s: %s", directory, why);
	for (size_t i = 0; r == 0 && i < COLUMNS && !json; i++)
		r = add_cell(&table, slice_of(names[i]));
	for (char **path = paths; r >= 0 && path && *path; path++) {
		r = add_stream(&table, &text, json, *path);
		found += r > 0;
	}
	if (r >= 0 && found && !json)
		r = put_table(&table, &text);
	if (r < 0 || (found && !buf_string(&text)))
		cli_die(EXIT_FAILED, share_name, "%s: %s", directory, strerror(errno));
	if (!found)
		cli_die(EXIT_NEGATIVE, share_name, "%s", attach_none_shared);
	directory_free(paths);
	buf_free(&table);
	free(directory);
	cli_print(share_name, text.p);
}
