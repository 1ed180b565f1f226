/*
 * entry: a line of a ledger, in which acp-budget counts over sessions, processes and days. An entry says what one session has used
 * since its previous entry, so that entries of any writers can be added up in any order:
 *
 *	{"acp-ledger":1,"time":"2026-11-24T09:30:00.000000Z","project":"/src/x","agent":"claude-agent-acp","model":"m","session":"s",
 *	 "turns":1,"tokens":{"total":120,"input":100,"output":20},"cost":[{"amount":0.5,"currency":"USD"}],
 *	 "wire_cost":[{"amount":2.5,"currency":"USD"}]}
 */
#ifndef ENTRY_H
#define ENTRY_H

#include "lib/usage/usage.h"

struct usage_entry {
	double time;              /* when the entry was written, s since 1970 */
	/* Plain text when an entry is written, JSON strings when it was read; p NULL: not known. */
	struct slice scope, project, agent, model, session;
	uint64_t turns;           /* turns that have ended */
	struct usage_sums tokens; /* billed tokens; below 0 if earlier entries counted too many */
	struct slice costs, wire; /* JSON arrays, or p NULL: the money spent; the costs as the agent reported them last */
};

/* Appends an amount to an array of costs, after a comma if needed; the caller writes the brackets. 0, or -1 out of memory. */
int usage_entry_put_cost(struct buf *, struct slice currency, struct decimal amount, struct decimal most);
/* Appends the line of an entry. 0, or -1 out of memory. */
int usage_entry_put(struct buf *, const struct usage_entry *);
/* Reads a line, which has to outlive the entry. False if usage_entry_put cannot have written it: *why names the member. */
bool usage_entry_read(struct slice line, struct usage_entry *, const char **why);
/* Reads the next cost; begin with an iterator that has only in = an array. False at the end. currency->p is NULL: malformed. */
bool usage_entry_cost(struct json_iter *, struct slice *currency, struct decimal *amount, struct decimal *most);
/* Adds an entry to its session. 0, or -1 out of memory. */
int usage_entry_add(struct usage *, const struct usage_entry *);

#endif
