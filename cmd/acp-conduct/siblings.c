#include "siblings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/attach/rendezvous.h"
#include "lib/base/cli.h"

/* --- acp-mcp --- */

static const char mcp[] = "acp-mcp";

int
siblings_add_mcp(struct chain *ch)
{
	const char *words[] = {NULL, NULL};
	const struct component *last;
	char *path;
	int r;

	if (!ch->has_proxies || !ch->has_agent)
		return 0;
	/* The agent is the last component. If the user has added an acp-mcp before it, that one and its options count. */
	last = &ch->components[ch->n - 2];
	if (last->kind == KIND_FILTER && chain_runs(last, mcp))
		return 0;
	/* First beside acp-conduct, where the acp-mcp of the same build is; then in PATH. */
	path = proc_beside(mcp);
	if (!path || access(path, X_OK) != 0) {
		free(path);
		path = cli_in_path(mcp);
	}
	if (!path) {
		cli_warn("acp-conduct", "%s not found: continuing without it, as with --no-mcp; the agent itself must support MCP servers of type acp", mcp);
		return 0;
	}
	words[0] = path;
	r = chain_insert(ch, ch->n - 1, words);
	free(path);
	return r;
}

/* --- acp-share --- */

static const char *
hop_name(const struct chain *ch, size_t hop)
{
	return hop < ch->n ? ch->components[hop].name : "successor";
}

/* The hop, of n, that this number or name means; n: there is none. */
static size_t
hop_of(const struct chain *ch, size_t n, const char *text)
{
	char number[24] = "";
	size_t hop;

	for (hop = 0; hop < n && strcmp(hop_name(ch, hop), text) != 0; hop++)
		;
	for (size_t i = 0; hop == n && i < n; i++)
		if (snprintf(number, sizeof(number), "%zu", i) > 0 && strcmp(number, text) == 0)
			hop = i;
	return hop;
}

/* Stores for each hop the number of the share there, from 1, or 0 for none. Returns 0 or -1. */
static int
find_hops(const struct chain *ch, const struct shares *s, size_t *at, size_t n, char **why)
{
	size_t i, hop, count = 0;

	for (i = 0; s->hops && s->hops[i]; i++) {
		hop = hop_of(ch, n, s->hops[i]);
		if (hop == n) {
			if (asprintf(why, "--control-hop %s: there is no such hop", s->hops[i]) < 0)
				*why = NULL;
			return -1;
		}
		if (!at[hop])
			at[hop] = ++count;
	}
	if (!s->hops)
		at[0] = 1;
	return 0;
}

/* Adds share number i before the component at `hop`. */
static int
add_share(struct chain *ch, const struct shares *s, size_t i, size_t hop, char **why)
{
	char *socket = NULL, *wrong, limit[24];
	const char *words[] = {"acp-share", "--control", s->control, "--name", hop_name(ch, hop), s->max_line ? "--max-line" : NULL, limit, NULL};
	int result = -1;

	snprintf(limit, sizeof(limit), "%zu", s->max_line);
	if (i > 1 && strcmp(s->control, "auto") != 0) {
		if (asprintf(&socket, "%s.%zu", s->control, i) < 0)
			return -1;
		words[2] = socket;
	}
	/* A path at which acp-share could not listen is refused before anything starts. */
	if (rendezvous_try(words[2], &wrong) == 0)
		result = chain_insert(ch, hop, words);
	else if (!wrong || asprintf(why, "--control %s: %s", words[2], wrong) < 0)
		*why = NULL;
	free(wrong);
	free(socket);
	return result;
}

int
siblings_add_shares(struct chain *ch, const struct shares *s, char **why)
{
	size_t n = ch->has_agent ? ch->n : ch->n + 1, hop, *at = calloc(n, sizeof(*at));
	int r = -1;

	*why = NULL;
	if (at)
		r = find_hops(ch, s, at, n, why);
	/* From the last hop to the first, so that earlier components keep their indexes. */
	for (hop = n; r == 0 && hop-- > 0;)
		if (at[hop])
			r = add_share(ch, s, at[hop], hop, why);
	free(at);
	return r < 0 ? -1 : chain_name(ch);
}
