#include "lib/match/items.h"

#define HASH_NONFATAL_OOM 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "lib/base/cli.h"
#include "lib/match/digest.h"
#include "lib/run/input.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"

/* The bytes that are read again at once: the next text is likely to follow. */
enum { BLOCK = 128 * 1024 };

struct items_session {
	UT_hash_handle hh;
	uint32_t number;
	struct slice id; /* as it was spelled; it lies after the key */
	char key[];
};

/* --- the file --- */

/* Copies a stream into a file without a name, and closes the stream. Returns the file's descriptor, or -1 with errno. */
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
open_file(const char *tool, const char *path)
{
	int fd = cli_open(tool, path, &path);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		close(fd);
		errno = EISDIR; /* fstat does not fail on what open has returned */
		return -1;
	}
	return S_ISREG(st.st_mode) ? fd : spool(fd);
}

int
items_open(struct items *s, const char *tool, const char *path, size_t limit, const char *hop, bool environment)
{
	int fd;

	*s = (struct items){.tool = tool, .path = path, .nsessions = 1, .requests = requests_new()};
	s->fd = open_file(tool, path);
	if (!s->requests || s->fd < 0)
		return -1;
	/* The reader gets a descriptor with a position of its own, or one that shares the position, which only the reader uses. */
	fd = system_reopen(s->fd, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && lseek(s->fd, 0, SEEK_SET) == 0)
		fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	s->reader = fd < 0 ? NULL : recording_open(fd, limit, hop);
	s->again = recording_of_lines(hop, limit);
	if (!s->reader || !s->again)
		return -1;
	if (environment) {
		recording_use_environment(s->reader);
		recording_use_environment(s->again);
	}
	return 0;
}

void
items_close(struct items *s)
{
	HASH_CLEAR(hh, s->sessions);
	for (size_t i = 1; s->order && i < s->nsessions; i++)
		free(s->order[i]);
	free(s->order);
	free(s->at);
	requests_free(s->requests);
	buf_free(&s->key);
	recording_close(s->reader);
	recording_close(s->again);
	buf_free(&s->block);
	proc_close(s->fd);
}

/* --- sessions and methods --- */

struct slice
items_session(const struct items *s, uint32_t session)
{
	return session ? s->order[session]->id : slice(NULL, 0);
}

uint32_t
items_find_session(struct items *s, struct slice id)
{
	struct items_session *found = NULL;

	if (!id.p)
		return 0;
	s->key.n = 0;
	if (msg_id_key(id, &s->key) == 0)
		HASH_FIND(hh, s->sessions, s->key.p, s->key.n, found);
	return found ? found->number : ITEM_NONE;
}

/* As items_find_session, but adds an unknown session. ITEM_NONE out of memory. */
static uint32_t
add_session(struct items *s, struct slice id)
{
	uint32_t number = items_find_session(s, id);
	struct items_session *made, **more;

	if (number != ITEM_NONE)
		return number;
	/* The array grows at 2, 4, 8, ... */
	if (s->nsessions == 1 || (s->nsessions & (s->nsessions - 1)) == 0) {
		more = reallocarray(s->order, 2 * s->nsessions, sizeof(struct items_session *));
		if (!more)
			return ITEM_NONE;
		s->order = more;
	}
	made = calloc(1, sizeof(*made) + s->key.n + id.n);
	if (!made)
		return ITEM_NONE;
	memcpy(made->key, s->key.p, s->key.n);
	made->id = slice(memcpy(made->key + s->key.n, id.p, id.n), id.n);
	made->number = (uint32_t)s->nsessions;
	HASH_ADD(hh, s->sessions, key, s->key.n, made);
	if (!made->hh.tbl) {
		free(made);
		return ITEM_NONE;
	}
	s->order[s->nsessions++] = made;
	return made->number;
}

uint64_t
items_method(struct items *s, struct slice method)
{
	s->key.n = 0;
	return json_unescape(method, &s->key) < 0 ? 0 : digest_bytes(buf_slice(&s->key)) | 1;
}

/* --- reading --- */

/* Fills in the item of a message, with its session and pair. 0, or -1 with errno. */
static int
read_message(struct items *s, const struct record *r, struct item *item)
{
	const struct msg *m = &r->msg;
	struct request *request = NULL;

	s->any = true;
	item->kind = (uint8_t)m->kind;
	item->what = (uint16_t)m->what;
	/* An error with a null id has no request. */
	if (m->kind == MSG_RESPONSE && !(m->error.p && msg_null_id(m)))
		request = requests_find(s->requests, acp_other_side(r->from), m->id);
	if (request) {
		item->pair = (uint32_t)(uintptr_t)request->owner;
		item->from = (uint8_t)acp_other_side(request->from);
		item->what = s->at[item->pair].what;
		item->session = s->at[item->pair].session;
		s->at[item->pair].pair = (uint32_t)s->n;
		requests_remove(s->requests, request);
		requests_done(request);
		return 0;
	}
	if (r->from == ACP_UNKNOWN && m->kind != MSG_RESPONSE)
		item->from = (uint8_t)acp_sender(m->method);
	if (m->what == ACP_CANCEL_REQUEST && json_get(m->params, acp_request_id).p)
		request = requests_find(s->requests, (enum acp_side)item->from, json_get(m->params, acp_request_id));
	item->session = request ? s->at[(uintptr_t)request->owner].session : add_session(s, msg_session(m));
	if (item->session == ITEM_NONE)
		return -1;
	if (m->kind != MSG_RESPONSE && (item->method = items_method(s, m->method)) == 0)
		return -1;
	if (m->kind == MSG_REQUEST) {
		request = requests_open(s->requests, (enum acp_side)item->from, 0, m);
		if (!request)
			return -1;
		request->owner = (void *)(uintptr_t)s->n;
	}
	return 0;
}

