/* Small functions for all files of the frame. They use none of the other files. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

/* --- directions and sides --- */

enum acp_direction
direction_of(enum acp_side from)
{
	return from == ACP_AGENT ? ACP_UP : ACP_DOWN;
}

enum acp_side
direction_from(enum acp_direction dir)
{
	return dir == ACP_UP ? ACP_AGENT : ACP_CLIENT;
}

const char *
side_input(const struct side *s)
{
	return s == &s->frame->far ? acp_side_name(ACP_AGENT) : s->frame->transport->input;
}

/* --- requests --- */

struct pending *
pending_of(struct request *r)
{
	if (!r->owner)
		r->owner = calloc(1, sizeof(struct pending));
	return r->owner;
}

void
request_unhold(struct request *r)
{
	struct pending *p = r->owner;

	if (!p || !p->held)
		return;
	p->held->request = NULL;
	p->held = NULL;
}

void
request_free(struct frame *f, struct request *r)
{
	struct pending *p = r->owner;

	if (p && p->sent)
		f->transport->forget(f, p->sent);
	request_unhold(r);
	free(p);
	requests_done(r);
}

void
request_forget(struct frame *f, struct request *r)
{
	requests_remove(f->requests, r);
	request_free(f, r);
}

int
frame_put_id_prefix(const struct frame *f, struct buf *to)
{
	return buf_printf(to, "\"%s-%08" PRIx32, f->filter->name, f->first_pid);
}

/* --- time and reports --- */

uint64_t
frame_now(const struct frame *f)
{
	uint64_t now = loop_now(f->loop);

	return f->base + (now > f->began ? now - f->began : 0);
}

void
frame_event(struct frame *f, struct frame_event *e)
{
	e->t = frame_now(f);
	if (f->filter->event && f->stage != STAGE_WAITING)
		f->filter->event(f->filter->state, f, e);
}

void
frame_warn(struct frame *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_vwarn(f->filter->name, format, args);
	va_end(args);
}

void
frame_fail(struct frame *f, int status)
{
	if (f->status == 0)
		f->status = status;
}

void
frame_abort(struct frame *f, const char *why)
{
	if (!f->failed)
		frame_warn(f, "%s", why);
	f->failed = true;
	frame_fail(f, EXIT_FAILED);
	loop_stop(f->loop);
}
