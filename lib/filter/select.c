#include "lib/filter/select.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "lib/filter/choice.h"

struct glob {
	const char *pattern;
	bool negated;
	enum { WHOLE, PREFIX, PATTERN } how; /* names, and names with one star at the end, need no fnmatch, which is slow */
	size_t n;                            /* of WHOLE or PREFIX: bytes to compare */
};

struct select {
	struct glob *globs;
	size_t nglobs;
	bool positive;        /* a glob is not negated */
	struct jqprog **programs;
	size_t nprograms;
	enum acp_side from;   /* ACP_UNKNOWN: either */
	unsigned kinds;       /* a bit for each msg_kind; 0: any */
	struct choice session;
	struct buf name[2];   /* plain text of the method and of the update's kind */
	bool failed;          /* a program's failure has been reported */
	const char *culprit;
	bool asked;           /* a message was looked at */
	bool any;             /* a message was selected */
	struct buf others;    /* until then: the methods and kinds that were seen */
};

void
select_vars(struct select_vars *v, const struct message *m)
{
	static const char *const names[SELECT_VARS] = {"from", "method", "session", "t"};
	static const char *const sides[] = {"\"unknown\"", "\"client\"", "\"agent\""};

	for (size_t i = 0; i < SELECT_VARS; i++)
		v->at[i] = (struct jqprog_var){.name = names[i]};
	if (!m)
		return;
	snprintf(v->time, sizeof(v->time), "%" PRIu64 ".%06" PRIu64, m->t / 1000000, m->t % 1000000);
	v->at[0].value = slice_of(sides[m->from]);
	v->at[1].value = message_method(m);
	v->at[2].value = message_session(m);
	v->at[3].value = slice_of(v->time);
}

struct select *
select_new(void)
{
	return calloc(1, sizeof(struct select));
}

void
select_free(struct select *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nprograms; i++)
		jqprog_free(s->programs[i]);
	free(s->programs);
	free(s->globs);
	choice_free(&s->session);
	buf_free(&s->others);
	buf_free(&s->name[0]);
	buf_free(&s->name[1]);
	free(s);
}

static int
refuse(char **why, const char *what)
{
	*why = strdup(what);
	return -1;
}

/* The error in a pattern, or NULL. */
static const char *
wrong_in(const char *p)
{
	if (!*p)
		return "an empty pattern";
	while (*(p += strcspn(p, "[\\"))) {
		if (*p == '\\') {
			if (!p[1])
				return "nothing follows the last \\";
			p += 2;
			continue;
		}
		/* fnmatch takes a [ without a ] for itself. The first character in the brackets may be a ]. */
		p++;
		p += *p == '!' || *p == '^';
		p = *p ? strchr(p + 1, ']') : NULL;
		if (!p++)
			return "a [ without a ]";
	}
	return NULL;
}

int
select_glob(struct select *s, const char *glob, char **why)
{
	struct glob g = {.pattern = glob, .negated = glob[0] == '!'};
	struct glob *p;
	const char *wrong;

	*why = NULL;
	g.pattern += g.negated;
	wrong = wrong_in(g.pattern);
	if (wrong)
		return refuse(why, wrong);
	g.n = strcspn(g.pattern, "*?[\\");
	if (g.pattern[g.n])
		g.how = strcmp(g.pattern + g.n, "*") == 0 ? PREFIX : PATTERN;
	p = reallocarray(s->globs, s->nglobs + 1, sizeof(*p));
	if (!p)
		return -1;
	s->globs = p;
	s->globs[s->nglobs++] = g;
	s->positive |= !g.negated;
	return 0;
}

int
select_where(struct select *s, const char *program, const struct jqprog_var *constants, size_t nconstants, char **why)
{
	struct select_vars vars;
	struct jqprog **p;

	*why = NULL;
	select_vars(&vars, NULL);
	p = reallocarray(s->programs, s->nprograms + 1, sizeof(*p));
	if (!p)
		return -1;
	s->programs = p;
	p[s->nprograms] = jqprog_new(program, vars.at, SELECT_VARS, constants, nconstants, why);
	if (!p[s->nprograms])
		return -1;
	s->nprograms++;
	return 0;
}

int
select_kind(struct select *s, const char *kind, char **why)
{
	static const char *const names[] = {[MSG_REQUEST] = "request", [MSG_NOTIFICATION] = "notification",
		[MSG_RESPONSE] = "response"};

	*why = NULL;
	for (unsigned i = MSG_REQUEST; i <= MSG_RESPONSE; i++) {
		if (strcmp(kind, names[i]) == 0) {
			s->kinds |= 1u << i;
			return 0;
		}
	}
	return refuse(why, "expected request, response or notification");
}

/* --- the options --- */

enum { ADD_GLOB, ADD_WHERE, ADD_KIND };

