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
set_vars(struct jqprog_var *vars, enum acp_side from, struct slice method, struct slice session)
{
	static const char *const sides[] = {"\"unknown\"", "\"client\"", "\"agent\""};

	vars[FROM] = (struct jqprog_var){"from", slice_of(sides[from])};
	vars[METHOD] = (struct jqprog_var){"method", method};
	vars[SESSION] = (struct jqprog_var){"session", session};
}

struct normalize *
normalize_new(const char *program, char **why)
{
	struct normalize *n = calloc(1, sizeof(*n));
	struct jqprog_var vars[VARS];

	*why = NULL;
	if (!n)
		return NULL;
	set_vars(vars, ACP_UNKNOWN, slice(NULL, 0), slice(NULL, 0));
	n->program = jqprog_new(program, vars, VARS, NULL, 0, why);
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
	struct jqprog_var vars[VARS];
	int r;

	set_vars(vars, from, request ? request->method : m->method, request ? request->session : msg_session(m));
	*why = NULL;
	n->to = to;
	n->outputs = 0;
	n->failed = false;
	r = jqprog_run(n->program, m->text, vars, VARS, add_output, n, why);
	if (r == 0 && n->outputs > 1)
		*why = strdup("it has more than one output for a message");
	else if (r == 2)
		*why = strdup("too deep for jq");
	if (r != 0 || n->failed || n->outputs > 1)
		return NORMALIZE_FAILED;
	return n->outputs ? NORMALIZE_DONE : NORMALIZE_NOTHING;
}
