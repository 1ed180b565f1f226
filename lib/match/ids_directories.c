/* Directories that stand for others, and the paths below them. */
#include "lib/match/ids_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* So many pairs are looked through for a text whose session is not known: the latest. */
enum { DIRECTORIES_MOST = 64 };

/* Whose directories: a session's, or, until its response has come, those of a request that begins one. */
struct owner {
	UT_hash_handle hh;
	struct directory *directories;
	char key[];
};

/* --- the tables --- */

static void
free_directorys(struct directory *f)
{
	struct directory *next;

	for (; f; f = next) {
		next = f->next;
		free(f);
	}
}

static void
free_owner(struct ids *ids, struct owner *h)
{
	HASH_DEL(ids->owners, h);
	free_directorys(h->directories);
	free(h);
}

void
ids_free_directories(struct ids *ids)
{
	while (ids->owners)
		free_owner(ids, ids->owners);
	free_directorys(ids->directories);
}

enum { OF_SESSION = 's', OF_REQUEST = 'r' };

static struct owner *
find_owner(struct ids *ids, char what, struct slice id)
{
	struct buf *key = &ids->key[RECORDED];
	struct owner *h = NULL;

	key->n = 0;
	if (!id.p || buf_add(key, &what, 1) < 0)
		return NULL;
	if (msg_id_key(id, key) < 0)
		key->n = 0;
	else
		HASH_FIND(hh, ids->owners, key->p, key->n, h);
	return h;
}

/* It is made where it is not there. NULL out of memory. */
static struct owner *
get_owner(struct ids *ids, char what, struct slice id)
{
	struct owner *h = find_owner(ids, what, id);
	const struct buf *key = &ids->key[RECORDED];

	if (h || key->n == 0)
		return h;
	h = calloc(1, sizeof(*h) + key->n);
	if (!h)
		return NULL;
	memcpy(h->key, key->p, key->n);
	HASH_ADD(hh, ids->owners, key, key->n, h);
	if (h->hh.tbl)
		return h;
	free(h);
	return NULL;
}

/* Among the others by length; of the same recorded one, the latest first, and only that where `one`. */
static int
add_directory(struct directory **at, struct slice recorded, struct slice live, bool one)
{
	struct directory *f = malloc(sizeof(*f) + recorded.n + live.n), *old;

	if (!f)
		return -1;
	f->recorded = slice(f->bytes, recorded.n);
	f->live = slice(f->bytes + recorded.n, live.n);
	memcpy(f->bytes, recorded.p, recorded.n);
	memcpy(f->bytes + recorded.n, live.p, live.n);
	while (*at && (*at)->recorded.n > recorded.n)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	for (at = &f->next; one && *at; at = &(*at)->next) {
		old = *at;
		if (!slice_eq(old->recorded, recorded))
			continue;
		*at = old->next;
		free(old);
		break;
	}
	return 0;
}

static bool
has_directory(const struct directory *f, struct slice recorded, struct slice live)
{
	while (f && !(slice_eq(f->recorded, recorded) && slice_eq(f->live, live)))
		f = f->next;
	return f;
}

/* The pairs of all sessions: the last in the list has to go where there are too many. */
static int
add_to_all(struct ids *ids, struct slice recorded, struct slice live)
{
	struct directory **at;

	if (has_directory(ids->directories, recorded, live))
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

/* Its plain text without slashes at the end. */
static int
directory_text(struct slice string, struct buf *to)
{
	to->n = 0;
	if (json_unescape(string, to) < 0)
		return -1;
	while (to->n > 1 && to->p[to->n - 1] == '/')
		to->n--;
	return 0;
}

static int
learn(struct ids *ids, struct slice request, struct slice session, struct slice recorded, struct slice live)
{
	char what = session.p ? OF_SESSION : OF_REQUEST;
	struct slice id = session.p ? session : request;
	struct owner *h;

	if (recorded.n < 2 || live.n < 2)
		return 0; /* the root holds everything and stands for nothing */
	ids->moved |= !slice_eq(recorded, live);
	if (add_to_all(ids, recorded, live) < 0)
		return -1;
	if (!id.p)
		return 0;
	h = get_owner(ids, what, id);
	return h ? add_directory(&h->directories, recorded, live, true) : -1;
}

int
ids_learn_directory(struct ids *ids, struct slice request, struct slice session, struct slice recorded, struct slice live)
{
	SCOPED struct buf a = {0}, b = {0};

	if (directory_text(recorded, &a) < 0 || directory_text(live, &b) < 0)
		return -1;
	return learn(ids, request, session, buf_slice(&a), buf_slice(&b));
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
	for (struct directory *f = from->directories; f; f = f->next)
		if (add_directory(&to->directories, f->recorded, f->live, true) < 0)
			return -1;
	free_owner(ids, from);
	return 0;
}

const struct directory *
ids_directories(struct ids *ids, struct slice session)
{
	struct owner *h = find_owner(ids, OF_SESSION, session);

	return h && h->directories ? h->directories : ids->directories;
}

/* --- paths in a text --- */

/* A text that is being read: all of it, and how far. */
struct reading {
	struct slice text;
	const char *at;
};

static const char *
end_of(const struct reading *r)
{
	return r->text.p + r->text.n;
}

/* Can it stand in the name of a file? */
static bool
is_name_char(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= '0' && u <= '9') || ((u | 32) >= 'a' && (u | 32) <= 'z') || u == '_' || u == '-' || u >= 0x80;
}

static bool
in_uri(const struct reading *r)
{
	return r->at - r->text.p >= 3 && memcmp(r->at - 3, "://", 3) == 0;
}

