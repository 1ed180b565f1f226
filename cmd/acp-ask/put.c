/* Texts that are made and read, where running out of memory is the end of the program. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"

void
need(int r)
{
	if (r < 0)
		cli_no_memory(tool_name);
}

void
put(struct buf *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	need(buf_vprintf(to, format, args));
	va_end(args);
}

void
put_slice(struct buf *to, struct slice text)
{
	need(buf_add_slice(to, text));
}

void
put_quoted(struct buf *to, struct slice text)
{
	need(json_quote(text, to));
}

void
put_text(struct buf *to, const char *name, struct slice text)
{
	put(to, "%s\"%s\":", to->n && to->p[to->n - 1] != '{' ? "," : "", name);
	put_quoted(to, text);
}

void
put_member(struct buf *to, const char *name, struct slice json)
{
	need(json_add_member(to, name, json));
}

char *
plain_of(struct slice string, struct buf *room)
{
	room->n = 0;
	keep_string(room, string);
	need(buf_string(room) ? 0 : -1);
	return room->p;
}

void
keep_string(struct buf *to, struct slice value)
{
	if (json_type(value) != JSON_STRING)
		return;
	to->n = 0;
	need(json_unescape(value, to));
}

bool
next_item(struct json_iter *it, struct slice *item)
{
	struct slice key;

	return json_type(it->in) == JSON_ARRAY && json_next(it, &key, item);
}

char **
words_new(char *const *first, struct slice array)
{
	struct json_iter it = {.in = array};
	SCOPED struct buf text = {0}, value = {0};
	char **list = NULL, *word;
	struct slice item;
	size_t n = 0;

	for (;;) {
		list = cli_grow(tool_name, list, n, sizeof(*list));
		list[n] = NULL;
		if (first && *first)
			word = strdup(*first++);
		else if (!next_item(&it, &item))
			return list;
		else if (json_type(item) == JSON_OBJECT)
			word = bytes_printf("%s=%s", plain_of(json_get(item, "name"), &text), plain_of(json_get(item, "value"), &value));
		else
			word = strdup(plain_of(item, &text));
		need(word ? 0 : -1);
		list[n++] = word;
	}
}

void
words_free(char **list)
{
	for (char **word = list; *word; word++)
		free(*word);
	free(list);
}

void
read_named(const char *option, const char *path, size_t most, struct buf *to)
{
	int fd = cli_open(tool_name, path, &(const char *){NULL});

	if (fd < 0 || buf_read_all(to, fd, most) < 0)
		cli_die(EXIT_USAGE, tool_name, "%s%s: %s", option, path, strerror(errno));
	close(fd);
}
