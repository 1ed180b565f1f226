/* Keeps what the agent offers (logins, modes, options, cursors, providers, terminals, calls), and checks how the client uses it. */
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/match/digest.h"

/* --- the set of offers of a connection --- */

/*
 * The kinds of offers. ALL_MODES, ALL_OPTIONS: the agent has sent a list of them for the session. RELEASED: a terminal of version 1 that
 * may not be used any more, in a set of its own.
 */
enum offer { ALL_MODES, MODE, ALL_OPTIONS, OPTION, SELECT, VALUE, CURSOR, REQUIRED, OPTIONAL, TERMINAL, CANCEL, COMPACTED, RELEASED };

enum { OFFERS = 1 << 16 }; /* the most that a set keeps; in a full set some may be missing */

/* Finds the member of a set with this digest; or NULL. */
static struct offered *
find(struct offered *set, uint64_t digest)
{
	struct offered *o;

	HASH_FIND(hh, set, &digest, sizeof(digest), o);
	return o;
}

/* Adds to a set, unless it is full. */
static void
keep(struct check *c, struct offered **set, uint64_t digest)
{
	struct offered *o;

	if (HASH_COUNT(*set) >= OFFERS || find(*set, digest))
		return;
	if ((o = calloc(1, sizeof(*o)))) {
		o->digest = digest;
		HASH_ADD(hh, *set, digest, sizeof(o->digest), o);
	}
	if (!o || !o->hh.tbl) {
		c->failed = true;
		free(o);
	}
}

/* Returns the digest of an offer, which is never 0. session, id, value: p NULL if the offer has none. */
static uint64_t
digest_of(struct check *c, enum offer what, struct slice session, struct slice id, struct slice value)
{
	uint64_t digest = (uint64_t)what + 1;
	struct slice parts[] = {session, id, value};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		digest = digest_join(digest, json_type(parts[i]) == JSON_STRING ? digest_bytes(json_text(parts[i], &c->text)) : 0);
	return digest ? digest : 1;
}

static void
offer(struct check *c, enum offer what, struct slice session, struct slice id, struct slice value)
{
	keep(c, &c->conn.offers, digest_of(c, what, session, id, value));
}

static bool
has(struct check *c, enum offer what, struct slice session, struct slice id, struct slice value)
{
	return find(c->conn.offers, digest_of(c, what, session, id, value)) != NULL;
}

/* Is it certain that this was not offered? */
static bool
is_missing(struct check *c, enum offer what, struct slice session, struct slice id, struct slice value)
{
	return check_is_complete(c) && HASH_COUNT(c->conn.offers) < OFFERS && !has(c, what, session, id, value);
}

static const struct slice none;

/* --- names that are unique --- */

/* Reports the first item of a list whose member was in an earlier one. */
static void
check_unique(struct check *c, enum rule_id rule, struct slice list, const char *member, const char *path)
{
	enum { MOST = 512 }; /* names that are compared */
	struct json_iter it = {.in = list};
	struct slice item;
	uint64_t seen[MOST], digest;

	for (size_t n = 0, i; n < MOST && json_item(&it, &item);) {
		struct slice name = json_get_string(item, member);

		if (!name.p)
			continue;
		digest = digest_bytes(json_text(name, &c->text));
		for (i = 0; i < n && seen[i] != digest; i++)
			;
		if (i < n) {
			check_report(c, rule, path, "a name that is unique in the list", name);
			return;
		}
		seen[n++] = digest;
	}
}

static void
check_commands(struct check *c, struct slice list, const char *path)
{
	struct json_iter it = {.in = list};
	struct slice item;

	if (c->conn.version != 2)
		return;
	check_unique(c, RULE_COMMAND_NAME, list, "name", path);
	while (json_item(&it, &item)) {
		struct slice name = json_get_string(item, "name"), text = json_text(name, &c->text);

		for (size_t i = 0; i < text.n; i++)
			if (strchr(" \t\r\n\v\f", text.p[i]) && text.p[i] != '\0') {
				check_report(c, RULE_COMMAND_NAME, path, "a name without white space", name);
				return;
			}
	}
}

/* --- modes and options --- */

static void
offer_modes(struct check *c, struct slice session, struct slice modes)
{
	struct slice list = json_get(modes, "availableModes"), mode;
	struct json_iter it = {.in = list};

	if (json_type(list) != JSON_ARRAY)
		return;
	check_unique(c, RULE_NOT_UNIQUE, list, "id", "result.modes.availableModes[].id");
	offer(c, ALL_MODES, session, none, none);
	offer(c, MODE, session, json_get(modes, "currentModeId"), none);
	while (json_item(&it, &mode))
		offer(c, MODE, session, json_get(mode, "id"), none);
}

