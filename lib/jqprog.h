/* jqprog: users' jq programs. The only module that knows libjq. */
#ifndef JQPROG_H
#define JQPROG_H

#include "lib/bytes.h"

struct jqprog;

/* A variable that the program may use: $name is a JSON value (text, valid for the call). */
struct jqprog_var {
	const char *name;
	struct slice value;
};

/*
 * Compiles a program. names: the variables that jqprog_run will be given each time, in that order
 * (values here are ignored but must be valid JSON or p NULL). NULL where it does not compile; then *why has jq's own
 * message with its position (one or more lines, no newline at the end; the caller frees it), or is NULL when out of memory.
 */
struct jqprog *jqprog_new(const char *program, const struct jqprog_var *vars, size_t nvars, char **why);
void jqprog_free(struct jqprog *);
/*
 * Runs it on a JSON text with new values for the variables. Each output is given to fn as compact
 * JSON text (valid for the call); fn returns false to stop. 0; 1 where the program failed (*why: its
 * message, the caller frees it); 2 where the text is too deep for libjq; -1 out of memory.
 */
int jqprog_run(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why);
/* Is the last output of the program on this text true (neither false nor null nor missing)? The same results: 0 or 1 in *yes. */
int jqprog_test(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars, bool *yes, char **why);

#endif
