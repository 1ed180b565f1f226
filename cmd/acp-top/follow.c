/* A session's messages, as acp-tap prints them: it runs on the terminal, and reads a recording that goes on. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-top/top.h"
#include "lib/recording/recording.h"
#include "lib/run/endpoint.h"
#include "lib/run/proc.h"

enum { QUEUED = 1024 * 1024 /* bytes: what comes while a terminal is stopped is left out */ };

struct follow {
	struct loop *loop;
	struct endpoint end;
	struct loop_child child;
};

struct follow *
follow_open(struct top *t, const struct row *r, void (*ended)(void *arg, int status), void *arg)
{
	char *const argv[] = {"acp-tap", "--fold", t->options->color == COLOR_NEVER ? "--color=never" : "--color=auto", "-", NULL};
	struct follow *f = calloc(1, sizeof(*f));
	SCOPED struct buf header = {0};
	int ends[2];

	if (!f || recording_put_header(&header, r->stream->started, top_name, NULL, NULL) < 0 || proc_pipe(ends) < 0) {
		free(f);
		return NULL;
	}
	*f = (struct follow){.loop = t->loop, .end.arg = f, .child = {.ended = ended, .arg = arg}};
	f->child.pid = proc_start(&(struct proc_spec){.argv = argv, .fds = (const struct proc_fd[]){{ends[0], 0}}, .nfds = 1}, NULL);
	close(ends[0]);
	if (f->child.pid > 0)
		loop_add_child(t->loop, &f->child);
	else
		f->child.pid = 0;
	if (endpoint_open(&f->end, t->loop, -1, ends[1], 0) == 0 && f->child.pid && endpoint_put(&f->end, NULL, buf_slice(&header)) == 0
		&& endpoint_put(&f->end, NULL, buf_slice(&r->seen->recent)) == 0)
		return f;
	follow_close(f);
	return NULL;
}

void
follow_message(struct follow *f, struct slice record)
{
	if (f->end.out.queued <= QUEUED)
		(void)endpoint_put(&f->end, NULL, record);
}

void
follow_close(struct follow *f)
{
	if (!f)
		return;
	endpoint_close(&f->end);
	if (f->child.pid) {
		proc_signal(f->child.pid, SIGTERM);
		loop_reap(f->loop, &f->child);
	}
	free(f);
}
