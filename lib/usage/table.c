/* Names, sessions and parts: keeps and finds them, and gives notes about them, each once. */
#include <stdarg.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/usage/usage_parts.h"

/* --- names --- */

/* The name that stands for all names beyond the limit. */
static const char others[] = "(others)";

static struct name *
add_name(struct usage *u, struct slice plain)
{
	struct name *n, **numbered;
	size_t number = u->nnames + 1;

	if ((number & (number - 1)) == 0) {
		if (!(numbered = realloc(u->numbered, 2 * number * sizeof(*numbered))))
			return NULL;
		u->numbered = numbered;
	}
	n = calloc(1, sizeof(*n) + plain.n + 1);
	if (!n)
		return NULL;
	memcpy(n->text, plain.p, plain.n);
	n->length = plain.n;
	HASH_ADD_KEYPTR(hh, u->names, n->text, n->length, n);
	if (!n->hh.tbl) {
		free(n);
		return NULL;
	}
	n->number = (uint32_t)number;
	u->nnames = number;
	return u->numbered[number] = n;
}

uint32_t
usage_intern(struct usage *u, enum usage_names kind, struct slice plain)
{
	size_t most = kind == USAGE_CURRENCY ? CURRENCIES_MOST : NAMES_MOST;
	struct name *n, **recent;

	if (plain.n == 0)
		return 0;
	recent = &u->recent[(plain.n + (unsigned char)plain.p[plain.n - 1]) % NAMES_RECENT];
	if (*recent && slice_eq(plain, slice((*recent)->text, (*recent)->length)))
		return (*recent)->number;
	HASH_FIND(hh, u->names, plain.p, plain.n, n);
	if (!n && u->nkind[kind] >= most && !slice_is(plain, others))
		return kind == USAGE_CURRENCY ? 0 : usage_intern(u, kind, slice_of(others));
	if (!n) {
		if (!(n = add_name(u, plain)))
			return 0;
		u->nkind[kind]++;
	}
	*recent = n;
	return n->number;
}

struct slice
usage_name(const struct usage *u, uint32_t number)
{
	if (number == 0 || number > u->nnames)
		return slice_of("");
	return slice(u->numbered[number]->text, u->numbered[number]->length);
}

struct slice
usage_plain(struct usage *u, struct slice string)
{
	struct slice text = json_text(string, &u->text);

	return text.p ? text : slice_of("");
}

uint32_t
usage_intern_string(struct usage *u, enum usage_names kind, struct slice string)
{
	return string.p ? usage_intern(u, kind, usage_plain(u, string)) : 0;
}

uint32_t
usage_agent(struct usage *u, uint32_t name, uint32_t version)
{
	struct agent *more;
	size_t i;

	for (i = 0; i < u->nagents; i++)
		if (u->agents[i].name == name && u->agents[i].version == version)
			return (uint32_t)i;
	more = i < NAMES_MOST ? realloc(u->agents, (i + 1) * sizeof(*more)) : NULL;
	if (!more)
		return 0;
	u->agents = more;
	more[i] = (struct agent){.name = name, .version = version};
	usage_agent_infer(usage_name(u, name).p, usage_name(u, version).p, &more[i]);
	u->nagents++;
	return (uint32_t)i;
}

struct slice
usage_agent_name(const struct usage *u, uint32_t agent)
{
	return usage_name(u, u->agents[agent].name);
}

struct slice
usage_agent_version(const struct usage *u, uint32_t agent)
{
	return usage_name(u, u->agents[agent].version);
}

uint32_t
usage_agent_key(const struct usage *u, uint32_t agent)
{
	return u->agents[agent].name;
}

/* --- sessions --- */

struct usage_session *
usage_find_session(const struct usage *u, struct slice id)
{
	struct usage_session *s;

	HASH_FIND(hh, u->sessions, id.p, id.n, s);
	return s;
}

struct usage_session *
usage_session_get(struct usage *u, struct slice id)
{
	struct usage_session *s = u->latest;

	if (s && s->id_length == id.n && memcmp(s->id, id.p, id.n) == 0)
		return s;
	s = usage_find_session(u, id);
	if (!s) {
		if (id.n > UINT32_MAX / 2 || !(s = calloc(1, sizeof(*s) + id.n + 1)))
			return NULL;
		memcpy(s->id, id.p, id.n);
		s->id_length = (uint32_t)id.n;
		HASH_ADD_KEYPTR(hh, u->sessions, s->id, s->id_length, s);
		if (!s->hh.tbl) {
			free(s);
			return NULL;
		}
	}
	return u->latest = s;
}

