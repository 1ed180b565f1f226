/* For CI systems: XML as JUnit writes it, a test case for each turn. Plain text has none of the characters that XML forbids. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"

static void
put_path(struct report *r, enum side side)
{
	r->xml = true;
	put_plain(r, slice_of(r->diff->file[side].path));
	r->xml = false;
}

void
report_junit(struct report *r, const struct section *s)
{
	put(r, "<testcase classname=\"");
	put_path(r, RECORDED);
	put(r, "\" name=\"");
	r->xml = true;
	put_title(r, s);
	r->xml = false;
	if (s->differences == 0) {
		put(r, "\"/>\n");
		return;
	}
	put(r, "\">\n<failure type=\"difference\" message=\"%" PRIu64 " difference%s\">", s->differences,
		s->differences == 1 ? "" : "s");
	r->xml = true;
	report_found(r, s);
	r->xml = false;
	put(r, "</failure>\n</testcase>\n");
}

void
report_junit_begin(struct report *r)
{
	put(r, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"acp-diff ");
	put_path(r, RECORDED);
	put(r, " ");
	put_path(r, LIVE);
	put(r, "\" tests=\"%zu\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"0\">\n", r->diff->sections.n, r->diff->differing);
}

void
report_junit_end(struct report *r)
{
	put(r, "</testsuite>\n</testsuites>\n");
}
