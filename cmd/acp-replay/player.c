/* The player's walk along the recording. */
#include "cmd/acp-replay/player_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cli.h"
#include "lib/proc.h"

enum step { STEP_FAILED = -1, STEP_DONE, STEP_WAIT };

int
player_open(struct player *p, struct script *s, struct output *out, struct output *err, enum acp_side us)
{
	*p = (struct player){.script = s, .out = out, .err = err, .us = us, .them = acp_other_side(us)};
	p->ours = requests_new();
	p->theirs = requests_new();
	return p->ours && p->theirs ? 0 : -1;
}

static void
free_requests(struct requests *rs)
{
	struct request *r = NULL;

	while (rs && (r = requests_next(rs, r)))
		free(r->owner);
	requests_free(rs);
}

void
player_close(struct player *p)
{
	free_requests(p->ours);
	free_requests(p->theirs);
	player_forget_sessions(p);
	free(p->early);
}

void
player_say(const struct player *p, uint64_t number, const char *format, ...)
{
	struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0)
		cli_warn("acp-replay", "%s:%llu: %.*s", p->script->path, (unsigned long long)number, (int)text.n, text.p);
	va_end(args);
	buf_free(&text);
}

/* --- what the live side has to send --- */

static void
had_its_turn(struct player *p, const struct kept *k)
{
	if (k->arrived > p->taken)
		p->taken = k->arrived;
}

static enum step
expect_request(struct player *p)
{
	struct part *part = script_part(p->script, &p->now);
	struct request *r;
	struct kept *k;

	if (!part)
		return STEP_FAILED;
	k = player_take(p, part);
	if (!k)
		return STEP_WAIT;
	had_its_turn(p, k);
	r = requests_open(p->theirs, p->them, 0, &p->now);
	if (!r) {
		free(k);
		return STEP_FAILED;
	}
	r->owner = k;
	return STEP_DONE;
}

/*
 * Agents do not cut their text into the same pieces twice. A notification of the agent's is waited for
 * only while the agent has something to do and nothing to wait for, and only until it sends
 * something that the recording has later.
 */
static enum step
expect_agents_notification(struct player *p)
{
	bool busy = p->unanswered > 0 && requests_count(p->theirs) == 0;

	if (p->taken < p->arrived) {
		p->taken++;
		return STEP_DONE;
	}
	return busy && p->kept == 0 && !p->left ? STEP_WAIT : STEP_DONE;
}

static enum step
expect_notification(struct player *p)
{
	struct part *part;
	struct kept *k;

	if (p->them == ACP_AGENT)
		return expect_agents_notification(p);
	part = script_part(p->script, &p->now);
	if (!part)
		return STEP_FAILED;
	k = player_take(p, part);
	if (!k)
		return STEP_WAIT;
	free(k);
	return STEP_DONE;
}

static enum step
expect_response(struct player *p)
{
	struct request *r = requests_find(p->ours, p->us, p->now.id);
	struct kept *k = r ? r->owner : NULL;
	int learned;

	if (!r)
		return STEP_DONE; /* it answers nothing that was sent: an error with a null id, for one */
	if (!k)
		return STEP_WAIT;
	had_its_turn(p, k);
	p->kept--;
	requests_take(p->ours, r);
	learned = player_learn(p, r, &p->now, k);
	free(k);
	requests_done(r);
	return learned < 0 ? STEP_FAILED : STEP_DONE;
}

static enum step
expect(struct player *p)
{
	switch (p->now.kind) {
	case MSG_REQUEST:
		return expect_request(p);
	case MSG_NOTIFICATION:
		return expect_notification(p);
	case MSG_RESPONSE:
		return expect_response(p);
	default:
		return STEP_DONE;
	}
}

/* A batch is waited for entry by entry. */
static enum step
expect_all(struct player *p)
{
	enum step s;

	while ((s = expect(p)) == STEP_DONE && p->head.msg.kind == MSG_BATCH)
		if (!msg_next(&p->batch, &p->now))
			return STEP_DONE;
	return s;
}

/* --- records --- */

static enum step
send_text(struct output *to, struct slice text)
{
	return output_copy(to, text) < 0 || output_copy(to, slice("\n", 1)) < 0 ? STEP_FAILED : STEP_DONE;
}

/* Who sent it: where the recording does not say, who could have. */
static enum acp_side
sender(const struct player *p)
{
	enum acp_side from = script_sender(&p->head, &p->now);

	if (from == ACP_UNKNOWN && p->now.kind == MSG_RESPONSE) {
		if (requests_find(p->theirs, p->them, p->now.id))
			return p->us;
		if (requests_find(p->ours, p->us, p->now.id))
			return p->them;
	}
	return from;
}

static enum step
play_message(struct player *p)
{
	enum acp_side from = sender(p);

	if (from == p->them)
		return expect_all(p);
	if (from == p->us)
		return player_send(p, p->head.text, &p->head.msg) < 0 ? STEP_FAILED : STEP_DONE;
	player_say(p, p->head.number, "left out: nothing says who sent it");
	p->missed = true;
	return STEP_DONE;
}

static enum step
play_record(struct player *p)
{
	const struct record *r = &p->head;

	switch (r->kind) {
	case RECORD_MESSAGE:
		return play_message(p);
	case RECORD_NOISE:
		return r->from == p->us ? send_text(p->out, r->text) : STEP_DONE;
	case RECORD_STDERR:
		return p->us == ACP_AGENT ? send_text(p->err, r->text) : STEP_DONE;
	case RECORD_LOST:
		player_say(p, r->number, "here the recording lacks %llu records: %.*s", (unsigned long long)r->count,
			(int)r->text.n, r->text.p);
		return STEP_DONE;
	case RECORD_EOF:
		return r->from == p->them && p->us == ACP_AGENT && !p->left ? STEP_WAIT : STEP_DONE;
	default:
		return STEP_DONE;
	}
}

