/* Connects the player with the live side: two descriptors, or an agent that it starts. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-replay/player.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

enum { AFTER_TERM = 2 * 1000 * 1000 };

struct peer {
	const struct replay_options *options;
	struct loop *loop;
	struct player player;
	struct endpoint live, err;
	struct loop_task first;
	struct loop_timer grace, pause, timeout;
	struct loop_child child;
	bool running;  /* the child was not reaped */
	bool ended;    /* the child has ended, with status */
	bool stopped;  /* we ended the live side after its grace time */
	bool closing;  /* we close our output when all is written */
	bool closed;   /* our output is closed */
	uint64_t written; /* the bytes that the live side had taken when we closed our output, or tried to */
	bool repeated; /* the next line is the last one again */
	bool done;     /* only the queued bytes must be written */
	enum play play;
	int signals;   /* the number of signals that came */
	int status;    /* of the agent, from waitpid */
	int forced;    /* our exit status, in place of the agent's; 0: none */
};

/* --- ends --- */

static void
fail(struct peer *p, int status)
{
	p->forced = status;
	loop_stop(p->loop);
}

/* Closes our output when all is written, so that the live side reads the end of its input. */
static void
close_output(struct peer *p)
{
	uint64_t written = p->live.out.written;

	endpoint_finish(&p->live);
	if (p->closed)
		return;
	p->closed = !endpoint_can_write(&p->live);
	if (p->closed)
		recorder_put(p->player.recorder, RECORD_EOF, p->player.plan.us, slice(NULL, 0));
	/* An agent that does not read the rest has the grace time, too. */
	if (!p->ended && !p->stopped && p->options->us == ACP_CLIENT && (p->closed || !p->grace.added || written != p->written))
		loop_add_timer(p->loop, &p->grace, p->options->grace);
	p->written = written;
}

static void
input_ended(struct peer *p)
{
	if (!p->player.left)
		recorder_put(p->player.recorder, RECORD_EOF, p->player.plan.them, slice(NULL, 0));
	p->player.left = true;
}

/* Have the play and the live side ended? */
static bool
is_done(struct peer *p)
{
	if (p->play == PLAY_EXIT)
		return true;
	if (p->play != PLAY_OVER && p->play != PLAY_ABANDONED)
		return false;
	if (p->options->us == ACP_AGENT)
		return p->player.left;
	p->closing = true;
	return !endpoint_can_read(&p->live) && (!p->running || p->ended);
}

/* --- the step after every event --- */

/* Plays until the player must wait: for the live side, for a time, or for room in the queues. */
static void
advance(void *arg)
{
	struct peer *p = arg;
	uint64_t now;

	while (p->play != PLAY_ABANDONED && p->play != PLAY_EXIT) {
		p->player.now = loop_clock();
		p->play = player_play(&p->player);
		p->closing |= p->play == PLAY_LEAVE;
		if (p->play == PLAY_FAILED) {
			cli_warn(replay_name, "%s: %s", p->options->path, strerror(errno));
			fail(p, EXIT_FAILED);
		}
		if (p->play != PLAY_LEAVE)
			break;
	}
	if (!p->done)
		p->done = is_done(p);
	if (p->closing)
		close_output(p);
	endpoint_pause(&p->live, p->live.out.full || p->play == PLAY_FULL);
	loop_remove_timer(p->loop, &p->pause);
	now = loop_clock();
	if (p->play == PLAY_WAITING && p->player.wake)
		loop_add_timer(p->loop, &p->pause, p->player.wake > now ? p->player.wake - now : 0);
	recorder_flush(p->player.recorder);
	/* At an end that nobody recorded, the live side may never read the rest. */
	if (p->done && (p->live.out.n == 0 || p->player.timed_out || p->player.interrupted || p->stopped))
		loop_stop(p->loop);
	else if (p->options->timeout && !p->player.timed_out)
		loop_add_timer(p->loop, &p->timeout, p->options->timeout);
}

