#include "cmd/acp-replay/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/input.h"

/* Copies all of a stream into a file without a name and closes it. The file, or -1 with errno. */
static int
spool(int from)
{
	FILE *to = tmpfile();
	char buf[INPUT_BLOCK];
	ssize_t r = -1;
	int fd = -1, error;

	while (to && (r = read(from, buf, sizeof(buf))) != 0) {
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 || fwrite(buf, 1, (size_t)r, to) != (size_t)r)
			break;
	}
	if (r == 0 && fflush(to) == 0)
		fd = fcntl(fileno(to), F_DUPFD_CLOEXEC, 8);
	error = errno;
	if (to)
		fclose(to);
	close(from);
	errno = error;
	return fd;
}

static int
open_file(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		close(fd);
		errno = EISDIR; /* fstat does not fail on what open has given */
		return -1;
	}
	return S_ISREG(st.st_mode) ? fd : spool(fd);
}

/* A reader with a position of its own, from the beginning. */
static struct recording *
reader(const struct script *s)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : recording_open(fd, s->limit, s->hop);
}

int
script_open(struct script *s, const char *path, size_t limit, const char *hop, enum acp_side them)
{
	*s = (struct script){.path = path, .hop = hop, .limit = limit, .them = them};
	s->fd = open_file(path);
	if (s->fd < 0)
		return -1;
	s->head = reader(s);
	return s->head ? 0 : -1;
}

static void
part_free(struct part *p)
{
	struct kept *k, *next;

	for (k = p->first; k; k = next) {
		next = k->next;
		free(k);
	}
	free(p);
}

void
script_close(struct script *s)
{
	struct part *p, *next;

	HASH_ITER(hh, s->parts, p, next) {
		HASH_DEL(s->parts, p);
		part_free(p);
	}
	recording_close(s->head);
	recording_close(s->scout);
	buf_free(&s->key);
	if (s->fd >= 0)
		close(s->fd);
}

int
script_next(struct script *s, struct record *r)
{
	return recording_next(s->head, r);
}

enum acp_side
script_sender(const struct record *r, const struct msg *m)
{
	if (r->from != ACP_UNKNOWN || m->kind == MSG_RESPONSE)
		return r->from;
	return acp_sender(m->method);
}

struct part *
script_part(struct script *s, const struct msg *m)
{
	struct part *p;

	s->key.n = 0;
	if (buf_add(&s->key, m->kind == MSG_REQUEST ? "r" : "n", 1) < 0 || json_unescape(m->method, &s->key) < 0)
		return NULL;
	HASH_FIND(hh, s->parts, s->key.p, s->key.n, p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p) + s->key.n);
	if (!p)
		return NULL;
	memcpy(p->key, s->key.p, s->key.n);
	HASH_ADD_KEYPTR(hh, s->parts, p->key, s->key.n, p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

static int
count(struct script *s, const struct record *r, const struct msg *m)
{
	struct part *p;

	if ((m->kind != MSG_REQUEST && m->kind != MSG_NOTIFICATION) || script_sender(r, m) != s->them)
		return 0;
	p = script_part(s, m);
	if (!p)
		return -1;
	p->scouted++;
	return 0;
}

static int
scout_on(struct script *s)
{
	struct json_iter it;
	struct record r;
	struct msg m;

	if (!s->scout)
		s->scout = reader(s);
	if (!s->scout || recording_next(s->scout, &r) < 0)
		return -1;
	/* What can not be read is the head's to tell. */
	s->scouted = r.kind == RECORD_END || r.kind == RECORD_BAD;
	if (r.kind != RECORD_MESSAGE)
		return 0;
	if (r.msg.kind != MSG_BATCH)
		return count(s, &r, &r.msg);
	it = (struct json_iter){.in = r.msg.text};
	while (msg_next(&it, &m))
		if (count(s, &r, &m) < 0)
			return -1;
	return 0;
}

int
script_has_more(struct script *s, const struct part *p)
{
	while (p->scouted <= p->played + p->waiting) {
		if (s->scouted)
			return 0;
		if (scout_on(s) < 0)
			return -1;
	}
	return 1;
}

static bool
is_of_part(const struct msg *m, const struct part *p)
{
	struct slice key = slice(p->key, p->hh.keylen);
	struct buf name = {0};
	bool same;

	if ((m->kind == MSG_REQUEST ? 'r' : m->kind == MSG_NOTIFICATION ? 'n' : '-') != key.p[0])
		return false;
	same = json_unescape(m->method, &name) == 0 && slice_eq(buf_slice(&name), slice(key.p + 1, key.n - 1));
	buf_free(&name);
	return same;
}

/* The entries of a batch that belong to the part. */
static uint64_t
count_in_batch(const struct script *s, const struct record *r, const struct part *p)
{
	struct json_iter it = {.in = r->msg.text};
	struct msg m;
	uint64_t n = 0;

	while (msg_next(&it, &m))
		n += script_sender(r, &m) == s->them && is_of_part(&m, p);
	return n;
}

/* The request that comes after `before` others of its part; its id goes to key. 1, 0 or -1. */
static int
find_request(const struct script *s, struct recording *from, const struct part *p, struct answer *a, struct buf *key)
{
	uint64_t before = p->played, n;
	struct record r;

	for (;;) {
		if (recording_next(from, &r) < 0)
			return -1;
		if (r.kind == RECORD_END || r.kind == RECORD_BAD)
			return 0;
		if (r.kind != RECORD_MESSAGE)
			continue;
		if (r.msg.kind == MSG_BATCH) {
			n = count_in_batch(s, &r, p);
			if (n > before)
				return 0;
			before -= n;
		} else if (script_sender(&r, &r.msg) == s->them && is_of_part(&r.msg, p) && before-- == 0) {
			a->request = r.number;
			return msg_id_key(r.msg.id, key) < 0 ? -1 : 1;
		}
	}
}

static int
find_response(const struct script *s, struct recording *from, const struct buf *key, struct answer *a)
{
	struct buf other = {0};
	struct record r;
	int result = 1;

	for (;;) {
		if (recording_next(from, &r) < 0) {
			result = -1;
			break;
		}
		if (r.kind == RECORD_END || r.kind == RECORD_BAD)
			break;
		if (r.kind != RECORD_MESSAGE || r.msg.kind != MSG_RESPONSE || r.from == s->them)
			continue;
		other.n = 0;
		if (msg_id_key(r.msg.id, &other) < 0) {
			result = -1;
			break;
		}
		if (!slice_eq(buf_slice(&other), buf_slice(key)))
			continue;
		a->response = r.number;
		result = buf_add_slice(&a->text, r.text) < 0 ? -1 : 1;
		break;
	}
	buf_free(&other);
	return result;
}

int
script_answer(struct script *s, const struct part *p, struct answer *a)
{
	struct recording *from = reader(s);
	struct buf key = {0};
	int found;

	*a = (struct answer){0};
	if (!from)
		return -1;
	found = find_request(s, from, p, a, &key);
	if (found == 1)
		found = find_response(s, from, &key, a);
	recording_close(from);
	buf_free(&key);
	if (found != 1)
		buf_free(&a->text);
	return found;
}