static void
add(const struct cli_argument *t)
{
	const int what = t->option->value;
	char *why;

	if ((what == ADD_GLOB ? select_glob(t->at, t->argument, &why) :
		what == ADD_WHERE ? select_where(t->at, t->argument, NULL, 0, &why) : select_kind(t->at, t->argument, &why)) < 0)
		cli_wrong(t, why);
}

const struct cli_option select_session_options[] = {{"session", 0, CLI_TEXT(struct select, session.asked)}, {0}};

const struct cli_option select_options[] = {
	{"match", 'm', CLI_PARSE(add), .value = ADD_GLOB},
	{"where", 'w', CLI_PARSE(add), .value = ADD_WHERE},
	{"from", 0, CLI_WORD(struct select, from, "client", "agent"), .value = ACP_CLIENT},
	{"kind", 0, CLI_PARSE(add), .value = ADD_KIND},
	{CLI_HERE(select_session_options)},
	{0},
};

/* --- selecting --- */

bool
select_is_set(const struct select *s)
{
	return s->nglobs || s->nprograms || s->from || s->kinds || s->session.asked;
}

static bool
matches(const struct glob *g, struct slice name)
{
	SCOPED struct buf text = {0};

	if (!name.p)
		return false;
	/* For fnmatch a name ends at its first NUL. */
	if (g->how == PATTERN)
		return buf_add_slice(&text, name) == 0 && buf_string(&text) && fnmatch(g->pattern, text.p, 0) == 0;
	return (g->how == PREFIX ? name.n >= g->n : name.n == g->n) && memcmp(name.p, g->pattern, g->n) == 0;
}

static bool
match_globs(struct select *s, const struct message *m)
{
	struct slice method = json_text(message_method(m), &s->name[0]);
	struct slice kind = json_text(msg_update_kind(&m->msg), &s->name[1]);
	bool selected = !s->positive;

	for (size_t i = 0; i < s->nglobs; i++) {
		const struct glob *g = &s->globs[i];

		if (!matches(g, method) && !matches(g, kind))
			continue;
		if (g->negated)
			return false;
		selected = true;
	}
	return selected;
}

static bool
match_programs(struct select *s, const struct message *m, char **why)
{
	struct select_vars vars;
	char *message;
	bool yes;

	select_vars(&vars, m);
	for (size_t i = 0; i < s->nprograms; i++) {
		if (jqprog_test(s->programs[i], m->msg.text, vars.at, SELECT_VARS, &yes, &message) != 0) {
			/* Only the first failure is reported. */
			s->culprit = "--where";
			if (s->failed)
				free(message);
			else
				*why = message ? message : strdup("too deep for jq");
			s->failed = true;
		}
		if (!yes)
			return false;
	}
	return true;
}

static bool
match(struct select *s, const struct message *m, char **why)
{
	struct slice id;

	if (s->from && m->from != s->from)
		return false;
	if (s->kinds && !(s->kinds & 1u << m->msg.kind))
		return false;
	if (s->session.asked) {
		s->culprit = "--session";
		id = json_text(message_session(m), &s->name[0]);
		if (!id.p || !choice_is(&s->session, id, why))
			return false;
	}
	if (s->nglobs && !match_globs(s, m))
		return false;
	return !s->nprograms || match_programs(s, m, why);
}

bool
select_match(struct select *s, const struct message *m, char **why)
{
	const struct slice names[] = {message_method(m), msg_update_kind(&m->msg)};
	bool yes;

	*why = NULL;
	yes = match(s, m, why);
	s->asked = true;
	s->any |= yes;
	for (size_t i = 0; !s->any && i < 2; i++)
		if (names[i].p)
			text_list(&s->others, json_text(names[i], &s->name[i]));
	return yes;
}

bool
select_missed(const struct select *s, struct buf *text)
{
	struct cli_meant meant = {.letters = 3};
	const char *name;
	size_t n;

	if (s->any || !s->asked || !select_is_set(s))
		return false;
	if (choice_missed(&s->session, text))
		return true;
	for (size_t i = 0; i < s->nglobs; i++) {
		meant.typed = slice_of(s->globs[i].pattern);
		for (name = s->others.n && !s->globs[i].negated ? s->others.p : ""; *name; name += n + strspn(name + n, ", ")) {
			n = strcspn(name, ",");
			cli_compare(&meant, "", slice(name, n));
		}
	}
	buf_printf(text, "no message is selected%s; there are: %s", meant.text, s->others.n ? s->others.p : "messages without methods");
	return true;
}

const char *
select_culprit(const struct select *s)
{
	return s->culprit;
}

bool
select_match_other(const struct select *s, enum acp_side from)
{
	if (s->positive || s->nprograms || s->kinds || s->session.asked)
		return false;
	return !s->from || from == s->from;
}
