/* The deadline of the end, which moves with every progress. */
#include "chain.h"

enum {
	SHORTEST_STEP = 20 * 1000, /* us between two checks for progress */
	LONGEST_STEP = 500 * 1000,
};

/* After the first deadline the period is short. */
uint64_t
end_period(const struct chain *ch)
{
	return ch->end.steps && ch->options.grace > END_KILL_AFTER ? END_KILL_AFTER : ch->options.grace;
}

void
end_wait(struct chain *ch)
{
	uint64_t step = end_period(ch) / 10;

	if (step < SHORTEST_STEP)
		step = ch->options.grace ? SHORTEST_STEP : 0;
	loop_add_timer(ch->loop, &ch->end.timer, step < LONGEST_STEP ? step : LONGEST_STEP);
}

uint64_t
end_idle(struct chain *ch)
{
	struct end *e = &ch->end;
	uint64_t progress = ch->flow->progress(ch), now = loop_clock();

	if (progress != e->progress)
		e->progress_at = now;
	e->progress = progress;
	return now - e->progress_at;
}

void
end_renew(struct chain *ch)
{
	struct end *e = &ch->end;

	if (!e->begun || e->forced)
		return;
	e->progress = ch->flow->progress(ch);
	if (e->steps > 0)
		return;
	e->progress_at = loop_clock();
	end_wait(ch);
}

void
end_begin(struct chain *ch)
{
	ch->end.begun = true;
	end_renew(ch);
}

void
end_follow(void *arg)
{
	struct chain *ch = arg;

	loop_add_task(ch->loop, &ch->end.follow);
}
