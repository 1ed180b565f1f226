/* Several responses as one: the counts of the later ones are spliced into the first. */
#include <inttypes.h>

#include "lib/usage/usage_parts.h"

enum { DEEPEST = 3 }; /* how far down the table of places goes */

struct summing {
	bool idle, add;            /* add: the counts, or take the later ones */
	struct buf *to;
	struct slice keys[DEEPEST]; /* where we are */
};

/* An object (or array) that is copied with changes. */
struct copy {
	struct buf *to;
	struct slice of;
	const char *at; /* the end of what has been copied */
	size_t members;
};

/* Copies what comes before a value that is written anew. */
static int
copy_till(struct copy *c, struct slice value)
{
	int r = buf_add_slice(c->to, slice_between(c->at, value.p));

	c->at = value.p + value.n;
	return r;
}

/* All that is left but the bracket. */
static int
copy_tail(struct copy *c)
{
	const char *end = c->of.p + c->of.n - 1;
	int r = buf_add_slice(c->to, slice_between(c->at, end));

	c->at = end;
	return r;
}

/* Adds a member at the end; in an array it has no key. */
static int
copy_more(struct copy *c, struct slice key, struct slice value)
{
	if (c->members++ > 0 && buf_add(c->to, ",", 1))
		return -1;
	if (key.n > 0 && (buf_add_slice(c->to, key) || buf_add(c->to, ":", 1)))
		return -1;
	return buf_add_slice(c->to, value);
}

static int
copy_end(struct copy *c)
{
	return buf_add(c->to, c->at, 1);
}

/* --- counts --- */

/* The count of a type in an object: the first of its spellings that is a number. */
static bool
find_count(struct slice object, enum usage_type type, uint64_t *n)
{
	struct json_iter it = {.in = object};
	struct slice key, value;

	while (json_next(&it, &key, &value))
		if (usage_spelled(key) == type && json_type(value) == JSON_NUMBER && json_u64(value, n))
			return true;
	return false;
}

static int
sum_counts(struct summing *g, struct slice base, struct slice more, bool add)
{
	struct copy c = {.to = g->to, .of = base, .at = base.p};
	struct json_iter it = {.in = base};
	struct slice key, value;
	enum usage_type type;
	unsigned seen = 0;
	uint64_t n, was;
	int r = 0;

	for (; r == 0 && json_next(&it, &key, &value); c.members++) {
		type = usage_spelled(key);
		if (type == USAGE_TYPES || (seen & 1u << type) || !find_count(more, type, &n))
			continue;
		seen |= 1u << type;
		if (add && json_type(value) == JSON_NUMBER && json_u64(value, &was) && __builtin_add_overflow(n, was, &n))
			n = UINT64_MAX;
		r = copy_till(&c, value) || buf_printf(g->to, "%" PRIu64, n);
	}
	r = r || copy_tail(&c);
	it = (struct json_iter){.in = more};
	while (r == 0 && json_next(&it, &key, &value)) {
		type = usage_spelled(key);
		if (type == USAGE_TYPES || (seen & 1u << type) || json_type(value) != JSON_NUMBER)
			continue;
		seen |= 1u << type;
		r = copy_more(&c, key, value);
	}
	return r || copy_end(&c) ? -1 : 0;
}

/* --- rows per model --- */

static bool
same_model(struct slice a, struct slice b)
{
	struct slice x = json_get_string(a, usage_row_model), y = json_get_string(b, usage_row_model);

	return x.p && y.p && json_string_eq(x, y);
}

/* The first row of the same model, or p NULL. */
static struct slice
find_row(struct slice rows, struct slice of)
{
	struct json_iter it = {.in = rows};
	struct slice key, row;

	while (json_next(&it, &key, &row))
		if (same_model(row, of))
			return row;
	return slice(NULL, 0);
}

