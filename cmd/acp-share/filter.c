/* acp-share: forwards messages as they are, and copies them to the guests. */
#include <stdlib.h>

#include "cmd/acp-share/share.h"
#include "lib/recording/recording.h"

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	(void)f;
	share_show(state, dir, message, NULL);
	return VERDICT_PASS;
}

static void
response(void *state, struct frame *f, void *tag, const struct message *message)
{
	(void)f;
	/* NULL: the client's to what a guest has responded to. */
	if (tag)
		guests_response(state, tag, message);
}

/* When the client has left, no guest may send to the agent any more, but the agent may still respond. */
static void
side_ended(struct share *s, enum acp_side side)
{
	static const char left[] = "the client has left";

	if (side != ACP_AGENT) {
		guests_over(s, ACP_UP, left);
		s->over[ACP_DOWN] = left;
	}
	if (side != ACP_CLIENT)
		guests_over(s, ACP_DOWN, "the agent has ended");
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct record r = {.t = e->t, .from = e->from, .text = e->text, .torn = e->torn, .status = e->status};
	struct share *s = state;

	(void)f;
	switch (e->kind) {
	case FRAME_NOISE:
		r.kind = RECORD_NOISE;
		if (s->guests)
			guests_copy(s, recording_put(&s->record, 0, &r), NULL);
		break;
	case FRAME_EOF:
		r.kind = RECORD_EOF;
		guests_copy(s, recording_put(&s->record, 0, &r), NULL);
		side_ended(s, e->from);
		break;
	case FRAME_EXIT:
		r.kind = RECORD_EXIT;
		guests_copy(s, recording_put(&s->record, 0, &r), NULL);
		break;
	case FRAME_BATCH:
	case FRAME_WRITABLE:
		if (s->guests)
			guests_settle(s);
		break;
	default:
		break;
	}
}

static int
start(void *state, struct frame *f)
{
	struct share *s = state;

	s->frame = f;
	door_open(s);
	return 0;
}

static int
end(void *state, struct frame *f)
{
	struct share *s = state;

	(void)f;
	door_close(s);
	side_ended(s, ACP_UNKNOWN);
	return 0;
}

static void
close_all(void *state, struct frame *f)
{
	(void)f;
	door_close(state);
	guests_close(state);
}

int
share_run(struct share *s, const struct frame_options *options)
{
	struct filter filter = {.name = share_name, .needs = FILTER_SENDS, .state = s, .start = start, .message = message,
		.response = response, .event = event, .end = end, .close = close_all};
	int status = frame_run(&filter, options);

	rendezvous_close(&s->at);
	preface_free(&s->preface);
	buf_free(&s->record);
	return status;
}
