/* Corresponding directories, and the paths below them. */
#include "lib/match/ids_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* The most pairs that are kept of all sessions together, for texts of a session that has no pairs. */
enum { DIRECTORIES_MOST = 64 };

/* A pair of directories, as plain text without a slash at the end. */
struct directory {
	struct directory *next;
	struct slice recorded, live;
	char bytes[];
};

/* The owner of pairs: a session, or until the response comes, a request that begins a session. */
struct owner {
	UT_hash_handle hh;
	struct directory *directories;
	char key[];
};

enum { OF_SESSION = 's', OF_REQUEST = 'r' };

/* --- the tables --- */

static void
free_list(struct directory *d)
{
	struct directory *next;

	for (; d; d = next) {
		next = d->next;
		free(d);
	}
}

static void
free_owner(struct ids *ids, struct owner *o)
{
	HASH_DEL(ids->owners, o);
	free_list(o->directories);
	free(o);
}

void
ids_free_directories(struct ids *ids)
{
	while (ids->owners)
		free_owner(ids, ids->owners);
	free_list(ids->directories);
}

static struct owner *
find_owner(struct ids *ids, char what, struct slice id)
{
	struct buf *key = &ids->key[RECORDED];
	struct owner *o = NULL;

	key->n = 0;
	if (!id.p || buf_add(key, &what, 1) < 0)
		return NULL;
	if (msg_id_key(id, key) < 0)
		key->n = 0;
	else
		HASH_FIND(hh, ids->owners, key->p, key->n, o);
	return o;
}

/* As find_owner, but makes a missing owner. NULL out of memory. */
static struct owner *
get_owner(struct ids *ids, char what, struct slice id)
{
	struct owner *o = find_owner(ids, what, id);
	const struct buf *key = &ids->key[RECORDED];

	if (o || key->n == 0)
		return o;
	o = calloc(1, sizeof(*o) + key->n);
	if (!o)
		return NULL;
	memcpy(o->key, key->p, key->n);
	HASH_ADD(hh, ids->owners, key, key->n, o);
	if (o->hh.tbl)
		return o;
	free(o);
	return NULL;
}

/* Adds a pair, the longest recorded directory first, of equal ones the latest. replace: removes an older pair of that directory. */
static int
add_directory(struct directory **at, struct slice recorded, struct slice live, bool replace)
{
	struct directory *d = malloc(sizeof(*d) + recorded.n + live.n), *old;

	if (!d)
		return -1;
	d->recorded = slice(memcpy(d->bytes, recorded.p, recorded.n), recorded.n);
	d->live = slice(memcpy(d->bytes + recorded.n, live.p, live.n), live.n);
	while (*at && (*at)->recorded.n > recorded.n)
		at = &(*at)->next;
	d->next = *at;
	*at = d;
	for (at = &d->next; replace && *at; at = &(*at)->next) {
		old = *at;
		if (!slice_eq(old->recorded, recorded))
			continue;
		*at = old->next;
		free(old);
		break;
	}
	return 0;
}

/* Adds a pair to those of all sessions. If there are too many, removes the last in the list, which has the shortest directory. */
static int
add_to_all(struct ids *ids, struct slice recorded, struct slice live)
{
	struct directory **at;

	for (const struct directory *d = ids->directories; d; d = d->next)
		if (slice_eq(d->recorded, recorded) && slice_eq(d->live, live))
			return 0;
	if (add_directory(&ids->directories, recorded, live, false) < 0)
		return -1;
	if (++ids->ndirectories <= DIRECTORIES_MOST)
		return 0;
	for (at = &ids->directories; (*at)->next; at = &(*at)->next)
		;
	free(*at);
	*at = NULL;
	ids->ndirectories--;
	return 0;
}

bool
ids_is_directory(const struct ids *ids, struct slice string)
{
	return !ids->keep_paths && string.n > 3 && string.p[0] == '"' && string.p[1] == '/';
}

/* Appends the plain text of a directory, without slashes at the end. 0, or -1 out of memory. */
static int
directory_text(struct slice string, struct buf *to)
{
	if (json_unescape(string, to) < 0)
		return -1;
	while (to->n > 1 && to->p[to->n - 1] == '/')
		to->n--;
	return 0;
}

