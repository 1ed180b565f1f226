/* rules: the rules of acp-check. Each has a name, for --explain and --ignore. */
#ifndef CHECK_RULES_H
#define CHECK_RULES_H

#include "lib/base/bytes.h"

enum level { LEVEL_VIOLATION, LEVEL_TOLERATED, LEVEL_NOTE, LEVELS };

enum rule_id {
	/* values */
	RULE_SCHEMA, RULE_SCHEMA_TOLERATED, RULE_UNKNOWN_METHOD, RULE_UNKNOWN_FIELD, RULE_UNKNOWN_UPDATE,
	RULE_UNKNOWN_VALUE, RULE_RELATIVE_PATH,
	/* lines */
	RULE_NOISE, RULE_BATCH, RULE_UTF8, RULE_DUPLICATE_KEY, RULE_LINE_LIMIT, RULE_TORN_LINE, RULE_JSONRPC,
	/* messages */
	RULE_WRONG_SIDE, RULE_WRONG_KIND, RULE_ID_IN_USE, RULE_RESPONSE_UNKNOWN, RULE_UNANSWERED,
	RULE_ABANDONED, RULE_BEFORE_INITIALIZE,
	/* what the sides can */
	RULE_VERSION, RULE_CAPABILITY, RULE_METHOD_REFUSED, RULE_ARCHIVE, RULE_LOGIN_METHOD, RULE_AUTH_STATUS,
	RULE_SYSTEM_PROMPT,
	/* what the agent has offered */
	RULE_UNLISTED_VALUE, RULE_CONFIG_VALUE, RULE_LIST_CURSOR, RULE_NOT_UNIQUE, RULE_COMMAND_NAME,
	/* sessions */
	RULE_UNKNOWN_SESSION, RULE_SUBAGENT_UNANNOUNCED, RULE_SESSION_TWICE, RULE_RESUME_REPLAY,
	RULE_LATE_REPLAY, RULE_PROMPT_OVERLAP, RULE_OUTSIDE_TURN,
	/* states of version 2 */
	RULE_RESUME_STATE, RULE_STATE_RUNNING, RULE_STOP_REASON, RULE_USER_MESSAGE, RULE_BACKGROUND,
	RULE_COMPACTION_ENDED,
	/* turns and tool calls */
	RULE_CANCELLED_TURN, RULE_CANCELLED_PERMISSION, RULE_TOOL_CALL_TWICE, RULE_TOOL_CALL_UNKNOWN,
	RULE_TOOL_CALL_FINISHED, RULE_TOOL_CALL_OPEN, RULE_TERMINAL_RELEASED, RULE_PERMISSION_CALL,
	RULE_PERMISSION_OPTION,
	/* usage */
	RULE_USED_ABOVE_SIZE, RULE_COST_FALLS, RULE_USAGE_TURN, RULE_USAGE_MISSING,
	RULES,
};

struct rule {
	const char *name;
	enum level level;
	const char *what;   /* what breaks it: a sentence */
	const char *source; /* where the protocol states it */
};

extern const struct rule rules[RULES];

/* What the protocol demands and no rule checks; the last has no text. */
struct unchecked {
	const char *page, *what, *why;
};
extern const struct unchecked unchecked[];

/* By level: "violation", "tolerated", "note"; then NULL. */
extern const char *const level_names[LEVELS + 1];
/* Returns the rule of this name, or RULES. */
enum rule_id rule_find(const char *name);

#endif
