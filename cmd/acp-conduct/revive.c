#include "revive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash.h"
#include "link.h"
#include "patience.h"
#include "relay.h"
#include "supervise.h"

enum {
	FIRST_LOOK = 1000,      /* us between two looks at a group that was killed: at first ... */
	LAST_LOOK = 100 * 1000, /* ... and when it takes long */
};

static const char *const lane_names[LANES] = {"down", "up"};

/* One lane of a filter that has died: before → to → in, its process, out → from → behind. */
struct detour {
	struct component *component;
	enum lane lane;
	struct link *before, *behind; /* its neighbours' */
	struct link in, out;          /* its own */
	struct relay *to, *from;      /* NULL: none yet */
	bool closed;                  /* what is behind has seen the end of the lane */
};

struct revival {
	struct detour detours[LANES]; /* component is NULL where it does not stand in that lane */
	uint64_t restarts;
	uint64_t pause;   /* us until the next look at its group */
	int status;       /* of the death that is being mended */
	bool taken_out;
};

/* --- ends of what is carried --- */

/*
 * Its output in a lane has ended. That is the lane's end when it has read its input to the end, or will not be
 * started again. Otherwise it is about to die: then this is not what it looks like.
 */
static void
try_end(struct detour *d)
{
	const struct component *c = d->component;

	if (c->life >= LIFE_ENDED || (c->life == LIFE_RUNS && link_has_ended(&d->in) && link_unread(&d->in) == 0))
		relay_end(d->from);
}

static void
on_to(void *arg, struct relay *r, enum relay_event event)
{
	struct detour *d = arg;
	struct component *c = d->component;

	if (event == RELAY_DROPPED) {
		report_say(&c->chain->report, "%s: %s: dropped the rest of a line that it had half read (%llu bytes)", c->name,
			lane_names[d->lane], (unsigned long long)r->dropped);
		return;
	}
	d->before->ended = true;
	patience_renew(c->chain);
	if (event == RELAY_ENDED)
		relay_end(r);
	else
		chain_close(&d->before->rd);
}

static void
on_from(void *arg, struct relay *r, enum relay_event event)
{
	struct detour *d = arg;
	struct component *c = d->component;

	switch (event) {
	case RELAY_DROPPED:
		on_to(arg, r, event);
		break;
	case RELAY_ENDED:
		try_end(d);
		break;
	case RELAY_OVER:
		d->out.ended = true;
		chain_close(&d->out.rd);
		chain_close(&d->behind->wr);
		if (c->revival->taken_out)
			chain_close(&d->before->rd);
		supervise_settle(c->chain);
	}
}

void
revive_ended(struct component *c)
{
	struct detour *d;
	enum lane lane;

	for (lane = LANE_DOWN; c->revival && lane < LANES; lane++) {
		d = &c->revival->detours[lane];
		if (!d->from || d->from->over)
			continue;
		/* Somebody out of reach may hold the pipe: what he has written so far is all that goes on. */
		if (c->life == LIFE_GONE && !c->revival->taken_out) {
			relay_drain(d->from);
			relay_end(d->from);
		} else if (d->from->ended) {
			try_end(d);
		}
	}
}

bool
revive_over(const struct chain *ch)
{
	const struct revival *v;
	enum lane lane;
	size_t i;

	for (i = 0; i < ch->n && !ch->forced; i++) {
		v = ch->components[i].revival;
		for (lane = LANE_DOWN; v && lane < LANES; lane++)
			if (v->detours[lane].from && !v->detours[lane].from->over)
				return false;
	}
	return true;
}

uint64_t
revive_progress(const struct chain *ch)
{
	const struct detour *d;
	uint64_t h = 0;
	enum lane lane;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		for (lane = LANE_DOWN; ch->components[i].revival && lane < LANES; lane++) {
			d = &ch->components[i].revival->detours[lane];
			if (d->to)
				h = h * 1000003 + d->to->to.written + (uint64_t)link_unread(&d->in);
			if (d->from)
				h = h * 1000003 + d->from->to.written;
		}
	}
	return h;
}

uint64_t
revive_restarts(const struct component *c)
{
	return c->revival ? c->revival->restarts : 0;
}

/* --- making detours --- */

static int
copy_of(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 8);
}

/* A relay that writes to fd, which it takes over; -1 has failed before. */
static struct relay *
new_relay(struct detour *d, int fd, void (*event)(void *, struct relay *, enum relay_event))
{
	return fd < 0 ? NULL : relay_new(d->component->chain->loop, fd, event, d);
}

