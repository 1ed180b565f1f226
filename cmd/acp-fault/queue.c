#include "cmd/acp-fault/queue.h"

#include <stdlib.h>

void
queue_init(struct queue *q)
{
	*q = (struct queue){.end = &q->first};
}

void
queue_free(struct queue *q)
{
	struct parcel *p;

	while ((p = queue_take(q, UINT64_MAX)))
		parcel_free(p);
}

struct parcel *
parcel_new(uint64_t ready)
{
	struct parcel *p = calloc(1, sizeof(*p));

	if (p)
		p->ready = ready;
	return p;
}

void
parcel_free(struct parcel *p)
{
	if (p)
		buf_free(&p->text);
	free(p);
}

static size_t
size_of(const struct parcel *p)
{
	return sizeof(*p) + p->text.cap;
}

void
queue_add(struct queue *q, struct parcel *p)
{
	p->due = (p->ready > q->due ? p->ready : q->due) + p->stall;
	q->due = p->due;
	q->size += size_of(p);
	q->stalls += p->stall > 0;
	*q->end = p;
	q->end = &p->next;
}

struct parcel *
queue_take(struct queue *q, uint64_t now)
{
	struct parcel *p = q->first;

	if (!p || p->due > now)
		return NULL;
	q->first = p->next;
	if (!q->first)
		q->end = &q->first;
	q->size -= size_of(p);
	q->stalls -= p->stall > 0;
	return p;
}
