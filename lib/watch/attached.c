/* Streams that acp-share shares, several in one loop. What acp-share sends of each is a recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/attach/attach.h"
#include "lib/run/endpoint.h"
#include "lib/run/system.h"
#include "lib/watch/watch_parts.h"

struct watch_guest {
	struct watch *w;
	struct loop *loop;
	void (*over)(struct watch *, const char *why);
	struct attaching asked;
	struct loop_fd response;
	struct endpoint end;
	struct recording *records;
	enum attach_want want;
	bool begun;
};

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct watch_guest *g = arg;
	struct watch_start start = {0};
	struct record r;
	int e = watch_line(g->records, got, line, &r);

	if (e < 0)
		watch_fail(g->w);
	/* An acp-share that was killed ends within a line. */
	if (e || got == INPUT_TORN)
		return true;
	g->w->timed = r.timed;
	if (r.kind == RECORD_HEADER)
		start = (struct watch_start){.started = r.started, .header = r.raw, .continues = r.continues};
	if (r.kind == RECORD_HEADER || !g->begun)
		watch_begin(g->w, &start);
	g->begun = true;
	if (r.kind != RECORD_HEADER)
		watch_record(g->w, &r);
	return true;
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct watch_guest *g = arg;

	/* Nothing more waits to be read: all is shown. */
	if (event == ENDPOINT_READ && g->begun && g->w->tick && system_unread(g->end.in.io.fd) == 0)
		g->w->tick(g->w, 0, false);
	if (event != ENDPOINT_ENDED)
		return;
	if (g->begun)
		watch_end(g->w, WATCH_CUT);
	g->begun = false;
	g->over(g->w, g->end.in.error ? strerror(g->end.in.error) : NULL);
}

/* Reads acp-share's response to the request to attach, or a part of it. */
static void
on_response(void *arg, short revents)
{
	struct watch_guest *g = arg;
	struct attached to;
	char *why = NULL, hop[24];
	int r = attach_continue(&g->asked, &to, &why);

	(void)revents;
	if (r > 0)
		return;
	loop_remove_fd(g->loop, &g->response);
	attach_close(&g->asked);
	if (r == 0) {
		snprintf(hop, sizeof(hop), "%llu", (unsigned long long)to.hop);
		g->records = recording_of_lines(hop, g->w->frame->limit);
		if (endpoint_open(&g->end, g->loop, to.fd, g->want == ATTACH_WATCH ? -1 : to.fd, g->w->frame->limit + RECORDING_AROUND) < 0 || !g->records)
			why = strdup(strerror(errno));
	}
	if (r < 0 || why)
		g->over(g->w, why ? why : "out of memory");
	free(why);
}

struct watch_guest *
watch_attach(struct watch *w, struct loop *loop, const char *path, enum attach_want want,
	void (*over)(struct watch *, const char *), char **why)
{
	struct watch_guest *g = calloc(1, sizeof(*g));

	*why = NULL;
	if (!g || watch_open_sessions(w) < 0 || attach_begin(&g->asked, path, want, NULL, why) < 0) {
		free(g);
		return NULL;
	}
	g->w = w;
	g->loop = loop;
	g->over = over;
	g->want = want;
	g->end = (struct endpoint){.line = on_line, .event = on_event, .arg = g};
	g->response = (struct loop_fd){.fd = g->asked.fd, .events = POLLIN, .ready = on_response, .arg = g};
	loop_add_fd(loop, &g->response);
	return g;
}

int
watch_send(struct watch_guest *g, struct slice record)
{
	return endpoint_put(&g->end, NULL, record);
}

void
watch_detach(struct watch_guest *g)
{
	if (!g)
		return;
	if (g->response.added)
		loop_remove_fd(g->loop, &g->response);
	attach_close(&g->asked);
	endpoint_close(&g->end);
	recording_close(g->records);
	free(g);
}
