/* The queue of a direction: parcels in their order, each with the earliest time at which it may leave. */
#include "cmd/acp-fault/fault.h"

#include <stdlib.h>
#include <utlist.h>

/* The pieces a second in which a line of a limited rate leaves. */
enum { PIECES_A_SECOND = 50 };

void
queue_free(struct queue *q)
{
	while (q->first)
		parcel_free(queue_remove_first(q));
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
unheld_size(const struct parcel *p)
{
	return p->held ? 0 : sizeof(*p) + p->text.n;
}

void
queue_add(struct queue *q, struct parcel *p)
{
	q->unheld += unheld_size(p);
	p->due = (p->ready > q->due ? p->ready : q->due) + p->stall;
	q->due = p->due;
	q->stalls += p->stall > 0;
	q->closes |= p->close;
	DL_APPEND(q->first, p);
}

uint64_t
queue_time(const struct queue *q)
{
	if (!q->first)
		return UINT64_MAX;
	return q->first->due > q->busy ? q->first->due : q->busy;
}

size_t
queue_piece(struct queue *q, size_t n, uint64_t now, bool end)
{
	struct parcel *p = q->first;
	size_t left = n - p->sent, piece = left;
	uint64_t began = queue_time(q), gap = p->pause;

	if (end || (!p->piece && !p->rate))
		return left;
	if (p->piece ? p->piece < left : p->rate / PIECES_A_SECOND < left)
		piece = p->piece ? p->piece : p->rate / PIECES_A_SECOND + 1;
	if (piece > left)
		piece = left;
	if (p->rate && piece * 1000000 / p->rate > gap)
		gap = piece * 1000000 / p->rate;
	/* Two pieces of --split never leave in one write; a rate holds on average. */
	q->busy = (p->piece ? now : began) + gap;
	return piece;
}

struct parcel *
queue_remove_first(struct queue *q)
{
	struct parcel *p = q->first;

	DL_DELETE(q->first, p);
	q->stalls -= p->stall > 0;
	q->unheld -= unheld_size(p);
	return p;
}