/* Copies what is unread in its neighbour's pipe, from now on. 0 or -1. */
static int
read_before(struct detour *d, struct relay *r)
{
	struct chain *ch = d->component->chain;
	int fd;

	if (d->before->rd < 0) {
		relay_cut(r);
		return 0;
	}
	fd = copy_of(d->before->rd);
	if (fd < 0 || relay_read(r, fd) < 0)
		return -1;
	if (ch->signals > 0 && d->before == chain_client(ch, d->lane) && !ch->terminal.loop) {
		/* Such a client has left with what it has sent. */
		relay_drain(r);
		relay_cut(r);
	}
	return 0;
}

/* The way out of a lane, where there was none so far: whoever is behind begins with a new line. 0 or -1. */
static int
open_behind(struct detour *d)
{
	enum link_tail tail;

	if (d->from || d->closed)
		return 0;
	tail = link_tail(d->behind);
	d->from = new_relay(d, copy_of(d->behind->wr), on_from);
	if (!d->from)
		return -1;
	if (tail == LINK_TORN)
		report_say(&d->component->chain->report, "%s: %s: closed a line that it left torn", d->component->name,
			lane_names[d->lane]);
	return tail == LINK_WHOLE ? 0 : relay_write(d->from, slice("\n", 1));
}

/* Takes what the dead process has still written; its last line is closed. 0 or -1. */
static int
take_last_words(struct detour *d)
{
	if (!d->to || d->from->over)
		return 0;
	relay_drain(d->from);
	if (!d->from->to.torn || d->from->over)
		return 0;
	report_say(&d->component->chain->report, "%s: %s: closed a line that it left torn", d->component->name,
		lane_names[d->lane]);
	return relay_write(d->from, slice("\n", 1));
}

/* What it had not read, where nobody behind it waits for more. */
static void
give_up_lane(struct detour *d)
{
	struct component *c = d->component;
	uint64_t lost = (uint64_t)link_unread(d->before) + (uint64_t)link_unread(&d->in) + (d->to ? d->to->to.queued : 0);

	if (lost > 0)
		report_say(&c->chain->report, "%s: %s: %llu bytes that it had not read are lost: the lane has ended behind it", c->name,
			lane_names[d->lane], (unsigned long long)lost);
	chain_close(&d->before->rd);
	d->before->ended = true;
}

static void
close_own(struct detour *d)
{
	loop_remove_fd(d->component->chain->loop, &d->in.watch);
	chain_close(&d->in.rd);
	chain_close(&d->in.wr);
	chain_close(&d->out.rd);
	chain_close(&d->out.wr);
}

/* A lane that has ended has nothing to read, and nobody reads it. 0 or -1. */
static int
open_closed(struct detour *d)
{
	d->in.rd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	d->out.wr = open("/dev/null", O_WRONLY | O_CLOEXEC);
	d->in.ended = d->out.ended = true;
	return d->in.rd < 0 || d->out.wr < 0 ? -1 : 0;
}

/* Gives the heir what was carried for the dead process and never read. Closes what that had. 0 or -1. */
static int
pass_on(struct detour *d, struct relay *heir)
{
	int unread = d->to ? copy_of(d->in.rd) : -1;

	relay_judge(heir);
	if (d->to && (unread < 0 || relay_inherit(heir, d->to, unread) < 0))
		return -1;
	relay_free(d->to);
	d->to = NULL;
	close_own(d);
	d->before->relay = heir;
	return 0;
}

/* New pipes between the relays and the new process. 0 or -1. */
static int
open_own(struct detour *d)
{
	struct relay *heir;
	int in[2], out[2], fd;

	if (proc_pipe(in) < 0)
		return -1;
	heir = new_relay(d, in[1], on_to);
	if (!heir || pass_on(d, heir) < 0 || proc_pipe(out) < 0) {
		relay_free(heir);
		close(in[0]);
		return -1;
	}
	d->to = heir;
	d->in.rd = in[0];
	d->out.rd = out[0];
	d->out.wr = out[1];
	d->in.ended = d->out.ended = false;
	fd = copy_of(out[0]);
	if (fd < 0 || relay_read(d->from, fd) < 0)
		return -1;
	return read_before(d, heir);
}

/* Joins the neighbours. 0 or -1. */
static int
open_past(struct detour *d)
{
	if (pass_on(d, d->from) < 0)
		return -1;
	d->before->reader = NULL;
	return read_before(d, d->from);
}

/* 0, or -1 with errno. */
static int
renew(struct detour *d, bool past)
{
	d->closed = d->from ? d->from->over : d->behind->wr < 0;
	if (open_behind(d) < 0 || (!d->closed && take_last_words(d) < 0))
		return -1;
	if (!d->closed)
		return past ? open_past(d) : open_own(d);
	give_up_lane(d);
	relay_free(d->to);
	d->to = NULL;
	close_own(d);
	return past ? 0 : open_closed(d);
}

