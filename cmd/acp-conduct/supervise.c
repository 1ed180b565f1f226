#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/cli.h"
#include "life.h"
#include "link.h"
#include "patience.h"
#include "relay.h"
#include "revive.h"

enum {
	FIRST_LOOK = 5 * 1000,  /* us between two looks at a group whose leader has ended: at first ... */
	LAST_LOOK = 100 * 1000, /* ... and when it takes long */
};

static void settle(struct chain *);

/* Ends of input */

static void
unwatch(struct link *l)
{
	loop_remove_fd(l->chain->loop, &l->watch);
}

/*
 * From now on its reader alone decides how long its own output in that lane goes on. Only the
 * client's own descriptor is kept until its writer is gone: it shows whether the client still reads.
 */
static void
link_ended(struct link *l)
{
	struct link *next = l->reader->out[l->lane];

	l->ended = true;
	unwatch(l);
	if (next && next != chain_client(l->chain, LANE_UP))
		chain_close(&next->wr);
	patience_renew(l->chain);
}

static void
on_hangup(void *arg, short revents)
{
	(void)revents;
	link_ended(arg);
}

int
supervise_watch(struct link *l)
{
	mode_t type;

	if (l->rd < 0 || l->watch.added || l->ended)
		return 0;
	type = link_type(l->rd);
	/* A file never hangs up: it counts as ended from the start. */
	if (type != S_IFIFO && type != S_IFSOCK) {
		link_ended(l);
		return 0;
	}
	l->watch = (struct loop_fd){.fd = l->rd, .events = link_hangup_events(l->rd), .ready = on_hangup, .arg = l};
	return loop_add_fd(l->chain->loop, &l->watch);
}

/* Watches for the ends of all inputs, but for what a relay reads, or will. 0, or -1 out of memory. */
static int
watch_links(struct chain *ch)
{
	struct link *l;
	size_t i;

	for (i = 0; i < ch->nlinks; i++) {
		l = &ch->links[i];
		if (l->relay || (l->reader && l->reader->life == LIFE_MENDING))
			continue;
		if (supervise_watch(l) < 0)
			return -1;
	}
	/* In direct wiring the agent's death is an end of file, as is its closing of stdout. */
	if (!ch->route)
		chain_close(&chain_agent(ch)->out[LANE_UP]->wr);
	return 0;
}

/* Ends of components */

static bool
has_excuse(const struct component *c)
{
	enum lane lane;

	if (c->kind == KIND_PROXY)
		return life_is_dismissed(c);
	for (lane = LANE_DOWN; lane < LANES; lane++)
		if ((c->in[lane] && link_has_ended(c->in[lane])) ||
			(c->out[lane] && link_has_no_reader(c->out[lane])))
			return true;
	return false;
}

/* Why a component ended, as far as it concerns us. */
enum end {
	END_IN_ORDER,
	END_STOPPED,   /* we did it: counts as 0 */
	END_UNREAD,    /* SIGPIPE, since nobody reads its output any more */
	END_DEATH,
};

static enum end
judge(const struct component *c, int status)
{
	int counts = proc_status(status);

	if (c->sent || (c->told && counts == 128 + SIGTERM))
		return END_STOPPED;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && has_excuse(c))
		return END_UNREAD;
	if (WIFSIGNALED(status))
		return END_DEATH;
	return c->kind == KIND_AGENT || has_excuse(c) ? END_IN_ORDER : END_DEATH;
}

/* The exit status is the agent's; where that is 0, the first of the others' that is not. */
static void
count_status(struct chain *ch, const struct component *c, enum end end, int status)
{
	int counts = proc_status(status);

	if (end == END_STOPPED || (end == END_UNREAD && c->kind != KIND_AGENT))
		return;
	if (end == END_DEATH && counts == 0)
		counts = EXIT_FAILED;
	if (c->kind == KIND_AGENT)
		ch->agent_status = counts;
	else if (ch->other_status == 0)
		ch->other_status = counts;
}

