#include "lib/base/ci.h"

#include <inttypes.h>

/* Appends a text, with entities for the characters that are markup in XML. */
static int
put_xml(struct buf *to, struct slice s)
{
	const char *name;
	int r = 0;

	for (; s.n > 0 && r == 0; s.p++, s.n--) {
		name = *s.p == '&' ? "&amp;" : *s.p == '<' ? "&lt;" : *s.p == '>' ? "&gt;" : *s.p == '"' ? "&quot;" : NULL;
		r = name ? buf_add_string(to, name) : buf_add(to, s.p, 1);
	}
	return r;
}

int
ci_junit_begin(struct buf *to, struct slice suite, uint64_t tests, uint64_t failures, uint64_t skipped)
{
	int r = buf_add_string(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");

	r |= put_xml(to, suite);
	return r | buf_printf(to, "\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"%" PRIu64 "\">\n", tests, failures, skipped);
}

int
ci_junit_case(struct buf *to, const struct ci_case *c)
{
	const char *element = c->failure ? "failure" : "system-out";
	int r = -(buf_add_string(to, "<testcase classname=\"") || put_xml(to, c->class) || buf_add_string(to, "\" name=\"") ||
		put_xml(to, c->name));

	if (c->skipped)
		return -(r || buf_add_string(to, "\"><skipped/></testcase>\n"));
	if (!c->failure && c->text.n == 0)
		return -(r || buf_add_string(to, "\"/>\n"));
	r |= buf_printf(to, "\">\n<%s", element);
	if (c->failure)
		r |= -(buf_printf(to, " type=\"%s\" message=\"", c->failure) || put_xml(to, c->message) || buf_add_string(to, "\""));
	return -(r || buf_add_string(to, ">") || put_xml(to, c->text) || buf_printf(to, "</%s>\n</testcase>\n", element));
}

int
ci_junit_end(struct buf *to)
{
	return buf_add_string(to, "</testsuite>\n</testsuites>\n");
}

/* Appends a text of a workflow command. In a property commas and colons must be escaped, too. */
static int
put_escaped(struct buf *to, struct slice text, bool property)
{
	const char *escaped = property ? "%:,\r\n" : "%\r\n";
	int r = 0;

	for (; text.n && r == 0; text.p++, text.n--)
		r = strchr(escaped, *text.p) && *text.p ? buf_printf(to, "%%%02X", (unsigned char)*text.p) : buf_add(to, text.p, 1);
	return r;
}

int
ci_github(struct buf *to, enum ci_level level, const char *file, uint64_t line, const char *title, struct slice text)
{
	static const char *const commands[] = {"error", "warning", "notice"};
	int r = buf_printf(to, "::%s ", commands[level]);

	if (file)
		r |= -(buf_add_string(to, "file=") || put_escaped(to, slice_of(file), true) || buf_printf(to, ",line=%" PRIu64 ",", line) < 0);
	r |= -(buf_add_string(to, "title=") || put_escaped(to, slice_of(title), true) || buf_add_string(to, "::"));
	return -(r || put_escaped(to, text, false) || buf_add_string(to, "\n"));
}
