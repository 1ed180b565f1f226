/* select: selects messages by -m, -w, --from, --kind and --session, in the same way in every tool. */
#ifndef SELECT_H
#define SELECT_H

#include "lib/base/cli_line.h"
#include "lib/filter/jqprog.h"
#include "lib/acp/requests.h"

struct select;

/* The variables of users' programs, for jqprog_new: $from, $method, $session (strings or null) and $t (seconds). */
enum { SELECT_VARS = JQPROG_VARS };
struct select_vars {
	struct jqprog_var at[SELECT_VARS];
	char time[32];
};
/* Sets their names, and their values for this message (NULL: only names). Valid as long as both arguments. */
void select_vars(struct select_vars *, const struct message *);

/* Makes a selection, which selects everything. NULL out of memory. */
struct select *select_new(void);
void select_free(struct select *);
/*
 * These add an option's argument, which is kept, not copied. 0; -1 with the error in *why (the caller frees it; NULL out of memory).
 * Globs, programs and kinds may be added several times.
 * A glob matches the method (for a response that of its request) or the kind of an update (session/update's sessionUpdate), by fnmatch
 * without FNM_PATHNAME; `!` negates it. A message is selected if it matches a glob that is not negated (or there is none), and no negated
 * one, and if all programs are true on it, and if it has one of the kinds (request, response, notification).
 */
int select_glob(struct select *, const char *glob, char **why);
/* constants: more variables of the program, with fixed values. */
int select_where(struct select *, const char *program, const struct jqprog_var *constants, size_t nconstants, char **why);
int select_kind(struct select *, const char *kind, char **why);
/* The options, for CLI_ROWS_BEHIND, with --from and --session (choice.h); and a table of --session only. */
extern const struct cli_option select_options[], select_session_options[];
/* Was an option given? */
bool select_is_set(const struct select *);
/*
 * Is this message selected? A program that fails does not select it. *why: a text to report (the caller frees it), for the first failure
 * and if --session fits a second session; else NULL.
 */
bool select_match(struct select *, const struct message *, char **why);
/* Were there messages, but none was selected? Then text says so, and names the methods and kinds that were seen. */
bool select_missed(const struct select *, struct buf *text);
/* The option that the last *why is about, for example "--where". */
const char *select_culprit(const struct select *);
/* Is a line or event of this side selected that is no message? Never by a glob that is not negated, a program or a session. */
bool select_match_other(const struct select *, enum acp_side from);

#endif
