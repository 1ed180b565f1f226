#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/recording.h"
#include "look.h"
#include "route_parts.h"
#include "watch.h"

struct guest {
	struct port port;        /* who asks; nothing is read or written here */
	struct port *near;       /* the neighbour on the client's side; the other is below it */
	struct watcher *watcher; /* NULL: he does not read any more */
	struct input in;
	struct loop_fd readable;
	bool ended;              /* he does not write any more */
	char name[32];
	struct guest *prev, *next;
};

static const struct slice nothing = {NULL, 0};

static struct guest *
guest_of(const struct port *p)
{
	return (struct guest *)((char *)p - offsetof(struct guest, port));
}

/* --- what he is told --- */

/* What he can not be told he has lost: then he had better begin anew. */
static void
tell(struct guest *g, struct buf *record, int built)
{
	if (built == 0 && g->watcher && watch_tell(g->watcher, buf_slice(record)) == 0) {
		buf_free(record);
		return;
	}
	buf_free(record);
	if (!g->watcher)
		return;
	report_say(g->port.route->report, "%s: out of memory: turned out", g->name);
	watch_remove(g->watcher);
	g->watcher = NULL;
	guest_watch_all(g->port.route);
}

static uint64_t
now(const struct guest *g)
{
	return g->watcher ? watch_time(g->watcher->watch) : 0;
}

/* What he wrote goes nowhere. */
static void
reject(struct guest *g, const char *why)
{
	struct buf record = {0};

	report_say(g->port.route->report, "%s: line %llu: %s: dropped", g->name, (unsigned long long)g->in.lines, why);
	tell(g, &record, recording_put_error(&record, now(g), (int)g->port.hop, why));
}

static void
refuse(struct guest *g, const struct msg *m, enum lane lane, int code, const char *why)
{
	enum acp_side from = lane == LANE_DOWN ? ACP_AGENT : ACP_CLIENT;
	struct buf answer = {0}, record = {0};
	int r = -1;

	if (m->kind != MSG_REQUEST) {
		reject(g, why);
		return;
	}
	if (msg_make_error(&answer, m->id, code, why, nothing) == 0)
		r = recording_put_answer(&record, now(g), (int)g->port.hop, from, buf_slice(&answer));
	tell(g, &record, r);
	buf_free(&answer);
}

/* --- ids --- */

/* His id on the hop: "guest.3:" and his own bytes, so that it is nobody else's and can be had back. */
static int
put_id(const struct guest *g, struct slice id, struct buf *to)
{
	struct buf plain = {0};
	int r = buf_printf(&plain, "%s:", g->name);

	if (r == 0 && (r = buf_add_slice(&plain, id)) == 0)
		r = json_quote(buf_slice(&plain), to);
	buf_free(&plain);
	return r;
}

/* The bytes that were his: 0, or -1 out of memory. */
static int
own_id(struct slice id, struct buf *to)
{
	char *colon;
	size_t n;

	if (json_unescape(id, to) < 0)
		return -1;
	colon = memchr(to->p, ':', to->n);
	n = colon ? (size_t)(colon + 1 - to->p) : 0;
	to->n -= n;
	memmove(to->p, to->p + n, to->n);
	return 0;
}

/* His open request of this id. Rare, and there are few of them: a walk will do. */
static struct call *
find_call(const struct guest *g, struct slice id)
{
	struct buf wanted = {0}, key = {0}, own = {0};
	struct call *c = NULL;

	if (msg_id_key(id, &wanted) == 0) {
		DL_FOREACH(g->port.asked, c) {
			key.n = own.n = 0;
			if (own_id(c->origin, &own) == 0 && msg_id_key(buf_slice(&own), &key) == 0 &&
				slice_eq(buf_slice(&key), buf_slice(&wanted)))
				break;
		}
	}
	buf_free(&wanted);
	buf_free(&key);
	buf_free(&own);
	return c;
}

static size_t
open_requests(const struct guest *g)
{
	const struct call *c;
	size_t n;

	DL_COUNT(g->port.asked, c, n);
	return n;
}

/* The answer with his own id in place of the hop's. */
static int
put_answer(struct guest *g, struct slice text, enum lane lane, struct buf *record)
{
	struct splices s = {.n = 0};
	struct buf id = {0}, own = {0};
	struct json_error error;
	struct msg m;
	int r = -1;

	if (msg_scan(text, &m, &error) == MSG_RESPONSE && own_id(m.id, &id) == 0) {
		splice_value(&s, m.id, buf_slice(&id));
		r = splice_write(text, s.at, s.n, &own);
	}
	if (r == 0)
		r = recording_put_answer(record, now(g), (int)g->port.hop, lane == LANE_DOWN ? ACP_CLIENT : ACP_AGENT, buf_slice(&own));
	buf_free(&id);
	buf_free(&own);
	return r;
}

