#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "lib/cli.h"

enum {
	KILL_AFTER = 2 * 1000000, /* us between TERM and KILL */
	FIRST_LOOK = 5 * 1000,    /* us between two looks at a group whose leader has ended: at first ... */
	LAST_LOOK = 100 * 1000,   /* ... and when it takes long */
	SHORTEST_STEP = 20 * 1000, /* us between two looks at what moves */
	LONGEST_STEP = 500 * 1000,
};

static void settle(struct chain *);

/* What links tell */

static mode_t
type_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

/* What poll has to be asked for, so that it shows that nobody writes any more. */
static short
hangup_events(int fd)
{
	return type_of(fd) == S_IFSOCK ? POLLRDHUP : 0;
}

static bool
poll_shows(int fd, short events, short wanted)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) == 1 && (p.revents & wanted);
}

/* Will nobody write to it any more? Asked now: a component may have seen it before our loop did. */
static bool
has_ended(const struct link *l)
{
	return l->ended || (l->rd >= 0 &&
		poll_shows(l->rd, hangup_events(l->rd), POLLHUP | POLLRDHUP | POLLERR));
}

/* Does nobody read it any more? */
static bool
has_no_reader(const struct link *l)
{
	if (l->reader)
		return l->reader->life >= LIFE_ENDED;
	return l->wr < 0 || poll_shows(l->wr, 0, POLLERR | POLLHUP);
}

/* Bytes that wait in it for its reader. */
static int
unread(const struct link *l)
{
	int fd = l->rd >= 0 ? l->rd : l->wr, n = 0;
	unsigned long question = FIONREAD;

	if (fd < 0)
		return 0;
	if (l->rd < 0 && type_of(fd) == S_IFSOCK)
		question = SIOCOUTQ;
	return ioctl(fd, question, &n) < 0 ? 0 : n;
}

/* Patience: how long we wait for a chain that is ending */

static bool
pressed(const struct chain *ch)
{
	size_t i;

	for (i = 0; i < ch->n; i++)
		if (ch->components[i].sent == SIGTERM && ch->components[i].life != LIFE_GONE)
			return true;
	return false;
}

static void
wait_for(struct chain *ch, uint64_t us)
{
	/* Where there is no memory for a timer, a signal still ends us. */
	loop_add_timer(ch->loop, &ch->patience, us);
}

/* Looks again a little later: the grace period begins anew with everything that moves. */
static void
wait_a_step(struct chain *ch)
{
	uint64_t step = ch->grace / 10;

	if (step < SHORTEST_STEP)
		step = ch->grace ? SHORTEST_STEP : 0;
	wait_for(ch, step < LONGEST_STEP ? step : LONGEST_STEP);
}

/* How far everything is, as a number that changes with it. */
static uint64_t
progress(const struct chain *ch)
{
	uint64_t h = 0;
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	size_t i;

	for (i = 0; i < ch->nlinks; i++)
		h = h * 1000003 + (uint64_t)unread(&ch->links[i]);
	for (i = 0; i < ch->n; i++)
		h = h * 1000003 + (ch->components[i].life >= LIFE_ENDED);
	return h * 1000003 + (at < 0 ? 0 : (uint64_t)at);
}

/* The end begins, or has come further: all get the whole grace period again. */
static void
be_patient(struct chain *ch)
{
	ch->moved = progress(ch);
	ch->since = loop_clock();
	if (!ch->forced && !pressed(ch))
		wait_a_step(ch);
}

/* Is stdin a file that has not been read to its end? */
static bool
reads_a_file(const struct chain *ch)
{
	const struct link *l = &ch->links[0];
	struct stat st;

	return l->rd == STDIN_FILENO && fstat(l->rd, &st) == 0 && S_ISREG(st.st_mode) &&
		lseek(l->rd, 0, SEEK_CUR) < st.st_size;
}

/* Does what is on its way to the client wait for the client alone? */
static bool
client_is_slow(struct chain *ch)
{
	const struct link *l = chain_client(ch, LANE_UP);

	return chain_agent(ch)->life >= LIFE_ENDED && unread(l) > 0 && !has_no_reader(l);
}

static void
press(struct component *c)
{
	c->sent = c->sent ? SIGKILL : SIGTERM;
	proc_signal(c->pid, c->sent);
}

/* Does it hold up a lane: its input has ended, and its output goes on? The agent turns one into the other. */
static bool
is_due(const struct component *c)
{
	const struct link *in, *out;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		in = c->in[lane];
		out = c->kind == KIND_AGENT ? c->out[LANE_UP] : c->out[lane];
		if (in && has_ended(in) && !has_ended(out))
			return true;
	}
	return false;
}

/* Those that are in this stage of life, and of them perhaps only those that are due. */
static size_t
press_all(struct chain *ch, enum life life, bool due)
{
	struct component *c;
	size_t i, n = 0;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life != life || (life == LIFE_ENDED && c->sent == SIGKILL) || (due && !is_due(c)))
			continue;
		press(c);
		n++;
	}
	return n;
}

/*
 * What others left behind goes first, since it may be what the rest waits for; then who holds up a
 * lane; and where that is nobody, everybody.
 */
