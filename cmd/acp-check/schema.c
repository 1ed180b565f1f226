#include "cmd/acp-check/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/acp/acp.h"
#include "lib/base/text.h"
#include "lib/match/digest.h"

/* --- the types of the tables that scripts/schema-tables makes --- */

/* The types of values, as bits. A number is an integer or a fraction. */
enum {
	SCHEMA_NULL = 1,
	SCHEMA_BOOLEAN = 2,
	SCHEMA_INTEGER = 4,
	SCHEMA_FRACTION = 8,
	SCHEMA_STRING = 16,
	SCHEMA_ARRAY = 32,
	SCHEMA_OBJECT = 64,
};

/* Flags of members. ON_ERROR, ON_NULL and SKIP_ITEMS say what SDKs do with a wrong value. */
enum {
	SCHEMA_REQUIRED = 1,
	SCHEMA_ON_ERROR = 2,   /* SDKs use the default */
	SCHEMA_ON_NULL = 4,    /* SDKs use the default for null */
	SCHEMA_SKIP_ITEMS = 8, /* SDKs leave out wrong items */
	SCHEMA_PATH = 16,      /* the value is an absolute path, or a list of absolute paths */
};

enum {
	SCHEMA_ANY = 0xffff,     /* schema_node.extra: other members may have any value */
	SCHEMA_OPEN = 0xfffe,    /* schema_branch.value: the branch is for all values of the tag that no other branch has */
	SCHEMA_ALSO = 0xffff,    /* schema_branch.value: the branch has no tag */
};

struct schema_range {
	int64_t low;
	uint64_t high;
};

struct schema_member {
	unsigned short name, node;
	unsigned char flags;
};

/* value: the name that the tag has in this branch; then the branch's node does not list the tag as a member. */
struct schema_branch {
	unsigned short value, node;
};

/*
 * The shorts are indexes in the tables, and range is one; 0: none. The node 0 accepts any value; with extra 0, unlisted members are
 * unknown. A node with branches is a union: its types are those that a value may have besides the branches.
 */
struct schema_node {
	unsigned char types, nmembers, nvalues, nbranches, min_length, min_items, range;
	bool open, one, meta;       /* open: other values may be; one: exactly one branch holds; meta: schema_meta is a member */
	unsigned short members, values, items, extra, branches, tag;
};

/* Rows of nodes and of methods. to, side: which side receives the request, and the notification; then their nodes. */
#define OBJECT(t, at, n) {.types = (t), .meta = true, .members = (at), .nmembers = (n)}
#define LIST(t, of) {.types = (t), .items = (of)}
#define STRING(t, at, n, others) {.types = (t), .values = (at), .nvalues = (n), .open = (others)}
#define UNION(t, name, at, n) {.types = (t), .tag = (name), .branches = (at), .nbranches = (n)}
#define BOTH(name, sets, to, request, response, side, notification) \
	{(name), (sets), {{(to), (request)}, {(side), (notification)}, {(to), (response)}}}
#define REQUEST(name, sets, to, request, response) BOTH(name, sets, to, request, response, SCHEMA_NONE, 0)
#define NOTIFICATION(name, sets, side, notification) BOTH(name, sets, SCHEMA_NONE, 0, 0, side, notification)

#include "cmd/acp-check/schema_tables.inc"

/* --- how the tables are read --- */

enum {
	SHORT = 48, /* values that a finding names, at most */
	ROOM = 8,   /* findings for which each level has room that less severe levels cannot take */
};

/* The tag by which a union has chosen a branch for the value. */
struct tag {
	const struct tag *outer; /* of the union around this one; or NULL */
	unsigned name;
};

/* The place of a value: a member or an item of another value. */
struct location {
	const struct location *up;
	struct slice key; /* of a member, with its quotes; else p NULL */
	const char *name; /* of the outermost value, and of a missing member; NULL: key or index */
	size_t index;     /* of an item */
	const struct tag *tag; /* the tags of the value, which unions have checked; or NULL */
};

