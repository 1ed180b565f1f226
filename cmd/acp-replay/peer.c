#include "cmd/acp-replay/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/input.h"
#include "lib/loop.h"
#include "lib/proc.h"

enum { AFTER_TERM = 2 * 1000 * 1000 };

static const char name[] = "acp-replay";

struct peer {
	struct peer_options *options;
	struct loop *loop;
	struct script script;
	struct player player;
	struct input in;
	struct output out, err;
	struct loop_fd in_watch, out_watch, err_watch;
	struct loop_timer patience, pause;
	struct loop_child child;
	bool running;  /* there is a child */
	bool ended;    /* it has ended: status */
	bool stopped;  /* by us, after its time */
	bool leaving;  /* our output is closed as soon as it is out */
	bool same;     /* the other side is one socket */
	bool again;    /* the line that was heard last is to be heard again */
	struct line line;
	enum input_got got;
	bool done;     /* nothing is left but to write what is queued */
	enum play play;
	int signals;   /* how many have come */
	int status;    /* as waitpid has it; of a failure or a signal the exit status */
	bool failed;   /* status is the exit status */
};

/* --- ends --- */

static void
fail(struct peer *p, int status)
{
	p->failed = true;
	p->status = status;
	loop_stop(p->loop);
}

static void
be_patient(struct peer *p, uint64_t us)
{
	if (loop_add_timer(p->loop, &p->patience, us) < 0)
		fail(p, EXIT_FAILED);
}

/* Closes our output: the live side reads the end of its input. */
static void
leave(struct peer *p)
{
	if (p->out.io.kind == IO_CLOSED)
		return;
	loop_remove_fd(p->loop, &p->out_watch);
	io_close(&p->out.io, p->same);
	if (p->player.watch)
		watch_eof(p->player.watch, p->player.us);
	if (!p->ended && p->options->player.us == ACP_CLIENT)
		be_patient(p, p->options->grace);
}

static void
close_input(struct peer *p)
{
	loop_remove_fd(p->loop, &p->in_watch);
	input_close(&p->in);
	if (p->player.watch && !p->player.left)
		watch_eof(p->player.watch, p->player.them);
	p->player.left = true;
}

/* Nothing more will come of the live side. */
static bool
is_gone(const struct peer *p)
{
	return p->in.ended && (!p->running || p->ended);
}

/* Has the play come to its end, and the live side with it? */
static bool
is_done(struct peer *p)
{
	if (p->play == PLAY_EXIT)
		return true;
	if (p->play != PLAY_OVER && p->play != PLAY_ABANDONED)
		return false;
	if (p->options->player.us == ACP_AGENT)
		return p->player.left;
	p->leaving = true;
	return is_gone(p);
}

/* --- the one step after everything that happens --- */

static void
play(struct peer *p)
{
	if (p->play == PLAY_ABANDONED || p->play == PLAY_EXIT)
		return;
	p->player.now = loop_clock();
	p->play = player_play(&p->player);
	if (p->play == PLAY_LEAVE)
		p->leaving = true;
	if (p->play == PLAY_BAD)
		fail(p, EXIT_USAGE);
	if (p->play == PLAY_FAILED) {
		cli_warn(name, "%s: %s", p->options->path, strerror(errno));
		fail(p, EXIT_FAILED);
	}
}

static void
flush(struct peer *p)
{
	if (p->out.io.kind != IO_CLOSED && output_flush(&p->out) < 0 && p->options->player.us == ACP_AGENT)
		p->player.left = true; /* a client that does not read is none; an agent's end shows on its output */
	output_flush(&p->err);
	if (p->leaving && p->out.n == 0)
		leave(p);
}

/* How long to wait until something is due. */
static uint64_t
wait_for(const struct peer *p)
{
	uint64_t now = loop_clock();

	return p->player.wake > now ? p->player.wake - now : 0;
}

static void
watch(struct peer *p)
{
	bool full = p->out.full || p->err.full || p->play == PLAY_FULL;

	/* What is to be heard again has to stay where it is. */
	loop_watch(p->loop, &p->in_watch, full || p->again ? LOOP_PAUSED : POLLIN);
	loop_watch(p->loop, &p->out_watch, p->out.error ? LOOP_PAUSED : p->out.n > 0 ? POLLOUT : 0);
	loop_watch(p->loop, &p->err_watch, p->err.n > 0 ? POLLOUT : LOOP_PAUSED);
	loop_remove_timer(p->loop, &p->pause);
	if (p->play == PLAY_WAITING && p->player.wake && loop_add_timer(p->loop, &p->pause, wait_for(p)) < 0)
		fail(p, EXIT_FAILED);
}