/* Keeps the values of an option, which may be in groups. Returns whether one of them is the current value. */
static bool
offer_values(struct check *c, struct slice session, struct slice option, struct slice id, struct slice values)
{
	bool mode = json_string_is(json_get(option, "category"), "mode"), found = false;
	struct slice current = json_get_string(option, "currentValue"), item;
	struct json_iter it = {.in = values};

	if (c->conn.version == 2)
		check_unique(c, RULE_NOT_UNIQUE, values, "value", "configOptions[].options[].value");
	while (json_item(&it, &item)) {
		struct slice value = json_get_string(item, "value"), group = json_get(item, "options");

		if (json_type(group) == JSON_ARRAY && !value.p)
			found |= offer_values(c, session, option, id, group);
		if (!value.p)
			continue;
		offer(c, VALUE, session, id, value);
		if (mode)
			offer(c, MODE, session, value, none);
		found |= current.p && json_string_eq(current, value);
	}
	return found;
}

static void
offer_options(struct check *c, struct slice session, struct slice list, const char *path)
{
	const char *member = c->conn.version == 2 ? "configId" : "id";
	struct json_iter it = {.in = list};
	struct slice option;

	check_unique(c, RULE_NOT_UNIQUE, list, member, path);
	if (json_type(list) == JSON_ARRAY && !json_is_empty(list))
		offer(c, ALL_OPTIONS, session, none, none);
	while (json_item(&it, &option)) {
		struct slice id = json_get_string(option, member), current = json_get_string(option, "currentValue");

		if (!id.p)
			continue;
		offer(c, OPTION, session, id, none);
		if (!json_string_is(json_get(option, "type"), "select"))
			continue;
		offer(c, SELECT, session, id, none);
		offer(c, VALUE, session, id, current);
		if (!offer_values(c, session, option, id, json_get(option, "options")) && current.p && c->conn.version == 2)
			check_report(c, RULE_CONFIG_VALUE, path, "a current value that is among the option's values", current);
	}
}

/* Checks that the client sets a listed mode, or option and value. An agent may send several lists in a session: all count. */
static void
check_set(struct check *c, const struct msg *m)
{
	struct slice session = json_get(m->params, acp_session_id), mode = json_get_string(m->params, "modeId");
	struct slice id = json_get_string(m->params, "configId"), value = json_get_string(m->params, "value");

	if (m->what == ACP_SESSION_SET_MODE && mode.p && has(c, ALL_MODES, session, none, none) && is_missing(c, MODE, session, mode, none))
		check_report(c, RULE_UNLISTED_VALUE, "params.modeId", "a mode that the agent has listed in this session", mode);
	if (m->what != ACP_SESSION_SET_CONFIG || !id.p || !has(c, ALL_OPTIONS, session, none, none))
		return;
	if (is_missing(c, OPTION, session, id, none))
		check_report(c, RULE_UNLISTED_VALUE, "params.configId", "an option that the agent has listed in this session", id);
	else if (value.p && has(c, SELECT, session, id, none) && is_missing(c, VALUE, session, id, value))
		check_report(c, RULE_UNLISTED_VALUE, "params.value", "a value that the agent has listed for this option", value);
}

/* --- the connection --- */

/* Finds the login method with this id; id.p NULL: the first that the client does not run itself. Returns p NULL: there is none. */
static struct slice
login_method(const struct check *c, struct slice id)
{
	struct json_iter it = {.in = buf_slice(&c->conn.logins)};
	struct slice method;

	while (json_item(&it, &method)) {
		struct slice own = json_get_string(method, c->conn.version == 2 ? "methodId" : "id");

		if (id.p ? own.p && json_string_eq(own, id) : !json_string_is(json_get(method, "type"), "terminal"))
			return method;
	}
	return none;
}

