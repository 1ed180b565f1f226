/* The states of version 2: work is reported when it begins and when it ends, and so is the message of the user. */
#include "cmd/acp-check/check.h"
#include "lib/match/digest.h"

/* Never 0. */
static uint64_t
hash(struct check *c, struct slice id)
{
	return digest_bytes(json_text(id, &c->text)) | 1;
}

void
check_resumed(struct check *c, struct check_session *data, const struct session_message *seen)
{
	if (c->c.version == 2 && seen->message.msg.result.p && !seen->copy && !data->stated && check_is_complete(c))
		check_find(c, RULE_RESUME_STATE, "result", "a state_update before it", slice(NULL, 0));
}

/* An idle state is the last word of the work that session/close ends. */
void
check_closed(struct check *c, struct check_session *data, const struct session_message *seen)
{
	if (c->c.version == 2 && seen->message.msg.result.p && !seen->copy && data->running)
		check_find(c, RULE_CANCELLED_TURN, "result", "an idle state before it", slice(NULL, 0));
	data->running &= !seen->message.msg.result.p;
}

void
check_accepted(struct check *c, struct check_session *data, const struct session_message *seen)
{
	struct slice id = json_get_string(seen->message.msg.result, "messageId");

	if (c->c.version != 2 || seen->copy || !session_accepts(seen->message.msg.result, true))
		return;
	data->accepted = true;
	data->message = id.p ? hash(c, id) : 0;
	data->echoed |= data->many || data->said == data->message;
}

void
check_turn_begins(struct check_session *data, bool queued)
{
	data->queues |= queued;
	data->accepted = data->echoed = data->many = data->spoke = false;
	data->message = data->said = 0;
}

/* An idle state ends work, or only repeats: then neither has any work been reported, nor has the agent said anything. */
void
check_idle(struct check *c, struct check_session *data, const struct session_event *e)
{
	bool own = json_string_is(e->message->kind, acp_state_update), known = check_is_complete(c) && !c->c.forgot_session;
	struct slice state = json_get(e->state, "state");

	if (data->running && own && json_type(json_get(e->state, acp_stop_reason)) != JSON_STRING)
		check_find(c, RULE_STOP_REASON, "params.update.stopReason", "why the work ends", slice(NULL, 0));
	if (!data->accepted || !(data->running || data->spoke))
		return;
	if (!data->running && known)
		check_find(c, RULE_STATE_RUNNING, "params.update.state", "\"running\" before it", state);
	if (data->message && !data->echoed && !data->queues && known)
		check_find(c, RULE_USER_MESSAGE, "params.update.state", "a user message with the id of the prompt's response before it", state);
	data->accepted = data->spoke = false;
}

void
check_user_message(struct check *c, struct check_session *data, struct slice update)
{
	struct slice id = json_get_string(update, "messageId");
	uint64_t said = id.p ? hash(c, id) : 0;

	if (!said)
		return;
	data->echoed |= said == data->message;
	data->many |= !data->message && data->said && data->said != said;
	data->said = said;
}
