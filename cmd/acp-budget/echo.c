/* Some agents repeat prompts to the client as messages of the user. The texts that acp-budget has sent are removed from them. */
#include "cmd/acp-budget/budget.h"

static uint64_t
block_text(struct slice block, struct buf *to)
{
	struct slice text = json_get(block, "text");
	size_t before = to->n;

	if (json_type(text) != JSON_STRING || json_unescape(text, to) < 0)
		return 0;
	return to->n - before;
}

/* A chunk has one block, a whole message (v2) an array of them. */
uint64_t
content_text(struct slice update, struct buf *to)
{
	struct slice content = json_get(update, acp_content), key, block;
	struct json_iter it = {.in = content};
	uint64_t n = 0;

	if (json_type(content) != JSON_ARRAY)
		return block_text(content, to);
	while (json_next(&it, &key, &block))
		n += block_text(block, to);
	return n;
}

static bool
is_marked(struct slice text)
{
	return text.n >= strlen(text_prefix) && memcmp(text.p, text_prefix, strlen(text_prefix)) == 0;
}

/* Returns whether a text is the next piece of `whole`, of which the agent has repeated *n bytes. The first piece begins with the prefix. */
static bool
is_piece(struct slice whole, size_t *n, struct slice text)
{
	bool ours = (*n > 0 ? text.n > 0 : is_marked(text)) && text.n <= whole.n - *n && memcmp(whole.p + *n, text.p, text.n) == 0;

	*n = ours && *n + text.n < whole.n ? *n + text.n : 0;
	return ours;
}

/* Removes the blocks of acp-budget from a message. 0; 1: no other block is left; -1: out of memory. */
static int
cut_blocks(struct frame *f, struct slice content)
{
	struct json_iter it = {.in = content};
	SCOPED struct buf others = {0}, text = {0};
	struct slice key, block;
	bool any = false;
	int r = 0;

	while (r == 0 && json_next(&it, &key, &block)) {
		text.n = 0;
		if (block_text(block, &text) > 0 && is_marked(buf_slice(&text)))
			any = true;
		else
			r = buf_add(&others, others.n ? "," : "[", 1) || buf_add_slice(&others, block) ? -1 : 0;
	}
	if (r == 0 && any && others.n == 0)
		r = 1;
	else if (r == 0 && any)
		r = buf_add(&others, "]", 1) || frame_replace(f, content, buf_slice(&others)) ? -1 : 0;
	return r;
}

enum verdict
echo_see(struct tool *t, struct budget_session *s, struct slice update)
{
	struct slice content = json_get(update, acp_content);
	struct slice joined = json_type(content) == JSON_OBJECT ? json_get(content, "text") : slice(NULL, 0);
	const char *found = joined.p ? memmem(joined.p, joined.n, explanation, strlen(explanation)) : NULL;
	SCOPED struct buf text = {0};
	bool ours;
	int r = 0;

	content_text(update, &text);
	ours = is_piece(buf_slice(&s->nudge), &s->echoed.nudge, buf_slice(&text));
	ours |= is_piece(slice_of(explanation), &s->echoed.explanation, buf_slice(&text));
	if (json_type(content) != JSON_ARRAY)
		ours |= is_marked(buf_slice(&text));
	if (!ours && json_type(content) == JSON_ARRAY)
		r = cut_blocks(t->frame, content);
	/* Some agents join the blocks of a prompt to one text. */
	else if (!ours && found)
		r = frame_replace(t->frame, slice(found, strlen(explanation)), slice_of(""));
	tool_check(t, r < 0);
	return ours || r > 0 ? VERDICT_DROP : VERDICT_PASS;
}
