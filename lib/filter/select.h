/* select: which messages a tool selects: -m, -w, --from, --kind and --session, the same in every tool. */
#ifndef SELECT_H
#define SELECT_H

#include "lib/base/cli_line.h"
#include "lib/filter/jqprog.h"
#include "lib/acp/requests.h"

struct select;

/* The variables of users' programs, for jqprog_new: $from, $method, $session (strings or null) and $t (seconds). */
enum { SELECT_VARS = 4 };
struct select_vars {
	struct jqprog_var at[SELECT_VARS];
	char time[32];
};
/* Their names, and their values for this message; valid as long as both are. NULL: names only. */
void select_vars(struct select_vars *, const struct message *);

/* A new selection, which selects everything. NULL when out of memory. */
struct select *select_new(void);
void select_free(struct select *);
/*
 * Each adds one option's argument, which is kept, not copied. 0; -1 if it is wrong, and *why says so (the caller frees it; NULL when
 * out of memory). Globs, programs and kinds may be given several times; of the others the last counts.
 * A glob matches the method (a response by its request's) or the kind of an update (session/update's sessionUpdate),
 * by fnmatch without FNM_PATHNAME; `!` negates. Selected is what matches one that is not negated
 * (or none is given) and none that is, and all else that is given: a program that is true on the message,
 * a side, one of several kinds of message (request, response, notification), a session's id or the beginning of it (choice.h).
 */
int select_glob(struct select *, const char *glob, char **why);
/* constants: more variables of the program. */
int select_where(struct select *, const char *program, const struct jqprog_var *constants, size_t nconstants, char **why);
int select_kind(struct select *, const char *kind, char **why);
/* The options, for CLI_ROWS_BEHIND; among them --from, and --session (choice.h), which is also a table of its own. */
extern const struct cli_option select_options[], select_session_options[];
/* Does it select anything less than everything? */
bool select_is_set(const struct select *);
/*
 * Is this message selected? A jq program that fails on it does not select it; *why then has the
 * message the first time (the caller frees it), else NULL; the same where --session fits a second session.
 */
bool select_match(struct select *, const struct message *, char **why);
/* Were messages looked at, and was none of them selected? Then the text says so, and what there is. */
bool select_missed(const struct select *, struct buf *text);
/* The option that *why of select_match is about: "--where". */
const char *select_culprit(const struct select *);
/* The same for what is no message (noise, stderr, events): never by a positive glob, a program or a session. */
bool select_match_other(const struct select *, enum acp_side from);

#endif
