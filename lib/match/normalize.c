#include "lib/match/normalize.h"

#include <stdlib.h>

#include "lib/filter/select.h"

/* The program may use all variables of select.h but the last: times differ between any two sessions. */
enum { VARS = SELECT_VARS - 1 };

struct normalize {
	struct jqprog *program;
	struct buf *to;
	size_t outputs;
	bool failed;
};

struct normalize *
normalize_new(const char *program, char **why)
{
	struct normalize *n = calloc(1, sizeof(*n));
	struct select_vars vars;

	*why = NULL;
	if (!n)
		return NULL;
	select_vars(&vars, NULL);
	n->program = jqprog_new(program, vars.at, VARS, NULL, 0, why);
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
add_output(void *arg, struct slice output)
{
	struct normalize *n = arg;

	if (n->outputs++ == 0)
		n->failed = buf_add_slice(n->to, output) < 0;
	return n->outputs == 1 && !n->failed;
}

enum normalized
normalize_message(struct normalize *n, enum acp_side from, const struct msg *m, const struct request *request, struct buf *to,
	char **why)
{
	const struct message message = {.from = from, .msg = *m, .request = request};
	struct select_vars vars;
	int r;

	select_vars(&vars, &message);
	*why = NULL;
	n->to = to;
	n->outputs = 0;
	n->failed = false;
	r = jqprog_run(n->program, m->text, vars.at, VARS, add_output, n, why);
	if (r == 0 && n->outputs > 1)
		*why = strdup("it has more than one output for a message");
	else if (r == 2)
		*why = strdup("too deep for jq");
	if (r != 0 || n->failed || n->outputs > 1)
		return NORMALIZE_FAILED;
	return n->outputs ? NORMALIZE_DONE : NORMALIZE_NOTHING;
}
