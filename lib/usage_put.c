/* Pieces of a stream: their states, written as JSON. */
#include "lib/usage_parts.h"

static int
put_array(struct buf *to, const char *name, const uint64_t *n, size_t count)
{
	size_t i;
	int r = buf_printf(to, ",\"%s\":[", name);

	for (i = 0; i < count; i++)
		r |= buf_printf(to, i ? ",%llu" : "%llu", (unsigned long long)n[i]);
	return r | buf_add(to, "]", 1);
}

static int
put_counts(struct buf *to, const char *name, const struct usage_counts *c)
{
	uint64_t n[USAGE_TYPES + 1] = {c->has};

	if (!c->has)
		return 0;
	memcpy(n + 1, c->n, sizeof(c->n));
	return put_array(to, name, n, USAGE_TYPES + 1);
}

static int
put_sums(struct buf *to, const char *name, const struct usage_sums *s)
{
	uint64_t n[2 * USAGE_TYPES + 2] = {s->has, s->parts};
	size_t i;

	if (!s->has)
		return 0;
	for (i = 0; i < USAGE_TYPES; i++) {
		n[2 + 2 * i] = s->n[i];
		n[3 + 2 * i] = s->over[i];
	}
	return put_array(to, name, n, 2 * USAGE_TYPES + 2);
}

static int
put_string(struct buf *to, const char *name, struct slice text)
{
	if (text.n == 0)
		return 0;
	return -(buf_printf(to, ",\"%s\":", name) || json_quote(text, to));
}

static int
put_decimal(struct buf *to, const char *name, const struct decimal *d)
{
	return -(buf_printf(to, ",\"%s\":", name) || decimal_put(d, to));
}

static int
put_turn(const struct usage *u, struct buf *to, const char *name, const struct usage_turn *t)
{
	unsigned flags = (t->prompted ? 1u : 0u) | (t->answered ? 2u : 0u) | (t->rows ? 4u : 0u) | (t->enveloped ? 8u : 0u)
		| (t->failed ? 16u : 0u) | (t->heard ? 32u : 0u) | (t->wrong ? 64u : 0u) | (t->accepted ? 128u : 0u);
	uint64_t n[TURN_NUMBERS] = {flags, t->began, t->ended, t->last_call, t->billed, t->billed_output, t->first_row,
		t->ncalls, t->updates};

	return -(buf_printf(to, ",\"%s\":{\"turn\":1", name) || put_array(to, "n", n, TURN_NUMBERS)
		|| put_counts(to, "answer", &t->answer) || put_counts(to, "calls", &t->calls)
		|| put_string(to, "stop", usage_name(u, t->stop)) || buf_add(to, "}", 1));
}

/* A list of what is loose: answers have an id, states what came before them. */
static int
put_loose(const struct usage *u, struct buf *to, const struct usage_loose *l)
{
	const char *comma = "";
	size_t i;
	int r = 0;

	for (; l; l = l->next) {
		r |= buf_printf(to, "%s{\"idle\":%d", comma, l->idle);
		if (l->id_length)
			r |= -(buf_add_string(to, ",\"id\":") || buf_add(to, l->id, l->id_length));
		else
			r |= put_turn(u, to, "before", &l->before);
		r |= -(put_turn(u, to, "turn", &l->turn) || buf_add_string(to, ",\"rows\":["));
		for (i = 0; i < l->nrows; i++)
			r |= -(buf_add_string(to, i ? ",{\"row\":1" : "{\"row\":1") || put_counts(to, "counts", &l->rows[i])
				|| put_string(to, "model", usage_name(u, l->models[i])) || buf_add(to, "}", 1));
		r |= buf_add_string(to, "]}");
		comma = ",";
	}
	return r;
}

static int
put_costs(const struct usage *u, struct buf *to, const struct usage_cost *c)
{
	const char *comma = "";
	int r;

	if (!c)
		return 0;
	r = buf_add_string(to, ",\"costs\":[");
	for (; c; c = c->next) {
		r |= -(buf_printf(to, "%s{\"places\":%u,\"given\":%d", comma, c->places, c->given)
			|| put_string(to, "currency", usage_name(u, c->currency)) || put_decimal(to, "shown", &c->shown)
			|| put_decimal(to, "first", &c->first) || put_decimal(to, "last", &c->last)
			|| put_decimal(to, "closed", &c->closed) || buf_add(to, "}", 1));
		comma = ",";
	}
	return r | buf_add(to, "]", 1);
}

static int
put_models(const struct usage *u, struct buf *to, const struct usage_model *m)
{
	const char *comma = "";
	int r;

	if (!m)
		return 0;
	r = buf_add_string(to, ",\"models\":[");
	for (; m; m = m->next) {
		r |= -(buf_printf(to, "%s{\"turns\":%u", comma, m->turns) || put_string(to, "name", usage_name(u, m->name))
			|| put_sums(to, "sums", &m->sums) || buf_add(to, "}", 1));
		comma = ",";
	}
	return r | buf_add(to, "]", 1);
}

