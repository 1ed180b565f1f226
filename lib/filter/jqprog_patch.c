/*
 * Applies a program's changes to its input text: walks through the text and the values before and after, and changes the text where the
 * values differ. A value that the program did not touch is mostly the same object in memory; then its text is skipped.
 */
#include <stdlib.h>

#include "lib/filter/jqprog_parts.h"
#include "lib/json/json.h"

/* The most pairs of elements that pair_likely compares; larger arrays are paired in one pass. */
enum { ALIGN_MOST = 64 * 64 };

struct patch {
	const char *done; /* the part of the text before this is written */
	struct buf *to;
	struct buf name;  /* of a member, unescaped */
};

/* The entries of an object or array, up to the current one. */
struct row {
	bool any;        /* there is an entry before the current one */
	const char *end; /* of the entry before, in the text; at first, the place after the bracket */
};

/* --- changing the text --- */

static int
put(struct patch *p, const char *from, const char *to, struct slice with)
{
	if (buf_add_slice(p->to, slice_between(p->done, from)) < 0 || buf_add_slice(p->to, with) < 0)
		return -1;
	p->done = to;
	return 0;
}

static struct slice
string_bytes(jv string)
{
	return slice(jv_string_value(string), (size_t)jv_string_length_bytes(jv_copy(string)));
}

/* Replaces the text between from and to by a value, and frees the value. 0, or -1 out of memory. */
static int
put_value(struct patch *p, const char *from, const char *to, jv value)
{
	jv text = jv_dump_string(value, 0);
	int r = put(p, from, to, string_bytes(text));

	jv_free(text);
	return r;
}

/* Removes an entry, with one of the commas beside it. next: the beginning of the next entry, or NULL. */
static int
row_drop(struct patch *p, const struct row *row, const char *from, const char *end, const char *next)
{
	if (row->any)
		return put(p, row->end, end, slice(NULL, 0));
	return put(p, from, next ? next : end, slice(NULL, 0));
}

/* Adds an entry: after the one before, or before `next`, or as the only one. name: invalid for an element. Frees name and value. */
static int
row_add(struct patch *p, struct row *row, const char *next, jv name, jv value)
{
	const char *at = row->any || !next ? row->end : next;
	int r = row->any ? put(p, at, at, slice_of(",")) : 0;

	if (jv_is_valid(name)) {
		r |= put_value(p, at, at, name);
		r |= put(p, at, at, slice_of(":"));
	}
	r |= put_value(p, at, at, value);
	if (!row->any && next)
		r |= put(p, at, at, slice_of(","));
	row->any |= !next;
	return r;
}

/* --- values --- */

static bool
same(jv a, jv b)
{
	return jv_identical(jv_copy(a), jv_copy(b)) || jv_equal(jv_copy(a), jv_copy(b));
}

static int patch_value(struct patch *p, struct slice text, jv in, jv out);

/* --- objects --- */

/* The name of a member; invalid out of memory. */
static jv
name_of(struct patch *p, struct slice key)
{
	struct slice name = json_text(key, &p->name);

	return name.p ? jv_string_sized(name.p, (int)name.n) : jv_invalid();
}

/* If members have the same name, of which libjq has the last: an object with the last index of each name; else invalid. -1 out of memory. */
static int
last_indexes(struct patch *p, struct slice text, jv in, jv *last)
{
	struct json_iter it = {.in = text};
	struct slice key, value;
	int n = 0;
	jv name;

	*last = jv_invalid();
	while (json_next(&it, &key, &value))
		n++;
	if (n == jv_object_length(jv_copy(in)))
		return 0;
	*last = jv_object();
	it.at = NULL;
	for (n = 0; json_next(&it, &key, &value); n++) {
		name = name_of(p, key);
		if (!jv_is_valid(name))
			return -1;
		*last = jv_object_set(*last, name, jv_number(n));
	}
	return 0;
}

static bool
is_last(jv last, jv name, int index)
{
	jv at;
	bool yes;

	if (!jv_is_valid(last))
		return true;
	at = jv_object_get(jv_copy(last), jv_copy(name));
	yes = jv_is_valid(at) && (int)jv_number_value(at) == index;
	jv_free(at);
	return yes;
}

/* A member of the text, and libjq's name and value of it. */
struct member {
	struct slice key, value;
	int index;
	jv name, was; /* was: invalid if libjq has no member of this name */
};

/* Writes a member. Frees its name and was. 0, or -1 out of memory. */
static int
patch_member(struct patch *p, struct row *row, const struct member *m, const char *next, jv last, jv out)
{
	const char *end = m->value.p + m->value.n;
	bool had = jv_is_valid(m->was), counts = is_last(last, m->name, m->index), gone;
	jv is = jv_object_get(jv_copy(out), m->name);
	int r = 0;

	gone = had && !jv_is_valid(is);
	if (gone)
		r = row_drop(p, row, m->key.p, end, next);
	else if (had && counts)
		r = patch_value(p, m->value, m->was, is);
	row->any |= !gone;
	row->end = end;
	jv_free(m->was);
	jv_free(is);
	return r;
}

