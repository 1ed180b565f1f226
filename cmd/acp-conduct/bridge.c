#include "bridge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cli.h"

static const char program[] = "acp-mcp";

static bool
is_wanted(const struct chain *ch)
{
	bool proxies = false;

	for (size_t i = 0; i < ch->n; i++)
		proxies = proxies || ch->components[i].kind == KIND_PROXY;
	if (!proxies || !ch->has_agent)
		return false;
	/* The agent is the last one. Options that the user has given to one of his own count. */
	return ch->components[ch->n - 2].kind != KIND_FILTER || !chain_runs(&ch->components[ch->n - 2], program);
}

/* Beside conduct, because both come from one build; else in PATH. To be freed; NULL: nowhere. */
static char *
find(void)
{
	char *path = proc_beside(program);

	if (path && access(path, X_OK) == 0)
		return path;
	free(path);
	return cli_in_path(program);
}

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
	char *path;
	int r = 0;

	if (!is_wanted(ch))
		return 0;
	path = find();
	if (path)
		r = insert(ch, path);
	else
		cli_warn("acp-conduct", "%s not found: continuing without it, as with --no-mcp; the agent itself must support MCP servers of type acp", program);
	free(path);
	return r;
}