static void check_value(struct schema_findings *, unsigned node, unsigned flags, struct json_iter *, const struct location *);

const struct schema *
schema_of(unsigned version, bool unstable)
{
	return &schema_sets[(version == 2 ? 2 : 0) + (unstable ? 1 : 0)];
}

const char schema_source[] = SCHEMA_SOURCE;

/* Is this JSON string the name? Most strings have no escapes, so they are compared first as they are. */
static bool
is_name(struct slice string, unsigned name)
{
	struct slice s = schema_names[name];

	if (string.n == s.n + 2 && memcmp(string.p + 1, s.p, s.n) == 0)
		return true;
	return string.n > s.n + 2 && memchr(string.p, '\\', string.n) && json_string_is(string, s.p);
}

const struct schema_method *
schema_next(const struct schema *schema, const struct schema_method *m, struct slice *name)
{
	static const struct schema_method *const end = schema_methods + sizeof(schema_methods) / sizeof(*schema_methods);

	for (m = m ? m + 1 : schema_methods; m < end && !(m->sets & schema->set); m++)
		;
	if (m == end)
		return NULL;
	*name = schema_names[m->name];
	return m;
}

const struct schema_method *
schema_method(const struct schema *schema, struct slice name)
{
	for (const struct schema_method *m = schema_methods; m < schema_methods + sizeof(schema_methods) / sizeof(*m); m++)
		if (m->sets & schema->set && is_name(name, m->name))
			return m;
	return NULL;
}

/* Calls `name` for each name that the first member so called has, in the node or further inside. Is there such a member? */
static bool
names_in(unsigned node, const char *member, void (*name)(void *, struct slice), void *arg)
{
	const struct schema_node *n = &schema_nodes[node], *of;
	bool found = n->nbranches && strcmp(schema_names[n->tag].p, member) == 0;

	for (unsigned i = 0; found && i < n->nbranches; i++)
		if (schema_branches[n->branches + i].value < SCHEMA_OPEN)
			name(arg, schema_names[schema_branches[n->branches + i].value]);
	for (unsigned i = 0; !found && i < n->nmembers; i++) {
		of = &schema_nodes[schema_members[n->members + i].node];
		found = of->nvalues && strcmp(schema_names[schema_members[n->members + i].name].p, member) == 0;
		for (unsigned k = 0; found && k < of->nvalues; k++)
			name(arg, schema_names[schema_values[of->values + k]]);
		found = found || names_in(schema_members[n->members + i].node, member, name, arg);
	}
	for (unsigned i = 0; !found && i < n->nbranches; i++)
		found = names_in(schema_branches[n->branches + i].node, member, name, arg);
	return found || (n->items && names_in(n->items, member, name, arg));
}

void
schema_names_of(const struct schema *schema, const char *method, enum schema_part part, const char *member,
	void (*name)(void *arg, struct slice), void *arg)
{
	const struct schema_method *m = schema_method(schema, slice_of(method));

	if (m)
		names_in(m->parts[part].node, member, name, arg);
}

/* Does the name (a JSON string) begin with _? */
static bool
is_extension(struct slice name)
{
	struct text t = text_of_string(name);

	return text_next(&t) == '_';
}

/* --- findings --- */

static int
put_path(struct buf *to, const struct location *p)
{
	if (p->up && (put_path(to, p->up) < 0 || ((p->key.p || p->name) && buf_add_string(to, ".") < 0)))
		return -1;
	return p->key.p ? json_unescape(p->key, to) : p->name ? buf_add_string(to, p->name) : buf_printf(to, "[%zu]", p->index);
}

