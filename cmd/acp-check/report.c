/* Findings, as text, JSON or JUnit's XML. */
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/recording/recording.h"

enum {
	EXCERPT = 60,  /* bytes of a value in the report for people */
	WRITTEN = 400, /* bytes of a value in the reports for programs */
	EXAMPLES = 20, /* findings of a rule in a JUnit report */
};

static int
put_found(struct buf *to, struct slice found)
{
	struct slice excerpt = slice_cut(found, EXCERPT);

	if (!found.p)
		return buf_add_string(to, "nothing");
	if (excerpt.n == 0)
		return buf_add_string(to, "an empty line");
	return text_plain(to, excerpt) < 0 || (excerpt.n < found.n && buf_add_string(to, "...") < 0) ? -1 : 0;
}

/* The method of the message, without quotes and escapes; valid until the next. */
static struct slice
method_of(struct check *c)
{
	return c->where.message ? slice_cut(json_text(message_method(c->where.message), &c->text), WRITTEN) : slice(NULL, 0);
}

/* FILE:12: 3.141593 agent session/update: violation: schema: params.x: expected a string, found 5 */
static int
put_text(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	const struct where *w = &c->where;
	struct slice method = method_of(c);
	char time[RECORDING_TIME];
	int r = text_plain(to, slice_of(w->file ? w->file : check_name));

	if (w->number)
		r |= buf_printf(to, ":%" PRIu64, w->number);
	r |= buf_add_string(to, ": ");
	if (w->timed) {
		*recording_put_time(time, w->t) = '\0';
		r |= buf_printf(to, "%s ", time);
	}
	r |= buf_add_string(to, acp_side_name(w->from));
	if (method.n)
		r |= -(buf_add_string(to, " ") || text_plain(to, slice_cut(method, EXCERPT)));
	if (w->message && w->message->msg.kind == MSG_RESPONSE)
		r |= buf_add_string(to, " response");
	r |= buf_printf(to, ": %s: %s: ", level_names[rules[rule].level], rules[rule].name);
	if (*path)
		r |= -(text_plain(to, slice_cut(slice_of(path), 4 * EXCERPT)) || buf_add_string(to, ": "));
	r |= -(buf_add_string(to, "expected ") || text_plain(to, slice_of(expected)) || buf_add_string(to, ", found "));
	return -(r || put_found(to, found) || buf_add_string(to, "\n"));
}

static int
put_member(struct buf *to, const char *name, struct slice text)
{
	if (!text.p)
		return 0;
	return buf_printf(to, ",\"%s\":", name) < 0 || json_quote(slice_cut(text, WRITTEN), to) < 0 ? -1 : 0;
}

static int
put_json(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	const struct where *w = &c->where;
	struct slice session = w->message ? message_session(w->message) : slice(NULL, 0);
	char time[RECORDING_TIME];
	int r = buf_printf(to, "{\"level\":\"%s\",\"rule\":\"%s\",\"from\":\"%s\"", level_names[rules[rule].level], rules[rule].name,
		acp_side_name(w->from));

	r |= put_member(to, "file", w->file ? slice_of(w->file) : slice(NULL, 0));
	if (w->number)
		r |= buf_printf(to, ",\"record\":%" PRIu64, w->number);
	if (w->timed) {
		*recording_put_time(time, w->t) = '\0';
		r |= buf_printf(to, ",\"t\":%s", time);
	}
	if (w->message)
		r |= buf_printf(to, ",\"kind\":\"%s\"", w->message->msg.kind == MSG_REQUEST ? "request" :
			w->message->msg.kind == MSG_RESPONSE ? "response" : "notification");
	r |= put_member(to, "method", method_of(c));
	if (session.p)
		r |= -(buf_add_string(to, ",\"session\":") || buf_add_slice(to, session));
	r |= -(put_member(to, "path", slice_of(path)) || put_member(to, "expected", slice_of(expected)) || put_member(to, "found", found));
	return (r | buf_add_string(to, "}\n")) < 0 ? -1 : 0;
}

static void
report(struct check *c, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	bool junit = c->options->format == CHECK_JUNIT;
	struct buf *to = junit ? &c->examples[rule] : out_buf(&c->out);
	size_t before = to->n;
	int r;

	if (junit && c->rule_count[rule] > EXAMPLES)
		return;
	r = c->options->format == CHECK_JSON ? put_json(c, to, rule, path, expected, found) : put_text(c, to, rule, path, expected, found);
	c->failed |= r < 0;
	if (!junit)
		out_commit(&c->out, before, r);
	else if (r < 0)
		to->n = before;
}

void
check_find(struct check *c, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	const struct options *o = c->options;
	char *why = NULL;
	bool chosen;

	if (o->ignored[rule] || rules[rule].level > o->level)
		return;
	chosen = c->where.message ? select_match(o->select, c->where.message, &why) : select_match_other(o->select, c->where.from);
	if (why)
		cli_warn(check_name, "%s: %s", select_culprit(o->select), why);
	free(why);
	if (!chosen)
		return;
	c->count[rules[rule].level]++;
	c->rule_count[rule]++;
	report(c, rule, path, expected, found);
}

/* --- JUnit: a test case for each rule --- */

static int
put_case(struct check *c, struct buf *to, enum rule_id rule)
{
	const char *element = rules[rule].level == LEVEL_VIOLATION ? "failure" : "system-out";
	int r = buf_printf(to, "<testcase classname=\"%s\" name=\"%s\"", check_name, rules[rule].name);

	if (c->options->ignored[rule])
		return r | buf_add_string(to, "><skipped/></testcase>\n");
	if (c->rule_count[rule] == 0)
		return r | buf_add_string(to, "/>\n");
	r |= buf_printf(to, ">\n<%s", element);
	if (rules[rule].level == LEVEL_VIOLATION) {
		r |= buf_printf(to, " type=\"violation\" message=\"%" PRIu64 "x: ", c->rule_count[rule]);
		r |= -(text_xml(to, slice_of(rules[rule].what)) || buf_add_string(to, "\""));
	}
	r |= -(buf_add_string(to, ">\n") || text_xml(to, buf_slice(&c->examples[rule])));
	if (c->rule_count[rule] > EXAMPLES)
		r |= buf_printf(to, "... and %" PRIu64 " more\n", c->rule_count[rule] - EXAMPLES);
	return r | buf_printf(to, "</%s>\n</testcase>\n", element);
}

void
report_end(struct check *c)
{
	struct buf *to = out_buf(&c->out);
	size_t before = to->n;
	unsigned rule, tests = 0, failures = 0;
	int r;

	if (c->options->format != CHECK_JUNIT)
		return;
	for (rule = 0; rule < RULES; rule++) {
		if (rules[rule].level > c->options->level)
			continue;
		tests++;
		failures += rules[rule].level == LEVEL_VIOLATION && c->rule_count[rule];
	}
	r = buf_printf(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\" tests=\"%u\" failures=\"%u\">\n",
		check_name, tests, failures);
	for (rule = 0; rule < RULES; rule++)
		if (rules[rule].level <= c->options->level)
			r |= put_case(c, to, rule);
	r |= buf_add_string(to, "</testsuite>\n");
	out_commit(&c->out, before, r);
}
