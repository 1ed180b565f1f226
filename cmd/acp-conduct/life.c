#include "life.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_EVERY = 5 * 1000 /* us between two checks of a group whose leader has ended */ };

static void timer_expired(void *component);
static void process_ended(void *component, int status);

/* --- how it starts --- */

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
		.first_pid = p->first, .death_signal = SIGTERM, .guardian = &ch->guardian};
	enum proc_stage stage = PROC_FORK;
	int errors[2], error;
	ssize_t n = ch->flow->open_pipes(c, fds);

	if (n < 0 || proc_pipe(errors) < 0) {
		report_line(&ch->report, "%s: cannot create a pipe: %s", c->name, strerror(errno));
		return EXIT_FAILED;
	}
	spec.nfds = (size_t)n;
	fds[spec.nfds++] = (struct proc_fd){errors[1], STDERR_FILENO};
	p->pid = proc_start(&spec, &stage);
	error = errno;
	close(errors[1]);
	if (p->pid < 0) {
		close(errors[0]);
		return cannot_start(c, stage, error);
	}
	error = report_source_open(&p->errors, &ch->report, c->name, errors[0]) < 0 ? errno : 0;
	if (!p->first)
		p->first = p->pid;
	p->asked_to_end = false;
	p->closed = NULL;
	p->timer = (struct loop_timer){.expired = timer_expired, .arg = c};
	p->child = (struct loop_child){.pid = p->pid, .ended = process_ended, .arg = c};
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

/* --- signals --- */

void
life_signal(struct component *c)
{
	c->process.signal_sent = c->process.signal_sent ? SIGKILL : SIGTERM;
	proc_signal(c->process.pid, c->process.signal_sent);
}

void
life_dismiss(struct component *c)
{
	c->process.asked_to_end = true;
	proc_signal(c->process.pid, SIGTERM);
}

/* --- how it ended --- */

/* The exit status is the agent's; where that is 0, the first of the others' that is not. */
static void
count_status(struct chain *ch, const struct component *c)
{
	enum event end = c->process.end;
	int status = proc_status(c->process.status);

	if (end == EVENT_STOPPED || (end == EVENT_ENDED && status == 128 + SIGPIPE && c->kind != KIND_AGENT))
		return;
	if (end == EVENT_DIED && status == 0 && c->kind != KIND_AGENT)
		status = EXIT_FAILED;
	if (c->kind == KIND_AGENT)
		ch->end.agent_status = status;
	else if (ch->end.other_status == 0)
		ch->end.other_status = status;
}

/* With -v: reports how the component has ended, and what has passed through it. */
static void
report_totals(const struct component *c)
{
	SCOPED struct buf line = {0};

	if (!c->chain->options.verbose)
		return;
	buf_printf(&line, "%s: %s", c->name, c->process.how);
	if (c->chain->route)
		c->chain->flow->describe(c, &line);
	else
		buf_add_string(&line, ", down - messages - bytes, up - messages - bytes");
	if (c->kind != KIND_AGENT)
		buf_printf(&line, ", %" PRIu64 " restarts", c->deaths.restarts);
	if (buf_string(&line))
		report_line(&c->chain->report, "%s", line.p);
}

static void
report_end(struct component *c)
{
	struct chain *ch = c->chain;
	enum event end = c->process.end;
	size_t unread = c->kind == KIND_AGENT && ch->route && !ch->end.forced ? ch->flow->count_unread(c) : 0;
	bool speaks = false;

	/* An agent that has failed mostly says why itself. */
	if (end == EVENT_ENDED && c->kind == KIND_AGENT) {
		endpoint_read_now(&c->process.errors.in, false);
		speaks = c->process.errors.tail.n > 0;
	}
	if (end == EVENT_DIED && c->deaths.too_many)
		report_line(&ch->report, "%s: died (%s), more often than --restarts %s allows; ending the chain", c->name, c->process.how,
			ch->options.restarts.text);
	else if (end == EVENT_DIED)
		report_line(&ch->report, "%s: died (%s); ending the chain", c->name, c->process.how);
	else if (end == EVENT_STOPPED && c->process.signal_sent && !ch->end.forced)
		report_line(&ch->report, "%s: did not end within the grace period; stopped (%s)", c->name, c->process.how);
	else if (end == EVENT_STOPPED && ch->end.signals)
		report_line(&ch->report, "%s: stopped (%s)", c->name, c->process.how);
	else if (end == EVENT_ENDED && proc_status(c->process.status) != 0 && !speaks)
		report_line(&ch->report, "%s: ended with %s", c->name, c->process.how);
	if (unread > 0)
		report_line(&ch->report, "%s: ended without reading %zu messages", c->name, unread);
	report_totals(c);
}