static int
add_item(struct items *s, const struct record *r, uint32_t *to)
{
	const char *end = r->text.p + r->text.n;
	struct item item = {.line = r->number, .t = r->t, .pair = ITEM_NONE, .from = (uint8_t)r->from, .record = (uint8_t)r->kind};
	struct item *more;

	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		more = s->cap < ITEM_NONE ? reallocarray(s->at, s->cap, sizeof(*more)) : NULL;
		if (!more)
			return -1;
		s->at = more;
	}
	if (r->kind == RECORD_MESSAGE || r->kind == RECORD_NOISE || r->kind == RECORD_STDERR) {
		item.in_record = r->text.p < r->raw.p || end > r->raw.p + r->raw.n;
		item.offset = r->offset + (item.in_record ? 0 : (uint64_t)(r->text.p - r->raw.p));
		item.length = (uint32_t)(item.in_record ? r->raw.n : r->text.n);
	}
	if (r->kind == RECORD_MESSAGE && read_message(s, r, &item) < 0)
		return -1;
	s->timed |= r->kind == RECORD_MESSAGE && r->timed;
	*to = (uint32_t)s->n;
	s->at[s->n++] = item;
	return 0;
}

int
items_next(struct items *s, struct record *r, uint32_t *item)
{
	uint64_t t = s->n ? s->at[s->n - 1].t : 0;
	struct record header;

	*item = ITEM_NONE;
	if (recording_next(s->reader, r) < 0)
		return -1;
	if (!r->timed && r->kind != RECORD_HEADER)
		r->t = t;
	switch (r->kind) {
	case RECORD_MESSAGE:
	case RECORD_NOISE:
	case RECORD_STDERR:
	case RECORD_EXIT:
	case RECORD_EOF:
		return add_item(s, r, item);
	case RECORD_HEADER:
		/* A recording begins again: open requests will have no response. */
		requests_free(s->requests);
		s->requests = requests_new();
		/* The header names the hops, which s->again has to know. */
		return s->requests && recording_line(s->again, r->raw, r->number, &header) >= 0 ? 0 : -1;
	case RECORD_BAD:
		if (r->torn && s->any)
			r->kind = RECORD_END;
		cli_warn(s->tool, "%s:%llu: %s at byte %zu: %s", s->path, (unsigned long long)r->number,
			r->kind == RECORD_END ? "the last line is torn" : "not a record", r->error.at, r->error.what);
		return r->kind == RECORD_BAD;
	case RECORD_LOST:
		cli_warn(s->tool, "%s:%llu: %llu records are missing here%s%.*s", s->path, (unsigned long long)r->number,
			(unsigned long long)r->count, r->text.n ? ": " : "", (int)r->text.n, r->text.n ? r->text.p : "");
		return 0;
	default:
		return 0;
	}
}

bool
items_missed(const struct items *s)
{
	SCOPED struct buf missed = {0};

	if ((!recording_missed(s->reader, s->any, &missed) || !buf_string(&missed)) && s->any)
		return false;
	cli_warn(s->tool, "%s: %s", s->path, missed.p ? missed.p : "no message in it");
	return !s->any;
}

/* --- items that were read --- */

bool
items_is_idle(const struct msg *m)
{
	return m->what == ACP_SESSION_UPDATE && json_string_is(json_path(m->params, acp_update_state), acp_idle);
}

/* Fills the block with at least n bytes from an offset on. 0, or -1 with errno. */
static int
fill(struct items *s, uint64_t at, size_t n)
{
	size_t room = n > BLOCK ? n : BLOCK;
	ssize_t r;

	s->block.n = 0;
	s->block_at = at;
	if (buf_reserve(&s->block, room) < 0)
		return -1;
	while (s->block.n < n) {
		r = pread(s->fd, s->block.p + s->block.n, room - s->block.n, (off_t)(at + s->block.n));
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			errno = EIO; /* the file has been cut */
		if (r <= 0)
			return -1;
		s->block.n += (size_t)r;
	}
	return 0;
}

int
items_text(struct items *s, uint32_t item, struct slice *text)
{
	const struct item *i = &s->at[item];
	struct record r;

	*text = slice_of("");
	if (i->length == 0)
		return 0;
	if ((i->offset < s->block_at || i->offset + i->length > s->block_at + s->block.n) && fill(s, i->offset, i->length) < 0)
		return -1;
	*text = slice(s->block.p + (i->offset - s->block_at), i->length);
	if (!i->in_record)
		return 0;
	if (recording_line(s->again, *text, 0, &r) != 0) {
		errno = EIO;
		return -1;
	}
	*text = r.text;
	return 0;
}

int
items_message(struct items *s, uint32_t item, struct msg *m)
{
	struct slice text;

	if (items_text(s, item, &text) < 0)
		return -1;
	if (s->at[item].kind == MSG_NOISE || msg_scan(text, m, NULL) == MSG_NOISE)
		*m = (struct msg){.text = text};
	if (s->at[item].kind == MSG_RESPONSE)
		m->what = (enum acp_method)s->at[item].what;
	/* If the kind is another than at the first reading, the file has changed. */
	if ((uint8_t)m->kind == s->at[item].kind)
		return 0;
	errno = EIO;
	return -1;
}
