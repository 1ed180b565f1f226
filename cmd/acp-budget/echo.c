/* Some agents report what the user has said. What we have said in the user's place is not for the client. */
#include "cmd/acp-budget/budget.h"

int
echo_expect(struct echo *e, struct slice text)
{
	e->text.n = e->at = 0;
	return buf_add_slice(&e->text, text);
}

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
	return text.n >= strlen(mark) && memcmp(text.p, mark, strlen(mark)) == 0;
}

/* Does this update say the next piece of the text? The first piece has the mark. */
static bool
is_piece(struct echo *e, struct slice text)
{
	bool ours = (e->at > 0 ? text.n > 0 : is_marked(text)) && text.n <= e->text.n - e->at
		&& memcmp(e->text.p + e->at, text.p, text.n) == 0;

	e->at = ours && e->at + text.n < e->text.n ? e->at + text.n : 0;
	return ours;
}

static bool
is_ours(struct slice block)
{
	SCOPED struct buf text = {0};

	return block_text(block, &text) > 0 && is_marked(buf_slice(&text));
}

/* Leaves our blocks out of a message. 0; 1 where nothing is left of it; -1 out of memory. */
static int
cut_blocks(struct frame *f, struct slice content)
{
	struct json_iter it = {.in = content};
	SCOPED struct buf rest = {0};
	struct slice key, block;
	bool any = false;
	int r = 0;

	while (r == 0 && json_next(&it, &key, &block)) {
		if (is_ours(block))
			any = true;
		else
			r = buf_add(&rest, rest.n ? "," : "[", 1) || buf_add_slice(&rest, block) ? -1 : 0;
	}
	if (r == 0 && any && rest.n == 0)
		r = 1;
	else if (r == 0 && any)
		r = buf_add(&rest, "]", 1) || frame_replace(f, content, buf_slice(&rest)) ? -1 : 0;
	return r;
}

/* Some agents join the blocks of a prompt to one text. */
static int
cut_text(struct frame *f, struct slice text)
{
	const char *at = text.p ? memmem(text.p, text.n, explanation, strlen(explanation)) : NULL;

	return at ? frame_replace(f, slice(at, strlen(explanation)), slice_of("")) : 0;
}

enum verdict
echo_see(struct tool *t, struct session *s, struct slice update)
{
	struct slice content = json_get(update, acp_content);
	SCOPED struct buf text = {0};
	bool ours;
	int r = 0;

	content_text(update, &text);
	if (!s->explanation.text.n)
		r = echo_expect(&s->explanation, slice_of(explanation));
	ours = is_piece(&s->nudge, buf_slice(&text));
	ours |= is_piece(&s->explanation, buf_slice(&text));
	if (json_type(content) != JSON_ARRAY)
		ours |= is_marked(buf_slice(&text));
	if (!ours && r == 0)
		r = json_type(content) == JSON_ARRAY ? cut_blocks(t->frame, content) : cut_text(t->frame, json_get(content, "text"));
	tool_check(t, r < 0);
	return ours || r > 0 ? VERDICT_DROP : VERDICT_PASS;
}
