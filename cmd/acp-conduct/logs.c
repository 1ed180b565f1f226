#include "logs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chain.h"
#include "read.h"
#include "lib/run/log.h"
#include "lib/recording/recording.h"

enum { TRACE, RECORD, FILES, WAIT_MS = 1000 };

struct logs {
	struct route *route;
	struct log *files[FILES]; /* NULL: the option was not given */
	struct loop_fd watches[FILES];
	char **names; /* of the hops, NULL-terminated: each is the component on the agent's side; the hops of peers are the last */
	char **ends;  /* for a trace, of each hop and direction: the members that name sender and receiver */
	size_t nhops;
	uint64_t began;
	double started;
	struct buf text;
	struct loop_task flush;
};

static int
begin(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct logs *l = arg;

	if (resumed)
		return recording_put(to, -1, &(struct record){.kind = RECORD_LOST, .t = loop_clock() - l->began, .count = lost,
			.text = slice_of(why)});
	return recording_put_header(to, l->started, "acp-conduct " VERSION, NULL, l->names);
}

static void
flush(void *arg)
{
	struct logs *l = arg;
	struct log *file;

	for (size_t i = 0; i < FILES; i++) {
		file = l->files[i];
		if (!file)
			continue;
		if (log_flush(file) < 0)
			report_line(&l->route->chain->report, "%s: %s: records are lost, the session goes on",
				log_name(file), log_why(file));
		l->watches[i].fd = log_waiting(file);
		loop_set_events(l->route->chain->loop, &l->watches[i], POLLOUT);
	}
}

static void
writable(void *arg, short revents)
{
	(void)revents;
	flush(arg);
}

/* Writes all records of a turn of the loop at once. Its messages are written later, so that the logs are never behind. */
static void
flush_later(struct logs *l)
{
	loop_add_task(l->route->chain->loop, &l->flush);
}

/* Records a line of a component's stderr, on the hop that has the component's name. */
static void
on_stderr(void *arg, const char *name, const struct line *line)
{
	struct logs *l = arg;
	size_t hop;

	for (hop = 0; hop < l->nhops && l->names[hop] != name; hop++)
		;
	if (hop == l->nhops)
		return;
	flush_later(l);
	recording_put(log_buf(l->files[RECORD]), (int)hop, &(struct record){.kind = RECORD_STDERR, .t = loop_clock() - l->began,
		.from = ACP_AGENT, .text = line->text});
	log_end_record(l->files[RECORD]);
}

/* The number of hops in the row of components. The hops of peers follow. */
static size_t
row_hops(const struct chain *ch)
{
	return ch->n + !ch->has_agent;
}

/* Makes the name that an end of a hop has in a trace: end 0 is the client, each other one is the component on a hop's agent's side. */
static char *
end_name(const struct logs *l, size_t end)
{
	size_t row = row_hops(l->route->chain);

	if (end > row)
		return bytes_printf("Peer(%s)", l->names[end - 1]);
	return end == 0 ? strdup("Client") : end == row ? strdup("Agent") : bytes_printf("Proxy(%zu)", end - 1);
}

static int
name_hops(struct logs *l)
{
	static char successor[] = "successor";
	const struct chain *ch = l->route->chain;
	size_t row = row_hops(ch);

	l->nhops = row + ch->total - ch->n;
	l->names = calloc(l->nhops + 1, sizeof(*l->names));
	l->ends = calloc(2 * l->nhops + 1, sizeof(*l->ends));
	if (!l->names || !l->ends)
		return -1;
	if (!ch->has_agent)
		l->names[ch->n] = successor;
	for (size_t i = 0; i < ch->total; i++)
		l->names[i < ch->n ? i : i - ch->n + row] = ch->components[i].name;
	for (size_t hop = 0; hop < l->nhops; hop++) {
		char *above = end_name(l, hop < row ? hop : ch->components[hop - row + ch->n].owner + 1), *below = end_name(l, hop + 1);

		if (above && below) {
			l->ends[2 * hop + ACP_DOWN] = bytes_printf(",\"from\":\"%s\",\"to\":\"%s\"", above, below);
			l->ends[2 * hop + ACP_UP] = bytes_printf(",\"from\":\"%s\",\"to\":\"%s\"", below, above);
		}
		free(above);
		free(below);
		if (!l->ends[2 * hop] || !l->ends[2 * hop + 1])
			return -1;
	}
	return 0;
}

struct logs *
logs_open(struct route *r, const char *trace_path, const char *record_path, char **why)
{
	struct logs *l = calloc(1, sizeof(*l));
	struct log_spec trace = {.path = trace_path}, record = {.path = record_path, .begin = begin, .arg = l};
	struct timespec now;

	*why = NULL;
	if (!l)
		return NULL;
	l->route = r;
	clock_gettime(CLOCK_REALTIME, &now);
	l->started = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	l->began = loop_clock();
	l->flush = (struct loop_task){.run = flush, .arg = l};
	for (size_t i = 0; i < FILES; i++) {
		l->watches[i] = (struct loop_fd){.fd = -1, .events = POLLOUT, .ready = writable, .arg = l};
		loop_add_fd(r->chain->loop, &l->watches[i]);
	}
	if (name_hops(l) < 0 || (trace_path && !(l->files[TRACE] = log_open(&trace, why))) ||
		(record_path && !(l->files[RECORD] = log_open(&record, why)))) {
		logs_close(l);
		return NULL;
	}
	if (record_path) {
		r->chain->report.on_line = on_stderr;
		r->chain->report.arg = l;
	}
	return l;
}

