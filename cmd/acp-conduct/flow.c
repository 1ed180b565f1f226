#include "flow.h"

#include <signal.h>

#include "chain.h"
#include "end.h"
#include "logs.h"
#include "route.h"

enum { STUCK_EVERY = 250 * 1000 /* us between two looks at what is stuck */ };

static void
check_overrun(struct route *r)
{
	struct port *p;
	size_t i;

	for (i = 0; i < r->n; i++) {
		p = r->ports[i];
		if (p->kind != PORT_PROXY || !p->overrun || p->component->life != LIFE_RUNS || p->component->closed_name)
			continue;
		p->component->closed_name = "standard input";
		report_line(r->report, "%s: does not read its standard input, and more than %d MiB are queued for it; killed", p->name, PORT_BOUND >> 20);
		proc_signal(p->component->pid, SIGKILL);
	}
}

/* After something was read, written or has ended. */
void
flow_follow(struct route *r)
{
	logs_flush(r->logs);
	if (r->flow_changed) {
		port_admit(r);
		check_overrun(r);
	}
	if (r->check_stuck && !r->stuck.added)
		loop_add_timer(r->loop, &r->stuck, STUCK_EVERY);
	end_settle(r->chain);
}
