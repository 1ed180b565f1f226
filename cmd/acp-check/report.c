/* Writes findings as text, JSON, JUnit's XML, commands of a GitHub workflow, or SARIF. */
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/base/ci.h"
#include "lib/base/text.h"

enum {
	EXCERPT = 60,  /* bytes of a value in the report for people */
	WRITTEN = 400, /* bytes of a value in the reports for programs */
	EXAMPLES = 20, /* findings of a rule, at most, in a JUnit report and in a group at a terminal */
};

/* Returns the method of the message, without quotes and escapes; valid until c->text changes. */
static struct slice
method_of(struct check *c)
{
	return c->where.message ? slice_cut(json_text(message_method(c->where.message), &c->text), WRITTEN) : slice(NULL, 0);
}

/* Appends the sender and the method: agent session/update response */
static int
put_message(struct check *c, struct buf *to)
{
	const struct where *w = &c->where;
	struct slice method = method_of(c);

	return -(buf_add_string(to, acp_side_name(w->from)) || (method.n && json_format(to, " %t", slice_cut(method, EXCERPT))) ||
		(w->message && w->message->msg.kind == MSG_RESPONSE && buf_add_string(to, " response")));
}

/* Appends for example: params.x: expected a string, found 5 */
static int
put_finding(struct buf *to, const char *path, const char *expected, struct slice found)
{
	struct slice excerpt = slice_cut(found, EXCERPT);
	bool cut = excerpt.n > 0 && excerpt.n < found.n;

	if (excerpt.n == 0)
		excerpt = slice_of(found.p ? "an empty line" : "nothing");
	return -((*path && json_format(to, "%t: ", slice_cut(slice_of(path), 4 * EXCERPT))) ||
		json_format(to, cut ? "expected %t, found %t..." : "expected %t, found %t", slice_of(expected), excerpt));
}

/* Appends the place of a finding: FILE:12: 3.141593 agent session/update */
static int
put_where(struct check *c, struct buf *to)
{
	const struct where *w = &c->where;
	char time[RECORDING_TIME];

	*recording_put_time(time, w->t) = '\0';
	return -(text_plain(to, slice_of(w->file ? w->file : check_name)) || (w->number && json_format(to, ":%u", w->number)) ||
		json_format(to, w->timed ? ": %s " : ": ", time) || put_message(c, to));
}

/* Appends a line: FILE:12: 3.141593 agent session/update: violation: schema: params.x: expected a string, found 5 */
static int
put_text(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	return -(put_where(c, to) || json_format(to, ": %s: %s: ", level_names[rules[rule].level], rules[rule].name) ||
		put_finding(to, path, expected, found) || buf_add_string(to, "\n"));
}

/* --- at a terminal: grouped by rule --- */

int
report_wrapped(struct buf *to, const char *text, const char *indent)
{
	enum { WIDTH = 76 };
	size_t column = strlen(indent), n;
	int r = buf_add_string(to, indent);

	for (; *text && r == 0; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		if (column > strlen(indent) && column + n + 1 > WIDTH) {
			r = buf_printf(to, "\n%s", indent);
			column = strlen(indent);
		}
		/* A word that is longer than a line is broken, between two characters. */
		for (n = n > WIDTH - column ? WIDTH - column : n; (text[n] & 0xc0) == 0x80; n--)
			;
		r |= buf_printf(to, "%s%.*s", column > strlen(indent) ? " " : "", (int)n, text);
		column += n + (column > strlen(indent));
	}
	return r | buf_add_string(to, "\n");
}

/* Appends a finding without its rule, which the heading of the group names. */
static int
put_in_group(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	SCOPED struct buf text = {0};

	(void)rule;
	if (put_where(c, &text) < 0 || buf_add_string(&text, ": ") < 0 || put_finding(&text, path, expected, found) < 0 || !buf_string(&text))
		return -1;
	return report_wrapped(to, text.p, "    ");
}

