/* --editor: the command that an editor starts, with absolute paths: editors that were started from a desktop have a short PATH. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

const char *const editor_names[] = {"zed", "jetbrains", "neovim", "avante", "emacs", "vscode", "toad", NULL};

/* Returns the absolute path of a program, to be freed. Links are not resolved: a program may act by its name. */
static char *
absolute(const char *program)
{
	char *found = strchr(program, '/') ? strdup(program) : strncmp(program, "acp-", 4) == 0 ? proc_beside(program) : NULL;
	char *here, *path = NULL;

	if (!found || access(found, X_OK) < 0) {
		free(found);
		found = strchr(program, '/') ? NULL : cli_in_path(program);
	}
	if (!found)
		exit(cli_not_started(tool_name, program, true, errno ? errno : ENOENT));
	if (*found == '/')
		return found;
	here = realpath(".", NULL);
	need(here && (path = bytes_printf("%s/%s", here, found + 2 * (strncmp(found, "./", 2) == 0))) ? 0 : -1);
	free(here);
	free(found);
	return path;
}

/* Appends a word, which it frees, to a JSON list. */
static void
add(struct buf *words, char *word)
{
	need(word ? 0 : -1);
	if (!json_utf8(slice_of(word)) || strpbrk(word, "\n\r\t\033\177"))
		cli_die(EXIT_USAGE, tool_name, "%s: a configuration cannot have this", word);
	need(json_format(words, "%s%j", words->n ? "," : "[", slice_of(word)));
	free(word);
}

/* Returns the directory of the interpreter that a script names by env, as agents for node do, to be freed; NULL: it names none. */
static char *
interpreter_directory(const char *script)
{
	char line[256] = "", *name, *rest, *path; /* the longest line that Linux reads */
	FILE *file = fopen(script, "re");
	int at = 0;

	if (file && fgets(line, sizeof(line), file))
		sscanf(line, "#! /usr/bin/env%*1[ \t]%n", &at);
	if (file)
		fclose(file);
	/* Options of env, such as -S, and variables may precede the name. */
	name = at ? strtok_r(line + at, " \t\r\n", &rest) : NULL;
	while (name && (*name == '-' || strchr(name, '=')))
		name = strtok_r(NULL, " \t\r\n", &rest);
	path = name ? cli_in_path(name) : NULL;
	if (path)
		*strrchr(path, '/') = '\0';
	return path;
}

/* Appends the whole command. acp-conduct connects several tools to a chain; ask.jq makes one word of the list of a tool's words. */
static void
add_command(const struct options *o, struct buf *words)
{
	SCOPED struct buf component = {0};
	char **tool, *agent = absolute(o->command[0]), *directory = interpreter_directory(agent);
	size_t tools = 0;

	while (o->tools && o->tools[tools])
		tools++;
	if (directory && strcmp(directory, "/usr/bin") != 0 && strcmp(directory, "/bin") != 0 && strcmp(directory, "/usr/local/bin") != 0) {
		add(words, strdup("/usr/bin/env"));
		add(words, bytes_printf("PATH=%s:/usr/local/bin:/usr/bin:/bin", directory));
	}
	free(directory);
	if (tools > 1)
		add(words, absolute("acp-conduct"));
	for (size_t i = 0; i < tools; i++) {
		tool = proc_words(o->tools[i]);
		if (!tool || strcmp(tool[0], "/bin/sh") == 0)
			cli_die(EXIT_USAGE, tool_name, "--tools %s: expected a command without signs of the shell", o->tools[i]);
		for (char **word = tool; *word; word++)
			add(tools > 1 ? &component : words, word == tool ? absolute(*word) : strdup(*word));
		if (tools > 1)
			need(json_format(words, ",\"-f\",%b]", buf_slice(&component)));
		component.n = 0;
		free(tool);
	}
	if (tools)
		add(words, strdup("--"));
	add(words, agent);
	for (char *const *word = o->command + 1; *word; word++)
		add(words, strdup(*word));
}

int
editor_print(struct ask *a)
{
	const char *slash = strrchr(a->options->command[0], '/'), *name = slash ? slash + 1 : a->options->command[0];
	SCOPED struct buf words = {0}, input = {0}, output = {0}, text = {0};
	struct slice form;

	if (*a->options->prompt)
		cli_die(EXIT_USAGE, tool_name, "--editor does not go with a prompt");
	add_command(a->options, &words);
	need(json_format(&input, "{\"editor\":\"%s\",\"name\":%j,\"words\":%b]}", editor_names[a->options->editor - 1],
		slice_of(name), buf_slice(&words)));
	if (!ask_jq(a, "editor", buf_slice(&input), &output))
		return a->status;
	form = json_get(buf_slice(&output), "form");
	need(json_type(form) == JSON_STRING ? json_unescape(form, &text) : json_indent(&text, form, 0, buf_add_slice));
	need(buf_add(&text, "\n", 2)); /* and the NUL */
	cli_warn(tool_name, "for %s", plain_of(json_get(buf_slice(&output), "where"), &input));
	ask_jq_close(a);
	cli_print(tool_name, text.p);
}