/* --- process groups --- */

/* Forgets the process. A child that has left the group may hold the pipe of stderr, so only what it holds now is forwarded. */
static void
forget_process(struct component *c)
{
	if (c->process.child.added)
		loop_reap(c->chain->loop, &c->process.child);
	proc_guardian_remove(&c->chain->guardian, c->process.pid);
	endpoint_read_now(&c->process.errors.in, true);
}

/* Looks, after the process of a component has ended, whether others of its group run. Ends those that hold no pipe. */
static void
check_group(struct component *c)
{
	struct chain *ch = c->chain;

	if (proc_group_lives(c->process.pid)) {
		if (!c->process.signal_sent && !endpoint_can_read(&c->process.errors.in) && !ch->flow->holds_pipes(c))
			life_signal(c);
		loop_add_timer(ch->loop, &c->process.timer, CHECK_EVERY);
		return;
	}
	c->life = LIFE_GONE;
	forget_process(c);
	ch->flow->close_pipes(c, true);
	end_renew(ch);
}

/* Ends a component that no process follows. */
static void
end_component(struct component *c)
{
	struct chain *ch = c->chain;

	loop_remove_timer(ch->loop, &c->process.timer);
	count_status(ch, c);
	report_end(c);
	c->life = LIFE_ENDED;
	ch->flow->close_pipes(c, false);
	if (c->kind != KIND_PEER)
		end_begin(ch);
	check_group(c);
}

/* --- another process follows --- */