/* Handles that nothing has happened for the time of --timeout. */
static void
timed_out(void *arg)
{
	struct peer *p = arg;

	/* A recorded pause is no silence, and the grace time covers an end. */
	if ((p->play == PLAY_WAITING && p->player.wake) || p->grace.added)
		return;
	p->player.timed_out = p->player.missed = true;
	if (p->play == PLAY_FULL || p->play == PLAY_OVER) {
		cli_warn(replay_name, "the %s did not %s within --timeout", acp_side_name(p->player.plan.them),
			p->play == PLAY_FULL ? "read" : "end");
		p->done = true;
	} else {
		p->player.left = p->closing = true;
	}
	advance(p);
}

/* --- events --- */

/* Receives a line. False: play first, then give the line again. */
static bool
receive_line(void *arg, enum input_got got, const struct line *line)
{
	struct peer *p = arg;
	enum received r;

	if (p->forced)
		return true;
	p->player.now = loop_clock();
	if (got == INPUT_PIECE)
		r = line->first && player_receive_long(&p->player) < 0 ? RECEIVED_FAILED : RECEIVED;
	else
		r = player_receive(&p->player, line->text, p->repeated);
	p->repeated = r == RECEIVED_LATER;
	if (r == RECEIVED_FAILED) {
		cli_warn(replay_name, "%s", strerror(errno));
		fail(p, EXIT_FAILED);
	}
	return r != RECEIVED_LATER;
}

static void
live_event(void *arg, enum endpoint_event event)
{
	struct peer *p = arg;

	if (event == ENDPOINT_ENDED && p->live.in.error)
		cli_warn(replay_name, "%s: %s", acp_side_name(p->player.plan.them), strerror(p->live.in.error));
	if (event == ENDPOINT_ENDED)
		input_ended(p);
	/* The other side has not left, but cannot be reached: a full disk, for instance. */
	if (event == ENDPOINT_CLOSED && p->live.out.error && p->live.out.error != EPIPE && p->live.out.error != ECONNRESET) {
		cli_warn(replay_name, "standard output: %s", strerror(p->live.out.error));
		fail(p, EXIT_FAILED);
		return;
	}
	/* A client that does not read any more has left. The end of an agent's output shows its end. */
	if (event == ENDPOINT_CLOSED && p->live.out.error && p->options->us == ACP_AGENT)
		p->player.left = true;
	advance(p);
}

static void
agent_ended(void *arg, int status)
{
	struct peer *p = arg;

	p->ended = true;
	p->status = status;
	/* Processes that the agent started may hold its output open. */
	loop_add_timer(p->loop, &p->grace, p->options->grace);
	advance(p);
}

static void
grace_expired(void *arg)
{
	struct peer *p = arg;

	if (p->ended || !p->running) {
		p->stopped |= !p->running;
		endpoint_close_in(&p->live);
		input_ended(p);
		advance(p);
		return;
	}
	if (!p->stopped)
		cli_warn(replay_name, "the agent did not end within the grace period: sending it SIGTERM");
	proc_signal(p->child.pid, p->stopped ? SIGKILL : SIGTERM);
	p->stopped = true;
	loop_add_timer(p->loop, &p->grace, AFTER_TERM);
}

static void
signalled(void *arg, int signal)
{
	struct peer *p = arg;

	if (++p->signals > 1) {
		fail(p, 128 + signal);
		return;
	}
	p->player.interrupted = true;
	p->player.left = true;
	p->closing = true;
	advance(p);
}

/* --- beginning --- */

static int
open_streams(struct peer *p, int in, int out)
{
	int err = proc_copy(STDERR_FILENO);

	p->live = (struct endpoint){.line = receive_line, .event = live_event, .arg = p};
	p->err = (struct endpoint){.event = live_event, .arg = p};
	if (endpoint_open(&p->live, p->loop, in, out, p->options->limit) < 0 || err < 0 ||
		endpoint_open(&p->err, p->loop, -1, err, 0) < 0)
		return -1;
	p->first = (struct loop_task){.run = advance, .arg = p};
	p->grace = (struct loop_timer){.expired = grace_expired, .arg = p};
	p->pause = (struct loop_timer){.expired = advance, .arg = p};
	p->timeout = (struct loop_timer){.expired = timed_out, .arg = p};
	loop_add_task(p->loop, &p->first);
	if (p->running)
		loop_add_child(p->loop, &p->child);
	return 0;
}

