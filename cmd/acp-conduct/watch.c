#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/recording.h"
#include "preface.h"

enum {
	LAST_MS = 2000,  /* how long the end of a chain waits for those who read ... */
	STILL_MS = 250,  /* ... and for one who does not */
};

struct hop {
	uint64_t messages[LANES];
	size_t watchers;
	struct preface preface;
};

struct watch {
	struct loop *loop;
	char *const *names;
	struct hop *hops;
	size_t nhops;
	struct watcher *watchers; /* of all hops */
	uint64_t began;
	double started;
	struct buf plain, record;
	bool dirty;
};

struct watch *
watch_new(struct loop *loop, char *const *names, size_t n, uint64_t began, double started)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct watch){.loop = loop, .names = names, .nhops = n, .began = began, .started = started};
	w->hops = calloc(n, sizeof(*w->hops));
	if (w->hops)
		return w;
	free(w);
	return NULL;
}

/* --- one watcher --- */

void
watch_remove(struct watcher *r)
{
	struct watch *w = r->watch;

	loop_remove_fd(w->loop, &r->writable);
	output_close(&r->out);
	DL_DELETE(w->watchers, r);
	w->hops[r->hop].watchers--;
	free(r);
}

static void
leave(struct watcher *r)
{
	void (*changed)(void *, bool) = r->changed;
	void *arg = r->arg;

	watch_remove(r);
	if (changed)
		changed(arg, true);
}

/* Once there is room again. */
static void
tell_lost(struct watcher *r)
{
	struct buf record = {0};

	if (r->lost == 0 || r->out.queued > WATCH_QUEUE / 2)
		return;
	if (recording_put_lost(&record, watch_time(r->watch), (int)r->hop, ACP_UNKNOWN, r->lost, "its reader is too slow") == 0 &&
		output_copy(&r->out, buf_slice(&record)) == 0) {
		r->lost = 0;
		r->losing = false;
	}
	buf_free(&record);
}

static void
copy_to(struct watcher *r, struct slice record)
{
	tell_lost(r);
	if (!r->losing && r->out.queued <= WATCH_QUEUE && output_copy(&r->out, record) == 0)
		return;
	r->losing = true;
	r->lost++;
}

/* Writes what he can take. False: he has left. */
static bool
flush_one(struct watcher *r)
{
	int waits = output_flush(&r->out);

	if (waits == 0 && r->lost > 0) {
		tell_lost(r);
		waits = output_flush(&r->out);
	}
	loop_watch(r->watch->loop, &r->writable, waits == 1 ? POLLOUT : 0);
	return waits >= 0;
}

/* There is room; or the other end is closed. */
static void
writable(void *arg, short revents)
{
	struct watcher *r = arg;

	if ((revents & (POLLERR | POLLHUP)) || !flush_one(r))
		leave(r);
	else if (r->changed)
		r->changed(r->arg, false);
}

static int
begin(struct watcher *r)
{
	struct watch *w = r->watch;
	struct buf text = {0};
	int status = -1;

	if (recording_put_header(&text, w->started, "acp-conduct " VERSION, NULL, w->names) == 0 &&
		preface_put(&w->hops[r->hop].preface, (int)r->hop, &text) == 0)
		status = output_copy(&r->out, buf_slice(&text));
	buf_free(&text);
	w->dirty = true;
	return status;
}

struct watcher *
watch_add(struct watch *w, size_t hop, int fd)
{
	struct watcher *r = calloc(1, sizeof(*r));
	struct output out;

	if (output_open(&out, fd) < 0 || !r) {
		output_close(&out);
		free(r);
		return NULL;
	}
	*r = (struct watcher){.watch = w, .hop = hop, .out = out};
	r->writable = (struct loop_fd){.fd = out.io.fd, .ready = writable, .arg = r};
	DL_APPEND(w->watchers, r);
	w->hops[hop].watchers++;
	if (begin(r) == 0 && loop_add_fd(w->loop, &r->writable) == 0)
		return r;
	watch_remove(r);
	errno = ENOMEM;
	return NULL;
}

