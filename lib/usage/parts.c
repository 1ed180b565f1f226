/*
 * Writes the parts of a session as JSON, and reads them again. The JSON may have been cut or made up: every member is checked, and
 * nothing that cannot have been written is taken.
 */
#include <utlist.h>

#include "lib/usage/usage_parts.h"

static const char *const insides[6] = {"read_inside", "read_beside", "write_inside", "write_beside", "thought_inside",
	"thought_beside"};

/* --- writing --- */

int
usage_put_text(struct buf *to, const char *name, struct slice text)
{
	return text.n ? json_format(to, ",\"%s\":%j", name, text) : 0;
}

static int
put_decimal(struct buf *to, const char *name, struct decimal d)
{
	return -(buf_printf(to, ",\"%s\":", name) || decimal_put(d, 0, to));
}

static int
put_flag(struct buf *to, const char *name, bool set)
{
	return set ? buf_printf(to, ",\"%s\":true", name) : 0;
}

static int
put_costs(const struct usage *u, struct buf *to, const struct usage_cost *c)
{
	const char *comma = "";
	int r = buf_add_string(to, ",\"costs\":[");

	for (; c; c = c->next) {
		r |= -(buf_printf(to, "%s{\"places\":%u,\"restarts\":%u", comma, c->places, c->restarts)
			|| usage_put_text(to, "currency", usage_name(u, c->currency)) || put_decimal(to, "wire", usage_cost_wire(c)));
		if (c->first.units)
			r |= -(put_decimal(to, "first", c->first) || put_decimal(to, "last", c->last) || put_decimal(to, "closed", c->closed)
				|| put_flag(to, "restored", c->restored));
		r |= buf_add(to, "}", 1);
		comma = ",";
	}
	return r | buf_add(to, "]", 1);
}

static int
put_tallies(const struct usage *u, struct buf *to, const struct usage_tally *t)
{
	const char *comma = "";
	int r = buf_add_string(to, ",\"models\":[");

	for (; t; t = t->next) {
		r |= -(buf_printf(to, "%s{\"turns\":%u,\"billed_turns\":%u,\"context_above\":%llu", comma, t->turns, t->billed_turns,
				(unsigned long long)(t->tier ? usage_tiers[t->tier - 1] : 0))
			|| usage_put_text(to, "model", usage_name(u, t->model))
			|| buf_add_string(to, ",\"own\":") || usage_sums_put(&t->own, to)
			|| buf_add_string(to, ",\"billed\":") || usage_sums_put(&t->billed, to)
			|| put_flag(to, "own_lower", t->own_lower) || put_flag(to, "billed_lower", t->billed_lower) || buf_add(to, "}", 1));
		comma = ",";
	}
	return r | buf_add(to, "]", 1);
}

static int
put_part(const struct usage *u, struct buf *to, const struct usage_part *p)
{
	const struct agent *a = &u->agents[p->agent];
	int r;

	r = -(buf_printf(to, "{\"started\":%.6f,\"number\":%u,\"malformed\":%u", p->started, p->number, p->malformed)
		|| usage_put_text(to, "agent", usage_name(u, a->name)) || usage_put_text(to, "version", usage_name(u, a->version))
		|| usage_put_text(to, "model", usage_name(u, p->model))
		|| usage_put_text(to, "cwd", usage_name(u, p->cwd)) || usage_put_text(to, "title", usage_name(u, p->title))
		|| put_flag(to, "restarted", p->restarted) || put_flag(to, "cleared", p->cleared) || put_flag(to, "counts", p->has_counts)
		|| put_flag(to, "rows", p->has_rows) || usage_put_text(to, "basis", slice_of(p->basis ? usage_bases[p->basis] : "")));
	for (unsigned i = 0; i < 6; i++)
		r |= put_flag(to, insides[i], p->inside & 1u << i);
	if (p->has_used)
		r |= json_format(to, ",\"used\":%u,\"peak\":%u", p->used, p->peak);
	if (p->size)
		r |= json_format(to, ",\"size\":%u", p->size);
	return -(r || put_costs(u, to, p->costs) || put_tallies(u, to, p->tallies) || buf_add(to, "}", 1));
}

int
usage_put_parts(const struct usage *u, const struct usage_session *s, struct buf *to)
{
	int r = buf_add_string(to, ",\"recordings\":[");

	for (const struct usage_part *p = s->parts; p && r == 0; p = p->next)
		r = -((p != s->parts && buf_add(to, ",", 1)) || put_part(u, to, p));
	return r | buf_add(to, "]", 1);
}

/* --- reading --- */

struct reading {
	struct usage *u;
	const char *why; /* the first mistake, or NULL */
};

static void
wrong(struct reading *g, const char *what)
{
	if (!g->why)
		g->why = what;
}

