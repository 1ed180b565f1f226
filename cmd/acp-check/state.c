/* The state of the connection and the checked message, for all other files. */
#include "cmd/acp-check/check.h"

#include <stdlib.h>

void
check_begin(struct check *c, bool partial)
{
	struct offered *o, *next;

	for (size_t i = 0; i < sizeof(c->conn.capabilities) / sizeof(*c->conn.capabilities); i++)
		buf_free(&c->conn.capabilities[i]);
	buf_free(&c->conn.initialize_params);
	buf_free(&c->conn.logins);
	HASH_ITER(hh, c->conn.offers, o, next) {
		HASH_DEL(c->conn.offers, o);
		free(o);
	}
	HASH_ITER(hh, c->conn.released, o, next) {
		HASH_DEL(c->conn.released, o);
		free(o);
	}
	c->marks++;
	c->conn = (struct connection){.version = c->options->protocol ? c->options->protocol : 1, .partial = partial};
}

bool
check_is_complete(const struct check *c)
{
	return c->conn.initialized && !c->conn.partial && c->conn.seen[ACP_CLIENT] && c->conn.seen[ACP_AGENT];
}

bool
check_advertises(const struct check *c, enum acp_side side, const char *capability)
{
	enum json_type type = json_type(json_path(buf_slice(&c->conn.capabilities[side]), capability));

	return type == JSON_TRUE || type == JSON_OBJECT;
}

void
check_locate(struct check *c, const struct session_message *seen)
{
	const struct watch *w = c->watch;

	if (!seen)
		return;
	c->message = seen->message;
	c->message.t = w->t;
	c->message.from = seen->role;
	/* Responses to enveloped requests come without an envelope. If the request is unknown, it is taken for an enveloped one. */
	if (seen->message.msg.kind == MSG_RESPONSE && !seen->request && c->conn.enveloped)
		c->message.from = acp_other_side(c->message.from);
	c->conn.seen[seen->message.from] = true;
	c->now = seen->message.t;
	c->where = (struct where){.file = w->file, .number = w->number, .t = w->t, .timed = w->timed, .from = c->message.from,
		.message = &c->message};
}