/* 0 or -1. */
static int
make_revival(struct component *c)
{
	struct link own = {.chain = c->chain, .rd = -1, .wr = -1};
	struct detour *d;
	enum lane lane;

	if (c->revival)
		return 0;
	c->revival = calloc(1, sizeof(*c->revival));
	if (!c->revival)
		return -1;
	for (lane = LANE_DOWN; lane < LANES; lane++) {
		if (!c->in[lane])
			continue;
		d = &c->revival->detours[lane];
		*d = (struct detour){.component = c, .lane = lane, .before = c->in[lane], .behind = c->out[lane], .in = own, .out = own};
		d->in.lane = d->out.lane = lane;
		d->in.reader = d->out.writer = c;
	}
	return 0;
}

/* 0, or -1 with errno. */
static int
renew_all(struct component *c, bool past)
{
	struct detour *d;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		d = &c->revival->detours[lane];
		if (!d->component)
			continue;
		if (renew(d, past) < 0)
			return -1;
		if (past)
			continue;
		c->in[lane] = &d->in;
		c->out[lane] = &d->out;
		d->out.relay = d->from;
	}
	return 0;
}

/* --- mending --- */

static void
bury(struct component *c)
{
	loop_bury(c->chain->loop, &c->child);
	proc_guardian_remove(&c->chain->guardian, c->pid);
	report_hang_up(&c->errors);
}

static bool
start_again(struct component *c)
{
	enum lane lane;

	if (renew_all(c, false) < 0) {
		report_say(&c->chain->report, "%s: %s", c->name, strerror(errno));
		return false;
	}
	c->told = false;
	if (chain_start_one(c->chain, c) != 0)
		return false;
	c->revival->restarts++;
	for (lane = LANE_DOWN; lane < LANES; lane++)
		if (c->in[lane] && supervise_watch(c->in[lane]) < 0)
			return false;
	return supervise_started(c->chain) == 0;
}

static void
mend(struct component *c)
{
	struct chain *ch = c->chain;
	char text[32];

	proc_describe(c->revival->status, text, sizeof(text));
	bury(c);
	if (!c->revival->taken_out) {
		report_say(&ch->report, "%s: died (%s); starting it again: what it had read and not passed on is lost", c->name, text);
		if (start_again(c)) {
			supervise_mended(ch);
			return;
		}
		report_say(&ch->report, "%s: cannot be started again", c->name);
	} else {
		report_say(&ch->report, "%s: died (%s); taken out of the chain: its neighbours are joined, and what it had read and not passed on is lost",
			c->name, text);
		if (renew_all(c, true) == 0) {
			c->life = LIFE_GONE;
			revive_ended(c);
			supervise_mended(ch);
			return;
		}
		report_say(&ch->report, "%s: %s", c->name, strerror(errno));
	}
	supervise_ends(c, c->revival->status);
}

/* Nothing is touched before all are gone that may still read or write. */
static void
look(void *arg)
{
	struct component *c = arg;
	struct revival *v = c->revival;

	if (c->chain->forced) {
		supervise_ends(c, v->status);
	} else if (proc_group_lives(c->pid)) {
		v->pause = v->pause * 2 < LAST_LOOK ? v->pause * 2 : LAST_LOOK;
		if (loop_add_timer(c->chain->loop, &c->mending, v->pause) < 0)
			supervise_ends(c, v->status);
	} else {
		mend(c);
	}
}

/* A file's reader has no end of input that could be told from its own. */
static bool
reads_a_file(const struct component *c)
{
	const struct link *l = c->in[LANE_DOWN];

	return l && l == chain_client(c->chain, LANE_DOWN) && S_ISREG(link_type(l->rd));
}

bool
revive_died(struct component *c, int status)
{
	struct chain *ch = c->chain;
	enum lane lane;
	bool too_often;

	if (c->on_crash == CRASH_FAIL || ch->forced || c->life != LIFE_RUNS)
		return false;
	if (reads_a_file(c)) {
		report_say(&ch->report, "%s: its input is a file: it is not started again", c->name);
		return false;
	}
	too_often = crash_too_often(c);
	if ((too_often && c->on_crash != CRASH_BYPASS) || make_revival(c) < 0)
		return false;
	c->revival->taken_out = too_often;
	c->revival->status = status;
	c->revival->pause = FIRST_LOOK;
	c->life = LIFE_MENDING;
	for (lane = LANE_DOWN; lane < LANES; lane++)
		if (c->in[lane])
			loop_remove_fd(ch->loop, &c->in[lane]->watch);
	proc_signal(c->pid, SIGKILL);
	report_drain(&c->errors);
	c->mending = (struct loop_timer){.expired = look, .arg = c};
	look(c);
	return true;
}

void
revive_free(struct chain *ch)
{
	struct component *c;
	enum lane lane;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		for (lane = LANE_DOWN; c->revival && lane < LANES; lane++) {
			relay_free(c->revival->detours[lane].to);
			relay_free(c->revival->detours[lane].from);
		}
		free(c->revival);
		c->revival = NULL;
	}
}