void
guest_answer(struct port *p, struct slice text, const struct splices *s, enum lane lane)
{
	struct guest *g = guest_of(p);
	struct buf whole = {0}, record = {0};
	int r;

	if (!g->watcher)
		return;
	r = splice_write(text, s->at, s->n, &whole);
	if (r == 0)
		r = put_answer(g, buf_slice(&whole), lane, &record);
	buf_free(&whole);
	tell(g, &record, r);
}

const struct watcher *
guest_watcher(const struct port *p)
{
	return guest_of(p)->watcher;
}

/* --- what he says --- */

static void
cancel(struct call *c)
{
	struct buf params = {0}, text = {0};

	c->cancelled = true;
	if (buf_printf(&params, "{\"%s\":%.*s}", acp_request_id, (int)c->origin.n, c->origin.p) == 0 &&
		msg_make_notification(&text, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params)) == 0)
		look_made(c->to->route->look, c->from, c->to, c->lane, buf_slice(&text), c->session);
	buf_free(&params);
	buf_free(&text);
	route_cancel(c);
}

static void
cancel_named(struct guest *g, const struct msg *m)
{
	struct slice id = json_type(m->params) == JSON_OBJECT ? json_get(m->params, acp_request_id) : nothing;
	struct call *c = id.p ? find_call(g, id) : NULL;

	/* Answered already, or never heard of: then there is nothing to cancel. */
	if (c)
		cancel(c);
}

/* Why this message does not go on, and with which code; NULL: it does. */
static const char *
objection(const struct guest *g, const struct msg *m, const struct port *to, int *code)
{
	const struct route *r = g->port.route;

	*code = ACP_ERR_INVALID_REQUEST;
	if (m->what == ACP_INITIALIZE || m->what == ACP_PROXY_INITIALIZE || m->what == ACP_PROXY_SUCCESSOR)
		return "a guest does not initialize, and sends no envelopes";
	if (!r->initialized)
		return "before initialize";
	*code = ACP_ERR_INTERNAL;
	if (r->broken || r->stretches[0].leaving)
		return r->why ? r->why : "the chain is ending";
	if (port_is_bypassed(g->near))
		return "the hop is not there any more";
	if (to->state == PORT_GONE || to->closing)
		return "that component has ended";
	if (m->kind == MSG_REQUEST && open_requests(g) >= GUEST_REQUESTS)
		return "too many open requests of one guest";
	return NULL;
}

static void
enter(struct guest *g, struct slice text, const struct msg *m, enum lane lane)
{
	struct plain pl = {.inner = *m, .lane = lane, .to = lane == LANE_DOWN ? g->near->below : g->near};
	struct splices s = {.n = 0};
	struct buf id = {0};
	const char *why;
	int code;

	why = objection(g, m, pl.to, &code);
	if (why) {
		refuse(g, m, lane, code, why);
		return;
	}
	if (m->what == ACP_CANCEL_REQUEST) {
		cancel_named(g, m);
		return;
	}
	if (m->kind == MSG_REQUEST) {
		if (put_id(g, m->id, &id) < 0) {
			route_no_memory(g->port.route);
			return;
		}
		pl.inner.id = buf_slice(&id);
		splice_value(&s, m->id, pl.inner.id);
	}
	look_message(g->port.route->look, &g->port, pl.to, lane, text, &s, &pl.inner, nothing);
	route_pass(&g->port, NULL, text, m, &pl, NULL);
	buf_free(&id);
}

static void
take_message(struct guest *g, struct slice text, enum lane lane)
{
	struct json_error error;
	struct msg m;

	switch (msg_scan(text, &m, &error)) {
	case MSG_NOISE:
		reject(g, error.what);
		break;
	case MSG_BATCH:
		reject(g, "an array; a guest sends one message after the other");
		break;
	case MSG_RESPONSE:
		reject(g, "an answer; a guest does not answer for others");
		break;
	default:
		enter(g, text, &m, lane);
	}
}

