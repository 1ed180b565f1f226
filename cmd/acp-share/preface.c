#include "cmd/acp-share/preface.h"

#include <stdlib.h>
#include <utlist.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/recording/recording.h"

/* Beyond this the session that was silent for longest is forgotten; and the oldest request without a response. */
enum { SESSIONS = 10000, BYTES = 4 * 1024 * 1024, WAITING = 64, WAITING_BYTES = 256 * 1024 };

struct session {
	char *id; /* its text */
	size_t n;
	struct exchange opened, parts[ACP_PARTS];
	UT_hash_handle hh;
};

struct waiting {
	struct passed request;
	struct buf id; /* as it was spelled */
	struct waiting *prev, *next;
};

/* --- what is wanted --- */

static enum acp_method
method_of(const struct message *s)
{
	return s->msg.kind != MSG_RESPONSE ? s->msg.what : s->request ? s->request->what : ACP_OTHER;
}

bool
preface_wants(const struct message *s)
{
	switch (method_of(s)) {
	case ACP_SESSION_UPDATE:
		return s->msg.kind == MSG_NOTIFICATION && acp_part_of_update(s->msg.params) != ACP_PARTS;
	case ACP_INITIALIZE:
	case ACP_PROXY_INITIALIZE:
	case ACP_SESSION_NEW:
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
	case ACP_SESSION_FORK:
	case ACP_SESSION_SET_MODE:
	case ACP_SESSION_SET_CONFIG:
		return s->msg.kind != MSG_NOTIFICATION;
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
		return s->msg.kind == MSG_RESPONSE && s->msg.result.p;
	default:
		return false;
	}
}

/* --- messages --- */

static void
remember(struct preface *p, struct passed *m, const struct message *s)
{
	m->text.n = 0;
	m->from = s->from;
	m->t = s->t;
	m->number = ++p->number;
	/* Without memory it is as if it had not been sent. */
	(void)buf_add_slice(&m->text, s->line);
}

static void
forget(struct exchange *e)
{
	buf_free(&e->request.text);
	buf_free(&e->last.text);
}

static size_t
size_of(const struct exchange *e)
{
	return e->request.text.n + e->last.text.n;
}

/* --- requests that wait for their response --- */

static void
waiting_free(struct preface *p, struct waiting *w)
{
	DL_DELETE(p->waiting, w);
	p->nwaiting--;
	buf_free(&w->request.text);
	buf_free(&w->id);
	free(w);
}

static void
wait_for_response(struct preface *p, const struct message *s)
{
	struct waiting *w = s->line.n <= WAITING_BYTES ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return;
	DL_APPEND(p->waiting, w);
	p->nwaiting++;
	remember(p, &w->request, s);
	if (buf_add_slice(&w->id, s->msg.id) < 0)
		waiting_free(p, w);
	else if (p->nwaiting > WAITING)
		waiting_free(p, p->waiting);
}

/* The request of a response, to have: empty where it is not remembered. */
static struct passed
take_waiting(struct preface *p, const struct message *s)
{
	struct passed request = {.number = 0};
	struct waiting *w;

	DL_FOREACH(p->waiting, w)
		if (w->request.from == s->request->from && slice_eq(buf_slice(&w->id), s->request->id))
			break;
	if (!w)
		return request;
	request = w->request;
	w->request.text = (struct buf){0};
	waiting_free(p, w);
	return request;
}

/* --- sessions --- */

static void
session_free(struct preface *p, struct session *s)
{
	p->bytes -= s->n + size_of(&s->opened);
	forget(&s->opened);
	for (int i = 0; i < ACP_PARTS; i++) {
		p->bytes -= size_of(&s->parts[i]);
		forget(&s->parts[i]);
	}
	free(s->id);
	free(s);
}

static void
session_close(struct preface *p, struct session *s)
{
	HASH_DEL(p->sessions, s);
	session_free(p, s);
}

static struct session *
find(const struct preface *p, struct slice id)
{
	struct session *s = NULL;

	if (p->sessions)
		HASH_FIND(hh, p->sessions, id.p, id.n, s);
	return s;
}

/* The session of this name; one that is new, where there is none. It becomes the last. NULL out of memory. */
static struct session *
session_of(struct preface *p, struct slice id)
{
	struct session *s = find(p, id);

	if (s) {
		HASH_DEL(p->sessions, s);
	} else {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->id = strndup(id.p, id.n);
		s->n = s->id ? id.n : 0;
		p->bytes += s->n;
	}
	if (s->id)
		HASH_ADD_KEYPTR(hh, p->sessions, s->id, s->n, s);
	if (s->id && s->hh.tbl)
		return s;
	session_free(p, s);
	return NULL;
}

/* Of a response with its request, which is taken over; of an update request is NULL. */
static void
see_session(struct preface *p, struct slice id, enum acp_method what, const struct message *m, struct passed *request)
{
	enum acp_part part = what == ACP_SESSION_UPDATE ? acp_part_of_update(m->msg.params) :
		what == ACP_SESSION_SET_MODE ? ACP_PART_MODE : ACP_PART_CONFIG;
	struct session *s = session_of(p, id);
	struct exchange *e;

	if (!s)
		return;
	e = acp_opens_session(what) ? &s->opened : &s->parts[part];
	p->bytes -= size_of(e);
	buf_free(&e->request.text);
	if (request) {
		e->request = *request;
		request->text = (struct buf){0};
	}
	remember(p, &e->last, m);
	p->bytes += size_of(e);
	while (p->sessions && (p->bytes > BYTES || HASH_COUNT(p->sessions) > SESSIONS))
		session_close(p, p->sessions);
}

