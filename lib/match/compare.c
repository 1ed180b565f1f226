#include "lib/match/compare.h"

#include <stdlib.h>

#include "lib/match/digest.h"
#include "lib/match/rows.h"

/* Bytes: a longer string is not looked up as an id, in members that need not hold one. */
enum { ID_MOST = 256 };

/* A position in a message: a list of members and elements up to the root. */
struct position {
	const struct position *up;
	struct slice key;  /* of a member, with its quotes; or p NULL */
	size_t index;      /* of an element of an array */
	bool foreign;      /* the names of members here are not the protocol's */
	bool metadata;     /* it is compared at MATCH_EXACT only */
	const struct acp_member *member;
};

struct walk {
	const struct compare *c;
	struct slice session; /* the recorded one; or p NULL */
	struct slice request; /* the recorded message's JSON-RPC id, which is not compared */
	enum acp_method what;
	bool response;        /* the message is a response to a request of this method */
	struct buf path, a, b; /* scratch */
	bool quiet;   /* ids are learned, and no differences are reported */
	bool differs;
	bool stopped; /* the rest is not compared */
	bool failed;  /* out of memory */
};

const char *const match_names[] = {"method", "shape", "params", "exact", NULL};

/* --- reporting --- */

/* Can jq read the name without quotes? */
static bool
is_identifier(struct slice key)
{
	for (size_t i = 1; i + 1 < key.n; i++) {
		unsigned char c = (unsigned char)key.p[i];

		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && c != '_' && !(i > 1 && c >= '0' && c <= '9'))
			return false;
	}
	return key.n > 2;
}

static int
write_path(const struct position *at, struct buf *to)
{
	if (!at)
		return 0;
	if (write_path(at->up, to) < 0)
		return -1;
	if (!at->key.p)
		return buf_printf(to, "%s[%zu]", to->n == 0 ? "." : "", at->index);
	if (buf_add(to, ".", 1) < 0)
		return -1;
	return buf_add_slice(to, is_identifier(at->key) ? slice(at->key.p + 1, at->key.n - 2) : at->key);
}

static void
fail(struct walk *w)
{
	w->failed = w->stopped = true;
}

static void
report(struct walk *w, const struct position *at, enum difference_kind kind, struct slice recorded, struct slice live)
{
	struct difference d = {kind, {0}, recorded, live};

	if (w->quiet)
		return;
	w->differs = true;
	if (!w->c->differs) {
		/* One difference is enough, but ids are learned from the whole message. */
		w->stopped = !w->c->learn;
		return;
	}
	w->path.n = 0;
	if ((at ? write_path(at, &w->path) : buf_add(&w->path, ".", 1)) < 0 || !buf_string(&w->path)) {
		fail(w);
		return;
	}
	d.path = buf_slice(&w->path);
	w->stopped = !w->c->differs(w->c->arg, &d);
}

/* --- single values --- */

static bool
same_number(struct walk *w, struct slice a, struct slice b)
{
	bool integer;

	if (slice_eq(a, b))
		return true;
	w->a.n = w->b.n = 0;
	/* All spellings of a number have one key. A number with an exponent out of bounds has none, and is compared by its spelling. */
	return json_number_key(a, &w->a, &integer) == 0 && json_number_key(b, &w->b, &integer) == 0 &&
		slice_eq(buf_slice(&w->a), buf_slice(&w->b));
}

/* Does the name of a member end like the names of ids: id, taskId, task_id, ids? */
static bool
names_id(struct slice key)
{
	const char *end = key.p + key.n - 1; /* the quote */

	end -= key.n > 3 && end[-1] == 's';
	if (end - key.p < 3 || (end[-1] | 32) != 'd' || (end[-2] | 32) != 'i')
		return false;
	/* "valid" is no such name. */
	return end[-2] == 'I' || !(end[-3] >= 'a' && end[-3] <= 'z');
}

/* Are two strings corresponding ids of any kind, in a member with a name like that of an id? */
static bool
are_learned_ids(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	struct ids_scope scope = {.from = w->c->from, .session = w->session};

	while (at && !at->key.p)
		at = at->up;
	if (!at || !names_id(at->key) || a.n > ID_MOST || b.n > ID_MOST)
		return false;
	for (int what = ACP_ID_NONE + 1; what < ACP_IDS; what++) {
		scope.what = (enum acp_id)what;
		if (what != ACP_ID_REQUEST && ids_judge(w->c->ids, scope, a, b) == IDS_SAME)
			return true;
	}
	return false;
}

