/* Chooses the transport, begins and ends the frame. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

/* --- signals --- */

static void
caught(void *arg, int signal)
{
	struct frame *f = arg;

	if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
		if (f->stage == STAGE_RUNNING)
			frame_report_signal(f, signal);
		else if (f->stage == STAGE_WAITING)
			f->early_signal = signal;
	} else if (f->signals++ == 0 && !f->exiting) {
		frame_client_left(f);
		frame_settle(f);
	} else {
		f->status = 128 + signal;
		if (f->transport->kill)
			f->transport->kill(f);
		loop_stop(f->loop);
	}
}

/* --- the beginning and the end --- */

static const struct transport *
choose(const struct frame_options *o)
{
	static const struct transport *const named[] = {[FRAME_PIPE] = &transport_pipe, [FRAME_LINK] = &transport_link,
		[FRAME_PROXY] = &transport_proxy};

	if (o->attach)
		return &transport_attach;
	if (o->command)
		return &transport_wrap;
	if (o->way)
		return named[o->way];
	return link_is_offered() ? &transport_link : &transport_undecided;
}

static void
frame_free(struct frame *f)
{
	struct request *r;
	struct held *h;

	while (f->requests && (r = requests_next(f->requests, NULL)))
		request_forget(f, r);
	requests_free(f->requests);
	/* Held messages are freed after the requests, which refer to them. */
	while ((h = f->held)) {
		f->held = h->next;
		buf_free(&h->text);
		free(h);
	}
	endpoint_close(&f->near.end);
	endpoint_close(&f->far.end);
	buf_free(&f->near.outline.text);
	buf_free(&f->far.outline.text);
	for (size_t i = 0; i < f->nearly; i++)
		block_drop(f->early[i].line.block);
	loop_free(f->loop);
}

static int
prepare(struct frame *f)
{
	int signals[16] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	size_t n = f->filter->log ? 4 : 3;
	pid_t first = cli_started_again();
	struct timespec wall;

	if (proc_open_stdio() < 0) {
		frame_warn(f, "/dev/null: %s", strerror(errno));
		return EXIT_FAILED;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	f->began = loop_clock();
	f->started = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9;
	f->first_pid = (uint32_t)(first ? first : getpid());
	if (getentropy(&f->random, sizeof(f->random)) < 0)
		f->random = (uint32_t)loop_clock();
	for (const int *more = f->options->signals; more && *more && n < sizeof(signals) / sizeof(signals[0]) - 1; more++)
		signals[n++] = *more;
	f->requests = requests_new();
	f->loop = loop_new(signals, caught, f);
	if (f->requests && f->loop)
		return 0;
	frame_warn(f, "%s", strerror(errno));
	return EXIT_FAILED;
}

/* Opens the transport, and starts the filter unless that has to wait for input. 0, or an exit status after reporting the error. */
static int
open_transport(struct frame *f)
{
	/* A terminal counts as a pipe: people do not type the messages of a proxy chain. */
	bool typed = f->transport == &transport_undecided && isatty(STDIN_FILENO);
	int status = frame_refuse_unsuited(f, typed ? &transport_pipe : f->transport);

	if (status == 0 && !f->transport->copies)
		status = frame_log_open(f);
	if (status == 0)
		status = f->transport->open(f);
	if (status == 0 && !f->transport->copies)
		cli_waits(f->filter->name, f->near.end.in.io.fd, f->far.frame ? "the client's messages" : "messages");
	if (status == 0 && !f->transport->begin && frame_begin(f) < 0)
		status = f->status;
	return status;
}

int
frame_run(const struct filter *filter, const struct frame_options *options)
{
	struct frame f = {.filter = filter, .options = options, .transport = choose(options)};
	int status = prepare(&f);

	if (status == 0)
		status = open_transport(&f);
	frame_fail(&f, status);
	if (status == 0) {
		frame_settle(&f);
		if (loop_run(f.loop) < 0)
			frame_abort(&f, strerror(errno));
	}
	if (f.stage == STAGE_RUNNING && filter->end)
		frame_fail(&f, filter->end(filter->state, &f));
	if (f.transport->close)
		f.transport->close(&f);
	if (f.stage != STAGE_WAITING && filter->close)
		filter->close(filter->state, &f);
	frame_log_close(&f);
	if (f.signals <= 1 && !f.exiting && f.transport->status)
		status = f.transport->status(&f);
	else
		status = 0;
	frame_free(&f);
	return status ? status : f.status;
}