static int
sum_row(struct summing *g, struct slice row, struct slice more)
{
	struct slice counts = json_get(row, usage_row_counts), with = json_get(more, usage_row_counts);
	struct copy c = {.to = g->to, .of = row, .at = row.p, .members = 1};
	int r;

	if (json_type(with) != JSON_OBJECT)
		return buf_add_slice(g->to, row);
	if (!counts.p)
		r = copy_tail(&c) || buf_printf(g->to, ",\"%s\":", usage_row_counts) || buf_add_slice(g->to, with);
	else
		r = copy_till(&c, counts)
			|| (json_type(counts) == JSON_OBJECT ? sum_counts(g, counts, with, true) : buf_add_slice(g->to, with));
	return r || copy_tail(&c) || copy_end(&c) ? -1 : 0;
}

/* Rows of a model that `base` has join the first of its rows there, if they are the first of theirs; the others follow. */
static int
sum_rows(struct summing *g, struct slice base, struct slice more)
{
	struct copy c = {.to = g->to, .of = base, .at = base.p};
	struct json_iter it = {.in = base};
	struct slice key, row, other;
	int r = 0;

	for (; r == 0 && json_next(&it, &key, &row); c.members++) {
		other = find_row(more, row);
		if (other.p && find_row(base, row).p == row.p)
			r = copy_till(&c, row) || sum_row(g, row, other);
	}
	r = r || copy_tail(&c);
	it = (struct json_iter){.in = more};
	while (r == 0 && json_next(&it, &key, &row))
		if (!find_row(base, row).p || find_row(more, row).p != row.p)
			r = copy_more(&c, slice(NULL, 0), row);
	return r || copy_end(&c) ? -1 : 0;
}

/* --- the response --- */

/* The member of an object that has the same key, or p NULL. */
static struct slice
find_member(struct slice object, struct slice key)
{
	struct json_iter it = {.in = object};
	struct slice k, value;

	while (json_next(&it, &k, &value))
		if (json_string_eq(k, key))
			return value;
	return slice(NULL, 0);
}

static int sum_members(struct summing *g, struct slice base, struct slice more, size_t depth);

static int
sum_value(struct summing *g, struct slice base, struct slice more, size_t depth)
{
	enum usage_member member = usage_member(g->idle, g->keys, depth);

	if (member == USAGE_MEMBER_ROWS && json_type(base) == JSON_ARRAY && json_type(more) == JSON_ARRAY)
		return sum_rows(g, base, more);
	if (member == USAGE_MEMBER_COUNTS && json_type(base) == JSON_OBJECT && json_type(more) == JSON_OBJECT)
		return sum_counts(g, base, more, g->add);
	if (member == USAGE_MEMBER_ABOVE && json_type(base) == JSON_OBJECT && json_type(more) == JSON_OBJECT)
		return sum_members(g, base, more, depth);
	/* What is there stays, unless it says nothing. */
	return buf_add_slice(g->to, json_type(base) == JSON_NULL ? more : base);
}

static int
sum_members(struct summing *g, struct slice base, struct slice more, size_t depth)
{
	struct copy c = {.to = g->to, .of = base, .at = base.p};
	struct json_iter it = {.in = base};
	struct slice key, value, other;
	int r = 0;

	for (; r == 0 && json_next(&it, &key, &value); c.members++) {
		g->keys[depth] = key;
		if (usage_member(g->idle, g->keys, depth + 1) == USAGE_MEMBER_NONE)
			continue;
		other = find_member(more, key);
		if (other.p)
			r = copy_till(&c, value) || sum_value(g, value, other, depth + 1);
	}
	r = r || copy_tail(&c);
	it = (struct json_iter){.in = more};
	while (r == 0 && json_next(&it, &key, &value)) {
		g->keys[depth] = key;
		if (usage_member(g->idle, g->keys, depth + 1) <= USAGE_MEMBER_ABOVE || find_member(base, key).p)
			continue;
		r = copy_more(&c, key, value);
	}
	return r || copy_end(&c) ? -1 : 0;
}

int
usage_add_responses(struct slice base, struct slice more, bool idle, enum usage_basis basis, struct buf *to)
{
	struct summing g = {.idle = idle, .add = basis == USAGE_TURN || basis == USAGE_AUTO, .to = to};

	return sum_members(&g, base, more, 0) ? -1 : 0;
}
