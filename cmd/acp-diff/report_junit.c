/* For CI systems: XML as JUnit writes it, a test case for each turn. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"
#include "lib/base/text.h"

static const char *
entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

/* Plain text has none of the characters that XML 1.0 forbids. */
static int
put_xml(struct buf *to, struct slice text)
{
	const char *p, *name;

	for (p = text.p; p < text.p + text.n; p++) {
		name = entity(*p);
		if (name ? buf_add_string(to, name) < 0 : buf_add(to, p, 1) < 0)
			return -1;
	}
	return 0;
}

static int
put_attribute(struct buf *to, const char *name, const struct buf *text)
{
	if (buf_printf(to, " %s=\"", name) < 0 || put_xml(to, buf_slice(text)) < 0)
		return -1;
	return buf_add(to, "\"", 1);
}

static int
put_failure(struct report *r, const struct section *s, struct buf *text)
{
	text->n = 0;
	if (buf_printf(&r->out, ">\n<failure type=\"difference\" message=\"%" PRIu64 " difference%s\">", s->differences,
			s->differences == 1 ? "" : "s") < 0 ||
		report_put_found(r, text, s) < 0 || put_xml(&r->out, buf_slice(text)) < 0)
		return -1;
	return buf_add_string(&r->out, "</failure>\n</testcase>\n");
}

int
report_junit(struct report *r, const struct section *s)
{
	struct buf name = {0}, title = {0};
	int result = -1;

	if (text_plain(&name, slice_of(r->diff->file[RECORDED].path)) == 0 && report_put_title(r, &title, s) == 0 &&
		buf_add_string(&r->out, "<testcase") == 0 && put_attribute(&r->out, "classname", &name) == 0 &&
		put_attribute(&r->out, "name", &title) == 0)
		result = s->differences ? put_failure(r, s, &title) : buf_add_string(&r->out, "/>\n");
	buf_free(&name);
	buf_free(&title);
	return result;
}

int
report_junit_begin(struct report *r)
{
	const struct diff *d = r->diff;
	struct buf name = {0};
	int result = -1;

	if (buf_add_string(&name, "acp-diff ") == 0 && text_plain(&name, slice_of(d->file[RECORDED].path)) == 0 &&
		buf_add(&name, " ", 1) == 0 && text_plain(&name, slice_of(d->file[LIVE].path)) == 0 &&
		buf_add_string(&r->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite") == 0 &&
		put_attribute(&r->out, "name", &name) == 0)
		result = buf_printf(&r->out, " tests=\"%zu\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"0\">\n",
			d->sections.n, d->differing);
	buf_free(&name);
	return result;
}
