/* A list of messages to send after another message. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-inject/inject.h"

struct later {
	struct later *next;
	enum acp_direction dir;
	struct buf text;
	void *tag;
};

int
later_add(struct later **list, enum acp_direction dir, struct slice text, void *tag)
{
	struct later *l = calloc(1, sizeof(*l));

	if (!l || buf_add_slice(&l->text, text) < 0) {
		free(l);
		return -1;
	}
	l->dir = dir;
	l->tag = tag;
	later_join(list, l);
	return 0;
}

void
later_join(struct later **list, struct later *more)
{
	LL_CONCAT(*list, more);
}

int
later_send(struct later **list, struct frame *f)
{
	SCOPED struct buf sent = {0};
	struct later *l;
	int r = 0;

	while ((l = *list)) {
		LL_DELETE(*list, l);
		l->next = NULL;
		sent.n = 0;
		if (r == 0)
			r = l->tag ? frame_request_for(f, l->dir, buf_slice(&l->text), l->tag, &sent) : frame_send(f, l->dir, buf_slice(&l->text));
		later_free(l);
	}
	return r;
}

void
later_free(struct later *l)
{
	struct later *one, *next;

	LL_FOREACH_SAFE(l, one, next) {
		buf_free(&one->text);
		free(one);
	}
}