static int
add_members(struct patch *p, struct row *row, jv in, jv out)
{
	int i, r = 0;
	jv name;

	for (i = jv_object_iter(out); r == 0 && jv_object_iter_valid(out, i); i = jv_object_iter_next(out, i)) {
		name = jv_object_iter_key(out, i);
		if (jv_object_has(jv_copy(in), jv_copy(name)))
			jv_free(name);
		else
			r = row_add(p, row, NULL, name, jv_object_iter_value(out, i));
	}
	return r;
}

static int
patch_object(struct patch *p, struct slice text, jv in, jv out)
{
	struct json_iter it = {.in = text};
	struct row row = {.end = text.p + 1};
	struct member m, next = {.index = 0};
	bool more = json_next(&it, &next.key, &next.value);
	jv last;
	int r = last_indexes(p, text, in, &last);

	while (r == 0 && more) {
		m = next;
		next.index++;
		more = json_next(&it, &next.key, &next.value);
		m.name = name_of(p, m.key);
		if (jv_is_valid(m.name)) {
			m.was = jv_object_get(jv_copy(in), jv_copy(m.name));
			r = patch_member(p, &row, &m, more ? next.key.p : NULL, last, out);
		} else {
			r = -1;
		}
	}
	if (r == 0)
		r = add_members(p, &row, in, out);
	jv_free(last);
	return r;
}

/* --- arrays: pairs of elements, before and after --- */

/* The parts of two arrays without the common elements at both ends; and the partners of the first array's elements. */
struct pairs {
	int head, tail; /* the number of common elements at the beginning, and at the end */
	int n, m;       /* the number of other elements, before and after */
	int *with;      /* for each of n: the index of its partner among m; or -1 */
};

static jv
element(jv array, int i)
{
	return jv_array_get(jv_copy(array), i);
}

static bool
same_element(jv in, int i, jv out, int j)
{
	jv a = element(in, i), b = element(out, j);
	bool yes = same(a, b);

	jv_free(a);
	jv_free(b);
	return yes;
}

enum { LIKE_MOST = 1000, LIKE_SAME = 100 * LIKE_MOST };

static int
like_objects(jv a, jv b)
{
	int i, n = 1;
	jv name, x, y;

	for (i = jv_object_iter(a); n < LIKE_MOST && jv_object_iter_valid(a, i); i = jv_object_iter_next(a, i)) {
		name = jv_object_iter_key(a, i);
		x = jv_object_iter_value(a, i);
		y = jv_object_get(jv_copy(b), name);
		n += same(x, y);
		jv_free(x);
		jv_free(y);
	}
	return n;
}

/* How alike two elements are; 0: the second is not a changed form of the first. */
static int
likeness(jv in, int i, jv out, int j)
{
	jv a = element(in, i), b = element(out, j);
	jv_kind kind = jv_get_kind(a);
	int like = 0;

	if (same(a, b))
		like = LIKE_SAME;
	else if (kind == jv_get_kind(b) && kind == JV_KIND_OBJECT)
		like = like_objects(a, b);
	else if (kind == jv_get_kind(b) && kind == JV_KIND_ARRAY)
		like = 1;
	jv_free(a);
	jv_free(b);
	return like;
}

/* Chooses pairs, in order, so that the sum of their likeness is greatest. */
static int
pair_likely(struct pairs *x, jv in, jv out)
{
	int n = x->n, m = x->m, width = m + 1, i, j;
	size_t cells = (size_t)(n + 1) * (size_t)width;
	int *like = calloc(cells, sizeof(*like)), *best = calloc(cells, sizeof(*best));

	if (!like || !best) {
		free(like);
		free(best);
		return -1;
	}
	for (i = n - 1; i >= 0; i--) {
		for (j = m - 1; j >= 0; j--) {
			int at = i * width + j, through = at + width + 1;

			like[at] = likeness(in, x->head + i, out, x->head + j);
			best[at] = best[at + width] > best[at + 1] ? best[at + width] : best[at + 1];
			if (like[at] && best[at] < best[through] + like[at])
				best[at] = best[through] + like[at];
		}
	}
	for (i = j = 0; i < n && j < m;) {
		int at = i * width + j;

		if (like[at] && best[at] == best[at + width + 1] + like[at])
			x->with[i++] = j++;
		else if (best[at] == best[at + width])
			i++;
		else
			j++;
	}
	free(like);
	free(best);
	return 0;
}