int
ids_learn_directory(struct ids *ids, struct slice request, struct slice session, struct slice recorded, struct slice live)
{
	SCOPED struct buf a = {0}, b = {0};
	struct owner *o;

	if (directory_text(recorded, &a) < 0 || directory_text(live, &b) < 0)
		return -1;
	if (a.n < 2 || b.n < 2)
		return 0; /* every path is below the root: it identifies no directory */
	ids->moved |= !slice_eq(buf_slice(&a), buf_slice(&b));
	if (add_to_all(ids, buf_slice(&a), buf_slice(&b)) < 0)
		return -1;
	if (!session.p && !request.p)
		return 0;
	o = session.p ? get_owner(ids, OF_SESSION, session) : get_owner(ids, OF_REQUEST, request);
	return o ? add_directory(&o->directories, buf_slice(&a), buf_slice(&b), true) : -1;
}

int
ids_begin_session(struct ids *ids, struct slice request, struct slice session)
{
	struct owner *from = find_owner(ids, OF_REQUEST, request), *to;

	if (!from)
		return 0;
	to = get_owner(ids, OF_SESSION, session);
	if (!to)
		return -1;
	for (struct directory *d = from->directories; d; d = d->next)
		if (add_directory(&to->directories, d->recorded, d->live, true) < 0)
			return -1;
	free_owner(ids, from);
	return 0;
}

/* The pairs of a session, or of all sessions if it has none; the longest recorded directories first. */
static const struct directory *
directories_of(struct ids *ids, struct slice session)
{
	struct owner *o = find_owner(ids, OF_SESSION, session);

	return o && o->directories ? o->directories : ids->directories;
}

/* --- paths in a text --- */

/* A text that is being read, and the position in it. */
struct reading {
	struct slice text;
	const char *at;
};

static const char *
end_of(const struct reading *r)
{
	return r->text.p + r->text.n;
}

/* Is it a character of a file's name? */
static bool
is_name_char(char c)
{
	unsigned char u = (unsigned char)c;

	return byte_is_digit(c) || ((u | 32) >= 'a' && (u | 32) <= 'z') || u == '_' || u == '-' || u >= 0x80;
}

static bool
in_uri(const struct reading *r)
{
	return r->at - r->text.p >= 3 && memcmp(r->at - 3, "://", 3) == 0;
}

/* Can a path begin here? A path cannot begin in the middle of another one. */
static bool
begins_path(const struct reading *r)
{
	char before;

	if (r->at == r->text.p || in_uri(r))
		return true;
	before = r->at[-1];
	return !is_name_char(before) && before != '/' && before != '.' && before != '~';
}

