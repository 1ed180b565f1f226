/* How the processes of components are started. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "life.h"

void
life_report_start(const struct component *c)
{
	SCOPED struct buf command = {0};

	if (!c->chain->options.verbose || c->chain->end.forced)
		return;
	if (c->command.text)
		buf_add_string(&command, c->command.text);
	for (size_t i = 0; !c->command.text && c->command.argv[i]; i++)
		buf_printf(&command, "%s%s", i ? " " : "", c->command.argv[i]);
	if (buf_string(&command))
		report_line(&c->chain->report, "%s: pid %ld, %s: %s", c->name, (long)c->process.pid, chain_kind(c->kind), command.p);
}

static int
cannot_start(const struct component *c, enum proc_stage stage, int error)
{
	struct report *r = &c->chain->report;

	if (stage == PROC_EXEC && error == ENOENT) {
		report_line(r, "%s: command not found: %s", c->name, c->command.argv[0]);
		return EXIT_NOT_FOUND;
	}
	report_line(r, "%s: cannot %s %s: %s", c->name, stage == PROC_EXEC ? "execute" : "start", c->command.argv[0], strerror(error));
	return stage == PROC_EXEC ? EXIT_CANNOT_EXECUTE : EXIT_FAILED;
}

int
life_start(struct component *c)
{
	struct chain *ch = c->chain;
	struct process *p = &c->process;
	struct proc_fd fds[PROC_FDS];
	struct proc_spec spec = {.argv = c->command.argv, .fds = fds, .ucspi = c->kind == KIND_FILTER,
		.again = p->first, .death_signal = SIGTERM, .guardian = &ch->guardian};
	enum proc_stage stage = PROC_FORK;
	int errors[2], error = 0;

	if (ch->flow->renew(c) < 0 || proc_pipe(errors) < 0) {
		report_line(&ch->report, "%s: cannot create a pipe: %s", c->name, strerror(errno));
		return EXIT_FAILED;
	}
	spec.nfds = ch->flow->fds(c, fds);
	fds[spec.nfds++] = (struct proc_fd){errors[1], STDERR_FILENO};
	p->pid = proc_start(&spec, &stage);
	if (p->pid < 0)
		error = errno;
	close(errors[1]);
	if (p->pid > 0 && report_source_open(&p->errors, &ch->report, c->name, errors[0]) < 0)
		error = errno;
	if (p->pid < 0) {
		close(errors[0]);
		return cannot_start(c, stage, error);
	}
	if (!p->first)
		p->first = p->pid;
	p->asked_to_end = false;
	p->closed = NULL;
	p->interval = 0;
	p->child.pid = p->pid;
	loop_add_child(ch->loop, &p->child);
	c->life = c->kind < KIND_PROXY || !ch->route ? LIFE_READY : LIFE_STARTED;
	ch->flow->started(c);
	if (error == 0)
		return 0;
	report_line(&ch->report, "%s: %s", c->name, strerror(error));
	return EXIT_FAILED;
}

int
life_start_all(struct chain *ch, struct component **bad)
{
	int status = 0;

	for (size_t i = ch->n; status == 0 && i-- > 0;) {
		*bad = &ch->components[i];
		status = life_start(*bad);
	}
	for (size_t i = 0; status == 0 && i < ch->n; i++)
		life_report_start(&ch->components[i]);
	return status;
}
