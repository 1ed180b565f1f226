#include "cmd/acp-share/preface.h"

#include <stdlib.h>
#include <utlist.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/recording/recording.h"
#include "lib/session/session.h"

/*
 * Beyond these bounds the session that has been silent for longest is forgotten, or the oldest request without a response. BYTES is for
 * the sessions, and again for the requests. Tool calls and sub-agents for which it leaves no room are not remembered.
 */
enum { SESSIONS = 10000, BYTES = 4 * 1024 * 1024, WAITING = 1024 };

enum { OPENED = ACP_PARTS /* the part of a session that follows those of lib/acp: its opening */ };

/*
 * One part of what is remembered of a session. Of a running tool call, and of a sub-agent, it has the first message and the last; of the
 * usage the last with a cost, and a later one without; of a state of work the first, which has begun the turn, and the last.
 */
struct item {
	int part;
	bool stands; /* the last message is remembered beside the next ones, if these have no cost, or are states of work */
	struct buf id; /* of the tool call or the sub-agent, as the agent spelled it */
	struct exchange all;
	struct item *prev, *next;
};

struct open_session {
	UT_hash_handle hh;
	struct item *items;
	bool closed; /* by the client, or never opened: an update that comes later does not open it */
	size_t n;
	char id[]; /* its text */
};

struct waiting {
	struct passed request;
	bool opens; /* its session was closed, or not known: unless it fails, the session is open from then on */
	struct buf id; /* as it was spelled */
	struct waiting *prev, *next;
};

/* --- what is wanted --- */

