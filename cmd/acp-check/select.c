/* Which messages are reported on; and what there is, where that is none of them. */
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"

bool
check_selects(struct check *c)
{
	struct select *s = c->options->select;
	char *why = NULL;
	bool chosen = c->where.message ? select_match(s, c->where.message, &why) : select_match_other(s, c->where.from);

	if (why)
		cli_warn(check_name, "%s: %s", select_culprit(s), why);
	free(why);
	return chosen;
}

/* A JSON string as plain text to a list with commas, once, and as long as the list is short. 0, or -1 out of memory. */
static int
add_name(struct buf *list, struct slice string)
{
	enum { LONGEST = 64, ALL = 2000 };
	SCOPED struct buf plain = {0}, name = {0};
	struct slice text = string.p ? json_text(string, &plain) : string;
	const char *at;

	if (!text.p || list->n > ALL)
		return 0;
	if (text_plain(&name, slice_cut(text, LONGEST)) < 0 || !buf_string(&name))
		return -1;
	for (at = list->n ? strstr(list->p, name.p) : NULL; at; at = strstr(at + 1, name.p))
		if ((at == list->p || at[-1] == ' ') && (at[name.n] == '\0' || at[name.n] == ','))
			return 0;
	return buf_printf(list, "%s%s", list->n ? ", " : "", name.p) < 0 || !buf_string(list) ? -1 : 0;
}

void
check_selected(struct check *c)
{
	const struct message *s = &c->message;

	if (c->matched || !select_is_set(c->options->select))
		return;
	c->matched = check_selects(c);
	if (!c->matched)
		c->failed |= add_name(&c->methods, message_method(s)) < 0 || add_name(&c->methods, msg_update_kind(&s->msg)) < 0 ||
			add_name(&c->ids, message_session(s)) < 0;
}

void
check_report_none(struct check *c)
{
	cli_warn(check_name, "no message is selected; there are: %s%s%s", c->methods.n ? c->methods.p : "messages without methods",
		c->ids.n ? "; sessions " : "", c->ids.n ? c->ids.p : "");
}
