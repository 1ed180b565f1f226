/* For CI systems: XML as JUnit writes it, a test case for each turn. */
#include "cmd/acp-replay/report_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

/* Can it stand in XML 1.0 (section 2.2)? Of what is UTF-8: not the control characters, nor U+FFFE and U+FFFF. */
static bool
is_forbidden(const char *p, const char *end)
{
	if ((unsigned char)*p < 0x20)
		return *p != '\n' && *p != '\t';
	return end - p >= 3 && p[0] == '\xef' && p[1] == '\xbf' && (p[2] == '\xbe' || p[2] == '\xbf');
}

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

static int
put_xml(struct buf *to, struct slice text)
{
	const char *p = text.p, *end = text.p + text.n, *name;

	for (; p < end; p++) {
		name = entity(*p);
		if (is_forbidden(p, end)) {
			if (buf_add_string(to, "\xef\xbf\xbd") < 0)
				return -1;
			p += (unsigned char)*p < 0x20 ? 0 : 2;
		} else if (name ? buf_add_string(to, name) < 0 : buf_add(to, p, 1) < 0) {
			return -1;
		}
	}
	return 0;
}

/* What fn writes, with what XML wants escaped. */
static int
put_attribute(struct buf *to, const char *name, const struct buf *text)
{
	if (buf_printf(to, " %s=\"", name) < 0 || put_xml(to, buf_slice(text)) < 0)
		return -1;
	return buf_add(to, "\"", 1);
}

static int
put_failure(struct buf *to, const struct diff_turn *t, struct buf *text)
{
	text->n = 0;
	if (buf_printf(to, ">\n<failure type=\"difference\" message=\"%zu difference%s\">", t->nfound, t->nfound == 1 ? "" : "s") < 0 ||
		report_put_found(text, t, false) < 0 || put_xml(to, buf_slice(text)) < 0)
		return -1;
	return buf_add_string(to, "</failure>\n</testcase>\n");
}

int
report_junit_turn(struct report *r, const struct diff_turn *t)
{
	struct buf name = {0}, text = {0};
	int result = -1;

	if (report_put_plain(&name, slice_of(r->spec.name[DIFF_RECORDED])) == 0 && report_put_title(&text, t) == 0 &&
		buf_add_string(&r->out, "<testcase") == 0 && put_attribute(&r->out, "classname", &name) == 0 &&
		put_attribute(&r->out, "name", &text) == 0)
		result = t->nfound ? put_failure(&r->out, t, &text) : buf_add_string(&r->out, "/>\n");
	buf_free(&name);
	buf_free(&text);
	return result;
}

/* The cases behind what goes before them. */
static int
copy_cases(struct report *r)
{
	char block[64 * 1024];
	ssize_t n = -1;

	if (lseek(r->cases, 0, SEEK_SET) < 0)
		return -1;
	while ((n = read(r->cases, block, sizeof(block))) != 0) {
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && (buf_add(&r->out, block, (size_t)n) < 0 || report_write(r, r->spec.fd) < 0))
			return -1;
	}
	return 0;
}

static int
put_head(struct report *r)
{
	struct buf name = {0};
	int result = -1;

	if (buf_add_string(&name, "acp-replay ") == 0 && report_put_plain(&name, slice_of(r->spec.name[DIFF_RECORDED])) == 0 &&
		buf_add(&name, " ", 1) == 0 && report_put_plain(&name, slice_of(r->spec.name[DIFF_LIVE])) == 0 &&
		buf_add_string(&r->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite") == 0 &&
		put_attribute(&r->out, "name", &name) == 0)
		result = buf_printf(&r->out, " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"0\">\n",
			r->turns, r->differing);
	buf_free(&name);
	return result;
}

int
report_junit_end(struct report *r)
{
	if (report_write(r, r->cases) < 0 || put_head(r) < 0 || copy_cases(r) < 0)
		return -1;
	return buf_add_string(&r->out, "</testsuite>\n</testsuites>\n");
}
