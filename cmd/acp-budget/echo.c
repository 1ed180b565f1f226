/* Some agents tell the client what the user has said. What we have said in the user's place is not for it. */
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
	struct slice text = json_type(block) == JSON_OBJECT ? json_get(block, "text") : slice(NULL, 0);
	size_t before = to->n;

	if (!text.p || json_type(text) != JSON_STRING || json_unescape(text, to) < 0)
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
		return content.p ? block_text(content, to) : 0;
	while (json_next(&it, &key, &block))
		n += block_text(block, to);
	return n;
}

bool
echo_hears(struct echo *e, struct slice update)
{
	struct buf text = {0};
	uint64_t n = e->text.n ? content_text(update, &text) : 0;
	bool ours = n > 0 && n <= e->text.n - e->at && memcmp(e->text.p + e->at, text.p, n) == 0;

	/* It may come in pieces, and more than once. */
	e->at = ours && e->at + n < e->text.n ? e->at + n : 0;
	buf_free(&text);
	return ours;
}

static bool
is_ours(const struct echo *e, struct slice block)
{
	struct buf text = {0};
	bool yes = e->text.n > 0 && block_text(block, &text) == e->text.n && memcmp(text.p, e->text.p, text.n) == 0;

	buf_free(&text);
	return yes;
}

int
echo_cut(struct frame *f, const struct echo *e, struct slice update)
{
	struct slice content = json_get(update, acp_content), key, block;
	struct json_iter it = {.in = content};
	const char *before = NULL;
	int r = 0;

	if (!content.p || json_type(content) != JSON_ARRAY)
		return 0;
	/* We put it behind the user's own: where nothing is before it, all the message was ours. */
	for (; r == 0 && json_next(&it, &key, &block); before = block.p + block.n)
		if (before && is_ours(e, block))
			r = frame_replace(f, slice_between(before, block.p + block.n), slice_of(""));
	return r;
}
