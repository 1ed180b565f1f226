/* What `--list` prints: the running chains, as they tell it themselves. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "lib/cli.h"
#include "lib/json.h"
#include "lib/loop.h"
#include "lib/rendezvous.h"
#include "lib/socket.h"

enum {
	PATIENCE = 1000000,      /* us for one chain's answer */
	LIMIT = 16 * 1024 * 1024, /* bytes of it */
	COLUMNS = 7,
};

/* --- asking --- */

/* Waits until the descriptor is ready. False: it took too long. */
static bool
wait_for(int fd, short events, uint64_t end)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now = loop_clock();
	int r;

	do
		r = now < end ? poll(&p, 1, (int)((end - now) / 1000) + 1) : 0;
	while (r < 0 && errno == EINTR && (now = loop_clock()));
	return r > 0;
}

/* Reads the line that is answered. False: there is none. */
static bool
read_answer(int fd, struct buf *to, uint64_t end)
{
	int none = -1;
	ssize_t n;

	while (to->n == 0 || to->p[to->n - 1] != '\n') {
		if (!wait_for(fd, POLLIN, end))
			return false;
		n = socket_receive(fd, to, &none);
		if (n == 0 || to->n > LIMIT || (n < 0 && errno != EAGAIN))
			return false;
	}
	to->n--;
	return true;
}

static bool
ask(int fd, struct buf *to)
{
	static const char question[] = "{\"want\":\"list\"}\n";
	uint64_t end = loop_clock() + PATIENCE;

	return socket_send(fd, slice_of(question), -1) == (ssize_t)strlen(question) && read_answer(fd, to, end);
}

/* --- the table --- */

/* One chain's row, or the names of the columns: cells behind one another, each with a NUL. */
struct row {
	struct buf text;
	size_t cell[COLUMNS];
};

struct table {
	struct row *rows;
	size_t n;
};

/* A cell is what has been appended since the last one. */
static int
end_cell(struct row *r, size_t column, size_t start)
{
	r->cell[column] = start;
	cli_tame(r->text.p + start, r->text.n - start);
	return buf_add(&r->text, "", 1);
}

/* A number or a string, as it is for people. */
static int
put_value(struct row *r, struct slice value)
{
	switch (json_type(value)) {
	case JSON_STRING:
		return json_unescape(value, &r->text);
	case JSON_NUMBER:
		return buf_add_slice(&r->text, value);
	default:
		return buf_add_string(&r->text, "-");
	}
}

static int
cell(struct row *r, size_t column, struct slice value)
{
	size_t start = r->text.n;

	return put_value(r, value) < 0 ? -1 : end_cell(r, column, start);
}

/* The names in an array of objects. number: the member that comes before each, or NULL. */
static int
cell_of_names(struct row *r, size_t column, struct slice array, const char *between, const char *number)
{
	struct json_iter it = {.in = array};
	struct slice key, value;
	size_t start = r->text.n;

	while (json_type(array) == JSON_ARRAY && json_next(&it, &key, &value)) {
		if (json_type(value) != JSON_OBJECT)
			continue;
		if (r->text.n > start && buf_add_string(&r->text, between) < 0)
			return -1;
		if (number && (put_value(r, json_get(value, number)) < 0 || buf_add(&r->text, ":", 1) < 0))
			return -1;
		if (put_value(r, json_get(value, "name")) < 0)
			return -1;
	}
	return end_cell(r, column, start);
}

static int
cell_of_text(struct row *r, size_t column, const char *text)
{
	size_t start = r->text.n;

	return buf_add_string(&r->text, text) < 0 ? -1 : end_cell(r, column, start);
}

