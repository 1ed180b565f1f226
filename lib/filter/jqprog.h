/*
 * jqprog: users' jq programs. The only module that uses libjq (1.6 and newer). A program means what it means to jq: `import` and
 * `include` work, ~/.jq is read, `input` finds no more inputs, `halt` ends the outputs, `debug` writes a line to stderr. libjq rounds
 * numbers beyond 2^53. A program that still runs a second after SIGINT, SIGTERM or SIGHUP came (which must be blocked) is stopped, fails,
 * and is not run again; this uses SIGALRM.
 */
#ifndef JQPROG_H
#define JQPROG_H

#include "lib/base/bytes.h"

struct jqprog;

enum { JQPROG_VARS = 4 }; /* variables of a program at most; constants are not counted */

/* A variable: $name is a JSON value, as text that is valid during the call; p NULL: null. */
struct jqprog_var {
	const char *name;
	struct slice value;
};

/*
 * Compiles a program. vars: the names of the variables that each run gets, in this order. constants: variables with fixed values. NULL
 * if it does not compile; then *why has jq's message with the position (one or more lines, without a newline at the end; the caller frees
 * it), or is NULL out of memory.
 */
struct jqprog *jqprog_new(const char *program, const struct jqprog_var *vars, size_t nvars, const struct jqprog_var *constants,
	size_t nconstants, char **why);
void jqprog_free(struct jqprog *);
/*
 * Runs a program on a JSON text that json_scan accepts, with new values of the variables. Calls fn with each output as compact JSON text,
 * valid during the call, also with the outputs before a failure; fn returns false to stop. 0; 1: the program failed (*why: its message,
 * which the caller frees); 2: the text or a variable is too deep or too large (2 GiB) for libjq. *why is NULL unless it returns 1.
 */
int jqprog_run(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why);
/*
 * As jqprog_run, but each output is the text (without white space around it) with the program's changes. All unchanged parts keep their
 * bytes, also numbers that libjq rounds. An unchanged output is the text itself (output.p == text.p). New members go to the end of their
 * object. Of members with the same name, libjq has the last one. A value that was moved gets libjq's spelling. Also -1 out of memory.
 */
int jqprog_edit(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why);
/* As jqprog_run, but sets *yes: is there an output, and is the last one neither false nor null? *yes is false unless it returns 0. */
int jqprog_test(struct jqprog *, struct slice text, const struct jqprog_var *vars, size_t nvars, bool *yes, char **why);

#endif