static void
press_next(struct chain *ch)
{
	if (ch->forced) {
		press_all(ch, LIFE_ENDED, false);
		press_all(ch, LIFE_RUNS, false);
		return;
	}
	if (press_all(ch, LIFE_ENDED, false) > 0 || client_is_slow(ch))
		return;
	if (press_all(ch, LIFE_RUNS, true) == 0)
		press_all(ch, LIFE_RUNS, false);
}

static void
patience_over(void *arg)
{
	struct chain *ch = arg;
	uint64_t moved = progress(ch), now = loop_clock();

	if (!ch->forced && !pressed(ch)) {
		if (moved != ch->moved || reads_a_file(ch))
			ch->since = now;
		ch->moved = moved;
		if (now - ch->since < ch->grace) {
			wait_a_step(ch);
			return;
		}
	}
	press_next(ch);
	ch->since = now;
	wait_for(ch, pressed(ch) ? KILL_AFTER : LONGEST_STEP);
}

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
	if (next && next->reader)
		chain_close(&next->wr);
	be_patient(l->chain);
}

static void
on_hangup(void *arg, short revents)
{
	(void)revents;
	link_ended(arg);
}

/* Watches for the ends of all inputs. 0, or -1 out of memory. */
static int
watch_links(struct chain *ch)
{
	struct link *l;
	mode_t type;
	size_t i;

	for (i = 0; i < ch->nlinks; i++) {
		l = &ch->links[i];
		if (l->rd < 0)
			continue;
		type = type_of(l->rd);
		/* A file never hangs up: it counts as ended from the start. */
		if (type != S_IFIFO && type != S_IFSOCK) {
			link_ended(l);
			continue;
		}
		l->watch = (struct loop_fd){.fd = l->rd, .events = hangup_events(l->rd), .ready = on_hangup,
			.arg = l};
		if (loop_add_fd(ch->loop, &l->watch) < 0)
			return -1;
	}
	/* In direct wiring the agent's death is an end of file, as is its closing of stdout. */
	chain_close(&chain_agent(ch)->out[LANE_UP]->wr);
	return 0;
}

/* Ends of components */

static bool
has_excuse(const struct component *c)
{
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++)
		if ((c->in[lane] && has_ended(c->in[lane])) || (c->out[lane] && has_no_reader(c->out[lane])))
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
	if (end == END_DEATH)
		report_say(&ch->report, "%s: died (%s); ending the chain", c->name, text);
	else if (end == END_STOPPED && c->sent && !ch->forced)
		report_say(&ch->report, "%s: did not end in time: stopped (%s)", c->name, text);
	else if (end == END_STOPPED && ch->signals)
		report_say(&ch->report, "%s: stopped (%s)", c->name, text);
	else if (end == END_IN_ORDER && c->kind != KIND_AGENT && proc_status(status) != 0)
		report_say(&ch->report, "%s: ended with %s", c->name, text);
	if (ch->verbose)
		report_say(&ch->report, "%s: %s, down - messages - bytes, up - messages - bytes", c->name, text);
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
		if (c->out[lane] && (c->out[lane]->reader || c->life == LIFE_GONE))
			chain_close(&c->out[lane]->wr);
	}
}

static void
on_ended(void *arg, int status)
{
	struct component *c = arg;
	struct chain *ch = c->chain;
	enum end end = judge(c, status);

	c->life = LIFE_ENDED;
	count_status(ch, c, end, status);
	tell_end(ch, c, end, status);
	let_go(c);
	loop_bury(ch->loop, &c->child);
	ch->pause = FIRST_LOOK;
	be_patient(ch);
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
		if (out->reader ? out->rd >= 0 && !has_ended(out) : c->kind != KIND_AGENT)
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
		press(c);
		wait_for(c->chain, KILL_AFTER);
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
		if (c->life != LIFE_RUNS || c->told || has_ended(c->in[LANE_DOWN]))
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
		if (ch->components[i].life == LIFE_RUNS || ch->components[i].life == LIFE_ENDED)
			return false;
	return true;
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
		loop_stop(ch->loop);
		return;
	}
	dismiss_down_filters(ch);
	if (!lingers)
		return;
	if (loop_add_timer(ch->loop, &ch->look, ch->pause) < 0)
		press_all(ch, LIFE_ENDED, false);
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
	press_next(ch);
	wait_for(ch, KILL_AFTER);
}

/*
 * The first signal: as if the client had left. The component that reads its messages holds its
 * stdin itself, and so has to be told; a filter takes its first SIGTERM just so.
 */
static void
client_leaves(struct chain *ch)
{
	struct link *l = chain_client(ch, LANE_DOWN);

	if (ch->terminal.loop) {
		terminal_close(&ch->terminal);
	} else {
		if (l->reader->life == LIFE_RUNS) {
			l->reader->told = true;
			proc_signal(l->reader->pid, SIGTERM);
		}
		link_ended(l);
	}
	be_patient(ch);
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
		if (c->life != LIFE_RUNS)
			continue;
		if (ch->verbose && !ch->forced)
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
	ch->patience.expired = patience_over;
	ch->look.expired = look_again;
	ch->patience.arg = ch->look.arg = ch;
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