/* A member; p NULL if there is none, or, as a mistake, if it has another type. */
static struct slice
member(struct reading *g, struct slice object, const char *name, enum json_type type)
{
	struct slice v = json_get(object, name);

	if (v.p && json_type(v) != type) {
		wrong(g, name);
		v = slice(NULL, 0);
	}
	return v;
}

static uint64_t
number(struct reading *g, struct slice object, const char *name, uint64_t most)
{
	struct slice v = member(g, object, name, JSON_NUMBER);
	uint64_t n = 0;

	if (v.p && (!json_u64(v, &n) || n > most))
		wrong(g, name);
	return n > most ? 0 : n;
}

static uint32_t
name_of(struct reading *g, struct slice object, enum usage_names kind, const char *name)
{
	return usage_intern_string(g->u, kind, member(g, object, name, JSON_STRING));
}

static bool
flag(struct reading *g, struct slice object, const char *name)
{
	return member(g, object, name, JSON_TRUE).p != NULL;
}

static struct decimal
amount(struct reading *g, struct slice object, const char *name)
{
	struct slice v = member(g, object, name, JSON_NUMBER);
	struct decimal d = {0};

	if (v.p && (!decimal_parse(v, &d) || d.units < 0)) {
		wrong(g, name);
		d.units = 0;
	}
	return d;
}

static void
read_sums(struct reading *g, struct slice object, const char *name, struct usage_sums *s)
{
	struct slice in = member(g, object, name, JSON_OBJECT);
	const char *bad;

	*s = (struct usage_sums){0};
	bad = in.p ? usage_sums_read(in, s) : NULL;
	for (unsigned i = 0; i < USAGE_TYPES && !bad; i++)
		bad = s->n[i] < 0 ? usage_types[i] : NULL;
	if (bad)
		wrong(g, bad);
}

static int
read_tally(struct reading *g, void *part, struct slice in)
{
	struct usage_tally *t;

	t = usage_tally_of(part, name_of(g, in, USAGE_MODEL, "model"), 0, usage_tier(number(g, in, "context_above", UINT64_MAX - 1) + 1));
	if (!t)
		return -1;
	t->turns = (uint32_t)number(g, in, "turns", UINT32_MAX);
	t->billed_turns = (uint32_t)number(g, in, "billed_turns", UINT32_MAX);
	t->own_lower = flag(g, in, "own_lower");
	t->billed_lower = flag(g, in, "billed_lower");
	read_sums(g, in, "own", &t->own);
	read_sums(g, in, "billed", &t->billed);
	return 0;
}

static int
read_cost(struct reading *g, void *part, struct slice in)
{
	struct usage_part *p = part;
	struct usage_cost *c;
	uint32_t currency = name_of(g, in, USAGE_CURRENCY, "currency");

	if (currency == 0 || usage_cost_in(p, currency)) {
		wrong(g, "currency");
		return 0;
	}
	if (!(c = calloc(1, sizeof(*c))))
		return -1;
	LL_APPEND(p->costs, c);
	c->currency = currency;
	c->places = (uint32_t)number(g, in, "places", DECIMAL_PLACES);
	c->restarts = (uint32_t)number(g, in, "restarts", UINT32_MAX);
	c->restored = flag(g, in, "restored");
	c->zero = amount(g, in, "wire").units == 0;
	c->first = amount(g, in, "first");
	c->last = amount(g, in, "last");
	c->closed = amount(g, in, "closed");
	return 0;
}

/* Calls `one` for each object in an array, to add it to `of`. 0, or -1 out of memory. */
static int
read_each(struct reading *g, void *of, struct slice object, const char *name, int (*one)(struct reading *, void *of, struct slice))
{
	struct json_iter it = {.in = member(g, object, name, JSON_ARRAY)};
	struct slice key, in;
	int r = 0;

	if (!it.in.p)
		wrong(g, name);
	while (it.in.p && r == 0 && json_next(&it, &key, &in)) {
		if (json_type(in) == JSON_OBJECT)
			r = one(g, of, in);
		else
			wrong(g, name);
	}
	return r;
}

static enum usage_basis
read_basis(struct reading *g, struct slice in)
{
	struct slice v = member(g, in, "basis", JSON_STRING);

	for (enum usage_basis b = USAGE_TURN; v.p && b <= USAGE_SESSION; b++)
		if (json_string_is(v, usage_bases[b]))
			return b;
	if (v.p)
		wrong(g, "basis");
	return USAGE_AUTO;
}