/* Appends the rules that were broken, by level, each with its first findings. */
static int
put_groups(struct check *c, struct buf *to)
{
	static const char *const colors[LEVELS] = {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"};
	int r = 0;

	for (unsigned i = 0; i < (unsigned)LEVELS * RULES; i++) {
		enum rule_id rule = i % RULES;
		uint64_t n = c->rule_count[rule];

		if (n == 0 || rules[rule].level != i / RULES)
			continue;
		r |= json_format(to, "%s%s%s: %s, %u time%s\n", c->color ? colors[rules[rule].level] : "", rules[rule].name,
			c->color ? "\x1b[0m" : "", level_names[rules[rule].level], n, n == 1 ? "" : "s");
		r |= -(report_wrapped(to, rules[rule].what, "  ") || buf_add_slice(to, buf_slice(&c->examples[rule])));
		if (n > EXAMPLES)
			r |= json_format(to, "    ... and %u more (a pipe gets all)\n", n - EXAMPLES);
		r |= buf_add_string(to, "\n");
	}
	return r;
}

/* Appends a command: ::error file=s.rec,line=12,title=schema::agent session/update: params.x: expected a string, found 5 */
static int
put_github(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	static const enum ci_level levels[LEVELS] = {CI_ERROR, CI_WARNING, CI_NOTICE};
	const struct where *w = &c->where;
	SCOPED struct buf text = {0};
	int r = -(put_message(c, &text) || buf_add_string(&text, ": ") || put_finding(&text, path, expected, found));

	return -(r || ci_github(to, levels[rules[rule].level], w->file, w->number, rules[rule].name, buf_slice(&text)));
}

/* --- SARIF 2.1.0: one document, whose results are written as they are found --- */

static const char *const sarif_levels[LEVELS] = {"error", "warning", "note"};

static int
put_sarif_begin(struct buf *to)
{
	int r = json_format(to, "{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"%s\",\"version\":\"%s\",\"rules\":[",
		check_name, VERSION);

	for (unsigned i = 0; i < RULES; i++)
		r |= json_format(to, "%s\n{\"id\":\"%s\",\"shortDescription\":{\"text\":%j},\"help\":{\"text\":%j},"
			"\"defaultConfiguration\":{\"level\":\"%s\"}}", i ? "," : "", rules[i].name, slice_of(rules[i].what),
			slice_of(rules[i].source), sarif_levels[rules[i].level]);
	return r | buf_add_string(to, "]}},\"results\":[");
}

/* Appends the name of a file: a relative one as a relative reference, an absolute one as a URI. */
static int
put_uri(struct buf *to, struct slice name)
{
	int r = name.n && *name.p == '/' ? buf_add_string(to, "file://") : 0;

	for (; name.n && r == 0; name.p++, name.n--) {
		bool plain = (*name.p >= '0' && *name.p <= '9') || ((*name.p | 0x20) >= 'a' && (*name.p | 0x20) <= 'z') || strchr("-._~/", *name.p);

		r = plain ? buf_add(to, name.p, 1) : buf_printf(to, "%%%02X", (unsigned char)*name.p);
	}
	return r;
}

static int
put_sarif(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	const struct where *w = &c->where;
	SCOPED struct buf text = {0};
	int r = c->reported == 1 ? put_sarif_begin(to) : buf_add_string(to, ",");

	r |= -(put_message(c, &text) || buf_add_string(&text, ": ") || put_finding(&text, path, expected, found) ||
		json_format(to, "\n{\"ruleId\":\"%s\",\"ruleIndex\":%u,\"level\":\"%s\",\"message\":{\"text\":%j}", rules[rule].name,
			(uint64_t)rule, sarif_levels[rules[rule].level], buf_slice(&text)));
	if (w->file)
		r |= -(buf_add_string(to, ",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"") ||
			put_uri(to, slice_of(w->file)) ||
			json_format(to, w->number ? "\"},\"region\":{\"startLine\":%u}}}]" : "\"}}}]", w->number));
	return r | buf_add_string(to, "}");
}

/* --- JSON --- */

static int
put_json(struct check *c, struct buf *to, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	static const char *const kinds[] = {[MSG_REQUEST] = "request", [MSG_NOTIFICATION] = "notification", [MSG_RESPONSE] = "response"};
	const struct where *w = &c->where;
	struct slice session = w->message ? message_session(w->message) : slice(NULL, 0), method = method_of(c);
	char time[RECORDING_TIME];
	int r = json_format(to, "{\"level\":\"%s\",\"rule\":\"%s\",\"from\":\"%s\"", level_names[rules[rule].level], rules[rule].name,
		acp_side_name(w->from));

	*recording_put_time(time, w->t) = '\0';
	if (w->file)
		r |= json_format(to, ",\"file\":%j", slice_cut(slice_of(w->file), WRITTEN));
	if (w->number)
		r |= json_format(to, ",\"record\":%u", w->number);
	if (w->timed)
		r |= json_format(to, ",\"t\":%s", time);
	if (w->message)
		r |= json_format(to, ",\"kind\":\"%s\"", kinds[w->message->msg.kind]);
	if (method.p)
		r |= json_format(to, ",\"method\":%j", method);
	if (session.p)
		r |= json_format(to, ",\"session\":%b", session);
	r |= json_format(to, ",\"path\":%j,\"expected\":%j", slice_cut(slice_of(path), WRITTEN), slice_cut(slice_of(expected), WRITTEN));
	if (found.p)
		r |= json_format(to, ",\"found\":%j", slice_cut(found, WRITTEN));
	return r | buf_add_string(to, "}\n");
}

static void
report(struct check *c, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	static int (*const formats[])(struct check *, struct buf *, enum rule_id, const char *, const char *, struct slice) = {
		[CHECK_TEXT] = put_text, [CHECK_JSON] = put_json, [CHECK_JUNIT] = put_text, [CHECK_GITHUB] = put_github, [CHECK_SARIF] = put_sarif};
	bool kept = c->options->format == CHECK_JUNIT || c->grouped;
	struct buf *to = kept ? &c->examples[rule] : out_buf(&c->watch->out);
	size_t before = to->n;
	int r;

	if (kept && c->rule_count[rule] > EXAMPLES)
		return;
	r = (c->grouped ? put_in_group : formats[c->options->format])(c, to, rule, path, expected, found);
	c->failed |= r < 0;
	if (!kept)
		out_commit(&c->watch->out, before, r);
	else if (r < 0)
		to->n = before;
}

bool
check_selects(struct check *c)
{
	struct select *s = c->options->select;
	char *why = NULL;
	bool chosen = c->where.message ? select_match(s, c->where.message, &why) : select_match_other(s, c->where.from);

	if (why)
		cli_warn(check_name, "%s: %s", select_culprit(s), why);
	free(why);
	return chosen;
}

void
check_report(struct check *c, enum rule_id rule, const char *path, const char *expected, struct slice found)
{
	const struct options *o = c->options;
	int known;

	c->findings++;
	if (o->coverage || o->ignored[rule] || rules[rule].level > o->level || !check_selects(c))
		return;
	if (o->baseline || o->write_baseline) {
		known = baseline_expects(&c->baseline, o->write_baseline, rule, method_of(c), path);
		c->failed |= known < 0;
		if (known > 0)
			return;
	}
	c->count[rules[rule].level]++;
	c->rule_count[rule]++;
	c->reported++;
	report(c, rule, path, expected, found);
}

/* --- JUnit: a test case for each rule --- */

static int
put_junit(struct check *c, struct buf *to)
{
	unsigned tests = 0, failures = 0, skipped = 0;
	SCOPED struct buf cases = {0}, message = {0};
	int r = 0;

	for (unsigned i = 0; i < RULES; i++) {
		uint64_t n = c->rule_count[i];
		bool fails = n && rules[i].level == LEVEL_VIOLATION;

		if (rules[i].level > c->options->level)
			continue;
		tests++;
		failures += fails;
		skipped += c->options->ignored[i];
		message.n = 0;
		r |= json_format(&message, "%ux: %s", n, rules[i].what);
		if (n > EXAMPLES)
			r |= json_format(&c->examples[i], "... and %u more\n", n - EXAMPLES);
		r |= ci_junit_case(&cases, &(struct ci_case){slice_of(check_name), slice_of(rules[i].name),
			fails ? level_names[LEVEL_VIOLATION] : NULL, buf_slice(&message), buf_slice(&c->examples[i]),
			c->options->ignored[i]});
	}
	return -(r || ci_junit_begin(to, slice_of(check_name), tests, failures, skipped) || buf_add_slice(to, buf_slice(&cases)) ||
		ci_junit_end(to));
}

/* Appends for example: 45 messages, 2 sessions: no findings */
static int
put_verdict(const struct check *c, struct buf *to)
{
	static const char *const names[LEVELS][2] = {{"violation", "violations"}, {"tolerated finding", "tolerated findings"}, {"note", "notes"}};
	const char *before = ": ";
	int r = json_format(to, "%u message%s, %u session%s", c->messages, c->messages == 1 ? "" : "s", c->sessions,
		c->sessions == 1 ? "" : "s");

	for (unsigned i = 0; i < LEVELS; i++) {
		if (c->count[i] == 0)
			continue;
		r |= json_format(to, "%s%u %s", before, c->count[i], names[i][c->count[i] != 1]);
		before = ", ";
	}
	return r | buf_add_string(to, *before == ':' ? ": no findings\n" : "\n");
}

void
report_end(struct check *c, bool missed)
{
	enum check_format format = c->options->format;
	struct buf *to = out_buf(&c->watch->out);
	size_t before = to->n;
	int r = 0;

	if (format == CHECK_JUNIT)
		r = put_junit(c, to);
	else if (format == CHECK_SARIF)
		r = -((!c->reported && put_sarif_begin(to)) || buf_add_string(to, "\n]}]}\n"));
	else if (c->grouped)
		r = -(put_groups(c, to) || (!missed && put_verdict(c, to)));
	out_commit(&c->watch->out, before, r);
}
