/*
 * jqprog: users' jq programs. The only module that uses libjq (1.6 and newer). A program is read
 * as jq reads it: `import` and `include` work and ~/.jq is read; `input` finds no more inputs,
 * `halt` ends the outputs, `debug` writes a line on stderr. libjq rounds numbers beyond 2^53. A program that runs
 * when SIGINT, SIGTERM or SIGHUP is blocked and pending is stopped after a second, fails, and is not run again.
 * (It uses SIGALRM for that.)
 */
#ifndef JQPROG_H
#define JQPROG_H

#include "lib/base/bytes.h"

struct jqprog;

/* A variable that the program may use: $name is a JSON value (text, valid for the call). */
struct jqprog_var {
	const char *name;
	struct slice value;
};

/*
 * Compiles a program. vars: the variables that jqprog_run will be given each time, in that order
 * (their values are not used here). constants: those whose values are fixed now. NULL if it does not compile; then *why has jq's own
 * message with its position (one or more lines, no newline at the end; the caller frees it), or is NULL when out of memory.
 */
struct jqprog *jqprog_new(const char *program, const struct jqprog_var *vars, size_t nvars, const struct jqprog_var *constants,
	size_t nconstants, char **why);
void jqprog_free(struct jqprog *);
/*
 * Runs it on a JSON text (one that json_scan accepts) with new values for the variables (p NULL is
 * null). Each output is given to fn as compact JSON text (valid for the call), those before a
 * failure too; fn returns false to stop. 0; 1 where the program failed (*why: its message, the
 * caller frees it; else *why is NULL); 2 where the text or a value is too deep (or beyond 2 GiB) for libjq.
 */
int jqprog_run(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why);
/*
 * The same to edit the text (a value without white space around it): each output is the text with the program's changes; all else keeps
 * its bytes, numbers that libjq rounds among them. An output that is the same value is the text itself (output.p == text.p). New
 * members go to the end of their object; of members with the same name libjq has the last. A value that has moved gets libjq's
 * spelling. -1 out of memory.
 */
int jqprog_edit(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why);
/* Is the last output of the program on this text true (neither false nor null nor missing)? Returns the same; *yes is false unless it is 0. */
int jqprog_test(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars, bool *yes, char **why);

#endif