/* Can a path begin here? Not in the middle of one. */
static bool
begins_path(const struct reading *r)
{
	char before;

	if (r->at == r->text.p || in_uri(r))
		return true;
	before = r->at[-1];
	return !is_name_char(before) && before != '/' && before != '.' && before != '~';
}

static bool
ends_name(const char *p, const char *end)
{
	if (p < end && *p == '.') /* of a sentence, or in a name? */
		p++;
	return p == end || !is_name_char(*p);
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How many bytes of the text are this directory, percent-encoded where it is in a URI; 0 where it is another. */
static size_t
directory_length(const struct reading *r, struct slice directory)
{
	const char *p = r->at, *end = end_of(r);
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
	return ends_name(p, end) ? (size_t)(p - r->at) : 0;
}

enum at { AT_NEITHER, AT_BOTH, AT_ONE };

/* Stands a pair of directories here? Then both are stepped over. */
static enum at
step_over(const struct directory *f, struct reading *a, struct reading *b)
{
	enum at found = AT_NEITHER;
	size_t n, m;

	if (!begins_path(a))
		return AT_NEITHER;
	for (; f; f = f->next) {
		n = directory_length(a, f->recorded);
		if (n == 0)
			continue;
		m = begins_path(b) ? directory_length(b, f->live) : 0;
		if (m > 0) {
			a->at += n;
			b->at += m;
			return AT_BOTH;
		}
		found = AT_ONE;
	}
	return found;
}

/* Steps over n bytes that are the same in both. */
static bool
step_same(struct reading *a, struct reading *b, size_t n)
{
	if ((size_t)(end_of(b) - b->at) < n || memcmp(a->at, b->at, n) != 0)
		return false;
	a->at += n;
	b->at += n;
	return true;
}

static bool
same(const struct directory *directories, struct slice recorded, struct slice live)
{
	struct reading a = {recorded, recorded.p}, b = {live, live.p};
	const char *slash;

	for (;;) {
		slash = memchr(a.at, '/', (size_t)(end_of(&a) - a.at));
		if (!slash)
			return slice_eq(slice_between(a.at, end_of(&a)), slice_between(b.at, end_of(&b)));
		if (!step_same(&a, &b, (size_t)(slash - a.at)))
			return false;
		switch (step_over(directories, &a, &b)) {
		case AT_BOTH:
			break;
		case AT_ONE:
			return false;
		case AT_NEITHER:
			if (!step_same(&a, &b, 1))
				return false;
		}
	}
}

/* In JSON a slash may be escaped, but not left out. */
bool
ids_is_plain(const struct ids *ids, struct slice string)
{
	return !ids->moved || (!memchr(string.p, '/', string.n) && !memchr(string.p, '\\', string.n));
}

int
ids_same_text(struct ids *ids, struct slice session, struct slice recorded, struct slice live)
{
	SCOPED struct buf a = {0}, b = {0};

	if (ids_is_plain(ids, recorded))
		return json_string_eq(recorded, live);
	if (buf_reserve(&a, 1) < 0 || buf_reserve(&b, 1) < 0 || json_unescape(recorded, &a) < 0 || json_unescape(live, &b) < 0)
		return -1;
	return same(ids_directories(ids, session), buf_slice(&a), buf_slice(&b));
}

/* --- writing --- */

/* What a URI's path may hold as it is (RFC 3986, section 3.3). */
static bool
is_uri_char(char c)
{
	return (is_name_char(c) && (unsigned char)c < 0x80) || (c && strchr("/.~!$&'()*+,;=:@", c));
}

static int
write_directory(struct slice directory, bool uri, struct buf *to)
{
	char c;

	if (!uri)
		return buf_add_slice(to, directory);
	for (size_t i = 0; i < directory.n; i++) {
		c = directory.p[i];
		if (is_uri_char(c) ? buf_add(to, &c, 1) < 0 : buf_printf(to, "%%%02X", (unsigned)(unsigned char)c) < 0)
			return -1;
	}
	return 0;
}

/*
 * Appends text with the directories of one side in it replaced: by the other's, or, neutral, by a mark that is the same for both
 * sides (the number of the directory would do, but there may be several pairs of one). 1 where it changed, 0, or -1.
 */
static int
write_text(const struct directory *directories, bool live, bool neutral, struct slice text, struct buf *to)
{
	struct reading r = {text, text.p};
	const struct directory *f;
	const char *from = text.p;
	size_t n = 0;
	int changed = 0;

	while ((r.at = memchr(r.at, '/', (size_t)(end_of(&r) - r.at)))) {
		for (f = begins_path(&r) ? directories : NULL; f; f = f->next)
			if ((n = directory_length(&r, live ? f->live : f->recorded)) > 0)
				break;
		if (!f) {
			r.at++;
			continue;
		}
		if (buf_add_slice(to, slice_between(from, r.at)) < 0 ||
			(neutral ? buf_add(to, "", 1) : write_directory(f->live, in_uri(&r), to)) < 0)
			return -1;
		changed |= !slice_eq(f->recorded, f->live);
		from = r.at += n;
	}
	return buf_add_slice(to, slice_between(from, end_of(&r))) < 0 ? -1 : changed;
}

int
ids_write_text(const struct directory *directories, struct slice text, struct buf *to)
{
	return write_text(directories, false, false, text, to);
}

int
ids_neutral_text(struct ids *ids, struct slice session, bool live, struct slice string, struct buf *to)
{
	SCOPED struct buf plain = {0};

	if (ids_is_plain(ids, string))
		return 0;
	if (buf_reserve(&plain, 1) < 0 || json_unescape(string, &plain) < 0)
		return -1;
	return write_text(ids_directories(ids, session), live, true, buf_slice(&plain), to) < 0 ? -1 : 1;
}