/* What a chain has answered; of what is no such answer only its socket is told. */
static int
fill(struct row *r, struct slice answer, const char *path)
{
	static const char *const keys[] = {"pid", "sessions", "messages", "hops", "components"};
	const char *slash = strrchr(path, '/');
	struct slice values[5], down = {NULL, 0}, up = {NULL, 0};
	struct json_error error;

	if (!answer.p || json_scan(answer, JSON_DEPTH, keys, 5, values, &error) != JSON_OBJECT || !values[0].p) {
		if (cell_of_text(r, 0, slash ? slash + 1 : path) < 0 || cell_of_text(r, 1, "-") < 0 || cell_of_text(r, 2, "-") < 0 ||
			cell_of_text(r, 3, "-") < 0 || cell_of_text(r, 4, "-") < 0 || cell_of_text(r, 5, "does not answer") < 0)
			return -1;
		return cell_of_text(r, 6, path);
	}
	if (json_type(values[2]) == JSON_OBJECT) {
		down = json_get(values[2], "down");
		up = json_get(values[2], "up");
	}
	if (cell(r, 0, values[0]) < 0 || cell(r, 1, values[1]) < 0 || cell(r, 2, down) < 0 || cell(r, 3, up) < 0 ||
		cell_of_names(r, 4, values[3], ",", "hop") < 0 || cell_of_names(r, 5, values[4], " \342\206\222 ", NULL) < 0)
		return -1;
	return cell_of_text(r, 6, path);
}

static struct row *
add_row(struct table *t)
{
	struct row *rows = reallocarray(t->rows, t->n + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	t->rows = rows;
	rows[t->n] = (struct row){.text = {0}};
	return &rows[t->n++];
}

static int
add_heading(struct table *t)
{
	static const char *const names[COLUMNS] = {"PID", "SESSIONS", "DOWN", "UP", "HOPS", "COMPONENTS", "SOCKET"};
	struct row *r = add_row(t);
	size_t i;

	for (i = 0; r && i < COLUMNS; i++)
		if (cell_of_text(r, i, names[i]) < 0)
			return -1;
	return r ? 0 : -1;
}

/* Adds the chain at this socket, if there is one. */
static int
add_chain(struct table *t, const char *path)
{
	int fd = rendezvous_connect(path), r = -1;
	struct buf answer = {0};
	struct row *row;

	/* Nobody listens there any more. */
	if (fd < 0 && errno == ECONNREFUSED)
		return 0;
	if (fd < 0 || !ask(fd, &answer))
		buf_free(&answer);
	row = add_row(t);
	if (row)
		r = fill(row, buf_slice(&answer), path);
	buf_free(&answer);
	if (fd >= 0)
		close(fd);
	return r;
}

/* Columns that a cell takes: characters, of which UTF-8 begins each with one byte. */
static size_t
width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int
put_row(const struct row *r, const size_t *widths, struct buf *to)
{
	const char *text;
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		text = r->text.p + r->cell[i];
		if (buf_add_string(to, text) < 0 ||
			buf_printf(to, "%*s", i + 1 < COLUMNS ? (int)(widths[i] - width(text) + 2) : 0, "") < 0)
			return -1;
	}
	return buf_add(to, "\n", 1);
}

static int
put_table(const struct table *t, struct buf *to)
{
	size_t widths[COLUMNS] = {0}, i, j, n;

	for (i = 0; i < t->n; i++) {
		for (j = 0; j < COLUMNS; j++) {
			n = width(t->rows[i].text.p + t->rows[i].cell[j]);
			widths[j] = n > widths[j] ? n : widths[j];
		}
	}
	for (i = 0; i < t->n; i++)
		if (put_row(&t->rows[i], widths, to) < 0)
			return -1;
	return buf_string(to) ? 0 : -1;
}

static void
table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		buf_free(&t->rows[i].text);
	free(t->rows);
}

/* All chains in the directory. */
static int
collect(struct table *t, const char *directory)
{
	char **paths = rendezvous_paths(directory);
	size_t i;
	int r = paths ? add_heading(t) : -1;

	for (i = 0; r == 0 && paths[i]; i++)
		r = add_chain(t, paths[i]);
	rendezvous_free(paths);
	return r;
}

void
control_list(const char *tool)
{
	char *directory = rendezvous_directory();
	struct table t = {0};
	struct buf text = {0};
	const char *why;

	if (!directory)
		cli_die(EXIT_FAILED, tool, "%s", strerror(errno));
	if (rendezvous_check(directory, false, &why) < 0) {
		if (errno != ENOENT)
			cli_die(EXIT_USAGE, tool, "%s: %s", directory, why);
	} else if (collect(&t, directory) < 0 || put_table(&t, &text) < 0) {
		cli_die(EXIT_FAILED, tool, "%s: %s", directory, strerror(errno));
	}
	if (t.n < 2)
		cli_die(EXIT_NEGATIVE, tool, "no chains run");
	table_free(&t);
	free(directory);
	cli_print(tool, text.p);
}