static void
compare_string(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	bool judged = w->c->match >= MATCH_PARAMS || (at && at->member && at->member->kind);
	int same;

	if (!judged || w->quiet)
		return;
	same = w->c->ids ? ids_same_text(w->c->ids, w->session, a, b) : json_string_eq(a, b);
	if (same < 0)
		fail(w);
	if (same < 0 || (same == 0 && !(w->c->ids && are_learned_ids(w, at, a, b))))
		report(w, at, DIFFERENCE_VALUE, a, b);
}

static void
compare_id(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	struct ids_scope scope = {at->member->id, w->c->from, w->session};
	struct ids *ids = w->c->ids;
	enum ids_verdict v = w->c->learn ? ids_learn(ids, scope, a, b) : ids_judge(ids, scope, a, b);

	if (v == IDS_FAILED)
		fail(w);
	if (v == IDS_CONFLICT && w->c->match >= MATCH_PARAMS)
		report(w, at, DIFFERENCE_ID, a, b);
}

static void
compare_directory(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	/* The session that session/fork names is not the one that it begins. */
	struct slice session = w->what == ACP_SESSION_FORK ? slice(NULL, 0) : w->session;

	if (!ids_is_directory(w->c->ids, a) || !ids_is_directory(w->c->ids, b))
		compare_string(w, at, a, b);
	else if (w->c->learn && ids_learn_directory(w->c->ids, w->request, session, a, b) < 0)
		fail(w);
}

/* --- containers --- */

static void compare(struct walk *, const struct position *, struct slice a, struct slice b);

/* Compares the values of a member. If only one message has the member, the other value is p NULL. */
static void
compare_member(struct walk *w, const struct position *up, struct slice key, struct slice a, struct slice b)
{
	static const struct acp_member nothing;
	struct position at = {.up = up, .key = key, .foreign = up && up->foreign};

	if (a.p && a.p == w->request.p)
		return;
	at.member = at.foreign ? &nothing : acp_member(key, w->what, w->response);
	at.foreign |= at.member->opaque;
	at.metadata = at.member->metadata || (up && up->metadata);
	if (at.metadata && w->c->match < MATCH_EXACT)
		return;
	if (a.p && b.p)
		compare(w, &at, a, b);
	/* Some programs write null for a member that others leave out. */
	else if (w->c->match == MATCH_EXACT || json_type(a.p ? a : b) != JSON_NULL)
		report(w, &at, a.p ? DIFFERENCE_MISSING : DIFFERENCE_UNEXPECTED, a, b);
}

/* An object that is read, up to its current member; key.p NULL: the end. */
struct reading {
	struct json_iter it;
	struct slice key, value;
};

/* Collects the members from the current one on (to NULL: only counts them), and the digests of their names. Returns their number. */
static size_t
collect(struct walk *w, struct reading from, struct reading *to, uint64_t *names)
{
	struct slice name;
	size_t n = 0;

	for (; from.key.p; n++, json_next(&from.it, &from.key, &from.value)) {
		if (!to)
			continue;
		to[n] = from;
		name = json_exact(from.key, &w->a);
		if (name.p)
			names[n] = digest_bytes(name);
		else
			fail(w);
	}
	return n;
}