/* Has it been played already, out of its turn? */
static bool
was_early(struct player *p)
{
	size_t i;

	for (i = 0; i < p->nearly; i++) {
		if (p->early[i] == p->head.number) {
			p->early[i] = p->early[--p->nearly];
			return true;
		}
	}
	return false;
}

static int
advance(struct player *p)
{
	do {
		if (script_next(p->script, &p->head) < 0)
			return -1;
	} while (was_early(p));
	p->now = p->head.msg;
	if (p->head.kind == RECORD_MESSAGE && p->now.kind == MSG_BATCH) {
		p->batch = (struct json_iter){.in = p->head.msg.text};
		msg_next(&p->batch, &p->now);
	}
	p->begun |= p->head.kind == RECORD_MESSAGE;
	p->ready = true;
	return 0;
}

/* --- ends --- */

/* What of the rest each side would have sent. */
static int
count_rest(struct player *p, uint64_t *ours, uint64_t *theirs)
{
	*ours = *theirs = 0;
	do {
		if (p->head.kind == RECORD_MESSAGE)
			++*(sender(p) == p->us ? ours : theirs);
		if (advance(p) < 0)
			return -1;
	} while (p->head.kind != RECORD_END && p->head.kind != RECORD_BAD);
	return 0;
}

static enum play
abandon(struct player *p)
{
	const char *them = acp_side_name(p->them);
	struct buf what = {0};
	const struct request *r = NULL;
	uint64_t number = p->head.number, ours, theirs;
	int failed;

	if (p->now.kind == MSG_RESPONSE)
		r = requests_find(p->ours, p->us, p->now.id);
	failed = r && buf_add_string(&what, "the answer to ") < 0;
	failed = failed || buf_add_slice(&what, r ? r->method : p->now.method) < 0 || count_rest(p, &ours, &theirs) < 0;
	if (!failed)
		player_say(p, number, "%s%s before %.*s: left are %llu of the %s's messages and %llu of the %s's",
			p->stopped ? "told to stop" : "the end of the ", p->stopped ? "" : them, (int)what.n, what.p,
			(unsigned long long)theirs, them, (unsigned long long)ours, acp_side_name(p->us));
	buf_free(&what);
	p->missed = true;
	p->ready = true;
	return failed ? PLAY_FAILED : PLAY_ABANDONED;
}

void
player_finish(struct player *p)
{
	const struct request *r = NULL;
	const struct kept *k;

	while ((r = requests_next(p->ours, r))) {
		k = r->owner;
		if (!k)
			continue;
		cli_warn("acp-replay", "%s: line %llu: the recording has no answer to %.*s", acp_side_name(p->them),
			(unsigned long long)k->line, (int)r->method.n, r->method.p);
		p->missed = true;
	}
}

static enum play
end_of_recording(struct player *p)
{
	if (p->begun)
		return PLAY_OVER;
	if (p->script->hop)
		cli_warn("acp-replay", "%s: no messages of hop %s", p->script->path, p->script->hop);
	else
		cli_warn("acp-replay", "%s: no messages", p->script->path);
	return PLAY_BAD;
}

static enum play
bad_record(struct player *p)
{
	const struct record *r = &p->head;

	if (r->torn) {
		player_say(p, r->number, "the last record is torn: taken as the end");
		p->head = (struct record){.kind = RECORD_END, .number = r->number};
		return end_of_recording(p);
	}
	player_say(p, r->number, "byte %zu: %s", r->error.at, r->error.what);
	return PLAY_BAD;
}

int
player_exit_status(const struct player *p)
{
	int s;

	if (p->head.status >= 0)
		return p->head.status;
	for (s = 1; s < 65; s++)
		if (proc_signal_name(s) && slice_is(p->head.signal, proc_signal_name(s)))
			return 128 + s;
	return EXIT_FAILED;
}

/* Those records that are the business of who plays, not of the player; they are left standing where the play ends. */
static bool
is_end(struct player *p, enum play *play)
{
	switch (p->head.kind) {
	case RECORD_END:
		*play = end_of_recording(p);
		return true;
	case RECORD_BAD:
		*play = bad_record(p);
		return true;
	case RECORD_EXIT:
		*play = PLAY_EXIT;
		return p->us == ACP_AGENT;
	case RECORD_EOF:
		*play = PLAY_LEAVE;
		p->ready = p->head.from != p->us;
		return p->head.from == p->us;
	default:
		return false;
	}
}

enum play
player_play(struct player *p)
{
	enum play play;
	enum step s;
	int early;

	for (;;) {
		if (p->out->full || p->err->full)
			return PLAY_FULL;
		if (!p->ready && advance(p) < 0)
			return PLAY_FAILED;
		if (is_end(p, &play))
			return play;
		s = play_record(p);
		if (s == STEP_FAILED)
			return PLAY_FAILED;
		p->ready = s == STEP_WAIT;
		if (s == STEP_DONE)
			continue;
		early = player_answer_early(p);
		if (early < 0)
			return PLAY_FAILED;
		if (early == 0)
			return p->left ? abandon(p) : PLAY_WAITING;
	}
}
