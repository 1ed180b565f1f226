/* rules: the rules of acp-check. Each has a name, for --explain and --ignore. */
#ifndef CHECK_RULES_H
#define CHECK_RULES_H

#include "lib/base/bytes.h"

enum level { LEVEL_VIOLATION, LEVEL_TOLERATED, LEVEL_NOTE, LEVELS };

enum rule_id {
#define RULE(id, ...) id,
#include "cmd/acp-check/rules.inc"
#undef RULE
	RULES,
};

struct rule {
	const char *name;
	enum level level;
	const char *what;   /* a sentence that says what breaks the rule */
	const char *source; /* where the protocol states the rule */
};

extern const struct rule rules[RULES];

/* A demand of the protocol that no rule checks. `what` of the last one is NULL. */
struct unchecked {
	const char *page, *what, *why; /* why: the reason for which no rule can check it */
};
extern const struct unchecked unchecked[];

/* The names of the levels: "violation", "tolerated", "note"; then NULL. */
extern const char *const level_names[LEVELS + 1];

#endif
