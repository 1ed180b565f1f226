/* The common part of running streams and files. */
#include "lib/watch/watch_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cli.h"

const struct cli_option watch_options[] = {
	{"follow", 'F', CLI_FLAG(struct frame_options, follow)},
	{CLI_HERE(frame_watch_options)},
	{0},
};

static void
say(struct watch *w, const char *file, const char *format, va_list args)
{
	SCOPED struct buf text = {0};

	if (buf_vprintf(&text, format, args) < 0 || !buf_string(&text))
		return;
	if (w->aside)
		w->aside(w, false);
	if (w->stream)
		frame_warn(w->stream, "%s", text.p);
	else
		cli_warn(w->name, "%s%s%s", file ? file : "", file ? ": " : "", text.p);
	if (w->aside)
		w->aside(w, true);
}

void
watch_say(struct watch *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(w, NULL, format, args);
	va_end(args);
}

void
watch_warn(struct watch *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(w, w->file, format, args);
	va_end(args);
}

void
watch_print(struct watch *w)
{
	if (w->stream)
		frame_log_write(w->stream);
	else
		out_print(&w->out);
}

bool
watch_wants(struct watch *w, struct slice id)
{
	char *why = NULL;
	bool yes = !w->session || choice_is(&w->choice, id, &why);

	if (why)
		watch_say(w, "--session: %s", why);
	free(why);
	return yes;
}

bool
watch_missed(struct watch *w)
{
	SCOPED struct buf text = {0};

	if (!w->any || w->failed || (w->out.log && out_has_lost(&w->out)) || !(w->select ? select_missed(w->select, &text) : choice_missed(&w->choice, &text)))
		return false;
	watch_say(w, "%s", buf_string(&text) ? text.p : "nothing is selected");
	return true;
}

void
watch_fail(struct watch *w)
{
	if (!w->failed)
		watch_warn(w, "out of memory: what follows is incomplete");
	w->failed = true;
}

static void
out_of_memory(struct watch *w, int r)
{
	if (r < 0)
		watch_fail(w);
}

void
watch_begin(struct watch *w, const struct watch_start *start)
{
	struct buf *to;
	size_t before;

	w->lossy = false;
	if (w->sessions && !start->same)
		sessions_begin(w->sessions);
	if (w->begin)
		out_of_memory(w, w->begin(w, start));
	/* The log of a running stream calls w->header itself. */
	if (!w->header || w->stream || w->done)
		return;
	to = out_buf(&w->out);
	before = to->n;
	out_commit(&w->out, before, w->header(w, to, start));
}

void
watch_end(struct watch *w, enum watch_ending ending)
{
	w->ending = ending;
	if (w->sessions)
		sessions_end(w->sessions);
	if (w->end)
		out_of_memory(w, w->end(w, ending != WATCH_OVER));
	w->ending = WATCH_OPEN;
}

static const struct request *
enveloped(struct request *outer, const struct session_request *inner)
{
	if (!inner)
		return NULL;
	*outer = *inner->request;
	outer->what = ACP_PROXY_SUCCESSOR;
	outer->method = slice_of(inner->dialect == ACP_PLAIN ? "\"proxy/successor\"" : "\"_proxy/successor\"");
	outer->session = slice(NULL, 0);
	return outer;
}

void
watch_message(struct watch *w, const struct message *m, const struct message *shown)
{
	const struct session_message *seen = NULL;
	struct message known = *m;
	struct request request;

	w->any = true;
	w->number = m->number;
	w->t = m->t;
	if (w->sessions)
		out_of_memory(w, sessions_see(w->sessions, m, &seen));
	if (seen && !shown) {
		known.from = seen->enveloped ? m->from : seen->message.from;
		/* The tool gets the message in its envelope, so its request must be in its envelope, too. */
		known.request = seen->enveloped ? enveloped(&request, seen->request) : seen->message.request;
	}
	if (w->message)
		out_of_memory(w, w->message(w, shown ? shown : &known, seen));
}

void
watch_event(struct watch *w, const struct record *r)
{
	if (r->kind == RECORD_LOST && w->lost && !w->lossy) {
		watch_warn(w, "%s", w->lost);
		w->lossy = true;
	}
	if (r->kind == RECORD_LOST && w->sessions)
		sessions_lost(w->sessions);
	w->number = r->number;
	if (w->event)
		out_of_memory(w, w->event(w, r));
}

int
watch_line(struct recording *lines, enum input_got got, const struct line *line, struct record *r)
{
	int e;

	if (got == INPUT_PIECE) {
		*r = (struct record){.kind = RECORD_BAD, .number = line->number, .error = {1, recording_too_long}};
		return !line->first;
	}
	e = recording_line(lines, line->text, line->number, r);
	if (e == 0 && r->kind == RECORD_BAD)
		r->torn = got == INPUT_TORN && r->error.what != recording_too_long;
	return e;
}

void
watch_record(struct watch *w, struct record *r)
{
	if (r->kind == RECORD_MESSAGE) {
		watch_message(w, &(struct message){.from = r->from, .t = r->t, .line = r->text, .msg = r->msg, .number = r->number}, NULL);
		return;
	}
	if (r->kind == RECORD_EXIT) {
		r->status = recording_status(r);
		/* An exit is the agent's, also where the recording does not say so. */
		r->from = ACP_AGENT;
	}
	watch_event(w, r);
}

static void
happened(void *arg, const struct session_event *e)
{
	struct watch *w = arg;

	if (w->session && e->kind == SESSION_BEGAN)
		watch_wants(w, slice(e->session->id, e->session->n));
	w->happened(w, e);
}

int
watch_open(struct watch *w)
{
	const struct frame_options *o = w->frame;
	char *why;
	int status;

	if (!w->replaces || replace_open(&w->replaced_output, o->output, w->inputs ? w->inputs : o->files, &why) == 0)
		return w->open ? w->open(w) : 0;
	status = errno == EINVAL || errno == ENOTSUP ? EXIT_USAGE : EXIT_FAILED;
	cli_warn(w->name, "%s", why ? why : "out of memory");
	free(why);
	return status;
}

void
watch_replace(struct watch *w, struct slice contents)
{
	size_t before = w->replaces ? 0 : out_buf(&w->out)->n;

	if (!w->replaces && buf_add_slice(out_buf(&w->out), contents) < 0) {
		watch_fail(w);
	} else if (!w->replaces) {
		out_end_record(&w->out, before);
	} else if (replace_with(&w->replaced_output, 0644, contents) < 0) {
		if (!w->failed)
			watch_say(w, "%s: %s", w->frame->output, strerror(errno));
		w->failed = true;
	}
}

int
watch_open_sessions(struct watch *w)
{
	if (w->happened && !w->sessions)
		w->sessions = sessions_new(happened, w, w->limits);
	return w->happened && !w->sessions ? -1 : 0;
}

void
watch_forget(struct watch *w)
{
	sessions_free(w->sessions);
	w->sessions = NULL;
	choice_free(&w->choice);
}

int
watch_run(struct watch *w)
{
	int status;

	w->choice.asked = w->session;
	if (watch_open_sessions(w) < 0) {
		cli_warn(w->name, "out of memory");
		return EXIT_FAILED;
	}
	status = w->frame->files ? watch_files(w) : watch_stream(w);
	replace_close(&w->replaced_output);
	watch_forget(w);
	return status;
}