/* --- trace --- */

static void
put_member(struct buf *b, const char *before, struct slice value)
{
	if (value.p) {
		buf_add_string(b, before);
		buf_add_slice(b, value);
	}
}

static void
put_event(struct logs *l, const struct msg *m, size_t hop, enum acp_direction dir, uint64_t t, struct slice session)
{
	static const char *const begins[] = {"", "{\"type\":\"request\",\"ts\":", "{\"type\":\"notification\",\"ts\":",
		"{\"type\":\"response\",\"ts\":", ""};
	struct buf *b = log_buf(l->files[TRACE]);
	struct slice method = m->method, params = m->params, inner = {NULL, 0};
	char ts[RECORDING_TIME];

	if (m->what == ACP_MCP_MESSAGE)
		inner = json_get_string(params, "method");
	if (inner.p) {
		method = inner;
		params = json_get(params, "params");
	}
	/* By hand, because printf took most of the time that a message costs here. */
	buf_add_string(b, begins[m->kind]);
	buf_add_slice(b, slice_between(ts, recording_put_time(ts, t)));
	if (m->kind != MSG_RESPONSE)
		buf_add_string(b, inner.p ? ",\"protocol\":\"mcp\"" : ",\"protocol\":\"acp\"");
	buf_add_string(b, l->ends[2 * hop + dir]);
	put_member(b, ",\"id\":", m->id);
	if (m->kind == MSG_RESPONSE) {
		buf_add_string(b, m->error.p ? ",\"is_error\":true" : ",\"is_error\":false");
		put_member(b, ",\"payload\":", m->error.p ? m->error : m->result);
	} else {
		put_member(b, ",\"method\":", method);
		put_member(b, ",\"session\":", session);
		put_member(b, ",\"params\":", params.p ? params : slice_of("null"));
	}
	buf_add_string(b, "}\n");
	log_end_record(l->files[TRACE]);
}

/* --- both --- */

/* Records a message. below: the neighbour on the agent's side; above: the one on the client's side. */
static size_t
hop_of(const struct port *above, const struct port *below)
{
	const struct chain *ch = above->route->chain;

	return port_peer(below) ? row_hops(ch) + chain_index(below->component) - ch->n : above->hop;
}

void
logs_message(struct logs *l, const struct port *from, const struct port *to, enum acp_direction dir, struct slice text,
	const struct splices *s, const struct msg *plain, struct slice session)
{
	uint64_t t;
	size_t hop;

	if (!l)
		return;
	hop = dir == ACP_DOWN ? hop_of(from, to) : hop_of(to, from);
	t = loop_clock() - l->began;
	flush_later(l);
	l->text.n = 0;
	if (l->files[RECORD] && (s->n == 0 || splice_write(text, s->at, s->n, &l->text) == 0)) {
		recording_put_message(log_buf(l->files[RECORD]), t, (int)hop, dir == ACP_DOWN ? ACP_CLIENT : ACP_AGENT,
			s->n ? buf_slice(&l->text) : text);
		log_end_record(l->files[RECORD]);
	}
	if (l->files[TRACE])
		put_event(l, plain, hop, dir, t, session.p || plain->kind == MSG_RESPONSE ? session : msg_session(plain));
}

void
logs_noise(struct logs *l, const struct port *from, struct slice text)
{
	bool down = from->kind == PORT_ABOVE || from->kind == PORT_OUTER;
	const struct port *hop = down ? from : from->next[ACP_UP];

	if (!l || !hop || !l->files[RECORD])
		return;
	flush_later(l);
	recording_put(log_buf(l->files[RECORD]), (int)hop_of(hop, from), &(struct record){.kind = RECORD_NOISE,
		.t = loop_clock() - l->began, .from = down ? ACP_CLIENT : ACP_AGENT, .text = text});
	log_end_record(l->files[RECORD]);
}

int
logs_close(struct logs *l)
{
	int r = 0;

	if (!l)
		return 0;
	l->route->chain->report.on_line = NULL;
	loop_remove_task(l->route->chain->loop, &l->flush);
	for (size_t i = 0; i < FILES; i++) {
		loop_remove_fd(l->route->chain->loop, &l->watches[i]);
		if (l->files[i] && log_close(l->files[i], WAIT_MS) < 0)
			r = -1;
	}
	for (size_t i = 0; l->ends && l->ends[i]; i++)
		free(l->ends[i]);
	free(l->ends);
	free(l->names);
	buf_free(&l->text);
	free(l);
	return r;
}
