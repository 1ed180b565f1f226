/* Recordings: they are read, and printed in another format or in parts. */
#include <stdlib.h>

#include "cmd/acp-tap/tap.h"
#include "lib/recording/operands.h"

struct files {
	struct tap tap;
	struct operands in;
	struct requests *requests;
	bool headed; /* what the file begins with is written */
};

static void
show(void *arg, const struct message *s)
{
	tap_message(arg, s);
}

static void
put_header(struct files *f, const struct record *r)
{
	struct heading h = {.name = f->in.name, .started = r ? r->started : 0, .raw = r ? r->raw : slice(NULL, 0)};
	struct buf *to = out_buf(&f->tap.out);
	size_t before = to->n;

	f->headed = true;
	if (!tap_full(&f->tap))
		out_commit(&f->tap.out, before, tap_header(&f->tap, to, &h));
}

static void
put_event(struct files *f, const struct record *r)
{
	struct record e = *r;

	if (r->kind == RECORD_EXIT) {
		e.status = recording_status(r);
		/* It is the agent's, as in a stream: recordings need not say so. */
		e.from = ACP_AGENT;
	}
	tap_event(&f->tap, e);
}

/* What has no answer when the file ends never gets one: the next file numbers anew. */
static int
forget_requests(struct files *f)
{
	requests_free(f->requests);
	f->requests = requests_new();
	return f->requests ? 0 : -1;
}

/* 0, or -1 out of memory. */
static int
put_record(struct files *f, const struct record *r)
{
	f->tap.writer.timed = r->timed;
	f->tap.writer.number = f->tap.options->number ? r->number : 0;
	f->tap.muted = r->number < f->tap.options->start;
	switch (r->kind) {
	case RECORD_HEADER:
		put_header(f, r);
		return forget_requests(f);
	case RECORD_MESSAGE:
		if (!f->headed)
			put_header(f, NULL);
		return requests_show(f->requests, r->from, r->t, r->text, &r->msg, show, &f->tap);
	case RECORD_NOISE:
	case RECORD_STDERR:
	case RECORD_EXIT:
	case RECORD_EOF:
	case RECORD_LOST:
		if (!f->headed)
			put_header(f, NULL);
		put_event(f, r);
		return 0;
	default:
		return 0;
	}
}

/* 0, or -1 out of memory. */
static int
take(struct files *f, const struct record *r)
{
	if (f->in.first) {
		f->headed = false;
		if (forget_requests(f) < 0)
			return -1;
	}
	if (r->kind == RECORD_END)
		tap_rest(&f->tap);
	else if (r->number > f->tap.options->until)
		operands_leave(&f->in);
	else
		return put_record(f, r);
	return 0;
}

int
files_run(const struct options *o)
{
	struct files f = {.in = {.tool = tap_name, .files = o->frame.files, .limit = o->frame.limit, .hop = o->frame.hop,
		.out = &f.tap.out, .events = true}};
	struct record r;
	int status;

	if (tap_open(&f.tap, o, o->fold != 0) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	status = out_open(&f.tap.out, tap_name, o->frame.output, o->frame.append, o->frame.files);
	if (status)
		exit(status);
	while (!tap_full(&f.tap) && operands_next(&f.in, &r))
		if (take(&f, &r) < 0)
			operands_fail(&f.in);
	if (tap_full(&f.tap)) {
		operands_leave(&f.in);
		tap_rest(&f.tap);
	}
	status = operands_close(&f.in);
	if (out_close(&f.tap.out) < 0)
		status = EXIT_FAILED;
	requests_free(f.requests);
	tap_close(&f.tap);
	return status;
}