bool
usage_adopt(struct usage_session *parent, struct usage_session *child)
{
	for (const struct usage_session *up = parent; up; up = up->parent)
		if (up == child)
			return false;
	if (!child->parent) {
		LL_APPEND2(parent->child, child, sibling);
		child->parent = parent;
	}
	return true;
}

struct usage_session *
usage_sessions(const struct usage *u)
{
	return u->sessions;
}

size_t
usage_count(const struct usage *u)
{
	return HASH_COUNT(u->sessions);
}

/* --- what is said --- */

void
usage_note(struct usage *u, struct usage_session *s, unsigned what, bool verbose, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list ap;

	if (s->noted & what)
		return;
	s->noted |= (uint16_t)what;
	if (!u->spec.note)
		return;
	va_start(ap, format);
	if (buf_vprintf(&text, format, ap) == 0 && buf_string(&text))
		u->spec.note(u->spec.arg, s, verbose, text.p);
	va_end(ap);
}

void
usage_note_malformed(struct usage *u, struct usage_session *s, const char *what)
{
	s->now->malformed++;
	usage_note(u, s, USAGE_NOTE_WRONG, false, "malformed usage: %s", what);
}

void
usage_emit(struct usage *u, const struct usage_event *e)
{
	if (u->spec.event)
		u->spec.event(u->spec.arg, e);
}

/* --- parts --- */

void
usage_accounts_restart(struct usage_session *s)
{
	struct usage_account *a;

	LL_FOREACH(s->accounts, a)
		a->restarted = true;
}

struct usage_part *
usage_part_new(struct usage *u, struct usage_session *s, double started)
{
	struct usage_part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct usage_part){.started = started, .number = u->nparts++, .agent = u->agent, .restarted = u->restarted};
	s->agent = u->agent;
	if (p->restarted)
		usage_accounts_restart(s);
	*(s->tail ? &s->tail->next : &s->parts) = p;
	return s->tail = s->now = p;
}

struct usage_tally *
usage_tally_of(struct usage_part *part, uint32_t model, int32_t period, uint8_t tier)
{
	struct usage_tally **p = &part->tallies, *t;

	for (; (t = *p) && (t->model != model || t->period != period || t->tier != tier); p = &t->next)
		;
	if (!t && (t = *p = calloc(1, sizeof(*t)))) {
		t->model = model & USAGE_MODEL_BITS;
		t->period = period;
		t->tier = tier & 15u;
	}
	return t;
}

struct usage_share *
usage_share_of(struct usage_part *part, int32_t period, uint32_t currency, bool first)
{
	struct usage_share **p = &part->shares, *s;

	for (; (s = *p) && (s->money.currency != currency || s->first != first || (!first && s->period != period)); p = &s->next)
		;
	if (!s && (s = *p = calloc(1, sizeof(*s)))) {
		s->period = period;
		s->first = first;
		s->money.currency = currency;
	}
	return s;
}

/* Frees a list whose elements begin with `next`. */
static void
free_list(void *list)
{
	for (void *next; list; list = next) {
		memcpy(&next, list, sizeof(next));
		free(list);
	}
}

static void
free_session(struct usage_session *s)
{
	for (struct usage_part *p = s->parts; p; p = p->next) {
		for (struct usage_tally *t = p->tallies; t; t = t->next)
			free(t->reported);
		free_list(p->tallies);
		free_list(p->costs);
		free_list(p->shares);
	}
	free_list(s->parts);
	free_list(s->accounts);
	free(s->turn.rows);
	free(s->turn.calls);
	free(s->turn.sub_agents);
	free(s->since);
	free(s);
}

struct usage *
usage_new(const struct usage_spec *spec)
{
	struct usage *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->spec = *spec;
	u->agents = calloc(1, sizeof(*u->agents));
	u->nagents = 1;
	if (u->agents)
		return u;
	free(u);
	return NULL;
}

void
usage_free(struct usage *u)
{
	struct usage_session *s, *next;
	struct name *n, *more;

	if (!u)
		return;
	/* From here on no events or notes are given. */
	u->spec.event = NULL;
	u->spec.note = NULL;
	sessions_free(u->stream);
	HASH_ITER(hh, u->sessions, s, next) {
		HASH_DEL(u->sessions, s);
		free_session(s);
	}
	HASH_ITER(hh, u->names, n, more) {
		HASH_DEL(u->names, n);
		free(n);
	}
	free(u->numbered);
	free(u->agents);
	buf_free(&u->text);
	free(u);
}