static void
tell_end(struct chain *ch, const struct component *c, enum end end, int status)
{
	char text[32];

	proc_describe(status, text, sizeof(text));
	if (end == END_DEATH && c->kind != KIND_PROXY)
		report_say(&ch->report, "%s: died (%s); ending the chain", c->name, text);
	else if (end == END_STOPPED && c->sent && !ch->forced)
		report_say(&ch->report, "%s: did not end in time: stopped (%s)", c->name, text);
	else if (end == END_STOPPED && ch->signals)
		report_say(&ch->report, "%s: stopped (%s)", c->name, text);
	else if (end == END_IN_ORDER && c->kind != KIND_AGENT && proc_status(status) != 0)
		report_say(&ch->report, "%s: ended with %s", c->name, text);
	if (!ch->verbose)
		return;
	if (c->port)
		life_sum_up(c, text);
	else if (c->kind == KIND_AGENT)
		report_say(&ch->report, "%s: %s, down - messages - bytes, up - messages - bytes", c->name, text);
	else
		report_say(&ch->report, "%s: %s, down - messages - bytes, up - messages - bytes, %llu restarts", c->name, text,
			(unsigned long long)revive_restarts(c));
}

/* Lets go of our copies of its own ends: its neighbours see an end of input, or that nobody reads. */
static void
let_go(struct component *c)
{
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		if (c->in[lane]) {
			unwatch(c->in[lane]);
			chain_close(&c->in[lane]->rd);
		}
		if (c->out[lane] && (c->out[lane] != chain_client(c->chain, LANE_UP) || c->life == LIFE_GONE))
			chain_close(&c->out[lane]->wr);
	}
	revive_ended(c);
}

static void
end_component(struct component *c, enum end end, int status)
{
	struct chain *ch = c->chain;

	c->life = LIFE_ENDED;
	count_status(ch, c, end, status);
	tell_end(ch, c, end, status);
	let_go(c);
	if (c->child.added)
		loop_bury(ch->loop, &c->child);
	if (ch->route)
		life_component_ended(c, status);
	ch->pause = FIRST_LOOK;
	patience_renew(ch);
	settle(ch);
}

static void
on_ended(void *arg, int status)
{
	struct component *c = arg;
	enum end end = judge(c, status);

	if (end == END_DEATH && (c->kind == KIND_PROXY ? life_died(c, status) : c->kind < KIND_PROXY && revive_died(c, status)))
		return;
	end_component(c, end, status);
}

void
supervise_ends(struct component *c, int status)
{
	end_component(c, END_DEATH, status);
}

void
supervise_mended(struct chain *ch)
{
	settle(ch);
}

/* What is left when a process has ended */

/*
 * May others of its group still hold what the chain waits for? Where that cannot be seen, on the
 * client's own descriptor, a filter is given the benefit of the doubt.
 */
static bool
may_hold_links(const struct component *c)
{
	const struct link *out;
	enum lane lane;

	if (c->errors.open)
		return true;
	for (lane = LANE_DOWN; lane < LANES; lane++) {
		out = c->out[lane];
		if (!out)
			continue;
		if (out->reader || out->relay ? out->rd >= 0 && !link_has_ended(out) : c->kind != KIND_AGENT)
			return true;
	}
	return false;
}

/* A process has ended; are others of its group left? */
static void
look_at_group(struct component *c)
{
	if (!proc_group_lives(c->pid)) {
		c->life = LIFE_GONE;
		let_go(c);
		proc_guardian_remove(&c->chain->guardian, c->pid);
		report_hang_up(&c->errors);
	} else if (!c->sent && !may_hold_links(c)) {
		patience_press(c);
	}
}

/*
 * What is left, once the agent has ended, when all others are down filters: they write for nobody,
 * and the client may keep their input open for ever.
 */
static void
dismiss_down_filters(struct chain *ch)
{
	struct component *c;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->kind == KIND_DOWN ? c->life == LIFE_NONE : c->life < LIFE_GONE)
			return;
	}
	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life != LIFE_RUNS || c->told || link_has_ended(c->in[LANE_DOWN]))
			continue;
		c->told = true;
		proc_signal(c->pid, SIGTERM);
	}
}

