/* What the player hears: the live side's messages, kept until the recording gets to them. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"
#include "lib/cli.h"

static void
warn_live(struct player *p, const char *what, struct slice text)
{
	cli_warn("acp-replay", "%s: line %llu: %s%.*s", acp_side_name(p->them), (unsigned long long)p->lines, what,
		(int)text.n, text.n ? text.p : "");
}

static struct slice
copy(char **to, struct slice s)
{
	struct slice c = slice(s.p ? *to : NULL, s.n);

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return c;
}

struct kept *
player_keep(const struct player *p, const struct msg *m)
{
	struct slice session = msg_session(m);
	struct kept *k = malloc(sizeof(*k) + m->id.n + session.n);
	char *to;

	if (!k)
		return NULL;
	*k = (struct kept){.line = p->lines, .arrived = p->arrived};
	to = k->bytes;
	k->id = copy(&to, m->id);
	k->session = copy(&to, session);
	return k;
}

/* Is it a request's? Then it counts among those that the live side waits on. */
static bool
counts(const struct kept *k)
{
	return k->id.p != NULL;
}

struct kept *
player_take(struct player *p, struct part *part)
{
	struct kept *k = part->first;

	if (!k)
		return NULL;
	part->first = k->next;
	part->waiting--;
	part->played++;
	p->kept -= counts(k);
	return k;
}

int
player_drop_cancels(struct player *p, struct slice session)
{
	struct msg cancel = {.kind = MSG_NOTIFICATION, .method = slice_of("\"session/cancel\"")};
	struct part *part = script_part(p->script, &cancel);
	struct kept *k, *next, *kept = NULL, **end = &kept;

	if (!part)
		return -1;
	for (k = part->first; k; k = next) {
		next = k->next;
		if (!k->session.p || !json_string_eq(k->session, session)) {
			part->last = *end = k;
			end = &k->next;
			continue;
		}
		cli_warn("acp-replay", "%s: line %llu: the recording has no session/cancel in this turn: ignored",
			acp_side_name(p->them), (unsigned long long)k->line);
		p->missed = true;
		part->waiting--;
		free(k);
	}
	*end = NULL;
	part->first = kept;
	return 0;
}

static int
refuse(struct player *p, struct slice id, int code, const char *why)
{
	struct buf text = {0};
	int r = msg_make_error(&text, id, code, why, slice(NULL, 0));

	if (r == 0 && (r = buf_add(&text, "\n", 1)) == 0)
		r = output_copy(p->out, buf_slice(&text));
	buf_free(&text);
	return r;
}

/* Nothing in the rest of the recording is like it. */
static int
miss(struct player *p, const struct msg *m)
{
	static const char why[] = "acp-replay: the rest of the recording has no such request";

	p->missed = true;
	if (m->kind == MSG_REQUEST) {
		warn_live(p, "answered with an error, for the rest of the recording has no request ", m->method);
		return refuse(p, m->id, ACP_ERR_INTERNAL, why);
	}
	warn_live(p, "ignored, for the rest of the recording has no notification ", m->method);
	return 0;
}

static int
hear_response(struct player *p, const struct msg *m)
{
	struct request *r = NULL;

	if (msg_null_id(m) && m->error.p) {
		warn_live(p, "an error that answers no request: ", m->error);
		return 0;
	}
	r = requests_find(p->ours, p->us, m->id);
	if (!r || r->owner) {
		warn_live(p, "ignored, for it answers no open request: id ", m->id);
		p->missed = true;
		return 0;
	}
	r->owner = player_keep(p, m);
	if (!r->owner)
		return -1;
	p->unanswered--;
	p->kept++;
	return 0;
}

static int
hear_message(struct player *p, const struct msg *m)
{
	struct part *part;
	struct kept *k;
	int more;

	if (m->kind == MSG_RESPONSE)
		return hear_response(p, m);
	if (m->kind == MSG_NOTIFICATION && p->them == ACP_AGENT) {
		p->arrived++;
		return 0;
	}
	part = script_part(p->script, m);
	if (!part || (more = script_has_more(p->script, part)) < 0)
		return -1;
	if (!more)
		return miss(p, m);
	k = player_keep(p, m);
	if (!k)
		return -1;
	if (part->first)
		part->last->next = k;
	else
		part->first = k;
	part->last = k;
	part->waiting++;
	p->kept += counts(k);
	return 0;
}

static bool
is_blank(struct slice line)
{
	size_t i;

	for (i = 0; i < line.n; i++)
		if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
			return false;
	return true;
}

int
player_hear(struct player *p, struct slice line)
{
	struct json_error error;
	struct json_iter it;
	struct msg m, entry;

	p->lines++;
	switch (msg_scan(line, &m, &error)) {
	case MSG_NOISE:
		if (!is_blank(line))
			cli_warn("acp-replay", "%s: line %llu: not a message at byte %zu: %s", acp_side_name(p->them),
				(unsigned long long)p->lines, error.at, error.what);
		return 0;
	case MSG_BATCH:
		it = (struct json_iter){.in = m.text};
		while (msg_next(&it, &entry)) {
			if (entry.kind == MSG_NOISE)
				warn_live(p, "not a message: ", entry.text);
			else if (hear_message(p, &entry) < 0)
				return -1;
		}
		return 0;
	default:
		return hear_message(p, &m);
	}
}

int
player_hear_long(struct player *p)
{
	p->lines++;
	p->missed = true;
	warn_live(p, "longer than the limit: refused", slice(NULL, 0));
	return refuse(p, slice_of("null"), ACP_ERR_INVALID_REQUEST, "acp-replay: the line is longer than the limit");
}

static int
note_early(struct player *p, uint64_t line)
{
	size_t cap = p->cap ? p->cap * 2 : 16;
	uint64_t *early;

	if (p->nearly == p->cap) {
		early = realloc(p->early, cap * sizeof(*early));
		if (!early)
			return -1;
		p->early = early;
		p->cap = cap;
	}
	p->early[p->nearly++] = line;
	return 0;
}

/* Its answer goes out now, and the head will step over the two. 1, 0 where that can not be, or -1. */
static int
answer_early(struct player *p, struct part *part)
{
	struct json_error error;
	struct answer a;
	struct kept *k;
	struct msg m;
	int found = script_answer(p->script, part, &a);

	if (found <= 0) {
		part->first->stuck = true;
		return found;
	}
	k = player_take(p, part);
	if (note_early(p, a.request) < 0)
		found = -1;
	if (a.response && note_early(p, a.response) < 0)
		found = -1;
	if (found == 1 && a.response && msg_scan(buf_slice(&a.text), &m, &error) == MSG_RESPONSE &&
		player_send_answer(p, buf_slice(&a.text), &m, k->id) < 0)
		found = -1;
	free(k);
	buf_free(&a.text);
	return found;
}

int
player_answer_early(struct player *p)
{
	struct part *part, *next;

	/* A client waits with its next request for the answer to this one only if it wants to; an agent in its turn has to. */
	if (p->them != ACP_AGENT)
		return 0;
	HASH_ITER(hh, p->script->parts, part, next)
		if (part->first && !part->first->stuck)
			return answer_early(p, part);
	return 0;
}