/* Opens the descriptors, or starts the agent. 0, or an exit status. */
static int
start(struct peer *p)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, 0};
	struct proc_spec spec = {.argv = p->options->command, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;
	int ours[2], status;

	if (items_open(&p->player.plan.items, replay_name, p->options->path, p->options->limit, p->options->hop,
		p->options->environment) < 0) {
		cli_warn(replay_name, "%s: %s", p->options->path, strerror(errno));
		return EXIT_USAGE;
	}
	p->loop = loop_new(signals, signalled, p);
	status = p->loop ? player_open(&p->player, p->options, &p->live, &p->err) : -1;
	if (status < 0)
		goto failed;
	if (status > 0 || ((p->options->check || p->options->record) && recorder_new(p->options, &p->player.recorder) < 0))
		return EXIT_USAGE;
	if (p->options->command) {
		p->child = (struct loop_child){.pid = proc_start_piped(&spec, 2, ours, &stage), .ended = agent_ended, .arg = p};
		if (p->child.pid < 0)
			return cli_not_started(replay_name, spec.argv[0], stage == PROC_EXEC, errno);
		p->running = true;
	} else {
		cli_waits(replay_name, STDIN_FILENO, p->options->us == ACP_AGENT ? "the client's messages" : "the agent's messages");
		ours[1] = proc_move_high(STDIN_FILENO);
		ours[0] = proc_move_high(STDOUT_FILENO);
	}
	if (ours[1] >= 0 && ours[0] >= 0 && open_streams(p, ours[1], ours[0]) == 0)
		return 0;
failed:
	cli_warn(replay_name, "%s", strerror(errno));
	return EXIT_FAILED;
}

/* --- the end --- */

static int
exit_status(struct peer *p)
{
	const char *them = acp_side_name(p->player.plan.them), *kept = NULL;
	bool failed = p->running && !p->stopped && p->status != 0;
	uint64_t lost = p->live.out.discarded + p->live.out.queued;
	char words[64];
	int differs;

	if (p->forced)
		return p->forced;
	player_finish(&p->player, p->play == PLAY_OVER);
	if (lost > 0 && p->play != PLAY_ABANDONED) {
		cli_warn(replay_name, "the %s stopped reading: %llu bytes were not delivered", them,
			(unsigned long long)lost);
		p->player.missed = true;
	}
	if (p->ended && !p->stopped)
		recorder_exit(p->player.recorder, p->status);
	if (p->player.plan.several)
		kept = "it holds several hops, and only one was played";
	else if (!p->player.plan.header)
		kept = "it is not in the format that acp-tap writes";
	differs = recorder_end(p->player.recorder, !p->player.missed && !failed, kept);
	if (differs > EXIT_NEGATIVE)
		return differs;
	if (p->play == PLAY_EXIT && p->player.plan.exit_status)
		return p->player.plan.exit_status;
	if (p->player.missed || differs)
		return EXIT_NEGATIVE;
	if (!failed)
		return 0;
	cli_warn(replay_name, "the agent ended with %s", proc_describe(p->status, words, sizeof(words)));
	return proc_status(p->status);
}

int
peer_run(const struct replay_options *options)
{
	struct peer p = {.options = options, .play = PLAY_WAITING};
	int status;

	status = start(&p);
	if (status == 0) {
		if (loop_run(p.loop) < 0) {
			cli_warn(replay_name, "%s", strerror(errno));
			fail(&p, EXIT_FAILED);
		}
		endpoint_flush(&p.live, 100, 1000);
		endpoint_flush(&p.err, 0, 0);
		status = exit_status(&p);
	}
	/* Ends the agent's process group, which exists until the agent is reaped. A second signal leaves no time for that. */
	if (p.running)
		proc_signal(p.child.pid, p.ended || p.signals > 1 ? SIGTERM : SIGKILL);
	if (p.running && (p.ended || p.signals <= 1))
		loop_reap(p.loop, &p.child);
	endpoint_close(&p.live);
	endpoint_close(&p.err);
	recorder_free(p.player.recorder);
	player_close(&p.player);
	loop_free(p.loop);
	return status;
}
