#include "bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/base/cli.h"

static const char program[] = "acp-mcp";

static bool
is_wanted(const struct chain *ch)
{
	bool proxies = false;
	size_t i;

	for (i = 0; i < ch->n; i++)
		proxies = proxies || ch->components[i].kind == KIND_PROXY;
	if (!proxies || !ch->has_agent)
		return false;
	/* The agent is the last one. Options that the user has given to one of his own count. */
	return ch->components[ch->n - 2].kind != KIND_FILTER || !chain_runs(&ch->components[ch->n - 2], program);
}

/* --- where it is --- */

/* FOLDER/acp-mcp, where it can be executed; of an empty folder the current one's, as execvp has it. 1, 0, or -1 with errno. */
static int
is_in(struct slice folder, struct buf *path)
{
	path->n = 0;
	if (buf_add_slice(path, folder.n > 0 ? folder : slice_of(".")) < 0 || buf_add(path, "/", 1) < 0
		|| buf_add_string(path, program) < 0 || !buf_string(path))
		return -1;
	return access(path->p, X_OK) == 0;
}

/* Beside conduct: both come from one build. */
static int
is_beside(struct buf *path)
{
	char *beside = proc_beside(program);
	int r;

	if (!beside)
		return errno == ENOMEM ? -1 : 0;
	path->n = 0;
	r = buf_add_string(path, beside) < 0 || !buf_string(path) ? -1 : access(path->p, X_OK) == 0;
	free(beside);
	return r;
}

static int
is_in_path(struct buf *path)
{
	const char *p = getenv("PATH"), *end;
	int r = 0;

	for (; p && r == 0; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, ":");
		r = is_in(slice_between(p, end), path);
	}
	return r;
}

/* --- */

static int
insert(struct chain *ch, const char *path)
{
	const char *words[] = {path, NULL};
	struct component *c = chain_insert(ch, ch->n - 1, KIND_FILTER, words);

	/* It denies nothing, and the user has not asked for it: a session must not end because of it. */
	if (c)
		c->on_crash = CRASH_BYPASS;
	return c ? 0 : -1;
}

int
bridge_add(struct chain *ch)
{
	struct buf path = {0};
	int r;

	if (!is_wanted(ch))
		return 0;
	r = is_beside(&path);
	if (r == 0)
		r = is_in_path(&path);
	if (r == 0)
		cli_warn("acp-conduct", "%s not found: continuing without it, as with --no-mcp; the agent itself must support MCP servers of type acp", program);
	if (r > 0)
		r = insert(ch, path.p);
	buf_free(&path);
	return r;
}
