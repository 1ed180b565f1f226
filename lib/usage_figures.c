/* Counts, sums, and what the counts of an answer cover. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/usage_parts.h"

static const char *const types[] = {"total", "input", "output", "thought", "cache_read", "cache_write"};
static const char *const bases[] = {"auto", "turn", "call", "session"};

const char *
usage_type_name(enum usage_type t)
{
	return types[t];
}

const char *
usage_basis_name(enum usage_basis b)
{
	return bases[b];
}

/* --- sums --- */

static void
add_one(struct usage_sums *s, unsigned i, uint64_t n, uint32_t over)
{
	s->over[i] += over + __builtin_add_overflow(s->n[i], n, &s->n[i]);
}

void
usage_sums_count(struct usage_sums *s, const struct usage_counts *c)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if (c->has & 1u << i)
			add_one(s, i, c->n[i], 0);
	s->has |= (uint8_t)c->has;
	s->parts |= usage_parts(c);
}

void
usage_sums_add(struct usage_sums *s, const struct usage_sums *more)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		add_one(s, i, more->n[i], more->over[i]);
	s->has |= more->has;
	s->parts |= more->parts;
}

void
usage_sums_less(struct usage_sums *s, const struct usage_counts *c)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if (c->has & 1u << i)
			s->over[i] -= __builtin_sub_overflow(s->n[i], c->n[i], &s->n[i]);
}

int
usage_sum_decimal(const struct usage_sums *s, enum usage_type t, struct decimal *to)
{
	struct decimal high = {0}, one = {0};
	int r;

	/* 2^64 is 2^64 - 1, and 1. */
	r = decimal_of(UINT64_MAX, &high) < 0 || decimal_of(1, &one) < 0 || decimal_add(&high, &one, &high) < 0
		|| decimal_of(s->over[t], &one) < 0 || decimal_multiply(&high, &one, &high) < 0
		|| decimal_of(s->n[t], &one) < 0 || decimal_add(&high, &one, to) < 0;
	decimal_free(&high);
	decimal_free(&one);
	return r ? -1 : 0;
}

int
usage_sum_put(const struct usage_sums *s, enum usage_type t, struct buf *to)
{
	struct decimal d = {0};
	int r;

	if (s->over[t] == 0)
		return buf_printf(to, "%llu", (unsigned long long)s->n[t]);
	r = usage_sum_decimal(s, t, &d);
	if (r == 0)
		r = decimal_put(&d, to);
	decimal_free(&d);
	return r;
}

double
usage_sum_double(const struct usage_sums *s, enum usage_type t)
{
	return s->over[t] * 0x1p64 + (double)s->n[t];
}

/* --- which parts lie in which --- */

static uint64_t
plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint8_t
usage_parts(const struct usage_counts *c)
{
	static const enum usage_type part[] = {USAGE_READ, USAGE_WRITE, USAGE_THOUGHT};
	const unsigned need = 1u << USAGE_TOTAL | 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;
	unsigned there = 0, beside, i;
	uint8_t agreed = 63, told;
	uint64_t total;

	if ((c->has & need) != need)
		return 0;
	/* A part that is not there tells nothing. */
	for (i = 0; i < 3; i++)
		there |= (c->n[part[i]] > 0 ? 1u : 0u) << i;
	for (beside = 0; beside <= there; beside++) {
		if (beside & ~there)
			continue;
		total = plus(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT]);
		told = 0;
		for (i = 0; i < 3; i++) {
			if (beside & 1u << i)
				total = plus(total, c->n[part[i]]);
			if (there & 1u << i)
				told |= (uint8_t)(1u << (2 * i + (beside >> i & 1)));
		}
		if (total == c->n[USAGE_TOTAL])
			agreed &= told;
	}
	return agreed == 63 ? 0 : agreed;
}

/* --- bases --- */

/* Agents by a part of their name. A version stands for itself and all below. */
static const struct {
	const char *name;
	unsigned below[2];
	enum usage_basis basis;
} agents[] = {
	{"claude-agent-acp", {0}, USAGE_TURN},
	{"codex-acp", {2, 6}, USAGE_LAST_CALL},
	{"codex-acp", {0}, USAGE_TURN},
	{"gemini", {0}, USAGE_TURN},
	{"opencode", {0}, USAGE_LAST_CALL},
	{"hermes", {0}, USAGE_SESSION},
};