static void
check_login(struct check *c, const struct msg *m)
{
	bool v2 = c->conn.version == 2;
	struct slice id = json_get_string(m->params, "methodId"), method;

	if (c->conn.logins.n == 0)
		return;
	if (v2 && json_string_is(m->method, "auth/logout") && json_is_empty(buf_slice(&c->conn.logins)))
		check_report(c, RULE_LOGIN_METHOD, "method", "a login method in the response to initialize", m->method);
	if (!json_string_is(m->method, v2 ? "auth/login" : "authenticate") || !id.p)
		return;
	method = login_method(c, id);
	if (!method.p)
		check_report(c, RULE_LOGIN_METHOD, "params.methodId", "a method that the response to initialize has offered", id);
	else if (json_string_is(json_get(method, "type"), "terminal"))
		check_report(c, RULE_LOGIN_METHOD, "params.methodId", "a method that is not of the type terminal", id);
}

/* Checks that the agent has chosen one of the client's position encodings, or utf-16, which all clients have. */
static void
check_encoding(struct check *c, struct slice chosen, const char *path)
{
	static const char *const others[] = {"utf-8", "utf-32", NULL};
	struct slice list = json_get(buf_slice(&c->conn.capabilities[ACP_CLIENT]), "positionEncodings"), encoding;
	struct json_iter it = {.in = list};

	if (c->conn.capabilities[ACP_CLIENT].n == 0 || !json_string_in(chosen, others))
		return;
	while (json_item(&it, &encoding))
		if (json_string_eq(encoding, chosen))
			return;
	check_report(c, RULE_CAPABILITY, path, "one of the client's positionEncodings", chosen);
}

static void
see_initialized(struct check *c, struct slice result)
{
	bool v2 = c->conn.version == 2;
	struct slice can = json_get(result, v2 ? "capabilities" : "agentCapabilities"), method;
	struct json_iter it = {.in = json_get(result, "authMethods")};

	check_unique(c, RULE_NOT_UNIQUE, it.in, v2 ? "methodId" : "id", "result.authMethods[].id");
	while (v2 && json_item(&it, &method))
		check_unique(c, RULE_NOT_UNIQUE, json_get(method, "env"), "name", "result.authMethods[].env[].name");
	check_encoding(c, json_get(can, "positionEncoding"), v2 ? "result.capabilities.positionEncoding" :
		"result.agentCapabilities.positionEncoding");
	if (!v2 && check_advertises(c, ACP_AGENT, "sessionCapabilities.archive") && !check_advertises(c, ACP_AGENT, "sessionCapabilities.list"))
		check_report(c, RULE_ARCHIVE, "result.agentCapabilities.sessionCapabilities", "list beside archive", none);
}

static void
see_list(struct check *c, struct slice result)
{
	bool archives = check_advertises(c, ACP_AGENT, c->conn.version == 2 ? "session.archive" : "sessionCapabilities.archive");
	struct json_iter it = {.in = json_get(result, "sessions")};
	struct slice cursor = json_get_string(result, "nextCursor"), item;

	if (cursor.p)
		offer(c, CURSOR, none, cursor, none);
	while (archives && json_item(&it, &item)) {
		enum json_type type = json_type(json_get(item, "archived"));

		if (type == JSON_TRUE || type == JSON_FALSE)
			continue;
		check_report(c, RULE_ARCHIVE, "result.sessions[].archived", "whether the session is archived", json_get(item, "archived"));
		return;
	}
}

/* --- terminals of version 1 --- */

uint64_t
check_terminal(struct check *c, const struct msg *m)
{
	struct slice id = m->what == ACP_OTHER && c->where.from == ACP_AGENT ? json_get_string(m->params, "terminalId") : none;
	uint64_t terminal = id.p ? digest_of(c, RELEASED, json_get(m->params, acp_session_id), id, none) : 0;

	if (terminal && find(c->conn.released, terminal))
		check_report(c, RULE_TERMINAL_RELEASED, "params.terminalId", "a terminal that was not released", id);
	return json_string_is(m->method, "terminal/release") ? terminal : 0;
}

void
check_change_terminals(struct check *c, const struct message *m, uint64_t releases)
{
	struct slice id = json_string_is(m->request->method, "terminal/create") ? json_get_string(m->msg.result, "terminalId") : none;
	struct offered *again = id.p ? find(c->conn.released, digest_of(c, RELEASED, message_session(m), id, none)) : NULL;

	if (again) {
		HASH_DEL(c->conn.released, again);
		free(again);
	}
	if (releases && m->msg.result.p)
		keep(c, &c->conn.released, releases);
}

/* --- calls, background work and compaction of a session --- */

/* Finds a session by its id. NULL: there is none. */
static const struct session *
session_of(struct check *c, struct slice id)
{
	return json_type(id) == JSON_STRING ? sessions_find(c->watch->sessions, json_text(id, &c->text)) : NULL;
}

