#include "bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/cli.h"

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
	char *self = proc_self();
	int r;

	if (!self)
		return errno == ENOMEM ? -1 : 0;
	r = is_in(slice_between(self, strrchr(self, '/')), path);
	free(self);
	return r;
}

static int
is_in_path(struct buf *path)
{
	const char *p = getenv("PATH"), *end;
	int r = 0;

	for (; p && r == 0; p = *end ? end + 1 : NULL) {
		end = strchrnul(p, ':');
		r = is_in(slice_between(p, end), path);
	}
	return r;
}

/* --- */

/* The words of its command: all in one piece, as proc_words makes them. */
static char **
command_of(struct slice path)
{
	char **words = malloc(2 * sizeof(*words) + path.n + 1);

	if (!words)
		return NULL;
	words[0] = memcpy(words + 2, path.p, path.n);
	words[0][path.n] = '\0';
	words[1] = NULL;
	return words;
}

static int
insert(struct chain *ch, char **words)
{
	struct component *c, agent;

	if (!words || chain_add_argv(ch, KIND_FILTER, words) < 0) {
		free(words);
		return -1;
	}
	c = &ch->components[ch->n - 1];
	c->words = words;
	/* It denies nothing, and the user has not asked for it: nobody's session ends for its sake. */
	c->on_crash = CRASH_BYPASS;
	agent = c[-1];
	c[-1] = *c;
	*c = agent;
	return 0;
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
		cli_warn("acp-conduct", "%s is not found: MCP servers of type acp are left to the agent, as with --no-mcp", program);
	if (r > 0)
		r = insert(ch, command_of(buf_slice(&path)));
	buf_free(&path);
	return r;
}