static void
see_of_session(struct preface *p, enum acp_method what, const struct message *m)
{
	struct slice name = message_session(m);
	struct passed request = {.number = 0};
	struct session *s;
	SCOPED struct buf id = {0};
	/* An update of the title may come without one, and says nothing of it then. */
	bool changes = m->msg.kind == MSG_RESPONSE ? m->msg.result.p != NULL
		: acp_part_of_update(m->msg.params) != ACP_PART_INFO || json_path(m->msg.params, "update.title").p;

	if (m->msg.kind == MSG_RESPONSE)
		request = take_waiting(p, m);
	if (!changes || json_type(name) != JSON_STRING || json_unescape(name, &id) < 0) {
		/* It leaves all as it was. */
	} else if (what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE) {
		s = find(p, buf_slice(&id));
		if (s)
			session_close(p, s);
	} else {
		see_session(p, buf_slice(&id), what, m, m->msg.kind == MSG_RESPONSE ? &request : NULL);
	}
	buf_free(&request.text);
}

void
preface_see(struct preface *p, const struct message *m)
{
	enum acp_method what = method_of(m);

	if (what != ACP_INITIALIZE && what != ACP_PROXY_INITIALIZE) {
		if (m->msg.kind == MSG_REQUEST)
			wait_for_response(p, m);
		else
			see_of_session(p, what, m);
	} else if (m->from == ACP_CLIENT && m->msg.kind == MSG_REQUEST) {
		remember(p, &p->hello.request, m);
		p->hello.last.text.n = 0;
	} else if (m->from == ACP_AGENT && m->msg.kind == MSG_RESPONSE && m->msg.result.p) {
		remember(p, &p->hello.last, m);
	}
}

bool
preface_initialized(const struct preface *p)
{
	return p->hello.last.text.n > 0;
}

/* --- telling --- */

static int
by_number(const void *a, const void *b)
{
	uint64_t x = (*(const struct passed *const *)a)->number, y = (*(const struct passed *const *)b)->number;

	return (x > y) - (x < y);
}

static void
collect(const struct exchange *e, const struct passed **all, size_t *n)
{
	if (e->request.text.n)
		all[(*n)++] = &e->request;
	if (e->last.text.n)
		all[(*n)++] = &e->last;
}

int
preface_put(const struct preface *p, struct buf *to)
{
	size_t n = 0, i, most = 2 + (size_t)HASH_COUNT(p->sessions) * 2 * (1 + ACP_PARTS);
	const struct passed **all = calloc(most, sizeof(const struct passed *));
	int r = all ? 0 : -1;

	if (!all)
		return -1;
	collect(&p->hello, all, &n);
	for (const struct session *s = p->sessions; s; s = s->hh.next) {
		collect(&s->opened, all, &n);
		for (i = 0; i < ACP_PARTS; i++)
			collect(&s->parts[i], all, &n);
	}
	qsort(all, n, sizeof(const struct passed *), by_number);
	for (i = 0; r == 0 && i < n; i++)
		r = recording_put_message(to, all[i]->t, 0, all[i]->from, buf_slice(&all[i]->text));
	free(all);
	return r;
}

/* --- the list --- */

/* "NAME VERSION" of a peer, as its part of the initialization says it (v2 has another name for the member). */
static int
put_peer(struct slice hello, const char *member, struct buf *to)
{
	struct slice info = json_get(hello, member), name, version;
	SCOPED struct buf text = {0};
	int r = 0;

	if (!info.p)
		info = json_get(hello, "info");
	name = json_get(info, "name");
	version = json_get(info, "version");
	if (json_type(name) != JSON_STRING)
		return buf_add_string(to, "null");
	r = json_unescape(name, &text);
	if (r == 0 && json_type(version) == JSON_STRING)
		r = buf_add_string(&text, " ") < 0 || json_unescape(version, &text) < 0 ? -1 : 0;
	if (r == 0)
		r = json_quote(buf_slice(&text), to);
	return r;
}

static struct msg
scan(const struct passed *p)
{
	struct msg m = {0};

	if (p->text.n)
		msg_scan(buf_slice(&p->text), &m, NULL);
	return m;
}

int
preface_put_list(const struct preface *p, struct buf *to)
{
	struct slice cwd;

	if (buf_add_string(to, "\"client\":") < 0 || put_peer(scan(&p->hello.request).params, "clientInfo", to) < 0 ||
		buf_add_string(to, ",\"agent\":") < 0 || put_peer(scan(&p->hello.last).result, "agentInfo", to) < 0 ||
		buf_add_string(to, ",\"sessions\":[") < 0)
		return -1;
	for (const struct session *s = p->sessions; s; s = s->hh.next) {
		cwd = json_get(scan(&s->opened.request).params, "cwd");
		if (buf_add_string(to, "{\"id\":") || json_quote(slice(s->id, s->n), to)
			|| json_add_member(to, "cwd", json_type(cwd) == JSON_STRING ? cwd : slice_of("null"))
			|| buf_add_string(to, s->hh.next ? "}," : "}"))
			return -1;
	}
	return buf_add_string(to, "]");
}

void
preface_free(struct preface *p)
{
	while (p->sessions)
		session_close(p, p->sessions);
	while (p->waiting)
		waiting_free(p, p->waiting);
	forget(&p->hello);
}