/* Begins a finding, and returns the text to which the caller appends the expectation and a NUL. NULL: there is no room for it. */
static struct buf *
find(struct schema_findings *f, enum rule_id rule, const struct location *location, struct slice found)
{
	struct schema_finding *at = &f->at[f->n];

	f->errors += rule == RULE_SCHEMA || rule == RULE_UNKNOWN_UPDATE;
	if (rule == RULE_SCHEMA && f->tolerated)
		rule = RULE_SCHEMA_TOLERATED;
	/* Less severe findings get no more room first, so that a later, more severe one still has some. */
	if (f->n + ROOM * (size_t)rules[rule].level >= SCHEMA_FINDINGS)
		return NULL;
	*at = (struct schema_finding){.rule = rule, .path = f->text.n, .found = found};
	f->failed |= put_path(&f->text, location) < 0 || buf_add(&f->text, "", 1) < 0;
	at->expected = f->text.n;
	f->n++;
	return &f->text;
}

static void __attribute__((format(printf, 5, 6)))
expect(struct schema_findings *f, enum rule_id rule, const struct location *location, struct slice found, const char *format, ...)
{
	struct buf *text = find(f, rule, location, found);
	va_list ap;

	va_start(ap, format);
	f->failed |= text && (buf_vprintf(text, format, ap) < 0 || buf_add(text, "", 1) < 0);
	va_end(ap);
}

/* Adds a finding that expects one of these types. */
static void
expect_types(struct schema_findings *f, const struct location *location, unsigned types, struct slice found)
{
	static const char *const names[] = {"null", "a boolean", "an integer", "a number", "a string", "an array", "an object"};
	struct buf *text = find(f, RULE_SCHEMA, location, found);
	const char *before = "";

	if (!text)
		return;
	if (types & SCHEMA_FRACTION)
		types &= ~(unsigned)SCHEMA_INTEGER;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(types & 1U << i))
			continue;
		f->failed |= buf_printf(text, "%s%s", before, names[i]) < 0;
		before = " or ";
	}
	f->failed |= buf_add(text, "", 1) < 0;
}

/* Adds a finding that expects one of the node's values, or of its branches' tags. */
static void
expect_name(struct schema_findings *f, enum rule_id rule, const struct location *location, struct slice found,
	const struct schema_node *n)
{
	size_t all = n->nbranches ? n->nbranches : n->nvalues, name;
	struct buf *text = find(f, rule, location, found);

	for (size_t i = 0; text && i < all && i < SHORT; i++) {
		name = n->nbranches ? schema_branches[n->branches + i].value : schema_values[n->values + i];
		f->failed |= buf_printf(text, "%s%s", i ? ", " : "one of ", schema_names[name].p) < 0;
	}
	f->failed |= text && ((all > SHORT && buf_add_string(text, ", ...") < 0) || buf_add(text, "", 1) < 0);
}

/* --- keys that an object has twice --- */

