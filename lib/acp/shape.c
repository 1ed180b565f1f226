#include "lib/acp/shape.h"

enum { METHOD, PARAMS, KIND, SESSION };

/* The slice of a shape at this place, in a message of the shape. */
static struct slice
moved(const struct shape *s, unsigned which, struct slice text)
{
	const size_t at = (size_t)(s->at[which].p - s->bytes);

	return slice(text.p + at + (at < s->before ? 0 : text.n - s->before - s->after), s->at[which].n);
}

static struct shape *
find(struct shapes *all, struct slice text)
{
	struct shape *s = all->at, *end = s + all->n;
	size_t n;

	for (; s < end; s++) {
		n = s->before + s->after;
		if (text.n <= n || memcmp(text.p, s->bytes, s->before) != 0 ||
			memcmp(text.p + text.n - s->after, s->bytes + s->before, s->after) != 0 ||
			!json_is_inside(slice(text.p + s->before, text.n - n)))
			continue;
		s->kind = moved(s, KIND, text);
		s->session = moved(s, SESSION, text);
		return s;
	}
	return NULL;
}

static bool
pick(struct slice object, const char *first, const char *second, struct slice v[2])
{
	struct json_iter it = {.in = object};

	return json_type(object) == JSON_OBJECT && json_pick(&it, (const char *const[]){first, second}, 2, v);
}

static bool
is_chunk(struct slice kind)
{
	return kind.n > 8 && memcmp(kind.p + kind.n - 7, "_chunk\"", 7) == 0;
}

/* Makes the shape of a chunk with a text, unless one of the members that are read occurs twice. */
static struct shape *
learn(struct shapes *all, const struct msg *m)
{
	struct slice envelope[2] = {m->method, m->params}, params[2], update[2], content[2], rest;
	struct shape *s = &all->at[all->next % SHAPES];
	const char *text;

	if (m->kind != MSG_NOTIFICATION || (m->what == ACP_PROXY_SUCCESSOR && !pick(m->params, "method", "params", envelope)) ||
		acp_method(envelope[0]) != ACP_SESSION_UPDATE || !is_chunk(acp_kind_of_update(envelope[1])) ||
		!pick(envelope[1], acp_session_id, acp_update, params) || !pick(params[1], acp_update_kind, acp_content, update) ||
		!pick(update[1], "type", "text", content) || json_type(params[0]) != JSON_STRING || json_type(content[1]) != JSON_STRING ||
		content[1].n <= 2 || m->text.n - content[1].n + 2 > SHAPE_MOST)
		return NULL;
	text = content[1].p + 1;
	rest = slice_between(text + content[1].n - 2, m->text.p + m->text.n);
	*s = (struct shape){.kind = update[0], .session = params[0], .text = json_string_is(content[0], "text"), .what = m->what,
		.before = (size_t)(text - m->text.p), .after = rest.n,
		.at = {m->method, slice(m->params.p, m->params.n - content[1].n + 2), update[0], params[0]}};
	memcpy(s->bytes, m->text.p, s->before);
	memcpy(s->bytes + s->before, rest.p, rest.n);
	for (size_t i = 0; i < sizeof(s->at) / sizeof(*s->at); i++)
		s->at[i].p = s->bytes + (s->at[i].p < text ? s->at[i].p - m->text.p : (ptrdiff_t)s->before + (s->at[i].p - rest.p));
	all->n += all->n < SHAPES;
	all->next++;
	return s;
}

struct shape *
shapes_see(struct shapes *all, const struct msg *m)
{
	struct shape *s = m->kind == MSG_NOTIFICATION ? find(all, m->text) : NULL;

	return s ? s : learn(all, m);
}

enum msg_kind
shapes_scan(struct shapes *all, struct slice line, struct msg *m, struct json_error *error)
{
	struct shape *s = find(all, line);
	enum msg_kind kind;

	if (!s) {
		kind = msg_scan(line, m, error);
		m->shape = learn(all, m);
		return kind;
	}
	*m = (struct msg){.kind = MSG_NOTIFICATION, .what = s->what, .text = line,
		.method = moved(s, METHOD, line), .params = moved(s, PARAMS, line), .shape = s};
	m->params.n += line.n - s->before - s->after;
	return MSG_NOTIFICATION;
}
