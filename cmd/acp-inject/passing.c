/* A message on its way through the rules: runs programs on it, changes it, and reports failures. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* The most kinds of failures that are reported and remembered: a peer's method names must not fill the memory. */
enum { REPORTED_MOST = 1000 };

/* --- outputs of programs --- */

static bool
add_output(void *arg, struct slice output)
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

/* --- once for each session --- */

bool
passing_was_applied(struct passing *p, size_t rule)
{
	struct sessions *all = p->inject->sessions;
	SCOPED struct buf room = {0};
	struct slice id = json_text(message_session(&p->message), &room);
	const bool *applied;

	p->session = id.p ? sessions_find(all, id) : NULL;
	applied = p->session ? p->session->data : NULL;
	return applied && applied[rule];
}

int
passing_applied(struct passing *p, size_t rule)
{
	bool *applied;

	if (!p->session)
		return 0;
	if (!p->session->data)
		p->session->data = calloc(RULE_SENDS + p->inject->options->nsends, sizeof(*applied));
	applied = p->session->data;
	if (applied)
		applied[rule] = true;
	return applied ? 0 : -1;
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

/* Failures that differ in a value only are one kind. A kind that cannot be kept is not new: it would be reported each time. */
static bool
is_new_kind(struct inject *in, const char *rule, const char *why, const struct message *message)
{
	struct slice method = message_method(message), update = msg_update_kind(&message->msg);
	SCOPED struct buf kind = {0};

	/* A kind stands between two NULs: neither its words nor JSON text contain a NUL. */
	if (buf_add(&kind, "", 1) < 0 || buf_printf(&kind, "%s %d ", rule, (int)message->msg.kind) < 0 ||
		buf_add(&kind, why, strcspn(why, "0123456789\"({[")) < 0 || buf_add_slice(&kind, method) < 0 ||
		buf_add_slice(&kind, update) < 0 || buf_add(&kind, "", 1) < 0)
		return false;
	if (in->nreported == REPORTED_MOST || (in->reported.n && memmem(in->reported.p, in->reported.n, kind.p, kind.n)))
		return false;
	in->nreported++;
	return buf_add_slice(&in->reported, buf_slice(&kind)) == 0;
}

void
passing_failed(struct passing *p, const char *rule, const char *why, const char *then)
{
	struct inject *in = p->inject;

	if (in->stopped)
		return;
	if (in->options->strict) {
		report_failure(in, rule, &p->message, why, "ending (--strict)");
		in->stopped = true;
		frame_exit(in->frame, EXIT_FAILED);
	} else if (is_new_kind(in, rule, why, &p->message)) {
		report_failure(in, rule, &p->message, why, then);
	}
}

int
passing_run(struct passing *p, struct jqprog *program, const char *rule, const char *then, struct outputs *o)
{
	struct select_vars vars;
	char *why;
	int r;

	select_vars(&vars, &p->message);
	r = (o->input.p ? jqprog_edit : jqprog_run)(program, p->message.msg.text, vars.at, SELECT_VARS, add_output, o, &why);
	if (r > 0)
		passing_failed(p, rule, r == 2 ? "too deep for jq" : why ? why : "out of memory",
			r == 2 && o->input.p ? "forwarded unedited" : then);
	free(why);
	return r < 0 || o->failed ? -1 : r > 0;
}

void
inject_failed(struct inject *in)
{
	if (!in->stopped)
		frame_warn(in->frame, "out of memory");
	in->stopped = true;
	frame_exit(in->frame, EXIT_FAILED);
}

void
inject_note(struct inject *in, const char *what, struct slice detail)
{
	if (in->options->verbose)
		frame_warn(in->frame, "%s: %.*s", what, (int)(detail.n < 512 ? detail.n : 512), detail.p ? detail.p : "");
}
