#include "lib/acp/permit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/acp/acp.h"
#include "lib/acp/msg.h"
#include "lib/run/endpoint.h"
#include "lib/run/proc.h"

enum { PROGRAMS = 8, OUTPUT_MOST = 4096 };

struct permit {
	struct permit *prev, *next;
	struct permits *all;
	const char *command;
	void *arg;
	struct buf request, output;
	struct endpoint program;
	struct loop_child child; /* pid 0: the program has not been started */
	struct loop_timer timer;
	bool exited, read;       /* exited: the program has ended; read: its output was read to the end */
	int status;
};

static void
permit_free(struct permit *p)
{
	buf_free(&p->request);
	buf_free(&p->output);
	free(p);
}

/* Ends the program, so that another one can run. */
static void
stop(struct permit *p)
{
	struct permits *all = p->all;

	DL_DELETE(all->all, p);
	loop_remove_timer(all->loop, &p->timer);
	endpoint_close(&p->program);
	if (p->child.added) {
		proc_signal(p->child.pid, SIGKILL);
		loop_reap(all->loop, &p->child);
	}
	if (all->all)
		loop_add_task(all->loop, &all->starts);
	else
		loop_remove_task(all->loop, &all->starts);
}

static void
finish(struct permit *p, struct slice option, enum permit_outcome outcome)
{
	stop(p);
	p->all->decided(p->arg, option, outcome);
	permit_free(p);
}

/* Decides, if the program has exited and its output was read. */
static void
decide(struct permit *p)
{
	struct slice option = {NULL, 0};
	struct msg m;

	if (!p->read || !p->exited)
		return;
	while (p->output.n && byte_is_space(p->output.p[p->output.n - 1]))
		p->output.n--;
	if (p->status == 0 && p->output.n && !memchr(p->output.p, '\0', p->output.n) && buf_string(&p->output) &&
		msg_scan(buf_slice(&p->request), &m, NULL) == MSG_REQUEST) {
		option = acp_find_option(m.params, acp_option_id, p->output.p);
		if (!option.p)
			option = acp_find_option(m.params, acp_option_kind, p->output.p);
	}
	finish(p, option, option.p ? PERMIT_DECIDED : p->status || p->output.n ? PERMIT_FAILED : PERMIT_SILENT);
}

static bool
on_program_line(void *arg, enum input_got got, const struct line *line)
{
	struct permit *p = arg;

	(void)got;
	/* A text that is too long is no option; nor are two lines, so the newline between them is kept. */
	if (p->output.n + line->text.n > OUTPUT_MOST || (p->output.n && buf_add(&p->output, "\n", 1) < 0) ||
		buf_add_slice(&p->output, line->text) < 0)
		p->status = -1;
	return true;
}

static void
on_program_event(void *arg, enum endpoint_event event)
{
	struct permit *p = arg;

	p->read |= event == ENDPOINT_ENDED;
	decide(p);
}

static void
on_program_exit(void *arg, int status)
{
	struct permit *p = arg;

	p->exited = true;
	p->status |= status;
	endpoint_drain(&p->program);
	decide(p);
}

static void
on_timer(void *arg)
{
	finish(arg, slice(NULL, 0), PERMIT_LATE);
}

/* Starts the program. False: that failed. */
static bool
start(struct permit *p)
{
	struct loop *loop = p->all->loop;
	char **argv = proc_words(p->command);
	struct proc_spec spec = {.argv = argv, .death_signal = SIGKILL};
	int ours[2];

	p->child = (struct loop_child){.pid = argv ? proc_start_piped(&spec, 2, ours, NULL) : -1, .ended = on_program_exit, .arg = p};
	free(argv);
	if (p->child.pid < 0)
		return false;
	loop_add_child(loop, &p->child);
	if (p->all->timeout)
		loop_add_timer(loop, &p->timer, p->all->timeout);
	if (endpoint_open(&p->program, loop, ours[1], ours[0], OUTPUT_MOST) < 0 ||
		endpoint_put_line(&p->program, NULL, buf_slice(&p->request), false) < 0)
		return false;
	endpoint_finish(&p->program);
	return true;
}

static void
start_some(void *arg)
{
	struct permits *all = arg;
	struct permit *p;
	unsigned running = 0;

	DL_FOREACH(all->all, p)
		running += p->child.pid != 0;
	DL_FOREACH(all->all, p) {
		if (p->child.pid || running == PROGRAMS)
			continue;
		/* finish starts the next ones. */
		if (!start(p)) {
			finish(p, slice(NULL, 0), PERMIT_FAILED);
			return;
		}
		running++;
	}
}

struct permit *
permit_ask(struct permits *all, const char *command, struct slice request, void *arg)
{
	struct permit *p = calloc(1, sizeof(*p));

	if (!p || buf_add_slice(&p->request, request) < 0) {
		free(p);
		return NULL;
	}
	p->all = all;
	p->command = command;
	p->arg = arg;
	p->program = (struct endpoint){.line = on_program_line, .event = on_program_event, .arg = p};
	p->timer = (struct loop_timer){.expired = on_timer, .arg = p};
	all->starts.run = start_some;
	all->starts.arg = all;
	DL_APPEND(all->all, p);
	loop_add_task(all->loop, &all->starts);
	return p;
}

struct slice
permit_request(const struct permit *p)
{
	return buf_slice(&p->request);
}

void
permit_withdraw(struct permit *p)
{
	stop(p);
	permit_free(p);
}