static bool
all_gone(const struct chain *ch)
{
	size_t i;

	for (i = 0; i < ch->n; i++)
		if (ch->components[i].life != LIFE_NONE && ch->components[i].life != LIFE_GONE)
			return false;
	return revive_over(ch);
}

static void
settle(struct chain *ch)
{
	struct component *c;
	bool lingers = false;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life == LIFE_ENDED)
			look_at_group(c);
		lingers = lingers || c->life == LIFE_ENDED;
	}
	if (all_gone(ch)) {
		if (!ch->route || life_over(ch->route))
			loop_stop(ch->loop);
		return;
	}

	if (!ch->route)
		dismiss_down_filters(ch);
	if (!lingers)
		return;
	/* Without memory for a timer, patience still looks after what lingers. */
	loop_add_timer(ch->loop, &ch->look, ch->pause);
}

static void
look_again(void *arg)
{
	struct chain *ch = arg;

	ch->pause = ch->pause * 2 < LAST_LOOK ? ch->pause * 2 : LAST_LOOK;
	settle(ch);
}

/* From outside */

static void
force(struct chain *ch, int status)
{
	if (!ch->forced)
		ch->forced = status;
	patience_force(ch);
}

/*
 * The first signal: as if the client had left. The component that reads its messages holds its
 * stdin itself, and so has to be told; a filter takes its first SIGTERM just so.
 */
static void
client_leaves(struct chain *ch)
{
	struct link *l = chain_client(ch, LANE_DOWN);

	if (!l) {
		life_client_left(ch->route);
	} else if (ch->terminal.loop) {
		terminal_close(&ch->terminal);
	} else if (l->relay) {
		relay_cut(l->relay);
	} else if (l->reader->life == LIFE_MENDING) {
		l->ended = true; /* once it is mended */
	} else {
		if (l->reader->life == LIFE_RUNS) {
			l->reader->told = true;
			proc_signal(l->reader->pid, SIGTERM);
		}
		link_ended(l);
	}
	patience_renew(ch);
}

void
supervise_signal(void *arg, int signal)
{
	struct chain *ch = arg;

	if (ch->signals++ == 0)
		client_leaves(ch);
	else
		force(ch, 128 + signal);
}

static int
watch_components(struct chain *ch)
{
	struct component *c;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life != LIFE_RUNS || c->child.added)
			continue;
		if (ch->verbose && c->kind != KIND_PROXY && !ch->forced)
			report_say(&ch->report, "%s: pid %ld, %s", c->name, (long)c->pid, chain_kind(c->kind));
		c->child = (struct loop_child){.pid = c->pid, .ended = on_ended, .arg = c};
		if (loop_add_child(ch->loop, &c->child) < 0)
			return -1;
	}
	return 0;
}

static void
set_timers(struct chain *ch)
{
	patience_start(ch);
	ch->look.expired = look_again;
	ch->look.arg = ch;
}

int
supervise_started(struct chain *ch)
{
	return watch_components(ch) < 0 || watch_links(ch) < 0 ? -1 : 0;
}

void
supervise_settle(struct chain *ch)
{
	if (all_gone(ch) && (!ch->route || life_over(ch->route)))
		loop_stop(ch->loop);
}

int
supervise(struct chain *ch)
{
	set_timers(ch);
	if (watch_components(ch) < 0 || watch_links(ch) < 0 || loop_run(ch->loop) < 0) {
		report_say(&ch->report, "%s", strerror(errno));
		supervise_failed_start(ch, EXIT_FAILED);
	}
	if (ch->forced)
		return ch->forced;
	return ch->agent_status ? ch->agent_status : ch->other_status;
}

void
supervise_failed_start(struct chain *ch, int status)
{
	size_t i;

	set_timers(ch);
	for (i = 0; i < ch->n; i++)
		let_go(&ch->components[i]);
	force(ch, status);
	if (watch_components(ch) < 0)
		return; /* the guardian ends them */
	if (!all_gone(ch))
		loop_run(ch->loop);
}