static int
put_rowed(struct buf *to, const struct usage_rowed *r)
{
	if (!r)
		return 0;
	return -(buf_printf(to, ",\"rowed\":{\"turns\":%u", r->turns) || put_sums(to, "by_turn", &r->by_turn)
		|| put_sums(to, "by_call", &r->by_call) || put_sums(to, "by_session", &r->by_session) || buf_add(to, "}", 1));
}

static unsigned
flags_of(const struct usage_session *s)
{
	const struct usage_head *h = s->head;
	unsigned f = 0;

	f |= (s->has_used ? HAS_USED : 0u) | (s->has_size ? HAS_SIZE : 0u) | (s->has_peak ? HAS_PEAK : 0u);
	f |= (s->loaded ? LOADED : 0u) | (s->had_usage ? HAD_USAGE : 0u) | (s->busy ? BUSY : 0u) | (s->v2 ? V2 : 0u);
	f |= (s->cleared ? CLEARED : 0u) | (s->unordered ? UNORDERED : 0u) | (s->uncalled ? UNCALLED : 0u);
	f |= (s->lifetime ? LIFETIME : 0u) | (s->stated ? STATED : 0u);
	if (h)
		f |= (h->judged ? JUDGED : 0u) | (h->loaded ? FIRST_LOADED : 0u) | (h->settled ? SETTLED : 0u)
			| (h->first_has_used ? FIRST_HAS_USED : 0u) | (h->before_has_used ? BEFORE_HAS_USED : 0u);
	return f;
}

int
usage_put_session(const struct usage *u, const struct usage_session *s, struct buf *to)
{
	const struct agent *a = &u->agents[s->agent];
	uint64_t n[SESSION_NUMBERS] = {flags_of(s), s->first_t, s->last_t, s->used, s->size, s->peak, s->peak_size, s->turns,
		s->malformed, s->restarts, s->said, s->evidence, s->idle, s->head ? s->head->first_used : 0,
		s->head ? s->head->before_used : 0};
	int r;

	r = -(buf_add_string(to, ",\"partial\":{\"session\":1") || put_array(to, "n", n, SESSION_NUMBERS)
		|| put_string(to, "model", usage_name(u, s->model)) || put_costs(u, to, s->cost) || put_models(u, to, s->models)
		|| put_rowed(to, s->rowed) || put_sums(to, "by_turn", &s->by_turn) || put_sums(to, "by_call", &s->by_call)
		|| put_sums(to, "by_session", &s->by_session) || put_counts(to, "last", &s->last) || put_turn(u, to, "turn", &s->turn));
	if (s->agent)
		r |= -(put_string(to, "agent", usage_name(u, a->name)) || put_string(to, "version", usage_name(u, a->version))
			|| buf_printf(to, ",\"v2\":%d", a->v2));
	if (s->head && s->head->states)
		r |= -(buf_add_string(to, ",\"states\":[") || put_loose(u, to, s->head->states) || buf_add(to, "]", 1));
	if (s->head && s->head->settled)
		r |= put_turn(u, to, "before", &s->head->before);
	if (s->head && s->head->judged)
		r |= put_turn(u, to, "first", &s->head->first);
	return r | buf_add(to, "}", 1);
}

static int
put_prompt(struct buf *to, const char *comma, struct slice id, uint64_t t, struct slice session, bool enveloped)
{
	return -(buf_printf(to, "%s{\"id\":", comma) || buf_add_slice(to, id) || buf_printf(to, ",\"t\":%llu", (unsigned long long)t)
		|| buf_add_string(to, ",\"session\":") || buf_add_slice(to, session)
		|| buf_add_string(to, enveloped ? ",\"enveloped\":1}" : "}"));
}

static int
put_open(const struct usage *u, struct buf *to, const struct requests *requests)
{
	const struct request *q = NULL;
	const struct open *o;
	const char *comma = "";
	int r = 0;

	for (o = u->open; o; o = o->next) {
		r |= put_prompt(to, comma, slice(o->id, o->id_length), o->t, slice(o->id + o->id_length, o->session_length),
			o->enveloped);
		comma = ",";
	}
	while (requests && (q = requests_next(requests, q))) {
		if (q->what != ACP_SESSION_PROMPT || !q->session.p)
			continue;
		r |= put_prompt(to, comma, q->id, q->t, q->session, q->from == ACP_AGENT);
		comma = ",";
	}
	return r;
}

int
usage_put_stream(const struct usage *u, const struct requests *requests, struct buf *to)
{
	const struct agent *a = &u->agents[u->agent];
	int r;

	r = buf_printf(to, ",\"partial\":{\"stream\":1,\"begun\":%d,\"greeted\":%d", u->begun, u->greeted);
	if (u->heard)
		r |= buf_printf(to, ",\"first\":%llu", (unsigned long long)u->first_t);
	if (u->agent)
		r |= -(put_string(to, "agent", usage_name(u, a->name)) || put_string(to, "version", usage_name(u, a->version))
			|| buf_printf(to, ",\"v2\":%d", a->v2));
	r |= -(buf_add_string(to, ",\"open\":[") || put_open(u, to, requests) || buf_add_string(to, "],\"loose\":[")
		|| put_loose(u, to, u->loose));
	return r | buf_add_string(to, "]}");
}