/* Compares the rest of two objects from where their members no longer have the same order. */
static void
compare_unordered(struct walk *w, const struct position *at, const struct reading *a, const struct reading *b)
{
	/* partner[i]: the index in y of the member that has the name of x's member i; members of equal names are paired in order. */
	const size_t n = collect(w, *a, NULL, NULL), m = collect(w, *b, NULL, NULL);
	struct reading *x = calloc(n + m, sizeof(*x)), *y = x ? x + n : NULL;
	uint64_t *names = calloc(n + m, sizeof(*names));
	size_t *partner = calloc(n + 1, sizeof(*partner)), last = 0, j;
	bool ordered = true;

	for (size_t i = 0; partner && i < n; i++)
		partner[i] = ROWS_ALONE;
	if (x && names) {
		collect(w, *a, x, names);
		collect(w, *b, y, names + n);
	}
	if (!x || !names || !partner || rows_match_any(names, n, names + n, m, partner) < 0)
		fail(w);
	for (size_t i = 0; i < n && !w->failed; i++) {
		if (partner[i] != ROWS_ALONE && !json_string_eq(x[i].key, y[partner[i]].key))
			partner[i] = ROWS_ALONE; /* two names have the same digest by chance */
		if (partner[i] == ROWS_ALONE)
			continue;
		ordered &= partner[i] >= last;
		last = partner[i];
	}
	if (w->c->match == MATCH_EXACT && !ordered)
		report(w, at, DIFFERENCE_ORDER, a->it.in, b->it.in);
	for (size_t i = 0; i < n && !w->stopped; i++) {
		j = partner[i];
		compare_member(w, at, x[i].key, x[i].value, j == ROWS_ALONE ? slice(NULL, 0) : y[j].value);
		if (j != ROWS_ALONE)
			y[j].key.p = NULL;
	}
	for (j = 0; j < m && !w->stopped; j++)
		if (y[j].key.p)
			compare_member(w, at, y[j].key, slice(NULL, 0), y[j].value);
	free(x);
	free(names);
	free(partner);
}

static void
compare_objects(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	struct reading x = {.it.in = a}, y = {.it.in = b};
	bool more = true;

	while (more && !w->stopped) {
		more = json_next(&x.it, &x.key, &x.value);
		more |= json_next(&y.it, &y.key, &y.value);
		if (!x.key.p || !y.key.p || !json_string_eq(x.key, y.key))
			break;
		compare_member(w, at, x.key, x.value, y.value);
	}
	if (more && !w->stopped)
		compare_unordered(w, at, &x, &y);
}

static void
compare_arrays(struct walk *w, const struct position *up, struct slice a, struct slice b)
{
	struct json_iter i = {.in = a}, j = {.in = b};
	struct position at = {.up = up, .foreign = up && up->foreign, .metadata = up && up->metadata,
		.member = up ? up->member : NULL};
	struct slice key, value, other;
	bool more_a, more_b;

	/* The elements of an array of directories are directories; the elements of other arrays are no known members. */
	if (at.member && !at.member->cwd)
		at.member = NULL;
	for (; !w->stopped; at.index++) {
		more_a = json_next(&i, &key, &value);
		more_b = json_next(&j, &key, &other);
		if (more_a && more_b)
			compare(w, &at, value, other);
		else if ((more_a || more_b) && w->c->match >= MATCH_PARAMS)
			report(w, &at, more_a ? DIFFERENCE_MISSING : DIFFERENCE_UNEXPECTED, value, other);
		else if (!more_a && !more_b)
			break;
	}
}

/* --- any value --- */

/* Returns the type of a value; true and false count as one type. */
static enum json_type
type_of(struct slice value)
{
	enum json_type type = json_type(value);

	return type == JSON_FALSE ? JSON_TRUE : type;
}

static void
compare(struct walk *w, const struct position *at, struct slice a, struct slice b)
{
	const struct acp_member *member = at ? at->member : NULL;
	enum json_type type = type_of(a), other = type_of(b);

	if (a.p == w->c->excluded[0].p && b.p == w->c->excluded[1].p)
		return;
	/* JSON-RPC ids may be numbers on one side and strings on the other; ids of ACP have the same type on both. */
	if (w->c->ids && member && member->id && (type == JSON_STRING || type == JSON_NUMBER) &&
		(type == other || (member->id == ACP_ID_REQUEST && (other == JSON_STRING || other == JSON_NUMBER)))) {
		compare_id(w, at, a, b);
		return;
	}
	if (type != other) {
		report(w, at, DIFFERENCE_VALUE, a, b);
		return;
	}
	switch (type) {
	case JSON_OBJECT:
		compare_objects(w, at, a, b);
		break;
	case JSON_ARRAY:
		compare_arrays(w, at, a, b);
		break;
	case JSON_STRING:
		if (member && member->cwd && w->c->ids)
			compare_directory(w, at, a, b);
		else
			compare_string(w, at, a, b);
		break;
	case JSON_NUMBER:
		if (w->c->match >= MATCH_PARAMS && !w->quiet && !same_number(w, a, b))
			report(w, at, DIFFERENCE_VALUE, a, b);
		break;
	default:
		if (w->c->match >= MATCH_PARAMS && *a.p != *b.p)
			report(w, at, DIFFERENCE_VALUE, a, b);
	}
}