/* Chooses pairs in one pass. The result is right if elements were only removed or only added. */
static void
pair_greedy(struct pairs *x, jv in, jv out)
{
	int i = 0, j = 0;

	while (i < x->n && j < x->m) {
		if (x->n - i == x->m - j || same_element(in, x->head + i, out, x->head + j))
			x->with[i++] = j++;
		else if (x->n - i > x->m - j)
			i++;
		else
			j++;
	}
}

/* Pairs a removed element with an added one between the same two pairs. */
static void
pair_changed(struct pairs *x)
{
	int i, k, free_from = 0, free_to;

	for (i = 0; i < x->n; i++) {
		if (x->with[i] < 0) {
			for (k = i; k < x->n && x->with[k] < 0; k++)
				;
			free_to = k < x->n ? x->with[k] : x->m;
			if (free_from < free_to)
				x->with[i] = free_from;
		}
		if (x->with[i] >= 0)
			free_from = x->with[i] + 1;
	}
}

static int
pair(struct pairs *x, jv in, jv out)
{
	int n = jv_array_length(jv_copy(in)), m = jv_array_length(jv_copy(out)), i;
	int least = n < m ? n : m;

	*x = (struct pairs){0};
	while (x->head < least && same_element(in, x->head, out, x->head))
		x->head++;
	while (x->tail < least - x->head && same_element(in, n - 1 - x->tail, out, m - 1 - x->tail))
		x->tail++;
	x->n = n - x->head - x->tail;
	x->m = m - x->head - x->tail;
	x->with = malloc((size_t)(x->n ? x->n : 1) * sizeof(*x->with));
	if (!x->with)
		return -1;
	for (i = 0; i < x->n; i++)
		x->with[i] = -1;
	if ((long long)x->n * x->m > ALIGN_MOST)
		pair_greedy(x, in, out);
	else if (pair_likely(x, in, out) < 0) {
		free(x->with);
		return -1;
	}
	pair_changed(x);
	return 0;
}

/* The new index of the element that was at i; -1: it was removed. */
static int
partner(const struct pairs *x, int i)
{
	if (i < x->head)
		return i;
	if (i >= x->head + x->n)
		return i - x->n + x->m;
	return x->with[i - x->head] < 0 ? -1 : x->head + x->with[i - x->head];
}

/* --- arrays --- */

static int
patch_elements(struct patch *p, struct slice text, const struct pairs *x, jv in, jv out)
{
	struct json_iter it = {.in = text};
	struct row row = {.end = text.p + 1};
	int length = jv_array_length(jv_copy(out)), i, j, at = 0, r = 0;
	struct slice key, value, next;
	bool more = json_next(&it, &key, &next);
	jv was, is;

	for (i = 0; r == 0 && more; i++) {
		value = next;
		more = json_next(&it, &key, &next);
		j = partner(x, i);
		for (; r == 0 && at < j; at++)
			r = row_add(p, &row, value.p, jv_invalid(), element(out, at));
		if (r == 0 && j >= 0) {
			was = element(in, i);
			is = element(out, j);
			r = patch_value(p, value, was, is);
			jv_free(was);
			jv_free(is);
			row.any = true;
			at = j + 1;
		} else if (r == 0) {
			r = row_drop(p, &row, value.p, value.p + value.n, more ? next.p : NULL);
		}
		row.end = value.p + value.n;
	}
	for (; r == 0 && at < length; at++)
		r = row_add(p, &row, NULL, jv_invalid(), element(out, at));
	return r;
}

static int
patch_array(struct patch *p, struct slice text, jv in, jv out)
{
	struct pairs x;
	int r;

	if (pair(&x, in, out) < 0)
		return -1;
	r = patch_elements(p, text, &x, in, out);
	free(x.with);
	return r;
}

static int
patch_value(struct patch *p, struct slice text, jv in, jv out)
{
	jv_kind kind = jv_get_kind(in);

	if (jv_identical(jv_copy(in), jv_copy(out)))
		return 0;
	if (kind != jv_get_kind(out))
		return put_value(p, text.p, text.p + text.n, jv_copy(out));
	if (kind == JV_KIND_OBJECT)
		return patch_object(p, text, in, out);
	if (kind == JV_KIND_ARRAY)
		return patch_array(p, text, in, out);
	if (jv_equal(jv_copy(in), jv_copy(out)))
		return 0;
	return put_value(p, text.p, text.p + text.n, jv_copy(out));
}

int
jqprog_patch(struct slice text, jv in, jv out, struct buf *to, struct slice *result)
{
	struct patch p = {.done = text.p, .to = to};
	int r;

	to->n = 0;
	*result = text;
	r = patch_value(&p, text, in, out);
	if (r == 0 && p.done != text.p) {
		r = buf_add_slice(to, slice_between(p.done, text.p + text.n));
		*result = buf_slice(to);
	}
	buf_free(&p.name);
	return r;
}