int
watch_tell(struct watcher *r, struct slice record)
{
	r->watch->dirty = true;
	return output_copy(&r->out, record);
}

/* --- what goes by --- */

/* Gives them the record that has been built, if it could be. */
static void
copy_to_all(struct watch *w, size_t hop, int built, const struct watcher *except)
{
	struct watcher *r;

	w->dirty = true;
	DL_FOREACH(w->watchers, r) {
		if (r->hop != hop || r == except)
			continue;
		if (built == 0)
			copy_to(r, buf_slice(&w->record));
		else
			r->lost++;
	}
	w->record.n = 0;
}

void
watch_message(struct watch *w, size_t hop, enum lane lane, struct slice text, const struct splices *s, const struct msg *plain,
	struct slice session, const struct watcher *except)
{
	struct hop *h = &w->hops[hop];
	bool wanted = preface_wants(plain);
	enum acp_side from = lane == LANE_DOWN ? ACP_CLIENT : ACP_AGENT;
	int r = 0;

	h->messages[lane]++;
	if (!wanted && h->watchers == 0)
		return;
	if (s->n) {
		w->plain.n = 0;
		r = splice_write(text, s->at, s->n, &w->plain);
		text = buf_slice(&w->plain);
	}
	if (wanted && r == 0)
		preface_see(&h->preface, lane, watch_time(w), text, plain, session);
	if (h->watchers > 0 && r == 0)
		r = recording_put_message(&w->record, watch_time(w), (int)hop, from, text);
	if (h->watchers > 0)
		copy_to_all(w, hop, r, except);
}

void
watch_noise(struct watch *w, size_t hop, enum acp_side from, struct slice text)
{
	if (w->hops[hop].watchers > 0)
		copy_to_all(w, hop, recording_put_noise(&w->record, watch_time(w), (int)hop, from, text), NULL);
}

void
watch_flush(struct watch *w)
{
	struct watcher *r, *next;

	if (!w->dirty)
		return;
	w->dirty = false;
	DL_FOREACH_SAFE(w->watchers, r, next) {
		/* Where it is full the loop says when there is room again. */
		if (r->writable.events != POLLOUT && !flush_one(r))
			leave(r);
	}
}

/* --- what can be asked --- */

uint64_t
watch_time(const struct watch *w)
{
	return loop_clock() - w->began;
}

double
watch_started(const struct watch *w)
{
	return w->started;
}

size_t
watch_hops(const struct watch *w)
{
	return w->nhops;
}

char *const *
watch_names(const struct watch *w)
{
	return w->names;
}

size_t
watch_count(const struct watch *w)
{
	size_t i, n = 0;

	for (i = 0; i < w->nhops; i++)
		n += w->hops[i].watchers;
	return n;
}

uint64_t
watch_messages(const struct watch *w, size_t hop, enum lane lane)
{
	return w->hops[hop].messages[lane];
}

size_t
watch_sessions(const struct watch *w, size_t hop)
{
	return preface_sessions(&w->hops[hop].preface);
}

/* --- the end --- */

/* The rest is for him as long as he reads. */
static void
give_rest(struct watcher *r, uint64_t end)
{
	struct pollfd p = {.fd = r->out.io.fd, .events = POLLOUT};

	while (flush_one(r) && r->out.queued > 0 && loop_clock() < end && poll(&p, 1, STILL_MS) > 0)
		;
}

void
watch_free(struct watch *w)
{
	uint64_t end = loop_clock() + LAST_MS * 1000;
	struct watcher *r;
	size_t i;

	if (!w)
		return;
	while ((r = w->watchers)) {
		give_rest(r, end);
		watch_remove(r);
	}
	for (i = 0; i < w->nhops; i++)
		preface_free(&w->hops[i].preface);
	free(w->hops);
	buf_free(&w->plain);
	buf_free(&w->record);
	free(w);
}