static int
finish(struct walk *w)
{
	buf_free(&w->path);
	buf_free(&w->a);
	buf_free(&w->b);
	return w->failed ? -1 : w->differs;
}

int
compare_values(const struct compare *c, struct slice recorded, struct slice live)
{
	struct walk w = {.c = c, .session = c->session, .what = c->what, .quiet = c->match == MATCH_METHOD,
		.response = !json_get(recorded, "method").p};

	compare(&w, NULL, recorded, live);
	return finish(&w);
}

/* --- messages --- */

/* Compares a member of the message itself, if one of the messages has it. */
static void
compare_part(struct walk *w, const char *quoted, struct slice a, struct slice b)
{
	if (!w->stopped && (a.p || b.p))
		compare_member(w, NULL, slice_of(quoted), a, b);
}

/* Are kind, method and kind of update equal? If not, reports one difference only: all other values would differ, too. */
static bool
compare_heads(struct walk *w, const struct msg *recorded, const struct msg *live)
{
	static const struct position method = {.key = {"\"method\"", 8}}, error = {.key = {"\"error\"", 7}},
		params = {.key = {"\"params\"", 8}}, update = {.up = &params, .key = {"\"update\"", 8}},
		kind = {.up = &update, .key = {"\"sessionUpdate\"", 15}};
	struct slice a = msg_update_kind(recorded), b = msg_update_kind(live);

	if (recorded->kind != live->kind) {
		report(w, NULL, DIFFERENCE_VALUE, recorded->text, live->text);
		return false;
	}
	if (recorded->method.p && !json_string_eq(recorded->method, live->method)) {
		report(w, &method, DIFFERENCE_VALUE, recorded->method, live->method);
		return false;
	}
	/* The higher levels compare the whole error. */
	if (w->c->match == MATCH_METHOD && recorded->kind == MSG_RESPONSE && !recorded->error.p != !live->error.p) {
		report(w, &error, recorded->error.p ? DIFFERENCE_MISSING : DIFFERENCE_UNEXPECTED, recorded->error, live->error);
		return false;
	}
	if ((!a.p && !b.p) || (a.p && b.p && json_string_eq(a, b)))
		return true;
	report(w, &kind, DIFFERENCE_VALUE, a, b);
	return false;
}

int
compare_messages(const struct compare *c, const struct msg *recorded, const struct msg *live)
{
	struct walk w = {.c = c, .session = msg_session(recorded), .request = recorded->id, .what = recorded->what,
		.response = recorded->kind == MSG_RESPONSE};
	int r = 0;

	if (recorded->kind == MSG_NOISE || live->kind == MSG_NOISE)
		return compare_values(c, recorded->text, live->text);
	if (w.response)
		w.what = c->what;
	if (!w.session.p)
		w.session = c->session;
	if (!compare_heads(&w, recorded, live))
		return finish(&w);
	/* Learn the pair of a request's JSON-RPC ids, and the session that a response begins. */
	if (c->learn && c->ids && recorded->kind == MSG_REQUEST)
		r = ids_renew(c->ids, (struct ids_scope){.what = ACP_ID_REQUEST, .from = c->from}, recorded->id, live->id);
	else if (c->learn && c->ids && w.response && w.session.p && acp_opens_session(w.what))
		r = ids_begin_session(c->ids, recorded->id, w.session);
	if (r < 0)
		fail(&w);
	w.quiet = c->match == MATCH_METHOD;
	if (c->match == MATCH_EXACT) {
		compare(&w, NULL, recorded->text, live->text);
	} else if (!w.quiet || (c->learn && c->ids)) {
		compare_part(&w, "\"params\"", recorded->params, live->params);
		compare_part(&w, "\"result\"", recorded->result, live->result);
		compare_part(&w, "\"error\"", recorded->error, live->error);
	}
	return finish(&w);
}
