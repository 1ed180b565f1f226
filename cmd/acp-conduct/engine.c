/* Runs a chain: its start, the steps of its end, signals, the guardian, and the exit status. */
#include "chain.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "lib/base/cli.h"
#include "life.h"

enum { CLIENT_STEP = 500 * 1000 /* us between two checks of a client that reads slowly */ };

/* Have all processes of all components gone? */
static bool
all_gone(const struct chain *ch)
{
	for (size_t i = 0; i < ch->total; i++)
		if (!life_is_over(&ch->components[i]))
			return false;
	return true;
}

static void
follow(void *arg)
{
	struct chain *ch = arg;

	ch->flow->proceed(ch, false);
	if (all_gone(ch) && (!ch->route || ch->flow->is_over(ch)))
		loop_stop(ch->loop);
}

/* --- signals --- */

/* Signals the components in these states; holding: only those that hold up a direction. Returns how many it has signalled. */
static size_t
signal_all(struct chain *ch, bool running, bool holding)
{
	struct component *c, *end = ch->components + ch->total;
	size_t n = 0;

	/* First chooses all, because the end of one component makes the next one seem to hold up a direction. */
	for (c = ch->components; c < end; c++)
		c->process.due = (running ? life_runs(c) : c->life == LIFE_ENDED && c->process.signal_sent != SIGKILL) &&
			(!holding || ch->flow->holds_up(c));
	for (c = ch->components; c < end; c++) {
		if (c->process.due)
			life_signal(c);
		n += c->process.due;
	}
	return n;
}

/*
 * Sends the next signals: to process groups that have outlived their component, because others may wait for them; where there are none,
 * to the components that hold up a direction; where there are none, to all components.
 */
static void
signal_next(struct chain *ch)
{
	if (ch->end.forced || ch->end.steps > 3) {
		signal_all(ch, false, false);
		signal_all(ch, true, false);
	} else if (signal_all(ch, false, false) == 0 && signal_all(ch, true, true) == 0 && ch->end.steps > 1) {
		signal_all(ch, true, false);
	}
}

static void
force(struct chain *ch, int status)
{
	if (!ch->end.forced)
		ch->end.forced = status;
	signal_next(ch);
	loop_add_timer(ch->loop, &ch->end.timer, END_KILL_AFTER);
	end_follow(ch);
}

/* --- the deadline --- */

static void
expired(void *arg)
{
	struct chain *ch = arg;
	struct end *e = &ch->end;

	/* Even a client that does not read does not hold a chain that was forced to end. */
	if (e->forced && all_gone(ch)) {
		loop_stop(ch->loop);
	} else if (!e->forced && end_idle(ch) < end_period(ch)) {
		end_wait(ch);
	} else if (!e->forced && ch->flow->is_client_slow(ch)) {
		e->progress_at = loop_clock();
		signal_all(ch, false, false);
		loop_add_timer(ch->loop, &e->timer, CLIENT_STEP);
	} else {
		e->progress_at = loop_clock();
		e->steps++;
		if (!e->forced && ch->flow->proceed(ch, true)) {
			end_wait(ch);
		} else {
			signal_next(ch);
			loop_add_timer(ch->loop, &e->timer, END_KILL_AFTER);
		}
		end_follow(ch);
	}
}

/* --- from outside --- */

/* Takes the first signal as the client's leaving. */
void
engine_signal(void *arg, int signal)
{
	struct chain *ch = arg;

	if (ch->end.signals++ == 0)
		ch->flow->client_left(ch);
	else
		force(ch, 128 + signal);
	end_follow(ch);
}

/* --- the guardian --- */

static void watch_guardian(struct chain *);

/* Starts another guardian in the place of one that has died. A guardian ends the components if acp-conduct is killed. */
static void
guardian_died(void *arg, int status)
{
	struct chain *ch = arg;

	(void)status;
	loop_reap(ch->loop, &ch->guardian_watch);
	proc_close(ch->guardian.fd);
	if (proc_guardian_start(&ch->guardian) < 0) {
		report_line(&ch->report, "cannot restart the guardian process; if acp-conduct is killed, components may keep running");
		return;
	}
	watch_guardian(ch);
	for (size_t i = 0; i < ch->total; i++)
		if (!life_is_over(&ch->components[i]))
			proc_guardian_add(&ch->guardian, ch->components[i].process.pid);
}

static void
watch_guardian(struct chain *ch)
{
	ch->guardian_watch = (struct loop_child){.pid = ch->guardian.pid, .ended = guardian_died, .arg = ch};
	loop_add_child(ch->loop, &ch->guardian_watch);
}

/* --- the run --- */

/* Ends a chain in which a component could not be started. */
static void
failed_start(struct chain *ch, int status)
{
	for (size_t i = 0; i < ch->total; i++)
		ch->flow->close_pipes(&ch->components[i], true);
	force(ch, status);
	if (!all_gone(ch))
		loop_run(ch->loop);
}

int
engine_run(struct chain *ch)
{
	struct component *bad;
	int status = 0;

	ch->end.timer = (struct loop_timer){.expired = expired, .arg = ch};
	ch->end.follow = (struct loop_task){.run = follow, .arg = ch};
	watch_guardian(ch);
	/* The components of a read chain start with the first initialize. */
	if (!ch->route)
		status = life_start_all(ch, &bad);
	if (status) {
		failed_start(ch, status);
	} else if (loop_run(ch->loop) < 0) {
		report_line(&ch->report, "%s", strerror(errno));
		failed_start(ch, EXIT_FAILED);
	}
	proc_guardian_stop(&ch->guardian);
	if (ch->end.forced)
		return ch->end.forced;
	return ch->end.agent_status ? ch->end.agent_status : ch->end.other_status ? ch->end.other_status : ch->end.own_status;
}
