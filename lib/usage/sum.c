/* Makes one response of several: splices the counts of later responses into the first. */
#include "lib/usage/usage_parts.h"

enum { DEEPEST = 3 }; /* the length of the longest path in the table of read.c */

struct summing {
	bool idle, add;            /* idle: an idle state; add: add counts, or else take the later ones */
	struct buf *to;
	struct slice keys[DEEPEST]; /* the path of the current member */
};

/* Do two elements belong together? Members do by their keys (ABOVE), counts by their types, rows by their models. */
static bool
same(enum usage_member kind, struct slice key, struct slice value, struct slice other, struct slice other_value)
{
	struct slice model;
	uint64_t n;

	switch (kind) {
	case USAGE_MEMBER_COUNTS:
		return usage_spelled(key) == usage_spelled(other) && json_type(other_value) == JSON_NUMBER && json_u64(other_value, &n);
	case USAGE_MEMBER_ROWS:
		model = json_get_string(value, usage_row_model);
		return model.p && json_string_eq(model, json_get_string(other_value, usage_row_model));
	default:
		return json_string_eq(key, other);
	}
}

/* The first element of a container that belongs to this element, or p NULL. */
static struct slice
find(enum usage_member kind, struct slice in, struct slice key, struct slice value)
{
	struct json_iter it = {.in = in};
	struct slice k, v;

	while (json_next(&it, &k, &v))
		if (same(kind, key, value, k, v))
			return v;
	return slice(NULL, 0);
}

/* What a member at this depth of the response is. */
static enum usage_member
member_at(struct summing *g, struct slice key, size_t depth)
{
	g->keys[depth] = key;
	return usage_member(g->idle, g->keys, depth + 1);
}

static int sum(struct summing *g, enum usage_member kind, struct slice base, struct slice more, size_t depth);

static int
sum_row(const struct summing *g, struct slice row, struct slice more)
{
	struct slice counts = json_get(row, usage_row_counts), with = json_get(more, usage_row_counts);
	struct summing counting = {.to = g->to, .add = true};
	bool any = counts.p != NULL;

	if (json_type(with) != JSON_OBJECT)
		return buf_add_slice(g->to, row);
	if (!any)
		counts = slice(row.p + row.n - 1, 0);
	return -(buf_add_slice(g->to, slice_between(row.p, counts.p)) || (!any && buf_printf(g->to, ",\"%s\":", usage_row_counts))
		|| (any && json_type(counts) == JSON_OBJECT ? sum(&counting, USAGE_MEMBER_COUNTS, counts, with, 0) : buf_add_slice(g->to, with))
		|| buf_add_slice(g->to, slice_between(counts.p + counts.n, row.p + row.n)));
}

/* Appends the counts and rows in a member that the base lacks, or has as null, with the objects around them. 0, or -1 out of memory. */
static int
pick(const struct summing *g, struct slice value, size_t depth, struct buf *to)
{
	struct summing picking = *g;

	picking.to = to;
	return sum(&picking, USAGE_MEMBER_ABOVE, slice_of("{}"), value, depth);
}

/* Sums up two elements that belong together, of containers of this kind. */
static int
sum_value(struct summing *g, enum usage_member kind, struct slice base, struct slice more, size_t depth)
{
	enum json_type type = json_type(base);
	SCOPED struct buf picked = {0};
	uint64_t n, was;

	if (kind == USAGE_MEMBER_ROWS)
		return sum_row(g, base, more);
	if (kind == USAGE_MEMBER_COUNTS) {
		json_u64(more, &n);
		if (g->add && type == JSON_NUMBER && json_u64(base, &was) && __builtin_add_overflow(n, was, &n))
			n = UINT64_MAX;
		return json_format(g->to, "%u", n);
	}
	kind = usage_member(g->idle, g->keys, depth);
	if (type == json_type(more) && type == (kind == USAGE_MEMBER_ROWS ? JSON_ARRAY : JSON_OBJECT))
		return sum(g, kind, base, more, depth);
	if (type == JSON_NULL && kind == USAGE_MEMBER_ABOVE) {
		if (json_type(more) == JSON_OBJECT && pick(g, more, depth, &picked) < 0)
			return -1;
		more = picked.n > strlen("{}") ? buf_slice(&picked) : base;
	}
	/* The value of the first response stays, unless it is null. */
	return buf_add_slice(g->to, type == JSON_NULL ? more : base);
}

/* Copies the base, sums up the elements that both have, and appends the elements that the base lacks. 0, or -1 out of memory. */
static int
sum(struct summing *g, enum usage_member kind, struct slice base, struct slice more, size_t depth)
{
	const char *at = base.p, *end = base.p + base.n - 1;
	SCOPED struct buf picked = {0};
	enum usage_member member;
	struct json_iter it = {.in = base}, rest = {.in = more};
	struct slice key, value, other;
	enum usage_type type = USAGE_TYPES;
	size_t n = 0;
	unsigned seen = 0; /* types of counts that are written already */
	bool yes;
	int r = 0;

	for (; r == 0 && json_next(&it, &key, &value); n++) {
		if (kind == USAGE_MEMBER_COUNTS)
			yes = (type = usage_spelled(key)) < USAGE_TYPES && !(seen & 1u << type);
		else if (kind == USAGE_MEMBER_ROWS)
			yes = find(kind, base, key, value).p == value.p;
		else
			yes = member_at(g, key, depth) != USAGE_MEMBER_NONE;
		other = yes ? find(kind, more, key, value) : slice(NULL, 0);
		if (!other.p)
			continue;
		seen |= 1u << type;
		r = buf_add_slice(g->to, slice_between(at, value.p)) || sum_value(g, kind, value, other, depth + 1);
		at = value.p + value.n;
	}
	r = r || buf_add_slice(g->to, slice_between(at, end));
	while (r == 0 && json_next(&rest, &key, &value)) {
		if (kind == USAGE_MEMBER_COUNTS)
			yes = (type = usage_spelled(key)) < USAGE_TYPES && !(seen & 1u << type) && json_type(value) == JSON_NUMBER;
		else if (kind == USAGE_MEMBER_ROWS)
			yes = !find(kind, base, key, value).p || find(kind, more, key, value).p != value.p;
		else
			yes = (member = member_at(g, key, depth)) != USAGE_MEMBER_NONE && !find(kind, base, key, value).p;
		if (yes && kind == USAGE_MEMBER_ABOVE && member == USAGE_MEMBER_ABOVE) {
			picked.n = 0;
			r = json_type(value) == JSON_OBJECT ? pick(g, value, depth + 1, &picked) : 0;
			value = buf_slice(&picked);
			yes = r == 0 && value.n > strlen("{}");
		}
		if (!yes)
			continue;
		seen |= 1u << type;
		r = (n++ && buf_add(g->to, ",", 1)) || (key.n && (buf_add_slice(g->to, key) || buf_add(g->to, ":", 1)))
			|| buf_add_slice(g->to, value);
	}
	return r || buf_add(g->to, end, 1) ? -1 : 0;
}

int
usage_add_responses(struct slice base, struct slice more, bool idle, enum usage_basis basis, struct buf *to)
{
	struct summing g = {.idle = idle, .add = basis == USAGE_TURN || basis == USAGE_AUTO, .to = to};

	return sum(&g, USAGE_MEMBER_ABOVE, base, more, 0);
}