static void
take_record(struct guest *g, struct slice line)
{
	static const struct json_keys keys = {2, {"from", "msg"}};
	struct slice values[2];
	struct json_error error;
	enum json_type type = json_members(line, JSON_DEPTH + 1, &keys, values, &error);

	if (type == JSON_NONE)
		reject(g, error.what);
	else if (type != JSON_OBJECT || !values[1].p)
		reject(g, "not a record with a message");
	else if (json_type(values[0]) == JSON_STRING && json_string_is(values[0], acp_side_name(ACP_CLIENT)))
		take_message(g, values[1], LANE_DOWN);
	else if (json_type(values[0]) == JSON_STRING && json_string_is(values[0], acp_side_name(ACP_AGENT)))
		take_message(g, values[1], LANE_UP);
	else
		reject(g, "a record says from which side its message is: \"from\" is \"client\" or \"agent\"");
}

/* --- coming and going --- */

static void
guest_free(struct guest *g)
{
	struct route *r = g->port.route;
	struct call *c, *next;

	DL_FOREACH_SAFE(g->port.asked, c, next) {
		if (!r->broken && c->to->state != PORT_GONE && !c->cancelled)
			cancel(c);
		call_orphan(c);
	}
	loop_remove_fd(r->loop, &g->readable);
	input_close(&g->in);
	DL_DELETE(r->guests, g);
	free(g);
}

/* What he has written is still read when he has left; then `readable` finds the end, and forgets him. */
static void
changed(void *arg, bool left)
{
	struct guest *g = arg;

	if (left)
		g->watcher = NULL;
	guest_watch_all(g->port.route);
}

static void
read_once(struct guest *g)
{
	ssize_t n = input_fill(&g->in);
	enum input_got got;
	struct line line;

	if (n < 0 && (errno == EAGAIN || errno == ENOMEM) && !g->in.ended)
		return;
	for (;;) {
		got = input_line(&g->in, &line);
		if (got == INPUT_NOTHING || got == INPUT_END)
			break;
		if (got == INPUT_LINE && !line_is_blank(&line))
			take_record(g, line.text);
		else if (got == INPUT_TORN)
			reject(g, "a torn line");
		else if (got == INPUT_PIECE && line.first)
			reject(g, "a line that is longer than 64 MiB");
	}
	g->ended = g->in.ended;
}

static void
readable(void *arg, short revents)
{
	struct guest *g = arg;
	struct route *r = g->port.route;

	(void)revents;
	read_once(g);
	if (g->ended && !g->watcher)
		guest_free(g);
	route_flush(r);
}

/* He is not read while his messages would add to a full queue, or answers wait for him to read. */
static bool
is_read(const struct guest *g)
{
	if (g->ended)
		return !g->watcher;
	return !port_full(g->near) && !port_full(g->near->below) && (!g->watcher || g->watcher->out.queued <= WATCH_QUEUE);
}

void
guest_watch_all(struct route *r)
{
	struct guest *g;

	DL_FOREACH(r->guests, g)
		loop_watch(r->loop, &g->readable, is_read(g) ? POLLIN : LOOP_PAUSED);
}

static struct guest *
guest_new(struct route *r, size_t hop)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->near = route_hop(r, hop);
	g->port = (struct port){.route = r, .kind = PORT_GUEST, .name = g->name, .hop = hop, .rest = -1, .state = PORT_READY};
	snprintf(g->name, sizeof(g->name), "guest.%llu", (unsigned long long)++r->nguests);
	return g;
}

int
guest_join(struct route *r, struct watch *w, size_t hop, int fd)
{
	struct guest *g = guest_new(r, hop);
	int in = g ? fcntl(fd, F_DUPFD_CLOEXEC, 8) : -1;

	if (in < 0 || input_open(&g->in, in, ROUTE_LINE_LIMIT) < 0) {
		close(fd);
		free(g);
		return -1;
	}
	g->readable = (struct loop_fd){.fd = g->in.io.fd, .events = POLLIN, .ready = readable, .arg = g};
	DL_APPEND(r->guests, g);
	g->watcher = watch_add(w, hop, fd);
	if (g->watcher && loop_add_fd(r->loop, &g->readable) == 0) {
		g->watcher->changed = changed;
		g->watcher->arg = g;
		return 0;
	}
	if (g->watcher)
		watch_remove(g->watcher);
	guest_free(g);
	errno = ENOMEM;
	return -1;
}

void
guest_free_all(struct route *r)
{
	struct guest *g, *next;

	DL_FOREACH_SAFE(r->guests, g, next) {
		if (g->watcher)
			g->watcher->changed = NULL;
		guest_free(g);
	}
}
