#include "lib/recording/home.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/run/directory.h"

enum { NAME_MOST = 64, BEGAN = 16 }; /* bytes: of an agent's name; of a time as 20261123-120320- */

static const char *
base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int
home_name(struct buf *to, struct slice name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < name.n && i < NAME_MOST; i++) {
		char c = name.p[i];
		bool stays = byte_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (i && c && strchr(".-+@", c));

		r = buf_add(to, stays ? &c : "_", 1);
	}
	return r;
}

/* The path of an agent's directory, with a slash at its end; the caller frees it. make: creates the directory. */
static char *
directory_of(const char *tool, const char *agent, bool make)
{
	SCOPED struct buf name = {0};
	char *path = NULL;

	if (home_name(&name, slice_of(agent)) == 0 && buf_add(&name, "/", 1) == 0 && buf_string(&name))
		path = directory_state(name.p, make);
	if (!path)
		cli_no_memory(tool);
	return path;
}

/* The agent's program: after the last "--" of the tools of acputils that start it. */
static const char *
agent_of(char *const *command)
{
	char *const *next = command;

	while (next && *next && strncmp(base(*command), "acp-", 4) == 0) {
		while (*next && strcmp(*next, "--") != 0)
			next++;
		if (*next && *++next)
			command = next;
	}
	return command && *base(*command) ? base(*command) : "agent";
}

char *
home_output(const char *tool, char *const *command)
{
	char *directory = directory_of(tool, agent_of(command), true), *output;
	SCOPED struct buf format = {0};
	int r = 0;

	for (const char *p = directory; *p; p++)
		r |= buf_add(&format, "%%", *p == '%' ? 2 : 0) < 0 || (*p != '%' && buf_add(&format, p, 1) < 0);
	output = r || !buf_string(&format) ? NULL : bytes_printf("%s%s", format.p, "%Y%m%d-%H%M%S-%p.rec");
	free(directory);
	if (!output)
		cli_no_memory(tool);
	return output;
}

/* --- the recordings --- */

/* Compares by the time in the file name, then by the process id. */
static int
compare(const void *a, const void *b)
{
	const char *one = base(*(char *const *)a), *other = base(*(char *const *)b);
	int order = strncmp(one, other, BEGAN);

	if (order == 0 && strlen(one) != strlen(other))
		return strlen(one) < strlen(other) ? -1 : 1;
	return order ? order : strcmp(one, other);
}

char **
home_add(const char *tool, char **all, size_t *n, char **paths)
{
	const char *end;

	for (char **path = paths; path && *path; path++) {
		end = strrchr(*path, '.');
		if (!end || strcmp(end, ".rec") != 0) {
			free(*path);
			continue;
		}
		all = cli_grow(tool, all, *n + 1, sizeof(*all));
		all[(*n)++] = *path;
		all[*n] = NULL;
	}
	free(paths);
	return all;
}

char **
home_recordings(const char *tool, const char *agent)
{
	char **all = cli_grow(tool, NULL, 0, sizeof(*all)), **paths, *directory;
	size_t n = 0;

	*all = NULL;
	directory = agent ? directory_of(tool, agent, false) : directory_state("", false);
	if (!directory)
		cli_no_memory(tool);
	directory[strlen(directory) - 1] = '\0';
	paths = directory_paths(directory);
	for (char **one = agent ? NULL : paths; one && *one; one++)
		all = home_add(tool, all, &n, directory_paths(*one));
	if (agent)
		all = home_add(tool, all, &n, paths);
	else
		directory_free(paths);
	free(directory);
	qsort(all, n, sizeof(*all), compare);
	return all;
}

/* The path of the newest recording, which the caller frees; NULL: there is none. */
static char *
newest(const char *tool, const char *agent)
{
	char **all = home_recordings(tool, agent), *path = NULL;

	for (size_t i = 0; all[i]; i++) {
		free(path);
		path = all[i];
	}
	free(all);
	return path;
}

void
home_files(const struct cli_line *line)
{
	const char *tool = line->tool->name, *agent;
	char *path;

	for (char **word = line->words; !line->dashes && *word && strcmp(*word, "--") != 0; word++) {
		agent = strncmp(*word, "last:", 5) == 0 ? *word + 5 : NULL;
		if ((!agent && strcmp(*word, "last") != 0) || access(*word, F_OK) == 0)
			continue;
		path = newest(tool, agent);
		if (!path)
			cli_die(EXIT_USAGE, tool, "%s: there is no recording%s%s; acp-tap -o auto makes one", *word, agent ? " of " : "", agent ? agent : "");
		*word = path;
	}
}
