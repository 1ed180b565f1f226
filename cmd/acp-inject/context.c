/* --prepend, --append and --mcp-server: adds texts to prompts, and servers to new sessions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-inject/inject.h"

/* --- files and servers --- */

const char *
context_file(const char *path, struct buf *to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why = NULL;
	struct stat st;

	/* A pipe can be read once only, and reading it would block. */
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (fd < 0 || buf_read_all(to, fd, SIZE_MAX) < 0)
		why = strerror(errno);
	if (fd >= 0)
		close(fd);
	return why;
}

const char *
context_server(const char *server, struct buf *to)
{
	static const char *const keys[] = {acp_server_name};
	struct slice name;
	const char *why = NULL;
	size_t from = to->n, i;

	if (server[0] == '@')
		why = context_file(server + 1, to);
	else if (buf_add_string(to, server) < 0)
		why = "out of memory";
	if (why)
		return why;
	if (json_scan(slice(to->p + from, to->n - from), JSON_DEPTH / 2, keys, 1, &name, NULL) != JSON_OBJECT)
		return "expected a JSON object";
	if (json_type(name) != JSON_STRING)
		return "a server without a name";
	/* A message is one line: newlines between the server's values become blanks. */
	for (i = from; i < to->n; i++)
		if (to->p[i] == '\n' || to->p[i] == '\r')
			to->p[i] = ' ';
	while (to->p[to->n - 1] == ' ' || to->p[to->n - 1] == '\t')
		to->n--;
	return NULL;
}

/* --- splicing --- */

static int
splice_message(struct passing *p, const struct splice *s, size_t n)
{
	SCOPED struct buf text = {0};

	return splice_write(p->message.msg.text, s, n, &text) || passing_become(p, buf_slice(&text)) ? -1 : 0;
}

/* Returns the end of the last entry of an object or array; in an empty one, the place after its bracket. *any: is it not empty? */
static const char *
end_of_entries(struct slice container, bool *any)
{
	struct json_iter it = {.in = container};
	struct slice key, value;
	const char *end = container.p + 1;

	for (*any = false; json_next(&it, &key, &value); *any = true)
		end = value.p + value.n;
	return end;
}

/* --- prompts --- */

/* Appends the text blocks for the beginning or (append) the end of a prompt. Reports and omits an unreadable file. 0 or -1. */
static int
blocks(struct passing *p, bool append, struct buf *to)
{
	const struct options *o = p->inject->options;
	SCOPED struct buf text = {0};
	const char *why = NULL;
	int r = 0;

	for (const struct context *c = o->contexts; r == 0 && c < o->contexts + o->ncontexts; c++) {
		if (c->append != append)
			continue;
		text.n = 0;
		if (c->path)
			why = context_file(c->path, &text);
		else
			r = buf_add_string(&text, c->text);
		if (c->path && why)
			passing_failed(p, c->path, why, "the prompt is forwarded without it");
		else if (r == 0 && text.n > 0) /* models refuse an empty block */
			r = (to->n > 0 && buf_add(to, ",", 1)) || acp_put_text_block(to, buf_slice(&text)) ? -1 : 0;
	}
	return r;
}

static int
into_prompt(struct passing *p, struct slice prompt)
{
	SCOPED struct buf front = {0}, back = {0};
	bool any;
	const char *begin = prompt.p + 1, *end = end_of_entries(prompt, &any);
	struct splice s[4];

	if (blocks(p, false, &front) < 0 || blocks(p, true, &back) < 0)
		return -1;
	if (front.n + back.n == 0)
		return 0;
	s[0] = (struct splice){begin, begin, buf_slice(&front)};
	s[1] = (struct splice){begin, begin, slice_of(front.n > 0 && any ? "," : "")};
	s[2] = (struct splice){end, end, slice_of(back.n > 0 && (any || front.n > 0) ? "," : "")};
	s[3] = (struct splice){end, end, buf_slice(&back)};
	return splice_message(p, s, 4);
}

static enum step
prompt_message(struct passing *p)
{
	struct inject *in = p->inject;
	struct slice prompt = json_get(p->message.msg.params, acp_prompt);

	/* A slash command with a text before or after it would not be a command any more. */
	if (commands_prompt(in->commands, &p->message.msg))
		return STEP_ON;
	if (!in->options->every && passing_was_applied(p, RULE_CONTEXT))
		return STEP_ON;
	if (json_type(prompt) != JSON_ARRAY) {
		passing_failed(p, "--prepend, --append", "the prompt is not an array", "forwarded unchanged");
		return STEP_ON;
	}
	return passing_applied(p, RULE_CONTEXT) < 0 || into_prompt(p, prompt) < 0 ? STEP_FAILED : STEP_ON;
}

/* --- servers --- */

/* Adds the server to the list; if params has no list, or null, adds a list. */
static int
into_servers(struct passing *p, struct slice list, struct slice server)
{
	SCOPED struct buf with = {0};
	struct splice s;
	bool any, null = json_type(list) == JSON_NULL;
	const char *end = end_of_entries(list.p && !null ? list : p->message.msg.params, &any), *comma = any ? "," : "";
	int r;

	if (!list.p)
		r = buf_printf(&with, "%s\"%s\":[%.*s]", comma, acp_mcp_servers, (int)server.n, server.p);
	else if (null)
		r = buf_printf(&with, "[%.*s]", (int)server.n, server.p);
	else
		r = buf_printf(&with, "%s%.*s", comma, (int)server.n, server.p);
	s = (struct splice){null ? list.p : end, null ? list.p + list.n : end, buf_slice(&with)};
	return r < 0 ? -1 : splice_message(p, &s, 1);
}

static int
add_server(struct passing *p, const char *server)
{
	struct slice params = p->message.msg.params, list = json_get(params, acp_mcp_servers);
	SCOPED struct buf json = {0};
	const char *why = context_server(server, &json);

	if (!why && (json_type(params) != JSON_OBJECT || (list.p && json_type(list) != JSON_ARRAY && json_type(list) != JSON_NULL)))
		why = "the request has no list of servers, and no place for one";
	if (why)
		passing_failed(p, "--mcp-server", why, "the session starts without it");
	else if (!list.p || json_type(list) == JSON_NULL || !acp_has_server(list, json_get(buf_slice(&json), acp_server_name)))
		return into_servers(p, list, buf_slice(&json));
	return 0;
}

enum step
context_message(struct passing *p)
{
	const struct options *o = p->inject->options;

	if (o->ncontexts && commands_see(&p->inject->commands, &p->message.msg) < 0)
		return STEP_FAILED;
	if (p->message.msg.kind != MSG_REQUEST)
		return STEP_ON;
	if (o->ncontexts && p->message.msg.what == ACP_SESSION_PROMPT)
		return prompt_message(p);
	if (acp_opens_session(p->message.msg.what))
		for (size_t i = 0; i < o->nservers; i++)
			if (add_server(p, o->servers[i]) < 0)
				return STEP_FAILED;
	return STEP_ON;
}
