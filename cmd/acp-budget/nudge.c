/* The texts for the model. */
#include <inttypes.h>

#include "cmd/acp-budget/budget.h"

const char text_prefix[] = "[Output token target] ";

/* Constant: other words would spoil the prompt cache. No figures in it, therefore. */
const char explanation[] =
	"[Output token target] A target for output tokens has been set for this turn. Whenever you stop before it is "
	"reached, you are shown how many output tokens you have used so far, and you are asked to go on. The target is a "
	"hard minimum, not a suggestion. Plan the work so that it fills the target productively: go deeper, cover more "
	"cases, check your results, improve what is there. Do not pad and do not repeat yourself. Stopping early only "
	"means being continued.";

const char default_nudge[] =
	"{percent} of the target is used: {tokens} of {target} output tokens. Go on working towards "
	"the task, from where you are: no summary, no repetition, the next useful thing.\n{counts}";

/* A tilde says that it is an estimate. */
static int
put_figure(const struct budget *b, uint64_t n, const char *unit, struct buf *to)
{
	return buf_add_string(to, b->estimated ? "~" : "") || put_grouped(to, n) || buf_add_string(to, unit) ? -1 : 0;
}

/* 1 where it is no placeholder. */
static int
put_placeholder(const struct budget *b, struct slice name, struct buf *to)
{
	if (slice_is(name, "{percent}"))
		return put_figure(b, percent_of(b->tokens, b->target), "%", to);
	if (slice_is(name, "{tokens}"))
		return put_figure(b, b->tokens, "", to);
	if (slice_is(name, "{target}"))
		return put_grouped(to, b->target);
	if (slice_is(name, "{counts}"))
		return buf_printf(to,
			"{\"type\":\"output_token_usage\",\"turn\":%" PRIu64 ",\"session\":%" PRIu64 ",\"budget\":%" PRIu64 "%s}", b->tokens,
			b->tag.session->output, b->target, b->estimated ? ",\"estimate\":true" : "");
	return 1;
}

int
nudge_put(const struct tool *t, const struct budget *b, struct buf *to)
{
	const char *p = t->options->nudge, *open, *close;
	int r;

	if (buf_add_string(to, text_prefix) < 0)
		return -1;
	while ((open = strchr(p, '{')) && (close = strchr(open, '}'))) {
		if (buf_add_slice(to, slice_between(p, open)) < 0)
			return -1;
		r = put_placeholder(b, slice_between(open, close + 1), to);
		if (r < 0)
			return -1;
		p = r == 0 ? close + 1 : open + 1;
		if (r > 0 && buf_add(to, "{", 1) < 0)
			return -1;
	}
	return buf_add_string(to, p);
}
