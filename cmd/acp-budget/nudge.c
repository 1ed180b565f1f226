/* The texts about the target that the model reads. */
#include "cmd/acp-budget/budget.h"

const char text_prefix[] = "[Output token target] ";

/* The explanation has no figures, so that it is always equal: a prompt cache holds it only then. */
const char explanation[] =
	"[Output token target] A target for output tokens has been set for this turn. Whenever you stop before it is "
	"reached, you are shown how many output tokens you have used so far, and you are asked to go on. The target is a "
	"hard minimum, not a suggestion. Plan the work so that it fills the target productively: go deeper, cover more "
	"cases, check your results, improve what is there. Do not pad and do not repeat yourself. Stopping early only "
	"means being continued.";

const char default_nudge[] =
	"{percent} of the target is used: {tokens} of {target} output tokens. Go on working towards "
	"the task, from where you are: no summary, no repetition, the next useful thing.\n{counts}";

int
nudge_put(const struct tool *t, const struct budget *b, struct buf *to)
{
	enum { PERCENT, TOKENS, TARGET, COUNTS, NAMES };
	static const char *const names[NAMES] = {"{percent}", "{tokens}", "{target}", "{counts}"};
	const char *about = b->estimated ? "~" : "";
	int i, r = buf_add_string(to, text_prefix);

	for (const char *p = t->options->nudge; *p && r == 0; p += i < NAMES ? strlen(names[i]) : 1) {
		for (i = 0; i < NAMES && strncmp(p, names[i], strlen(names[i])) != 0; i++)
			;
		switch (i) {
		case PERCENT:
			r = buf_printf(to, "%s%d%%", about, usage_percent(b->tokens, b->target));
			break;
		case TOKENS:
			r = -(buf_add_string(to, about) || put_grouped(to, b->tokens));
			break;
		case TARGET:
			r = put_grouped(to, b->target);
			break;
		case COUNTS:
			r = json_format(to, "{\"type\":\"output_token_usage\",\"turn\":%u,\"session\":%u,\"budget\":%u%s}", b->tokens,
				b->tag.session->output, b->target, b->estimated ? ",\"estimate\":true" : "");
			break;
		default:
			r = buf_add(to, p, 1);
			break;
		}
	}
	return r;
}