static bool
has_part(struct slice text, const char *part)
{
	size_t n = strlen(part), i;

	for (i = 0; i + n <= text.n; i++)
		if (strncasecmp(text.p + i, part, n) == 0)
			return true;
	return false;
}

/* The next number of a version at *i; what has none is 0. */
static unsigned
version_number(struct slice version, size_t *i)
{
	unsigned n = 0;

	for (; *i < version.n && version.p[*i] >= '0' && version.p[*i] <= '9'; ++*i)
		if (n < 100000000)
			n = n * 10 + (unsigned)(version.p[*i] - '0');
	if (*i < version.n)
		++*i;
	return n;
}

enum usage_basis
usage_agent_basis(struct slice name, struct slice version)
{
	size_t i, at = version.n && version.p[0] == 'v';
	unsigned major = version_number(version, &at), minor = version_number(version, &at);

	for (i = 0; i < sizeof(agents) / sizeof(*agents); i++) {
		if (!has_part(name, agents[i].name))
			continue;
		if (agents[i].below[0] == 0 || major < agents[i].below[0]
			|| (major == agents[i].below[0] && minor < agents[i].below[1]))
			return agents[i].basis;
	}
	return USAGE_AUTO;
}

uint64_t
usage_total_of(const struct usage_counts *c)
{
	if (c->has & 1u << USAGE_TOTAL)
		return c->n[USAGE_TOTAL];
	return plus(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT]);
}

/* Is any of them below what it was? */
bool
usage_fell(const struct usage_counts *now, const struct usage_counts *before)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if ((now->has & before->has & 1u << i) && now->n[i] < before->n[i])
			return true;
	return false;
}

void
usage_less(struct usage_counts *c, const struct usage_counts *before)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if (c->has & before->has & 1u << i)
			c->n[i] -= before->n[i];
}

/* used: the context at the end of the turn. */
uint8_t
usage_evidence(const struct usage_counts *before, const struct usage_turn *t, uint64_t used, bool has_used)
{
	uint64_t now = usage_total_of(&t->answer), was = usage_total_of(before), grew;
	uint64_t calls = usage_total_of(&t->calls);
	uint8_t e = 0;

	if (!t->answer.has || now == 0)
		return 0;
	if (t->ncalls > 1 && now == t->last_call && now != calls)
		e |= EVIDENCE_CALL;
	if (t->ncalls == 0 && t->updates > 2 && has_used && now == used)
		e |= EVIDENCE_CALL;
	if (t->rows && now < t->first_row)
		e |= EVIDENCE_LESS;
	if (!before->has || was == 0)
		return e;
	e |= EVIDENCE_MANY;
	if (t->rows && (now == t->billed || now == t->first_row))
		e |= EVIDENCE_TURN;
	if (t->ncalls > 1 && now == calls)
		e |= EVIDENCE_TURN;
	if (usage_fell(&t->answer, before))
		return e | EVIDENCE_FELL;
	grew = now - was;
	if (t->rows && !(e & EVIDENCE_TURN) && (grew == t->billed || grew == t->first_row))
		e |= EVIDENCE_SESSION;
	if (t->ncalls > 0 && now != calls && grew == calls)
		e |= EVIDENCE_SESSION;
	if (has_used && t->ncalls == 0 && !t->rows && now != used && grew == used)
		e |= EVIDENCE_SESSION;
	return e;
}

