/* A message on its way through the rules: what programs make of it, and what is reported. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* How many kinds of failures are reported and remembered: a peer's method names must not fill the memory. */
enum { REPORTED_MOST = 1000 };

/* --- what programs make of it --- */

bool
outputs_take(void *arg, struct slice output)
{
	struct outputs *o = arg;
	bool same = o->input.p && output.p == o->input.p;
	struct output *at = reallocarray(o->at, o->n + 1, sizeof(*at));

	if (at)
		o->at = at;
	if (!at || (!same && buf_add_slice(&o->text, output) < 0)) {
		o->failed = true;
		return false;
	}
	at[o->n++] = (struct output){o->text.n - (same ? 0 : output.n), output.n, same};
	return o->n != o->most;
}

struct slice
outputs_at(const struct outputs *o, size_t i)
{
	return o->at[i].same ? o->input : slice(o->text.p + o->at[i].from, o->at[i].n);
}

void
outputs_free(struct outputs *o)
{
	free(o->at);
	buf_free(&o->text);
}

/* --- a message on its way --- */

int
passing_become(struct passing *p, struct slice text)
{
	struct buf old = p->text, new = {0};

	if (buf_add_slice(&new, text) < 0)
		return -1;
	buf_free(&old);
	p->text = new;
	if (msg_scan(buf_slice(&p->text), &p->message.msg, NULL) == MSG_NOISE)
		return -1;
	return 0;
}

int
passing_settle(struct passing *p)
{
	return p->text.n > 0 ? frame_replace(p->inject->frame, p->was, p->message.msg.text) : 0;
}

/* --- what is reported --- */

static void
report_failure(struct inject *in, const char *rule, const struct message *message, const char *why, const char *then)
{
	static const char *const kinds[] = {[MSG_RESPONSE] = "the response to ", [MSG_REQUEST] = "", [MSG_NOTIFICATION] = ""};
	struct slice name = msg_update_kind(&message->msg);

	if (!name.p)
		name = message_method(message);
	frame_warn(in->frame, "%s: %s%.*s: %s: %s", rule, kinds[message->msg.kind], (int)(name.n > 128 ? 128 : name.n),
		name.p ? name.p : "", why, then);
}

/* Failures that differ in a value only are one kind. */
static int
add_kind(struct buf *to, const char *rule, const char *why, const struct message *message)
{
	struct slice method = message_method(message), update = msg_update_kind(&message->msg);

	if (buf_printf(to, "%s %d ", rule, (int)message->msg.kind) < 0 || buf_add(to, why, strcspn(why, "0123456789\"({[")) < 0)
		return -1;
	return buf_add_slice(to, method) < 0 ? -1 : buf_add_slice(to, update);
}

void
passing_failed(struct passing *p, const char *rule, const char *why, const char *then)
{
	struct inject *in = p->inject;
	const struct options *o = in->options;
	SCOPED struct buf kind = {0};

	if (in->stopped)
		return;
	if (o->strict) {
		report_failure(in, rule, &p->message, why, "ending (--strict)");
		in->stopped = true;
		frame_exit(in->frame, EXIT_FAILED);
	} else if (add_kind(&kind, rule, why, &p->message) == 0 && in->nreported < REPORTED_MOST &&
		once_new(&in->reported, 0, buf_slice(&kind)) && once_add(&in->reported, 0, buf_slice(&kind)) == 0) {
		in->nreported++;
		report_failure(in, rule, &p->message, why, then);
	}
}

void
passing_jq_failed(struct passing *p, const char *rule, int result, char *why, const char *then)
{
	passing_failed(p, rule, result == 2 ? "too deep for jq" : why ? why : "out of memory", then);
	free(why);
}

void
inject_note(struct inject *in, const char *what, struct slice detail)
{
	if (in->options->verbose)
		frame_warn(in->frame, "%s: %.*s", what, (int)(detail.n < 512 ? detail.n : 512), detail.p ? detail.p : "");
}