/* Keeps the terminal that an update names, and whether its call or terminal can be cancelled (v2). */
static void
see_call(struct check *c, struct slice session, struct slice call)
{
	offer(c, TERMINAL, session, json_get(call, "terminalId"), none);
	if (json_type(json_path(call, "capabilities.cancel")) == JSON_OBJECT)
		offer(c, CANCEL, session, json_get(call, "toolCallId"), json_get(call, "terminalId"));
}

static void
check_cancel(struct check *c, const struct msg *m)
{
	struct slice session = json_get(m->params, acp_session_id), call = json_get_string(m->params, "toolCallId");
	struct slice terminal = json_get_string(m->params, "terminalId");
	const struct session *s = session_of(c, session);

	/* In a resumed session, the client may know calls from earlier connections. */
	if (s && s->how == SESSION_NEW && (call.p || terminal.p) && is_missing(c, CANCEL, session, call, terminal))
		check_report(c, RULE_CAPABILITY, call.p ? "params.toolCallId" : "params.terminalId", "capabilities.cancel of it",
			call.p ? call : terminal);
}

/* Checks the list of background work in a state (v2): after the first list each state has one, and its items were announced. */
static void
check_background(struct check *c, struct slice session, struct slice update)
{
	struct slice list = json_get(update, "background"), item;
	const struct session *s = session_of(c, session);
	struct check_session *data = s ? s->data : NULL;
	struct json_iter it = {.in = list};

	if (!data)
		return;
	if (data->background && (json_type(list) == JSON_NONE || json_type(list) == JSON_NULL))
		check_report(c, RULE_BACKGROUND, "params.update.background", "the list, as in an earlier state", list);
	data->background |= json_type(list) == JSON_ARRAY;
	if (s->how != SESSION_NEW || !check_is_complete(c) || c->conn.forgot_call || c->conn.forgot_session)
		return;
	while (json_item(&it, &item)) {
		struct slice call = json_get_string(item, "toolCallId"), terminal = json_get_string(item, "terminalId");

		if (call.p && json_string_is(json_get(item, "type"), "tool_call") && !session_call_find(c->watch->sessions, s, call))
			check_report(c, RULE_BACKGROUND, "params.update.background[].toolCallId", "a call that was announced", call);
		if (terminal.p && json_string_is(json_get(item, "type"), "terminal") && is_missing(c, TERMINAL, session, terminal, none))
			check_report(c, RULE_BACKGROUND, "params.update.background[].terminalId", "a terminal that was announced", terminal);
	}
}

static void
check_compaction(struct check *c, struct slice session, struct slice update)
{
	static const char *const ends[] = {"completed", "failed", "cancelled", NULL};
	struct slice id = json_get_string(update, "compactionId"), status = json_get_string(update, "status");
	const struct session *s = session_of(c, session);

	if (!id.p || !s || session_is_replayed(s))
		return;
	if (status.p && json_string_in(status, ends)) {
		offer(c, COMPACTED, session, id, none);
		/* From now on a chunk of this compaction is a finding, though its shape had none before. */
		c->marks++;
	} else if (has(c, COMPACTED, session, id, none) && (!status.p || json_string_is(status, "in_progress"))) {
		check_report(c, RULE_COMPACTION_ENDED, "params.update.compactionId", "a compaction that has not ended", id);
	}
}

/* Checks that a plan in a file is named by a URI with a scheme. */
static void
check_plan(struct check *c, struct slice plan)
{
	struct slice uri = json_get_string(plan, "uri"), text = json_text(uri, &c->text);
	size_t n = 0;

	while (n < text.n && (((text.p[n] | 0x20) >= 'a' && (text.p[n] | 0x20) <= 'z') || byte_is_digit(text.p[n]) ||
		(text.p[n] && strchr("+.-", text.p[n]))))
		n++;
	if (uri.p && json_string_is(json_get(plan, "type"), "file") && !(n > 0 && n < text.n && text.p[n] == ':'))
		check_report(c, RULE_RELATIVE_PATH, "params.update.plan.uri", "an absolute URI", uri);
}

/* --- all messages --- */

