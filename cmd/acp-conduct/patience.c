#include "patience.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "life.h"
#include "link.h"
#include "revive.h"

enum {
	KILL_AFTER = 2 * 1000000,  /* us between TERM and KILL */
	SHORTEST_STEP = 20 * 1000, /* us between two looks at what moves */
	LONGEST_STEP = 500 * 1000,
};

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
		h = h * 1000003 + (uint64_t)link_unread(&ch->links[i]);
	for (i = 0; i < ch->n; i++)
		h = h * 1000003 + (ch->components[i].life >= LIFE_ENDED);
	h = h * 1000003 + revive_progress(ch);
	if (ch->route)
		h = h * 1000003 + life_progress(ch->route);
	return h * 1000003 + (at < 0 ? 0 : (uint64_t)at);
}

void
patience_renew(struct chain *ch)
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
	const struct link *l = ch->client[LANE_DOWN];
	struct stat st;

	return l && l->rd == STDIN_FILENO && fstat(l->rd, &st) == 0 && S_ISREG(st.st_mode) &&
		lseek(l->rd, 0, SEEK_CUR) < st.st_size;
}

/* Does what is on its way to the client wait for the client alone? */
static bool
client_is_slow(struct chain *ch)
{
	const struct link *l = chain_client(ch, LANE_UP);

	return l && ch->has_agent && chain_agent(ch)->life >= LIFE_ENDED && link_unread(l) > 0 && !link_has_no_reader(l);
}

void
patience_press(struct component *c)
{
	c->sent = c->sent ? SIGKILL : SIGTERM;
	proc_signal(c->pid, c->sent);
	wait_for(c->chain, KILL_AFTER);
}

/* Does it hold up a lane: its input has ended, and its output goes on? The agent turns one into the other. */
static bool
is_due(const struct component *c)
{
	const struct link *in, *out;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		in = c->in[lane];
		out = c->kind >= KIND_PROXY ? c->out[LANE_UP] : c->out[lane];
		if (in && link_has_ended(in) && !link_has_ended(out))
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
		patience_press(c);
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
expired(void *arg)
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
	if (ch->route && !ch->forced && life_impatient(ch->route)) {
		patience_renew(ch);
		return;
	}
	press_next(ch);
	ch->since = now;
	wait_for(ch, pressed(ch) ? KILL_AFTER : LONGEST_STEP);
}

void
patience_start(struct chain *ch)
{
	ch->patience.expired = expired;
	ch->patience.arg = ch;
}

void
patience_force(struct chain *ch)
{
	press_next(ch);
	wait_for(ch, KILL_AFTER);
}