/* Hears a line. False where something has to be played before the next. */
static bool
hear_line(struct peer *p)
{
	enum heard h;

	if (p->got == INPUT_PIECE)
		h = p->line.first && player_hear_long(&p->player) < 0 ? HEARD_FAILED : HEARD;
	else
		h = player_hear(&p->player, p->line.text, p->again);
	p->again = h == HEARD_LATER;
	if (h == HEARD_FAILED) {
		cli_warn(name, "%s", strerror(errno));
		fail(p, EXIT_FAILED);
	}
	return h == HEARD;
}

/* Hears what has been read. True where something is to be played then. */
static bool
hear(struct peer *p)
{
	bool any = false;

	while (!p->failed && p->in.io.kind != IO_CLOSED) {
		if (!p->again)
			p->got = input_line(&p->in, &p->line);
		if (p->got == INPUT_NOTHING)
			return any;
		any = true;
		if (p->got == INPUT_END) {
			close_input(p);
			break;
		}
		if (!hear_line(p))
			break;
	}
	return any && !p->failed;
}

/* Has the live side left in the middle of something? */
static bool
has_to_give_up(const struct peer *p)
{
	return p->play == PLAY_WAITING && p->player.left && (!p->player.wake || p->player.stopped);
}

/* Plays and hears until there is nothing to do but to wait. */
static void
settle(struct peer *p)
{
	bool more = true;

	while (more && !p->failed) {
		play(p);
		flush(p);
		if (p->out.full || p->err.full)
			break;
		more = p->play == PLAY_FULL || p->play == PLAY_LEAVE || has_to_give_up(p) || hear(p);
	}
	if (!p->done)
		p->done = is_done(p);
	/* Were a full queue to drain here, unnoticed, nothing would ever wake us to play on. */
	if (!p->out.full && !p->err.full)
		flush(p);
	watch(p);
	if (p->player.watch)
		watch_flush(p->player.watch);
	if (p->done && p->out.n == 0 && p->err.n == 0)
		loop_stop(p->loop);
}

/* --- what happens --- */

static void
in_ready(void *arg, short revents)
{
	struct peer *p = arg;

	(void)revents;
	if (input_fill(&p->in) < 0 && !p->in.ended) {
		if (errno == EAGAIN)
			return;
		cli_warn(name, "%s", strerror(errno));
		fail(p, EXIT_FAILED);
		return;
	}
	if (p->in.error)
		cli_warn(name, "%s: %s", acp_side_name(p->player.them), strerror(p->in.error));
	settle(p);
}

static void
out_ready(void *arg, short revents)
{
	struct peer *p = arg;

	if (revents & (POLLERR | POLLHUP | POLLNVAL)) {
		output_fail(&p->out, EPIPE);
		loop_remove_fd(p->loop, &p->out_watch);
	}
	settle(p);
}

static void
err_ready(void *arg, short revents)
{
	struct peer *p = arg;

	if (revents & (POLLERR | POLLHUP | POLLNVAL))
		output_fail(&p->err, EPIPE);
	settle(p);
}

static void
agent_ended(void *arg, int status)
{
	struct peer *p = arg;

	p->ended = true;
	p->status = status;
	/* What it started may hold its output open. */
	be_patient(p, p->options->grace);
	settle(p);
}

static void
out_of_patience(void *arg)
{
	struct peer *p = arg;

	if (p->ended || !p->running) {
		close_input(p);
		settle(p);
		return;
	}
	if (!p->stopped)
		cli_warn(name, "the agent did not end within the grace period: sending it SIGTERM");
	proc_signal(p->child.pid, p->stopped ? SIGKILL : SIGTERM);
	p->stopped = true;
	be_patient(p, AFTER_TERM);
}

static void
pause_is_over(void *arg)
{
	settle(arg);
}

static void
caught(void *arg, int signal)
{
	struct peer *p = arg;

	if (++p->signals > 1) {
		fail(p, 128 + signal);
		return;
	}
	p->player.stopped = true;
	p->player.left = true;
	p->leaving = true;
	settle(p);
}

/* --- beginning --- */