static void
check_request(struct check *c, const struct msg *m)
{
	struct slice params = m->params, id;

	if (json_string_is(m->method, "session/list")) {
		id = json_get_string(params, "cursor");
		if (id.p && is_missing(c, CURSOR, none, id, none))
			check_report(c, RULE_LIST_CURSOR, "params.cursor", "a nextCursor of this connection", id);
	} else if (json_string_is(m->method, "providers/disable")) {
		id = json_get(params, "providerId");
		if (has(c, REQUIRED, none, id, none) && !has(c, OPTIONAL, none, id, none))
			check_report(c, RULE_CAPABILITY, "params.providerId", "a provider that is not required", id);
	} else if (json_string_is(m->method, "tool_call/cancel") || json_string_is(m->method, "terminal/cancel")) {
		check_cancel(c, m);
	} else if (acp_opens_session(m->what)) {
		check_unique(c, RULE_NOT_UNIQUE, json_get(params, acp_mcp_servers), "serverId", "params.mcpServers[].serverId");
	} else {
		check_set(c, m);
		check_login(c, m);
	}
}

static void
see_update(struct check *c, struct slice session, struct slice kind, struct slice update)
{
	if (json_string_is(kind, "current_mode_update"))
		offer(c, MODE, session, json_get(update, "currentModeId"), none);
	else if (json_string_is(kind, "config_option_update"))
		offer_options(c, session, json_get(update, "configOptions"), "params.update.configOptions[]");
	else if (json_string_is(kind, "available_commands_update"))
		check_commands(c, json_get(update, acp_commands), "params.update.availableCommands[].name");
	else if (json_string_is(kind, "plan_update"))
		check_plan(c, json_get(update, "plan"));
	else if (json_string_is(kind, "compaction_update") || json_string_is(kind, "compaction_summary_chunk"))
		check_compaction(c, session, update);
	else if (c->conn.version == 2 && json_string_is(kind, acp_state_update))
		check_background(c, session, update);
	else if (c->conn.version == 2 && (json_string_is(kind, "tool_call_update") || json_string_is(kind, "terminal_update") ||
		json_string_is(kind, "terminal_output_chunk")))
		see_call(c, session, update);
}

static void
see_result(struct check *c, const struct message *s)
{
	struct slice method = message_method(s), result = s->msg.result, session, item;
	struct json_iter it = {0};

	if (s->request && (s->request->what == ACP_INITIALIZE || s->request->what == ACP_PROXY_INITIALIZE))
		see_initialized(c, result);
	else if (json_string_is(method, "session/list"))
		see_list(c, result);
	else if (json_string_is(method, "providers/list"))
		it.in = json_get(result, "providers");
	while (json_item(&it, &item))
		offer(c, json_type(json_get(item, "required")) == JSON_TRUE ? REQUIRED : OPTIONAL, none, json_get(item, "providerId"), none);
	if (!s->request || !(acp_opens_session(s->request->what) || s->request->what == ACP_SESSION_SET_CONFIG))
		return;
	session = json_get(result, acp_session_id);
	if (!session.p)
		session = message_session(s);
	offer_modes(c, session, json_get(result, "modes"));
	offer_options(c, session, json_get(result, "configOptions"), "result.configOptions[]");
	check_commands(c, json_get(result, acp_commands), "result.availableCommands[].name");
}

void
check_offers(struct check *c, const struct message *s, struct slice kind, struct slice update)
{
	struct slice params = s->msg.params;

	if (s->from == ACP_CLIENT && s->msg.kind != MSG_RESPONSE)
		check_request(c, &s->msg);
	else if (s->from != ACP_AGENT)
		return;
	else if (s->msg.result.p)
		see_result(c, s);
	else if (kind.p)
		see_update(c, json_get(params, acp_session_id), kind, update);
	else if (s->msg.what == ACP_REQUEST_PERMISSION) {
		check_unique(c, RULE_NOT_UNIQUE, json_get(params, acp_options), acp_option_id, "params.options[].optionId");
		see_call(c, json_get(params, acp_session_id), json_path(params, "subject.toolCall"));
	}
}

bool
check_offered(struct check *c, const struct message *s)
{
	struct slice session = message_session(s), method = message_method(s);

	if (json_string_is(method, "session/set_mode") || json_string_is(method, "session/set_config_option"))
		return has(c, s->request->what == ACP_SESSION_SET_MODE ? ALL_MODES : ALL_OPTIONS, session, none, none);
	if (c->conn.version == 2)
		return json_string_is(method, "auth/logout") ? c->conn.logins.n > 0 && !json_is_empty(buf_slice(&c->conn.logins)) :
			json_string_is(method, "auth/login") && login_method(c, none).p;
	return json_string_is(method, "authenticate") && login_method(c, none).p;
}