/* Does the component read acp-conduct's own standard input, and is that a file? */
static bool
reads_a_file(const struct component *c)
{
	struct stat st;

	return c->kind < KIND_PROXY && c == c->chain->components && !c->chain->route && c->kind != KIND_UP &&
		fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

/* Counts a death. Returns whether that is one more than --restarts allows. */
static bool
count_death(struct component *c)
{
	c->deaths.too_many = !proc_may_return(&c->deaths.counted, &c->chain->options.restarts, loop_clock());
	return c->deaths.too_many;
}

static bool
is_ending(const struct chain *ch)
{
	return ch->end.forced || ch->end.broken;
}

/* Decides what follows a death: sets c->next. */
static void
decide(struct component *c)
{
	struct chain *ch = c->chain;
	bool initialized = c->life == LIFE_READY || c->life == LIFE_ASKED_AGAIN || c->life == LIFE_CLOSED, often;

	c->next = NEXT_NONE;
	if (is_ending(ch))
		return;
	if (c->kind == KIND_PEER) {
		count_death(c);
	} else if (!initialized) {
		if (c->kind == KIND_PROXY && ch->flow->set_other_dialect(c))
			c->next = NEXT_DIALECT;
	} else if (c->on_crash == CRASH_FAIL || (c->kind == KIND_PROXY && ch->flow->may_end(c))) {
		return;
	} else if (reads_a_file(c)) {
		report_line(&ch->report, "%s: reads its input from a file, so it cannot be restarted", c->name);
	} else {
		often = count_death(c);
		if (often && c->on_crash == CRASH_BYPASS)
			c->next = NEXT_BYPASS;
		else if (!often)
			c->next = NEXT_PROCESS;
	}
}

static void
report_losses(const struct component *c, const char *what, const struct losses *n)
{
	const struct {
		const char *of;
		size_t n;
	} counts[] = {
		{c->kind == KIND_PROXY && c->next == NEXT_BYPASS ? "messages forwarded past it:" : "unread messages:", n->unread},
		{"requests failed:", n->failed},
		{"notifications lost: at most", n->lost},
	};
	SCOPED struct buf line = {0};

	buf_printf(&line, "%s: died (%s)%s", c->name, c->process.how, what);
	if (n->unknown)
		buf_add_string(&line, "; messages that it had read but not forwarded are lost");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (counts[i].n)
			buf_printf(&line, "; %s %zu", counts[i].of, counts[i].n);
	if (buf_string(&line))
		report_line(&c->chain->report, "%s", line.p);
}

/* Ends a peer that has died. The next initialize may start it again. */
static void
end_peer(struct component *c)
{
	struct losses n = {0};
	SCOPED struct buf why = {0};

	if (c->deaths.too_many)
		buf_printf(&why, ", more often than --restarts %s allows; not started again", c->chain->options.restarts.text);
	c->chain->flow->recover(c, &n);
	report_losses(c, buf_string(&why) ? why.p : "", &(struct losses){.failed = n.failed});
	report_totals(c);
	c->life = LIFE_NONE;
	c->chain->flow->close_pipes(c, true);
}

/* Starts what follows a death. 0; -1: it cannot be started, and the chain ends. */
static int
start_next(struct component *c)
{
	struct chain *ch = c->chain;
	struct losses n = {0};
	/* A process that copies takes the place of a bypassed filter, so that the neighbours keep their pipes. */
	static char *const cat[] = {"cat", NULL};
	static char *const both[] = {"sh", "-c", "cat <&6 7>&- & cat >&7; exec 7>&-; wait", NULL};

	ch->flow->recover(c, &n);
	if (c->next == NEXT_BYPASS && c->kind == KIND_PROXY) {
		ch->flow->bypass(c);
		report_losses(c, "; bypassed", &n);
		c->life = LIFE_GONE;
		ch->flow->close_pipes(c, true);
		return 0;
	}
	if (c->next == NEXT_BYPASS) {
		c->command.text = NULL;
		c->command.argv = c->kind == KIND_FILTER ? both : cat;
	}
	if (life_start(c) != 0 || (c->kind == KIND_PROXY && ch->flow->ask_again(c) < 0)) {
		report_line(&ch->report, "%s: cannot be restarted", c->name);
		return -1;
	}
	c->deaths.restarts++;
	if (c->kind == KIND_PROXY)
		c->life = c->next == NEXT_DIALECT ? LIFE_ASKED : LIFE_ASKED_AGAIN;
	/* The first initialization is covered by the timer of the whole chain. */
	if (c->life == LIFE_ASKED_AGAIN)
		loop_add_timer(ch->loop, &c->process.timer, ch->options.init_timeout);
	if (c->next == NEXT_DIALECT)
		report_line(&ch->report, "%s: ended while it was being initialized (%s); restarted with the other dialect", c->name, c->process.how);
	else
		report_losses(c, c->next == NEXT_BYPASS ? "; bypassed" : n.unknown ? "; restarting it" : "; restarted", &n);
	life_report_start(c);
	return 0;
}

/* --- the table --- */

static void
become_asked(struct component *c)
{
	c->life = LIFE_ASKED;
	if (c->kind == KIND_PEER)
		loop_add_timer(c->chain->loop, &c->process.timer, c->chain->options.init_timeout);
}

static void
become_ready(struct component *c)
{
	c->life = LIFE_READY;
	loop_remove_timer(c->chain->loop, &c->process.timer);
}

static void
become_closed(struct component *c)
{
	if (c->chain->flow->may_end(c) || is_ending(c->chain))
		return;
	c->life = LIFE_CLOSED;
	loop_add_timer(c->chain->loop, &c->process.timer, c->chain->options.grace);
}

static void
took_too_long(struct component *c)
{
	struct report *r = &c->chain->report;

	if (c->life == LIFE_CLOSED) {
		report_line(r, "%s: closed its %s but is still running; stopping it", c->name, c->process.closed);
		c->process.asked_to_end = c->kind == KIND_AGENT;
	} else {
		report_line(r, "%s: did not initialize within --init-timeout; killed", c->name);
	}
	proc_signal(c->process.pid, c->process.asked_to_end ? SIGTERM : SIGKILL);
}

static void
overrun(struct component *c)
{
	if (!c->process.closed)
		report_line(&c->chain->report, "%s: does not read its standard input, and more than %d MiB are queued for it; killed", c->name, CHAIN_BOUND >> 20);
	c->process.closed = "standard input";
	proc_signal(c->process.pid, SIGKILL);
}

static void
begin_death(struct component *c)
{
	if (c->kind == KIND_AGENT) {
		end_component(c);
		return;
	}
	decide(c);
	/* The pipes stay as they are until the whole process group is gone, and everything that it wrote has been read. */
	c->life = LIFE_DYING;
	loop_remove_timer(c->chain->loop, &c->process.timer);
	c->chain->flow->read_rest(c);
	proc_signal(c->process.pid, SIGKILL);
	endpoint_read_now(&c->process.errors.in, false);
	end_renew(c->chain);
	life_event(c, EVENT_SETTLED);
}

/* Goes on after a death, once the process group is gone and everything that it wrote has been read. */
static void
follow_death(struct component *c)
{
	struct chain *ch = c->chain;

	if (!ch->end.forced && proc_group_lives(c->process.pid)) {
		loop_add_timer(ch->loop, &c->process.timer, CHECK_EVERY);
		return;
	}
	if (!ch->end.forced && !ch->flow->is_settled(c))
		return;
	if (is_ending(ch))
		c->next = NEXT_NONE;
	loop_remove_timer(ch->loop, &c->process.timer);
	forget_process(c);
	if (c->kind == KIND_PEER) {
		end_peer(c);
	} else if (c->next == NEXT_NONE || start_next(c) < 0) {
		c->next = NEXT_NONE;
		if (!is_ending(ch) && !(c->kind == KIND_PROXY && ch->flow->may_end(c)))
			ch->flow->fail(c, c->process.how, 0);
		end_component(c);
	}
	end_renew(ch);
}

/*
 * What an event does in a state; NULL: nothing. A component that has been sent initialize has --init-timeout to respond. One that has
 * closed a descriptor which it should use has the grace period to end. `decide` says what follows a death.
 */
static void (*const table[LIFE_STATES][EVENTS])(struct component *) = {
	[LIFE_STARTED] = {[EVENT_ASKED] = become_asked, [EVENT_OVERRUN] = overrun, [EVENT_ENDED] = end_component,
		[EVENT_STOPPED] = end_component, [EVENT_DIED] = begin_death},
	[LIFE_ASKED] = {[EVENT_INITIALIZED] = become_ready, [EVENT_EXPIRED] = took_too_long, [EVENT_OVERRUN] = overrun,
		[EVENT_ENDED] = end_component, [EVENT_STOPPED] = end_component, [EVENT_DIED] = begin_death},
	[LIFE_READY] = {[EVENT_CLOSED] = become_closed, [EVENT_OVERRUN] = overrun, [EVENT_ENDED] = end_component,
		[EVENT_STOPPED] = end_component, [EVENT_DIED] = begin_death},
	[LIFE_ASKED_AGAIN] = {[EVENT_INITIALIZED] = become_ready, [EVENT_CLOSED] = become_closed, [EVENT_EXPIRED] = took_too_long,
		[EVENT_OVERRUN] = overrun, [EVENT_ENDED] = end_component, [EVENT_STOPPED] = end_component, [EVENT_DIED] = begin_death},
	[LIFE_CLOSED] = {[EVENT_EXPIRED] = took_too_long, [EVENT_OVERRUN] = overrun, [EVENT_ENDED] = end_component,
		[EVENT_STOPPED] = end_component, [EVENT_DIED] = begin_death},
	[LIFE_DYING] = {[EVENT_EXPIRED] = follow_death, [EVENT_SETTLED] = follow_death},
	[LIFE_ENDED] = {[EVENT_EXPIRED] = check_group},
};

void
life_event(struct component *c, enum event event)
{
	if (table[c->life][event])
		table[c->life][event](c);
}

void
life_closed(struct component *c, const char *descriptor)
{
	if (!c->process.closed)
		c->process.closed = descriptor;
	life_event(c, EVENT_CLOSED);
}

static void
process_ended(void *arg, int status)
{
	struct component *c = arg;
	struct chain *ch = c->chain;
	bool may_end = ch->flow->may_end(c), asked = c->process.asked_to_end && proc_status(status) == 128 + SIGTERM;
	enum event end = EVENT_DIED;

	proc_describe(status, c->process.how, sizeof(c->process.how));
	if (c->process.signal_sent || asked)
		end = EVENT_STOPPED;
	else if (WIFSIGNALED(status) ? WTERMSIG(status) == SIGPIPE && may_end : c->kind == KIND_AGENT || may_end)
		end = EVENT_ENDED;
	c->process.status = status;
	c->process.end = end;
	if (end != EVENT_DIED && c->process.child.added)
		loop_reap(ch->loop, &c->process.child);
	life_event(c, end);
	end_follow(ch);
}

static void
timer_expired(void *arg)
{
	life_event(arg, EVENT_EXPIRED);
	end_follow(((struct component *)arg)->chain);
}