/* 0, or the exit status that says why not. */
static int
start_agent(struct peer *p, int *in, int *out)
{
	struct proc_spec spec = {.argv = p->options->command, .nfds = 2, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;
	int down[2], up[2], error;
	struct proc_fd fds[2];

	if (proc_pipe(down) < 0 || proc_pipe(up) < 0) {
		cli_warn(name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	fds[0] = (struct proc_fd){down[0], STDIN_FILENO};
	fds[1] = (struct proc_fd){up[1], STDOUT_FILENO};
	spec.fds = fds;
	p->child = (struct loop_child){.pid = proc_start(&spec, &stage), .ended = agent_ended, .arg = p};
	error = errno;
	close(down[0]);
	close(up[1]);
	*in = up[0];
	*out = down[1];
	if (p->child.pid > 0) {
		p->running = true;
		return 0;
	}
	return cli_not_started(name, spec.argv[0], stage == PROC_EXEC, error);
}

static int
open_streams(struct peer *p, int in, int out)
{
	int err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	p->same = io_same_socket(in, out);
	if (input_open(&p->in, in, p->options->limit) < 0 || output_open(&p->out, out) < 0 ||
		output_open(&p->err, err) < 0)
		return -1;
	p->in_watch = (struct loop_fd){.fd = p->in.io.fd, .events = POLLIN, .ready = in_ready, .arg = p};
	p->out_watch = (struct loop_fd){.fd = p->out.io.fd, .ready = out_ready, .arg = p};
	p->err_watch = (struct loop_fd){.fd = p->err.io.fd, .events = LOOP_PAUSED, .ready = err_ready, .arg = p};
	p->patience = (struct loop_timer){.expired = out_of_patience, .arg = p};
	p->pause = (struct loop_timer){.expired = pause_is_over, .arg = p};
	if (loop_add_fd(p->loop, &p->in_watch) < 0 || loop_add_fd(p->loop, &p->out_watch) < 0 ||
		loop_add_fd(p->loop, &p->err_watch) < 0)
		return -1;
	return p->running ? loop_add_child(p->loop, &p->child) : 0;
}

/* Where something is to be compared or written down. 0, or an exit status. */
static int
start_watch(struct peer *p)
{
	struct watch_options *o = &p->options->watch;
	const char *what;

	if (!o->compare && !o->record && !o->update)
		return 0;
	o->path = p->options->path;
	o->command = p->options->command;
	o->live = o->command ? o->command[0] : acp_side_name(p->player.them);
	p->player.watch = watch_new(o, &what);
	if (p->player.watch)
		return 0;
	cli_warn(name, "%s: %s", what, strerror(errno));
	return EXIT_USAGE;
}

/* 0, or an exit status. */
static int
start(struct peer *p)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, 0};
	int in, out, status;

	if (script_open(&p->script, p->options->path, p->options->limit, p->options->hop,
		p->options->environment) < 0) {
		cli_warn(name, "%s: %s", p->options->path, strerror(errno));
		return EXIT_USAGE;
	}
	p->loop = loop_new(signals, caught, p);
	if (!p->loop || player_open(&p->player, &p->options->player, &p->script, &p->out, &p->err) < 0)
		goto fail;
	status = start_watch(p);
	if (status)
		return status;
	if (p->options->command) {
		status = start_agent(p, &in, &out);
		if (status)
			return status;
	} else {
		in = proc_claim(STDIN_FILENO);
		out = proc_claim(STDOUT_FILENO);
	}
	if (in >= 0 && out >= 0 && open_streams(p, in, out) == 0)
		return 0;
fail:
	cli_warn(name, "%s", strerror(errno));
	return EXIT_FAILED;
}

/* --- the end --- */

static int
exit_status(struct peer *p)
{
	const char *them = acp_side_name(p->player.them);
	int differs = 0;

	if (p->failed)
		return p->status;
	player_finish(&p->player);
	if (p->out.discarded > 0 && p->play != PLAY_ABANDONED) {
		cli_warn(name, "the %s stopped reading: %llu bytes did not reach it", them,
			(unsigned long long)p->out.discarded);
		p->player.missed = true;
	}
	if (p->player.watch && p->ended && !p->stopped)
		watch_exit(p->player.watch, p->status);
	if (p->player.watch)
		differs = watch_end(p->player.watch, !p->player.missed);
	if (differs > EXIT_NEGATIVE)
		return differs;
	if (p->play == PLAY_EXIT && player_exit_status(&p->player))
		return player_exit_status(&p->player);
	if (p->player.missed || differs)
		return EXIT_NEGATIVE;
	return p->running && !p->stopped ? proc_status(p->status) : 0;
}

/* Nothing of the agent is left running: its group lives as long as it is not buried. */
static void
end_agent(struct peer *p)
{
	if (!p->running)
		return;
	proc_signal(p->child.pid, p->ended || p->signals > 1 ? SIGTERM : SIGKILL);
	/* At a second signal it gets what is left of our own life to end in. */
	if (p->ended || p->signals <= 1)
		loop_bury(p->loop, &p->child);
}

int
peer_run(struct peer_options *options)
{
	struct peer p = {.options = options, .play = PLAY_WAITING};
	int status;

	p.in.io.fd = p.out.io.fd = p.err.io.fd = p.script.fd = -1;
	status = start(&p);
	if (status == 0) {
		settle(&p);
		if (!p.failed && !(p.done && p.out.n == 0 && p.err.n == 0) && loop_run(p.loop) < 0) {
			cli_warn(name, "%s", strerror(errno));
			fail(&p, EXIT_FAILED);
		}
		output_flush(&p.out);
		output_flush(&p.err);
		status = exit_status(&p);
	}
	end_agent(&p);
	input_close(&p.in);
	output_close(&p.out);
	output_close(&p.err);
	watch_free(p.player.watch);
	player_close(&p.player);
	script_close(&p.script);
	loop_free(p.loop);
	return status;
}
