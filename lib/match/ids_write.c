/* Writes recorded messages for the live side. */
#include "lib/match/ids_parts.h"

struct writing {
	struct ids *ids;
	const struct msg *m;
	enum acp_side from;
	struct slice session, id;
	const char *at;               /* the line is written up to here */
	struct buf *to;
};

static int
replace(struct writing *w, struct slice value, struct slice with)
{
	if (buf_add_slice(w->to, slice_between(w->at, value.p)) < 0 || buf_add_slice(w->to, with) < 0)
		return -1;
	w->at = value.p + value.n;
	return 0;
}

static int
write_value(struct writing *w, const struct acp_member *member, struct slice value, bool foreign)
{
	struct json_iter it = {.in = value};
	struct slice key, v, live;
	enum json_type type = json_type(value);
	SCOPED struct buf changed = {0};
	int r;

	if (member && member->id && (type == JSON_STRING || type == JSON_NUMBER)) {
		live = ids_live(w->ids, (struct ids_scope){member->id, w->from, w->session}, value);
		return live.p && !slice_eq(live, value) ? replace(w, value, live) : 0;
	}
	if (type == JSON_STRING) {
		r = ids_text(w->ids, w->session, IDS_WRITTEN, value, &changed);
		return r == 1 ? replace(w, value, buf_slice(&changed)) : r;
	}
	if (type != JSON_OBJECT && type != JSON_ARRAY)
		return 0;
	foreign |= member && member->opaque;
	while (json_next(&it, &key, &v)) {
		member = foreign || !key.p ? NULL : acp_member(key, w->m->what, false);
		if (write_value(w, member, v, foreign) < 0)
			return -1;
	}
	return 0;
}

/* Writes all members of the message but the method. */
static int
write_members(struct writing *w)
{
	struct json_iter it = {.in = w->m->text};
	struct slice key, v;
	int r = 0;

	while (r == 0 && json_next(&it, &key, &v)) {
		if (v.p == w->m->id.p)
			r = w->id.p ? replace(w, v, w->id) : 0;
		else if (v.p != w->m->method.p)
			r = write_value(w, NULL, v, false);
	}
	return r;
}

bool
ids_change_nothing(const struct ids *ids)
{
	return ids->renamed == 0 && !ids->moved;
}

int
ids_write(struct ids *ids, struct slice line, const struct msg *m, enum acp_side from, struct slice session,
	struct slice id, struct buf *to)
{
	struct slice own = msg_session(m);
	struct writing w = {ids, m, from, own.p ? own : session, id, line.p, to};
	size_t before = to->n;

	if (ids_change_nothing(ids)) {
		if (id.p && m->id.p && replace(&w, m->id, id) < 0)
			goto fail;
	} else if (write_members(&w) < 0) {
		goto fail;
	}
	if (buf_add_slice(to, slice_between(w.at, line.p + line.n)) == 0)
		return 0;
fail:
	to->n = before;
	return -1;
}
