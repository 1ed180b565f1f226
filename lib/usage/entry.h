/*
 * entry: a line of a ledger, in which acp-budget counts over sessions, processes and days. It says what one session has used since its
 * last entry, so that entries are added up in any order, whoever wrote them:
 *
 *	{"acp-ledger":1,"time":"2026-11-24T09:30:00.000000Z","project":"/src/x","agent":"claude-agent-acp","model":"m","session":"s",
 *	 "turns":1,"tokens":{"total":120,"input":100,"output":20},"cost":[{"amount":0.5,"currency":"USD"}],
 *	 "wire_cost":[{"amount":2.5,"currency":"USD"}]}
 */
#ifndef ENTRY_H
#define ENTRY_H

#include "lib/usage/usage.h"

struct usage_entry {
	double time;              /* when it was written: s since 1970 */
	/* Plain text to be written, JSON strings as they are read; p NULL: not known. */
	struct slice scope, project, agent, model, session;
	uint64_t turns;           /* that have ended */
	struct usage_sums tokens; /* that were billed; below 0 where more was counted before than was right */
	struct slice costs, wire; /* JSON arrays: what was spent; the costs as the agent reported them last, or p NULL */
};

/* Appends an amount to an array of costs that is being written: the bracket before the first is the caller's. 0, or -1 out of memory. */
int usage_entry_put_cost(struct buf *, struct slice currency, struct decimal amount, struct decimal most);
/* Appends the line of an entry. 0, or -1 out of memory. */
int usage_entry_put(struct buf *, const struct usage_entry *);
/* Reads a line, which has to live as long as the entry. False where none could have written it: *why names the member. */
bool usage_entry_read(struct slice line, struct usage_entry *, const char **why);
/* The next of an array of costs of an entry: zero the iterator but for `in`. */
bool usage_entry_cost(struct json_iter *, struct slice *currency, struct decimal *amount, struct decimal *most);
/* Adds what an entry has to its session. 0, or -1 out of memory. */
int usage_entry_add(struct usage *, const struct usage_entry *);

#endif
