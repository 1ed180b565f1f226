#include "lib/match/normalize.h"

#include <stdlib.h>

#include "lib/filter/jqprog.h"

enum { FROM, METHOD, SESSION, VARS };

struct normalize {
	struct jqprog *program;
	struct buf *to;
	size_t outputs;
	bool failed;
};

static void
set_vars(struct jqprog_var *vars, const struct normalize_about *about)
{
	static const char *const sides[] = {"\"unknown\"", "\"client\"", "\"agent\""};

	vars[FROM] = (struct jqprog_var){"from", slice_of(sides[about->from])};
	vars[METHOD] = (struct jqprog_var){"method", about->method};
	vars[SESSION] = (struct jqprog_var){"session", about->session};
}

struct normalize *
normalize_new(const char *program, char **why)
{
	struct normalize *n = calloc(1, sizeof(*n));
	struct jqprog_var vars[VARS];

	*why = NULL;
	if (!n)
		return NULL;
	set_vars(vars, &(struct normalize_about){0});
	n->program = jqprog_new(program, vars, VARS, why);
	if (n->program)
		return n;
	free(n);
	return NULL;
}

void
normalize_free(struct normalize *n)
{
	if (!n)
		return;
	jqprog_free(n->program);
	free(n);
}

static bool
take(void *arg, struct slice output)
{
	struct normalize *n = arg;

	if (n->outputs++ == 0)
		n->failed = buf_add_slice(n->to, output) < 0;
	return n->outputs == 1 && !n->failed;
}

enum normalized
normalize_message(struct normalize *n, struct slice message, const struct normalize_about *about, struct buf *to,
	char **why)
{
	struct jqprog_var vars[VARS];
	int r;

	set_vars(vars, about);
	*why = NULL;
	n->to = to;
	n->outputs = 0;
	n->failed = false;
	r = jqprog_run(n->program, message, vars, VARS, take, n, why);
	if (r == 0 && n->outputs > 1)
		*why = strdup("it has more than one output for a message");
	else if (r == 2)
		*why = strdup("too deep for jq");
	if (r != 0 || n->failed || n->outputs > 1)
		return NORMALIZE_FAILED;
	return n->outputs ? NORMALIZE_DONE : NORMALIZE_NOTHING;
}
