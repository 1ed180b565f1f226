/* Messages that are sent after another one. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-inject/inject.h"

struct later {
	struct later *next;
	enum acp_direction dir;
	char *method;
	bool request;
	struct buf text;
	bool has_text;
	void *tag;
};

int
later_add(struct later **list, enum acp_direction dir, const char *method, bool request, struct slice text, void *tag)
{
	struct later *l = calloc(1, sizeof(*l));

	if (!l)
		return -1;
	*l = (struct later){.dir = dir, .request = request, .has_text = text.p != NULL, .tag = tag};
	if ((method && !(l->method = strdup(method))) || buf_add_slice(&l->text, text) < 0) {
		later_free(l);
		return -1;
	}
	later_join(list, l);
	return 0;
}

void
later_join(struct later **list, struct later *more)
{
	LL_CONCAT(*list, more);
}

static int
send_one(const struct later *l, struct frame *f)
{
	struct slice text = l->has_text ? buf_slice(&l->text) : slice(NULL, 0);

	if (!l->method)
		return frame_send(f, l->dir, text);
	if (!l->request)
		return frame_notify(f, l->dir, l->method, text);
	return frame_request(f, l->dir, l->method, text, l->tag);
}

int
later_send(struct later **list, struct frame *f)
{
	struct later *l;
	int r = 0;

	while ((l = *list)) {
		LL_DELETE(*list, l);
		l->next = NULL;
		if (r == 0)
			r = send_one(l, f);
		later_free(l);
	}
	return r;
}

void
later_free(struct later *l)
{
	struct later *one, *next;

	LL_FOREACH_SAFE(l, one, next) {
		free(one->method);
		buf_free(&one->text);
		free(one);
	}
}
