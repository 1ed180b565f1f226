#include "lib/run/directory.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/bytes.h"

static int
is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

char **
directory_paths(const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_visible, versionsort);
	char **paths;
	bool complete;

	if (n < 0)
		return NULL;
	paths = calloc((size_t)n + 1, sizeof(*paths));
	complete = paths;
	for (int i = 0; i < n; i++) {
		if (complete)
			complete = (paths[i] = bytes_printf("%s/%s", directory, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	if (complete)
		return paths;
	directory_free(paths);
	return NULL;
}

void
directory_free(char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

char *
directory_state(const char *name, bool make)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path, *slash;

	path = state && *state == '/' ? bytes_printf("%s/acp/%s", state, name) : bytes_printf("%s/.local/state/acp/%s", home ? home : "", name);
	for (slash = path ? path + 1 : NULL; slash && make && (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	return path;
}