/* Fast, because it is called for each message. what: its method, of a response that of its request. */
static bool
is_wanted(enum acp_method what, const struct message *s)
{
	switch (what) {
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
	case ACP_SESSION_PROMPT:
	case ACP_REQUEST_PERMISSION:
	case ACP_ELICITATION_CREATE:
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
	/* Out of memory the message is left out. */
	(void)buf_add_slice(&m->text, s->line);
}

static struct msg
scan(const struct passed *p)
{
	struct msg m = {0};

	if (p->text.n)
		msg_scan(buf_slice(&p->text), &m, NULL);
	return m;
}

static bool
is_v2(const struct preface *p)
{
	uint64_t version;

	return json_u64(json_get(scan(&p->hello.last).result, acp_protocol_version), &version) && version == 2;
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
	p->waiting_bytes -= w->request.text.n + w->id.n;
	buf_free(&w->request.text);
	buf_free(&w->id);
	free(w);
}

/* Of a request that is too long to be shown to guests, only the id is kept. */
static void
wait_for_response(struct preface *p, const struct message *s, bool opens)
{
	struct waiting *w = s->msg.id.n <= BYTES ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return;
	w->opens = opens;
	DL_APPEND(p->waiting, w);
	p->nwaiting++;
	w->request.from = s->from;
	if (s->line.n <= BYTES)
		remember(p, &w->request, s);
	(void)buf_add_slice(&w->id, s->msg.id);
	p->waiting_bytes += w->request.text.n + w->id.n;
	if (w->id.n == 0)
		waiting_free(p, w);
	while (p->nwaiting > WAITING || p->waiting_bytes > BYTES)
		waiting_free(p, p->waiting);
}

/* Takes over the request of a response; empty if it is not remembered. opens: as struct waiting has it. */
static struct passed
remove_waiting(struct preface *p, const struct message *s, bool *opens)
{
	struct passed request = {.number = 0};
	struct waiting *w;

	DL_FOREACH(p->waiting, w)
		if (w->request.from == s->request->from && slice_eq(buf_slice(&w->id), s->request->id))
			break;
	if (!w)
		return request;
	request = w->request;
	*opens = w->opens;
	p->waiting_bytes -= request.text.n;
	w->request.text = (struct buf){0};
	waiting_free(p, w);
	return request;
}

/* --- sessions --- */

static void
item_free(struct preface *p, struct open_session *s, struct item *i)
{
	DL_DELETE(s->items, i);
	p->bytes -= size_of(&i->all);
	forget(&i->all);
	buf_free(&i->id);
	free(i);
}

static void
calls_free(struct preface *p, struct open_session *s)
{
	struct item *i, *next;

	DL_FOREACH_SAFE(s->items, i, next)
		if (i->part == ACP_PART_CALL)
			item_free(p, s, i);
}

static struct item *
find_item(const struct open_session *s, int part, struct slice id)
{
	struct item *i;

	DL_FOREACH(s->items, i)
		if (i->part == part && slice_eq(buf_slice(&i->id), id))
			break;
	return i;
}

/* Remembers a message of a session. request: that of a response, which is taken over, or NULL. A tool call is remembered until it ends. */
static void
see_item(struct preface *p, struct open_session *s, int part, const struct message *m, struct passed *request)
{
	bool several = part > ACP_PARTS;
	struct slice update = several ? json_get(m->msg.params, acp_update) : slice(NULL, 0);
	struct slice id = json_get_string(update, part == ACP_PART_CALL ? "toolCallId" : acp_session_id);
	bool over = part == ACP_PART_CALL && session_status_is_final(json_get(update, "status"));
	enum json_type cost = part == ACP_PART_USAGE ? json_type(json_path(m->msg.params, "update.cost")) : JSON_NONE;
	bool costs = cost == JSON_OBJECT || (cost == JSON_NULL && is_v2(p)); /* in version 2, null clears the cost */
	bool works = part == ACP_PART_STATE && !json_string_is(json_path(m->msg.params, acp_update_state), acp_idle);
	bool adds = works || (part == ACP_PART_USAGE && !costs);
	struct item *i = find_item(s, part, id);
	struct passed last;

	if (i && over)
		item_free(p, s, i);
	if (several && (!id.p || over || p->bytes + m->line.n > BYTES))
		return;
	if (!i && (i = calloc(1, sizeof(*i)))) {
		i->part = part;
		(void)buf_add_slice(&i->id, id);
		if (several)
			DL_APPEND(s->items, i);
		else
			DL_PREPEND(s->items, i);
	}
	if (!i)
		return;
	p->bytes -= size_of(&i->all);
	if (adds && i->stands) {
		last = i->all.last;
		i->all.last = i->all.request;
		i->all.request = last;
	} else if (!several && !adds) {
		buf_free(&i->all.request.text);
	}
	i->stands = (costs || works) && !i->all.request.text.n;
	if (request) {
		i->all.request = *request;
		request->text = (struct buf){0};
	}
	remember(p, several && !i->all.request.text.n ? &i->all.request : &i->all.last, m);
	p->bytes += size_of(&i->all);
}

static void
session_free(struct preface *p, struct open_session *s)
{
	while (s->items)
		item_free(p, s, s->items);
	p->bytes -= s->n;
	p->nclosed -= s->closed;
	free(s);
}

static void
session_forget(struct preface *p, struct open_session *s)
{
	HASH_DEL(p->sessions, s);
	session_free(p, s);
}

static void
set_closed(struct preface *p, struct open_session *s, bool closed)
{
	p->nclosed += (size_t)closed - (size_t)s->closed;
	s->closed = closed;
}

static void
session_close(struct preface *p, struct open_session *s)
{
	set_closed(p, s, true);
	while (s->items)
		item_free(p, s, s->items);
}

/* A closed session, or else the one that has been silent for longest. */
static struct open_session *
least_needed(const struct preface *p)
{
	struct open_session *s = p->nclosed ? p->sessions : NULL;

	while (s && !s->closed)
		s = s->hh.next;
	return s ? s : p->sessions;
}

static struct open_session *
find(const struct preface *p, struct slice id)
{
	struct open_session *s;

	HASH_FIND(hh, p->sessions, id.p, id.n, s);
	return s;
}

/* The session of this id, which is made if there is none, and becomes the last in the order. NULL out of memory. */
static struct open_session *
session_of(struct preface *p, struct slice id)
{
	struct open_session *s = find(p, id);

	if (s) {
		HASH_DEL(p->sessions, s);
	} else {
		s = calloc(1, sizeof(*s) + id.n);
		if (!s)
			return NULL;
		if (id.n)
			memcpy(s->id, id.p, id.n);
		s->n = id.n;
		p->bytes += s->n;
	}
	HASH_ADD_KEYPTR(hh, p->sessions, s->id, s->n, s);
	if (s->hh.tbl)
		return s;
	session_free(p, s);
	return NULL;
}

/* Does this request open a session again, or one that is not known? */
static bool
see_request(struct preface *p, enum acp_method what, const struct message *m)
{
	bool loads = what == ACP_SESSION_LOAD || what == ACP_SESSION_RESUME, opens;
	struct slice name = message_session(m);
	SCOPED struct buf id = {0};
	struct open_session *s;

	if ((!loads && what != ACP_SESSION_PROMPT) || json_type(name) != JSON_STRING || json_unescape(name, &id) < 0)
		return false;
	s = find(p, buf_slice(&id));
	opens = s ? s->closed : loads;
	if (s)
		set_closed(p, s, false);
	return opens;
}

/* Does this response to a prompt end the turn that runs, and with it the tool calls? number: of its request. */
static bool
ends_turn(const struct preface *p, const struct message *m, uint64_t number)
{
	bool v2 = is_v2(p);
	struct msg older;

	for (const struct waiting *w = p->waiting; w && w->request.number < number; w = w->next) {
		older = scan(&w->request);
		if (older.what == ACP_SESSION_PROMPT && slice_eq(msg_session(&older), message_session(m)))
			return false;
	}
	/* In version 2 the state idle ends the turn. */
	return m->msg.result.p ? !session_accepts(m->msg.result, v2) : !v2;
}

static void
see_of_session(struct preface *p, enum acp_method what, const struct message *m)
{
	struct slice name = message_session(m);
	struct passed request = {.number = 0};
	struct open_session *s;
	SCOPED struct buf id = {0};
	int part;
	bool named, opens = false, opened = m->msg.kind == MSG_RESPONSE && acp_opens_session(what);
	bool passes = what == ACP_SESSION_PROMPT || what == ACP_REQUEST_PERMISSION || what == ACP_ELICITATION_CREATE;
	/* An update of the title without a title leaves the title as it is. */
	bool changes = m->msg.kind == MSG_RESPONSE ? m->msg.result.p && !passes
		: acp_part_of_update(m->msg.params) != ACP_PART_INFO || json_path(m->msg.params, "update.title").p;

	if (m->msg.kind == MSG_RESPONSE)
		request = remove_waiting(p, m, &opens);
	named = json_type(name) == JSON_STRING && json_unescape(name, &id) == 0;
	s = named ? find(p, buf_slice(&id)) : NULL;
	if (s && opens && !m->msg.result.p && !find_item(s, OPENED, slice(NULL, 0))) {
		session_close(p, s);
	} else if ((!changes && what != ACP_SESSION_PROMPT) || !named || (s && s->closed && !opened)) {
		/* This message changes nothing. */
	} else if (what == ACP_SESSION_PROMPT || what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE) {
		/* A tool call ends with its turn at the latest. */
		if (s && what != ACP_SESSION_PROMPT)
			session_close(p, s);
		else if (s && ends_turn(p, m, request.number))
			calls_free(p, s);
	} else if ((s = session_of(p, buf_slice(&id)))) {
		part = what == ACP_SESSION_UPDATE ? (int)acp_part_of_update(m->msg.params) : what == ACP_SESSION_SET_MODE ? ACP_PART_MODE
			: opened ? OPENED : ACP_PART_CONFIG;
		set_closed(p, s, false);
		if (part == ACP_PART_STATE && json_string_is(json_path(m->msg.params, acp_update_state), acp_idle))
			calls_free(p, s);
		see_item(p, s, part, m, m->msg.kind == MSG_RESPONSE ? &request : NULL);
	}
	while (p->sessions && (p->bytes > BYTES || HASH_COUNT(p->sessions) > SESSIONS))
		session_forget(p, least_needed(p));
	buf_free(&request.text);
}

bool
preface_see(struct preface *p, const struct message *m)
{
	enum acp_method what = m->msg.kind != MSG_RESPONSE ? m->msg.what : m->request ? m->request->what : ACP_OTHER;

	if (!is_wanted(what, m))
		return false;
	if (what != ACP_INITIALIZE && what != ACP_PROXY_INITIALIZE) {
		if (m->msg.kind == MSG_REQUEST)
			wait_for_response(p, m, see_request(p, what, m));
		else
			see_of_session(p, what, m);
	} else if (m->from == ACP_CLIENT && m->msg.kind == MSG_REQUEST) {
		remember(p, &p->hello.request, m);
		p->hello.last.text.n = 0;
	} else if (m->from == ACP_AGENT && m->msg.kind == MSG_RESPONSE && m->msg.result.p) {
		remember(p, &p->hello.last, m);
	}
	return true;
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

static int
collect(struct buf *all, const struct passed *m)
{
	return m->text.n ? buf_add(all, &m, sizeof(m)) : 0;
}

int
preface_put(const struct preface *p, struct buf *to)
{
	SCOPED struct buf all = {0};
	const struct passed *m;
	const struct item *i;
	int r = collect(&all, &p->hello.request) | collect(&all, &p->hello.last);

	for (const struct open_session *s = p->sessions; s; s = s->hh.next)
		DL_FOREACH(s->items, i)
			r |= collect(&all, &i->all.request) | collect(&all, &i->all.last);
	for (const struct waiting *w = p->waiting; w; w = w->next)
		r |= collect(&all, &w->request);
	if (all.n)
		qsort(all.p, all.n / sizeof(m), sizeof(m), by_number);
	for (size_t at = 0; r == 0 && at < all.n; at += sizeof(m)) {
		memcpy(&m, all.p + at, sizeof(m));
		r = recording_put_message(to, m->t, 0, m->from, buf_slice(&m->text));
	}
	return r;
}

/* --- the list --- */

/* Appends "NAME VERSION" of a peer, from its message of the initialization (the member has another name in version 2). */
static int
put_peer(struct slice hello, const char *member, struct buf *to)
{
	struct slice info = json_get(hello, member), name, version;
	SCOPED struct buf text = {0};

	if (!info.p)
		info = json_get(hello, "info");
	name = json_get_string(info, "name");
	version = json_get_string(info, "version");
	if (!name.p)
		return buf_add_string(to, "null");
	return json_unescape(name, &text) || (version.p && (buf_add_string(&text, " ") || json_unescape(version, &text)))
		|| json_quote(buf_slice(&text), to) ? -1 : 0;
}

int
preface_put_list(const struct preface *p, struct buf *to)
{
	const struct item *opened;
	const char *comma = "";
	struct slice cwd;

	if (buf_add_string(to, "\"client\":") < 0 || put_peer(scan(&p->hello.request).params, "clientInfo", to) < 0 ||
		buf_add_string(to, ",\"agent\":") < 0 || put_peer(scan(&p->hello.last).result, "agentInfo", to) < 0 ||
		buf_add_string(to, ",\"sessions\":[") < 0)
		return -1;
	for (const struct open_session *s = p->sessions; s; s = s->hh.next) {
		if (s->closed)
			continue;
		opened = find_item(s, OPENED, slice(NULL, 0));
		cwd = opened ? json_get(scan(&opened->all.request).params, "cwd") : slice(NULL, 0);
		if (buf_add_string(to, comma) || buf_add_string(to, "{\"id\":") || json_quote(slice(s->id, s->n), to)
			|| json_add_member(to, "cwd", json_type(cwd) == JSON_STRING ? cwd : slice_of("null"))
			|| buf_add_string(to, "}"))
			return -1;
		comma = ",";
	}
	return buf_add_string(to, "]");
}

void
preface_free(struct preface *p)
{
	while (p->sessions)
		session_forget(p, p->sessions);
	while (p->waiting)
		waiting_free(p, p->waiting);
	forget(&p->hello);
}
