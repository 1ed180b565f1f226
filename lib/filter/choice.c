#include "lib/filter/choice.h"

#include "lib/base/text.h"

bool
choice_is(struct choice *c, struct slice id, char **why)
{
	size_t n = strlen(c->asked);

	*why = NULL;
	/* Users may give the end of an id, because timelines show that of ids that begin alike. */
	if (id.n < n || (memcmp(id.p, c->asked, n) != 0 && memcmp(id.p + id.n - n, c->asked, n) != 0)) {
		if (!c->exact && !c->id.p)
			text_list(&c->others, id);
		return false;
	}
	if (id.n == n)
		return c->exact = true;
	if (c->exact)
		return false;
	if (!c->id.p)
		return buf_add_slice(&c->id, id) == 0;
	if (slice_eq(buf_slice(&c->id), id))
		return true;
	if (!c->several)
		*why = bytes_printf("%s matches more than one session: using %.*s, not %.*s", c->asked, (int)c->id.n, c->id.p, (int)id.n, id.p);
	c->several = true;
	return false;
}

bool
choice_missed(const struct choice *c, struct buf *text)
{
	if (!c->asked || c->exact || c->id.p)
		return false;
	buf_printf(text, "--session %s: no session has this id; there %s%s", c->asked, c->others.n ? "are: " : "is none",
		c->others.n ? c->others.p : "");
	return true;
}

void
choice_free(struct choice *c)
{
	buf_free(&c->id);
	buf_free(&c->others);
}
