/* What all files of the player need: its beginning and end, reports, conversations, recorded messages. */
#include "cmd/acp-replay/player_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cli.h"

static const char name[] = "acp-replay";

int
player_open(struct player *p, const struct player_options *o, struct script *s, struct endpoint *out, struct endpoint *err)
{
	*p = (struct player){.options = o, .out = out, .err = err, .us = o->us, .them = acp_other_side(o->us)};
	p->ours = requests_new();
	p->ids = ids_new(o->keep_paths);
	return plan_open(&p->plan, s, &o->range, o->us) == 0 && p->ours && p->ids ? 0 : -1;
}

void
player_close(struct player *p)
{
	struct waiting *w, *next;

	DL_FOREACH_SAFE(p->waiting, w, next)
		free(w);
	plan_close(&p->plan);
	requests_free(p->ours);
	ids_free(p->ids);
	buf_free(&p->turn);
	buf_free(&p->text);
}

static void
warn_at(const char *where, const char *before, uint64_t number, const char *format, va_list args)
{
	SCOPED struct buf text = {0};

	if (buf_vprintf(&text, format, args) == 0 && number)
		cli_warn(name, "%s:%s%llu: %.*s", where, before, (unsigned long long)number, (int)text.n, text.p);
	else if (text.n)
		cli_warn(name, "%s: %.*s", where, (int)text.n, text.p);
}

void
player_warn(const struct player *p, uint64_t number, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn_at(p->plan.script->path, "", number, format, args);
	va_end(args);
}

void
player_warn_live(const struct player *p, uint64_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn_at(acp_side_name(p->them), " line ", line, format, args);
	va_end(args);
}

/* --- conversations --- */

static void
touch(struct player *p, struct conversation *c)
{
	if (c->touched)
		return;
	c->touched = true;
	c->next_touched = p->touched;
	p->touched = c;
	if (!c->live)
		c->live = p->now;
}

void
player_touch(struct player *p, struct conversation *c)
{
	struct conversation *shut;

	touch(p, c);
	if (c == p->plan.common)
		DL_FOREACH(p->plan.unopened, shut)
			touch(p, shut);
}

void
player_happened(struct player *p, struct conversation *c, uint64_t recorded)
{
	c->live = p->now;
	c->recorded = recorded;
	player_touch(p, c);
}

struct conversation *
player_conversation(struct player *p, struct slice session)
{
	struct slice recorded = slice(NULL, 0);

	if (session.p)
		recorded = ids_recorded(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, session);
	return plan_conversation(&p->plan, recorded.p ? recorded : session);
}

/* --- what was recorded --- */

int
player_recorded(struct player *p, const struct cue *q, struct msg *m)
{
	struct slice text;

	if (script_read(p->plan.script, q->place, &text) < 0)
		return -1;
	if (msg_scan(text, m, NULL) == q->kind)
		return 0;
	errno = EIO; /* it was so when it was read first */
	return -1;
}

struct compare
player_comparison(const struct player *p, const struct cue *q, bool (*differs)(void *, const struct difference *), void *arg)
{
	return (struct compare){.match = p->options->match, .ids = p->ids, .from = p->them, .what = q->what,
		.session = q->conversation->session, .differs = differs, .arg = arg};
}

struct cue *
player_first_needed(const struct player *p, const struct conversation *only, bool request)
{
	const struct conversation *c = only ? only : plan_next(&p->plan, NULL);
	struct cue *q, *first = NULL;

	for (; c; c = only ? NULL : plan_next(&p->plan, c)) {
		for (q = c->needed; q && (q->optional || (request && q->kind != MSG_REQUEST)); q = q->next)
			;
		if (q && (!first || q->number < first->number))
			first = q;
	}
	return first;
}
