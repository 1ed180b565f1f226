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

#endif
