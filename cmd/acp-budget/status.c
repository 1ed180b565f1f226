/* How far a budget is: on stderr, on the terminal, or in the client's own view. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cmd/acp-budget/budget.h"

int
put_grouped(struct buf *to, uint64_t n)
{
	char digits[21];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n), i;

	for (i = 0; i < length; i++)
		if ((i > 0 && (length - i) % 3 == 0 && buf_add(to, ",", 1) < 0) || buf_add(to, digits + i, 1) < 0)
			return -1;
	return 0;
}

/* Appends how long the rest of the target takes at the mean rate of this budget: " · ~2m 30s". */
static int
put_time_left(const struct budget *b, uint64_t now, struct buf *to)
{
	uint64_t s;
	double left;

	if (b->tokens == 0 || b->tokens >= b->target || now <= b->began)
		return 0;
	left = (double)(b->target - b->tokens) / (double)b->tokens * (double)(now - b->began) / 1e6;
	if (left > 1e9)
		return 0;
	s = (uint64_t)(left + 0.5);
	return s >= 3600 ? buf_printf(to, " \u00b7 ~%" PRIu64 "h %02um", s / 3600, (unsigned)(s / 60 % 60))
		: s >= 60 ? buf_printf(to, " \u00b7 ~%" PRIu64 "m %02us", s / 60, (unsigned)(s % 60))
		: buf_printf(to, " \u00b7 ~%" PRIu64 "s", s);
}

/* --- where the status is shown --- */

int
status_open(struct tool *t)
{
	t->tty = -1;
	if (t->options->status != STATUS_TTY)
		return 0;
	t->tty = cli_terminal();
	if (t->tty >= 0)
		return 0;
	cli_warn(tool_name, "--status tty: /dev/tty: %s", strerror(errno));
	return -1;
}

/* A terminal may be in any mode, and show another program's line. Text that cannot be written at once is lost. */
static void
to_terminal(struct tool *t, const struct budget_session *s, const char *text)
{
	SCOPED struct buf line = {0};

	if (json_format(&line, "\r\033[K%t: %t\r\n", slice_of(s->session->id), slice_of(text)) == 0)
		cli_write_now(t->tty, buf_slice(&line));
}

/* Sends a text that the client shows as a notice, or as a thought of the agent. */
static void
to_client(struct tool *t, const struct budget_session *s, const char *text)
{
	SCOPED struct buf line = {0}, update = {0}, params = {0};
	int r;

	if (t->options->status == STATUS_NOTICE)
		r = json_format(&update, "{\"%s\":\"notice\",\"severity\":\"info\",\"title\":%j}", acp_update_kind, slice_of(text));
	else
		r = buf_printf(&line, "%s\n", text) || buf_printf(&update, "{\"%s\":\"agent_thought_chunk\",", acp_update_kind)
			|| (sessions_v2(t->sessions) && buf_printf(&update, "\"messageId\":\"%s-%" PRIu64 "\",", tool_name, ++t->thoughts))
			|| json_format(&update, "\"%s\":{\"type\":\"text\",\"text\":%j}}", acp_content, buf_slice(&line));
	tool_check(t, r
		|| json_format(&params, "{\"%s\":%b,\"%s\":%b}", acp_session_id, buf_slice(&s->id), acp_update, buf_slice(&update))
		|| frame_notify(t->frame, ACP_UP, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params)));
}

void
status_report(struct tool *t, const struct budget *b, bool ends, const char *why)
{
	const char *about = b->estimated ? "~" : "";
	SCOPED struct buf text = {0};
	int r = -(buf_printf(&text, "Target: %s", about) || put_grouped(&text, b->tokens) ||
		buf_add_string(&text, b->tokens >= b->target ? " used (" : " / ") || put_grouped(&text, b->target));

	if (b->tokens >= b->target)
		r |= buf_add_string(&text, " min \u2713)");
	else
		r |= buf_printf(&text, " (%s%d%%)", about, usage_percent(b->tokens, b->target));
	if (r || (!ends && put_time_left(b, frame_now(t->frame), &text)) || (why && buf_printf(&text, ": %s", why))
		|| tool_check(t, !buf_string(&text)))
		return;
	switch (t->options->status == STATUS_NOTICE && !t->notices ? STATUS_STDERR : t->options->status) {
	case STATUS_STDERR:
		session_report(t, b->tag.session, "%s", text.p);
		break;
	case STATUS_TTY:
		to_terminal(t, b->tag.session, text.p);
		break;
	case STATUS_THOUGHT:
	case STATUS_NOTICE:
		to_client(t, b->tag.session, text.p);
		break;
	case STATUS_NONE:
		break;
	}
}