static int
by_hash(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Checks the keys of an object at its end, and removes their hashes, which begin at `first`. */
static void
check_keys(struct schema_findings *f, size_t first, const struct location *location, struct slice object)
{
	enum { FEW = 24 };
	size_t n = (f->keys.n - first) / sizeof(uint64_t), i, j;
	uint64_t *keys = n ? (void *)(f->keys.p + first) : NULL;
	bool twice = false;

	f->keys.n = first;
	if (n > FEW)
		qsort(keys, n, sizeof(*keys), by_hash);
	for (i = 1; i < n && !twice; i++)
		for (j = n > FEW ? i - 1 : 0; j < i; j++)
			twice |= keys[i] == keys[j];
	if (twice)
		expect(f, RULE_DUPLICATE_KEY, location, object, "each member once");
}

/* --- values --- */

static struct slice
value_at(const struct json_iter *it)
{
	struct json_iter copy = *it;

	return json_value(&copy);
}

/* Is the number an integer, in any spelling? */
static bool
is_whole(struct slice number)
{
	SCOPED struct buf key = {0};
	bool whole;

	for (size_t i = number.p[0] == '-'; i < number.n; i++)
		if (!byte_is_digit(number.p[i]))
			return json_number_key(number, &key, &whole) == 0 && whole;
	return true;
}

static unsigned
type_at(const struct json_iter *it)
{
	switch (*it->at) {
	case 'n':
		return SCHEMA_NULL;
	case 't':
	case 'f':
		return SCHEMA_BOOLEAN;
	case '"':
		return SCHEMA_STRING;
	case '[':
		return SCHEMA_ARRAY;
	case '{':
		return SCHEMA_OBJECT;
	default:
		return is_whole(value_at(it)) ? SCHEMA_INTEGER : SCHEMA_FRACTION;
	}
}

static bool
in_range(struct slice number, unsigned type, const struct schema_range *r)
{
	bool negative = number.p[0] == '-';
	char text[64];
	uint64_t n;
	double d;

	if (type == SCHEMA_INTEGER) {
		if (!json_u64(slice(number.p + negative, number.n - negative), &n))
			return false;
		return negative ? n <= (uint64_t)-(r->low + 1) + 1 && (n == 0 || r->low < 0) : n <= r->high && (r->low <= 0 || n >= (uint64_t)r->low);
	}
	snprintf(text, sizeof(text), "%.*s", (int)(number.n < sizeof(text) ? number.n : sizeof(text) - 1), number.p);
	d = strtod(text, NULL);
	return d >= (double)r->low && d <= (double)r->high;
}

/* Is this an absolute path of POSIX, or of Windows (C:\ or \\server)? */
static bool
is_absolute(struct slice string)
{
	struct text t = text_of_string(string);
	int32_t first = text_next(&t), second = text_next(&t), third = text_next(&t);

	return first == '/' || first == '\\' ||
		((first | 0x20) >= 'a' && (first | 0x20) <= 'z' && second == ':' && (third == '/' || third == '\\'));
}

static void
check_string(struct schema_findings *f, const struct schema_node *n, unsigned flags, struct json_iter *it, const struct location *location)
{
	struct slice string = json_value(it);
	const unsigned short *value = schema_values + n->values;
	struct text t = text_of_string(string);
	size_t i;

	for (i = 0; i < n->min_length && text_next(&t) >= 0; i++)
		;
	if (i < n->min_length)
		expect(f, RULE_SCHEMA, location, string, "at least %d characters", n->min_length);
	if (flags & SCHEMA_PATH && !is_absolute(string))
		expect(f, RULE_RELATIVE_PATH, location, string, "an absolute path");
	for (i = 0; i < n->nvalues && !is_name(string, value[i]); i++)
		;
	if (i < n->nvalues || n->nvalues == 0 || (n->open && is_extension(string)))
		return;
	expect_name(f, n->open ? RULE_UNKNOWN_VALUE : RULE_SCHEMA, location, string, n);
}

static void
check_array(struct schema_findings *f, const struct schema_node *n, unsigned flags, struct json_iter *it, const struct location *location)
{
	struct location item = {.up = location};
	struct slice whole = slice_between(it->at, it->in.p + it->in.n), key;
	struct json_iter in;
	unsigned skips = (flags & SCHEMA_SKIP_ITEMS) != 0;

	json_enter(it, &in);
	f->tolerated += skips;
	for (; json_step(&in, &key); item.index++)
		check_value(f, n->items, flags & SCHEMA_PATH, &in, &item);
	f->tolerated -= skips;
	json_leave(it, &in);
	if (item.index < n->min_items)
		expect(f, RULE_SCHEMA, location, slice_between(whole.p, it->at), "at least %d items", n->min_items);
}

static void
check_member(struct schema_findings *f, const struct schema_member *m, struct json_iter *it, const struct location *location)
{
	bool tolerant = m->flags & SCHEMA_ON_ERROR || (m->flags & SCHEMA_ON_NULL && *it->at == 'n');

	f->tolerated += tolerant;
	check_value(f, m->node, m->flags, it, location);
	f->tolerated -= tolerant;
}

/* Checks a member that the node does not list. */
static void
check_unlisted(struct schema_findings *f, const struct schema_node *n, struct json_iter *it, const struct location *member)
{
	const struct tag *tag = member->up->tag;

	while (tag && !is_name(member->key, tag->name))
		tag = tag->outer;
	if (tag) {
		json_value(it);
	} else if (n->meta && is_name(member->key, schema_meta.name)) {
		check_member(f, &schema_meta, it, member);
	} else {
		if (n->extra == 0 && !is_extension(member->key))
			expect(f, RULE_UNKNOWN_FIELD, member, value_at(it), "a member that the schema has, or one that begins with _");
		check_value(f, n->extra == SCHEMA_ANY ? 0 : n->extra, 0, it, member);
	}
}

static void
check_object(struct schema_findings *f, const struct schema_node *n, struct json_iter *it, const struct location *location)
{
	const struct schema_member *members = schema_members + n->members;
	struct location member = {.up = location};
	const char *begin = it->at;
	size_t first = f->keys.n, i;
	SCOPED struct buf room = {0};
	uint64_t there = 0, hash;
	struct json_iter in;
	struct slice key;

	json_enter(it, &in);
	while (json_step(&in, &member.key)) {
		key = json_exact(member.key, &room);
		hash = digest_bytes(key);
		f->failed |= !key.p || buf_add(&f->keys, &hash, sizeof(hash)) < 0;
		for (i = 0; i < n->nmembers && !is_name(member.key, members[i].name); i++)
			;
		if (i == n->nmembers) {
			check_unlisted(f, n, &in, &member);
			continue;
		}
		there |= 1ULL << i;
		check_member(f, &members[i], &in, &member);
	}
	json_leave(it, &in);
	check_keys(f, first, location, slice_between(begin, it->at));
	for (i = 0; i < n->nmembers; i++) {
		member.name = schema_names[members[i].name].p;
		if (members[i].flags & SCHEMA_REQUIRED && !(there & 1ULL << i))
			expect(f, RULE_SCHEMA, &member, slice(NULL, 0), "a value");
	}
}

/* --- unions --- */

/* Finds the value of the tag in the object at `it`; p NULL: there is none. */
static struct slice
find_tag(const struct schema_node *n, const struct json_iter *it)
{
	struct slice key, value;
	struct json_iter in;

	if (n->tag && *it->at == '{' && json_enter(it, &in))
		while (json_next(&in, &key, &value))
			if (is_name(key, n->tag))
				return value;
	return slice(NULL, 0);
}

/* The state of an attempt to check a value by the branches of a union. */
struct attempt {
	size_t first, n, errors; /* of the best branch up to now: n findings from `first` on, and the number of all errors */
	size_t tried, held;      /* how many branches were tried, and how many of these had no error */
	struct json_iter end;    /* after the value */
};

static void
try_branch(struct schema_findings *f, struct attempt *a, unsigned node, unsigned flags, const struct json_iter *it, const struct location *location)
{
	size_t begin = a->first + a->n, errors = f->errors;

	a->end = *it;
	check_value(f, node, flags, &a->end, location);
	errors = f->errors - errors;
	f->errors -= errors;
	a->held += errors == 0;
	if (a->tried++ == 0 || errors < a->errors) {
		memmove(f->at + a->first, f->at + begin, (f->n - begin) * sizeof(*f->at));
		a->n = f->n - begin;
		a->errors = errors;
	}
	f->n = a->first + a->n;
}

/* Adds a finding: no branch has this tag. An update that is an extension gets none. */
static void
expect_tag(struct schema_findings *f, const struct schema_node *n, struct json_iter *it, const struct location *location, struct slice tag)
{
	struct location member = {.up = location, .name = schema_names[n->tag].p};
	bool is_update = strcmp(member.name, acp_update_kind) == 0 && json_type(tag) == JSON_STRING;

	if (is_update && is_extension(tag))
		f->errors++;
	else
		expect_name(f, is_update ? RULE_UNKNOWN_UPDATE : RULE_SCHEMA, &member, tag, n);
	json_value(it);
}

/* Does no branch permit the value's type? Then adds a finding that says so, which is clearer than the findings of a branch. */
static bool
expect_other_type(struct schema_findings *f, const struct schema_node *n, struct json_iter *it, const struct location *location)
{
	const struct schema_branch *b = schema_branches + n->branches, *end = b + n->nbranches;
	unsigned types = n->types;

	for (; b < end; b++)
		types |= schema_nodes[b->node].nbranches ? SCHEMA_OBJECT : schema_nodes[b->node].types;
	if (types & type_at(it))
		return false;
	expect_types(f, location, types, json_value(it));
	return true;
}

/* Checks a value by those branches that its tag allows. The findings of the branch with the fewest errors count. */
static void
check_union(struct schema_findings *f, const struct schema_node *n, unsigned flags, struct json_iter *it, const struct location *location)
{
	const struct schema_branch *b = schema_branches + n->branches, *end = b + n->nbranches, *chosen = NULL;
	const struct tag found = {.outer = location->tag, .name = n->tag};
	struct location tagged = *location;
	struct slice tag = find_tag(n, it);
	struct attempt a = {0};

	if (expect_other_type(f, n, it, location))
		return;
	for (; tag.p && b < end && !chosen; b++)
		if (b->value < SCHEMA_OPEN && is_name(tag, b->value))
			chosen = b;
	for (b = end - n->nbranches; !chosen && b < end; b++)
		if (b->value == SCHEMA_OPEN)
			chosen = b;
	if (chosen && chosen->value == SCHEMA_OPEN && json_type(tag) == JSON_STRING && !is_extension(tag))
		expect(f, RULE_UNKNOWN_VALUE, location, tag, "a kind that the schema has, or one that begins with _");
	a.first = f->n;
	tagged.tag = &found;
	if (chosen)
		try_branch(f, &a, chosen->node, flags, it, chosen->value == SCHEMA_OPEN ? location : &tagged);
	for (b = end - n->nbranches; b < end && (n->one || !a.held); b++)
		if (b->value == SCHEMA_ALSO)
			try_branch(f, &a, b->node, flags, it, location);
	if (a.tried == 0) {
		expect_tag(f, n, it, location, tag);
		return;
	}
	f->errors += a.errors;
	if (n->one && a.held > 1)
		expect(f, RULE_SCHEMA, location, value_at(it), "exactly one of several forms");
	*it = a.end;
}

static void
check_value(struct schema_findings *f, unsigned node, unsigned flags, struct json_iter *it, const struct location *location)
{
	const struct schema_node *n = &schema_nodes[node];
	const struct schema_range *r = &schema_ranges[n->range];
	unsigned type = type_at(it);
	struct slice value;

	if (n->nbranches && !(n->types & type)) {
		check_union(f, n, flags, it, location);
		return;
	}
	if (!(n->types & type)) {
		expect_types(f, location, n->types, json_value(it));
		return;
	}
	switch (type) {
	case SCHEMA_OBJECT:
		check_object(f, n, it, location);
		break;
	case SCHEMA_ARRAY:
		check_array(f, n, flags, it, location);
		break;
	case SCHEMA_STRING:
		check_string(f, n, flags, it, location);
		break;
	default:
		value = json_value(it);
		if (n->range && type & (SCHEMA_INTEGER | SCHEMA_FRACTION) && !in_range(value, type, r))
			expect(f, RULE_SCHEMA, location, value, "%lld to %llu", (long long)r->low, (unsigned long long)r->high);
	}
}

void
schema_check(struct schema_findings *f, unsigned node, struct slice text, const char *root)
{
	struct json_iter it = {.in = text, .at = text.p};
	struct location location = {.name = root};

	f->n = f->errors = f->tolerated = f->text.n = 0;
	check_value(f, node, 0, &it, &location);
}

void
schema_findings_free(struct schema_findings *f)
{
	buf_free(&f->text);
	buf_free(&f->keys);
}