static int
hex(char c)
{
	if (byte_is_digit(c))
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The length of this directory in the text, percent-encoded in a URI; 0: the text has another one here. */
static size_t
directory_length(const struct reading *r, struct slice directory)
{
	const char *p = r->at, *end = end_of(r), *after;
	bool uri = in_uri(r);
	char c;

	for (size_t i = 0; i < directory.n; i++) {
		if (p == end)
			return 0;
		c = *p++;
		if (uri && c == '%' && end - p >= 2 && hex(p[0]) >= 0 && hex(p[1]) >= 0) {
			c = (char)(hex(p[0]) << 4 | hex(p[1]));
			p += 2;
		}
		if (c != directory.p[i])
			return 0;
	}
	/* A period after the directory may end a sentence. */
	after = p < end && *p == '.' ? p + 1 : p;
	return after == end || !is_name_char(*after) ? (size_t)(p - r->at) : 0;
}

enum found { FOUND_NONE, FOUND_PAIR, FOUND_RECORDED };

/* If both texts have a pair of directories here, skips it. FOUND_RECORDED: only the recorded text has one. */
static enum found
skip_pair(const struct directory *d, struct reading *a, struct reading *b)
{
	enum found found = FOUND_NONE;
	size_t n, m;

	for (d = begins_path(a) ? d : NULL; d; d = d->next) {
		n = directory_length(a, d->recorded);
		if (n == 0)
			continue;
		m = begins_path(b) ? directory_length(b, d->live) : 0;
		if (m > 0) {
			a->at += n;
			b->at += m;
			return FOUND_PAIR;
		}
		found = FOUND_RECORDED;
	}
	return found;
}

/* Skips n bytes. False: they differ, and are not skipped. */
static bool
skip_same(struct reading *a, struct reading *b, size_t n)
{
	if ((size_t)(end_of(b) - b->at) < n || memcmp(a->at, b->at, n) != 0)
		return false;
	a->at += n;
	b->at += n;
	return true;
}

/* Can the string hold no directory that differs on the other side? JSON may escape a slash, with a backslash. */
static bool
is_plain(const struct ids *ids, struct slice string)
{
	return !ids->moved || (!memchr(string.p, '/', string.n) && !memchr(string.p, '\\', string.n));
}

int
ids_same_text(struct ids *ids, struct slice session, struct slice recorded, struct slice live)
{
	SCOPED struct buf a = {0}, b = {0};
	const struct directory *directories;
	struct reading x, y;
	const char *slash;
	enum found found;

	if (is_plain(ids, recorded))
		return json_string_eq(recorded, live);
	x.text = json_exact(recorded, &a);
	y.text = json_exact(live, &b);
	if (!x.text.p || !y.text.p)
		return -1;
	x.at = x.text.p;
	y.at = y.text.p;
	directories = directories_of(ids, session);
	while ((slash = memchr(x.at, '/', (size_t)(end_of(&x) - x.at)))) {
		if (!skip_same(&x, &y, (size_t)(slash - x.at)))
			return 0;
		found = skip_pair(directories, &x, &y);
		if (found == FOUND_RECORDED || (found == FOUND_NONE && !skip_same(&x, &y, 1)))
			return 0;
	}
	return slice_eq(slice_between(x.at, end_of(&x)), slice_between(y.at, end_of(&y)));
}

/* --- writing --- */

static int
write_directory(struct slice directory, bool uri, struct buf *to)
{
	char c;

	if (!uri)
		return buf_add_slice(to, directory);
	/* The path of a URI may hold these characters unescaped (RFC 3986, section 3.3). */
	for (size_t i = 0; i < directory.n; i++) {
		c = directory.p[i];
		if ((is_name_char(c) && (unsigned char)c < 0x80) || (c && strchr("/.~!$&'()*+,;=:@", c))
			? buf_add(to, &c, 1) < 0 : buf_printf(to, "%%%02X", (unsigned)(unsigned char)c) < 0)
			return -1;
	}
	return 0;
}

/*
 * Appends text with the directories of one side replaced: by the other side's, or, neutral, by a byte that is the same for both
 * (not by a number of the pair, for a directory may have several pairs). 1: the text has changed; 0: it has not; -1 out of memory.
 */
static int
write_text(const struct directory *directories, enum ids_place place, struct slice text, struct buf *to)
{
	struct reading r = {text, text.p};
	const struct directory *d;
	const char *from = text.p;
	size_t n = 0;
	int changed = 0;

	while ((r.at = memchr(r.at, '/', (size_t)(end_of(&r) - r.at)))) {
		for (d = begins_path(&r) ? directories : NULL; d; d = d->next)
			if ((n = directory_length(&r, place == IDS_NEUTRAL_LIVE ? d->live : d->recorded)) > 0)
				break;
		if (!d) {
			r.at++;
			continue;
		}
		if (buf_add_slice(to, slice_between(from, r.at)) < 0 ||
			(place == IDS_WRITTEN ? write_directory(d->live, in_uri(&r), to) : buf_add(to, "", 1)) < 0)
			return -1;
		changed |= !slice_eq(d->recorded, d->live);
		from = r.at += n;
	}
	return buf_add_slice(to, slice_between(from, end_of(&r))) < 0 ? -1 : changed;
}

int
ids_text(struct ids *ids, struct slice session, enum ids_place place, struct slice string, struct buf *to)
{
	SCOPED struct buf plain = {0}, changed = {0};
	int r;

	if (is_plain(ids, string))
		return 0;
	if (buf_reserve(&plain, 1) < 0 || json_unescape(string, &plain) < 0)
		return -1;
	r = write_text(directories_of(ids, session), place, buf_slice(&plain), place == IDS_WRITTEN ? &changed : to);
	if (r < 0 || place != IDS_WRITTEN)
		return r < 0 ? -1 : 1;
	return r == 0 ? 0 : json_quote(buf_slice(&changed), to) < 0 ? -1 : 1;
}