enum usage_basis
usage_session_basis(const struct usage *u, const struct usage_session *s, const char **why, bool *certain)
{
	const struct agent *a = &u->agents[s->agent];
	uint8_t e = s->evidence;
	const char *because = "the agent's name and version";
	enum usage_basis b = a->basis;
	bool sure = true;

	if (u->spec.basis != USAGE_AUTO) {
		b = u->spec.basis;
		because = "--basis";
	} else if (b != USAGE_AUTO) {
		;
	} else if (s->v2 || a->v2) {
		b = USAGE_TURN;
		because = "protocol version 2";
	} else if ((e & EVIDENCE_SESSION) && !(e & (EVIDENCE_FELL | EVIDENCE_TURN))) {
		b = USAGE_SESSION;
		because = "the counts never fall, and grow by what each turn used";
	} else if ((e & EVIDENCE_CALL) && !(e & EVIDENCE_TURN)) {
		b = USAGE_LAST_CALL;
		because = "the counts are the last call's in turns of several calls";
	} else if ((e & EVIDENCE_TURN) && !(e & EVIDENCE_LESS)) {
		b = USAGE_TURN;
		because = "the counts are the sum of the turn's rows or calls";
	} else {
		b = USAGE_TURN;
		because = "nothing tells";
		sure = !(e & (EVIDENCE_MANY | EVIDENCE_LESS));
	}
	if (why)
		*why = because;
	if (certain)
		*certain = sure;
	return b;
}

/* A turn's own counts, of the basis. False where the wire lacks them. */
bool
usage_own(const struct usage_session *s, const struct usage_turn *t, enum usage_basis b, struct usage_counts *own)
{
	*own = t->answer;
	if (!t->answer.has || b == USAGE_LAST_CALL) {
		*own = t->calls;
		return own->has != 0;
	}
	if (b != USAGE_SESSION)
		return true;
	if (s->loaded && !s->last.has)
		own->has = 0;
	else if (s->last.has && !usage_fell(&t->answer, &s->last))
		usage_less(own, &s->last);
	return own->has != 0;
}

bool
usage_turn_tokens(const struct usage *u, const struct usage_session *s, struct usage_counts *own)
{
	return s->turn.answered && usage_own(s, &s->turn, usage_session_basis(u, s, NULL, NULL), own);
}

bool
usage_turn_context(const struct usage *u, const struct usage_session *s, uint64_t *used)
{
	const struct usage_turn *t = &s->turn;

	*used = t->ncalls > 0 ? t->last_call : usage_total_of(&t->answer);
	if (t->ncalls > 0)
		return true;
	return t->answer.has && usage_session_basis(u, s, NULL, NULL) == USAGE_LAST_CALL;
}

void
usage_session_tokens(const struct usage *u, const struct usage_session *s, struct usage_sums *to)
{
	enum usage_basis b = usage_session_basis(u, s, NULL, NULL);

	*to = b == USAGE_SESSION ? s->by_session : b == USAGE_LAST_CALL ? s->by_call : s->by_turn;
	if (b == USAGE_LAST_CALL && s->uncalled)
		*to = (struct usage_sums){0};
}

void
usage_session_billed(const struct usage *u, const struct usage_session *s, struct usage_sums *to)
{
	const struct usage_model *m;

	if (!s->models) {
		usage_session_tokens(u, s, to);
		return;
	}
	*to = (struct usage_sums){0};
	for (m = s->models; m; m = m->next)
		usage_sums_add(to, &m->sums);
}

/* --- context --- */

bool
usage_reaches(uint64_t used, uint64_t size, unsigned percent, bool at)
{
	/* used * 100 and size * percent, without the high half getting lost. */
	uint64_t high_a = (used >> 32) * 100, low_a = (used & UINT32_MAX) * 100;
	uint64_t high_b = (size >> 32) * percent, low_b = (size & UINT32_MAX) * percent;

	high_a += low_a >> 32;
	high_b += low_b >> 32;
	low_a &= UINT32_MAX;
	low_b &= UINT32_MAX;
	if (high_a != high_b)
		return high_a > high_b;
	return at ? low_a >= low_b : low_a > low_b;
}

int
usage_percent(const struct usage_session *s)
{
	double p;

	if (!s->has_used || !s->has_size)
		return -1;
	if (s->used < UINT64_MAX / 100)
		return s->used * 100 / s->size > 100000 ? 100000 : (int)(s->used * 100 / s->size);
	p = floor((double)s->used / (double)s->size * 100);
	return p > 100000 ? 100000 : (int)p;
}

int
usage_cost_total(const struct usage_cost *c, struct decimal *to)
{
	return decimal_add(&c->closed, &c->last, to);
}
