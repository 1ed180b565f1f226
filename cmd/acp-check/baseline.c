/* Reads and writes baselines: files of expected findings, with a line for each: the rule, the method and the path. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-check/check.h"
#include "lib/base/text.h"
#include "lib/run/input.h"

struct baseline_entry {
	UT_hash_handle hh;
	bool expected, seen; /* expected: the baseline has it; seen: this run has found it */
	char text[];         /* the line, with a NUL */
};

static const char title[] = "# Findings that acp-check expects: rule, method, path. Made by --write-baseline.\n";

/* Finds the entry of a line, and adds it if asked. NULL: there is none, or (add) out of memory. */
static struct baseline_entry *
find(struct baseline_entry **all, struct slice text, bool add)
{
	struct baseline_entry *e = NULL;

	HASH_FIND(hh, *all, text.p, text.n, e);
	if (e || !add)
		return e;
	e = calloc(1, sizeof(*e) + text.n + 1);
	if (!e)
		return NULL;
	memcpy(e->text, text.p, text.n);
	HASH_ADD_KEYPTR(hh, *all, e->text, text.n, e);
	if (e->hh.tbl)
		return e;
	free(e);
	return NULL;
}

int
baseline_read(struct baseline_entry **all, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	SCOPED struct buf text = {0};
	struct slice left, line;
	struct baseline_entry *e;

	if (fd < 0 || buf_read_all(&text, fd, SIZE_MAX) < 0) {
		cli_warn(check_name, "%s: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	close(fd);
	for (left = buf_slice(&text); line_next(&left, &line);) {
		if (line.n == 0 || *line.p == '#')
			continue;
		if (!(e = find(all, line, true)))
			return EXIT_FAILED;
		e->expected = true;
	}
	return 0;
}

int
baseline_expects(struct baseline_entry **all, bool writes, enum rule_id rule, struct slice method, const char *path)
{
	SCOPED struct buf text = {0};
	struct baseline_entry *e;

	if (json_format(&text, "%s\t%t\t", rules[rule].name, method) < 0)
		return -1;
	/* Leaves out indexes of lists, which differ from run to run. */
	for (const char *end; *path; path = end) {
		end = path + strcspn(path, "[") + (path[strcspn(path, "[")] == '[');
		if (text_plain(&text, slice_between(path, end)) < 0)
			return -1;
		if (end[-1] == '[')
			end += strspn(end, "0123456789");
	}
	e = find(all, buf_slice(&text), writes);
	if (!e)
		return writes ? -1 : 0;
	e->seen = true;
	return e->expected;
}

static int
by_text(const struct baseline_entry *a, const struct baseline_entry *b)
{
	return strcmp(a->text, b->text);
}

size_t
baseline_report(struct baseline_entry **all, const char *path)
{
	size_t n = 0;

	HASH_SRT(hh, *all, by_text);
	for (const struct baseline_entry *e = *all; e; e = e->hh.next) {
		if (!e->expected || e->seen)
			continue;
		cli_warn(check_name, "%s: not found any more: %s", path, e->text);
		n++;
	}
	return n;
}

int
baseline_write(struct baseline_entry **all, const char *path, char *const *inputs)
{
	SCOPED struct buf text = {0};
	struct replace file = {0};
	char *why = NULL;
	int r = buf_add_string(&text, title);

	HASH_SRT(hh, *all, by_text);
	for (const struct baseline_entry *e = *all; e; e = e->hh.next)
		if (e->seen)
			r |= buf_printf(&text, "%s\n", e->text);
	if (r == 0)
		r = replace_open(&file, path, inputs, &why);
	if (r == 0)
		r = replace_with(&file, 0666, buf_slice(&text));
	if (r < 0 && why)
		cli_warn(check_name, "%s", why);
	else if (r < 0)
		cli_warn(check_name, "%s: %s", path, strerror(errno));
	free(why);
	replace_close(&file);
	return r < 0 ? EXIT_FAILED : 0;
}

void
baseline_free(struct baseline_entry **all)
{
	struct baseline_entry *e, *next;

	HASH_ITER(hh, *all, e, next) {
		HASH_DEL(*all, e);
		free(e);
	}
}