static int
read_part(struct reading *g, void *session, struct slice in)
{
	struct usage_session *s = session;
	struct decimal started = amount(g, in, "started");
	struct usage_part *p;

	g->u->agent = usage_agent(g->u, name_of(g, in, USAGE_WORD, "agent"), name_of(g, in, USAGE_WORD, "version"));
	p = usage_part_new(g->u, s, (double)started.units / 1e24);
	s->now = NULL;
	if (!p)
		return -1;
	p->number = (uint32_t)number(g, in, "number", UINT32_MAX);
	p->malformed = (uint32_t)number(g, in, "malformed", UINT32_MAX);
	p->model = name_of(g, in, USAGE_MODEL, "model");
	p->cwd = name_of(g, in, USAGE_CWD, "cwd");
	p->title = name_of(g, in, USAGE_TITLE, "title");
	p->basis = read_basis(g, in);
	p->restarted = flag(g, in, "restarted");
	p->cleared = flag(g, in, "cleared");
	p->has_counts = flag(g, in, "counts");
	p->has_rows = flag(g, in, "rows");
	for (unsigned i = 0; i < 6; i++)
		p->inside |= (uint8_t)(flag(g, in, insides[i]) ? 1u << i : 0);
	p->has_used = member(g, in, "used", JSON_NUMBER).p != NULL;
	p->used = number(g, in, "used", UINT64_MAX);
	p->has_context = p->has_used;
	p->context = p->used;
	p->peak = number(g, in, "peak", UINT64_MAX);
	p->size = number(g, in, "size", UINT64_MAX);
	if (member(g, in, "size", JSON_NUMBER).p && p->size == 0)
		wrong(g, "size");
	return -(read_each(g, p, in, "costs", read_cost) || read_each(g, p, in, "models", read_tally));
}

int
usage_get_parts(struct usage *u, struct slice object, const char **why)
{
	struct reading g = {.u = u};
	struct slice id = member(&g, object, "session", JSON_STRING), of = member(&g, object, "parent", JSON_STRING);
	struct usage_session *s, *parent;

	*why = id.p ? "recordings" : "session";
	if (!id.p || !member(&g, object, "recordings", JSON_ARRAY).p)
		return 1;
	if (!(s = usage_session_get(u, usage_plain(u, id))))
		return -1;
	if (of.p && !s->parent) {
		if (!(parent = usage_session_get(u, usage_plain(u, of))))
			return -1;
		if (!usage_adopt(parent, s))
			wrong(&g, "parent");
	}
	if (read_each(&g, s, object, "recordings", read_part) < 0)
		return -1;
	*why = g.why;
	return g.why != NULL;
}

static int
by_time(const struct usage_part *a, const struct usage_part *b)
{
	return (a->started > b->started) - (a->started < b->started);
}

/* Compares sessions by their first parts. Sessions without parts, or whose recordings have no time, come first. */
static int
sessions_by_time(const struct usage_session *a, const struct usage_session *b)
{
	static const struct usage_part none;
	const struct usage_part *x = a->parts ? a->parts : &none, *y = b->parts ? b->parts : &none;
	int r = by_time(x, y);

	return r || x->started <= 0 ? r : (x->number > y->number) - (x->number < y->number);
}

/* Tokens on an unknown model belong to the model that the session had before the part. */
static void
name_tallies(struct usage_part *p, uint32_t model)
{
	struct usage_tally **at = &p->tallies, *t, *named;

	p->model = p->model ? p->model : model;
	while ((t = *at)) {
		for (named = p->tallies; named && (named->model != model || named->period != t->period || named->tier != t->tier);)
			named = named->next;
		if (t->model || !model) {
			at = &t->next;
		} else if (!named) {
			t->model = model & USAGE_MODEL_BITS;
		} else {
			named->turns += t->turns;
			named->billed_turns += t->billed_turns;
			named->own_lower |= t->own_lower;
			named->billed_lower |= t->billed_lower;
			usage_sums_add(&named->own, &t->own);
			usage_sums_add(&named->billed, &t->billed);
			*at = t->next;
			free(t->reported);
			free(t);
		}
	}
}

static int
sort_parts(struct usage *u, struct usage_session *s)
{
	uint32_t model = 0;

	/* The last context that was known may be one of a time that does not count. */
	s->has_used = s->cleared = false;
	s->size = 0;
	/* Parts without a time come first, in the order in which they were read: the sort is stable. */
	LL_SORT(s->parts, by_time);
	for (struct usage_part *p = s->parts; p; p = p->next) {
		name_tallies(p, model);
		s->model = model = p->model;
		s->cwd = p->cwd ? p->cwd : s->cwd;
		s->title = p->title ? p->title : s->title;
		s->agent = p->agent ? p->agent : s->agent;
		s->cleared = p->cleared || (s->cleared && !p->costs);
		s->tail = p;
		if (!p->has_used)
			continue;
		s->has_used = true;
		s->used = p->used;
		s->size = p->size;
	}
	return usage_accounts_make(u, s);
}

int
usage_sort(struct usage *u)
{
	int r = 0;

	for (struct usage_session *s = u->sessions; s; s = s->hh.next)
		r |= sort_parts(u, s);
	HASH_SORT(u->sessions, sessions_by_time);
	for (struct usage_session *s = u->sessions; s; s = s->hh.next)
		LL_SORT2(s->child, sessions_by_time, sibling);
	return r;
}
