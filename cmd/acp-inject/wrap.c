/* --wrap-mcp: puts the words of a command before the command of each MCP server. */
#include "cmd/acp-inject/inject.h"
#include "lib/recording/home.h"

/* Appends a word of --wrap-mcp as a JSON string, with the server's name for %n and % for %%. */
static int
put_word(struct buf *to, const char *word, struct slice name)
{
	SCOPED struct buf text = {0};
	int r = 0;

	for (const char *p = word; r == 0 && *p; p++) {
		if (p[0] == '%' && p[1] == 'n')
			r = home_name(&text, name);
		else
			r = buf_add(&text, p, 1);
		p += p[0] == '%' && (p[1] == 'n' || p[1] == '%');
	}
	return r < 0 ? -1 : json_quote(buf_slice(&text), to);
}

/* Appends arguments: the words of --wrap-mcp after its first, and then the server's command. name: of the server. */
static int
put_arguments(struct buf *to, char *const *words, struct slice name, struct slice command)
{
	for (; *words; words++)
		if (put_word(to, *words, name) < 0 || buf_add(to, ",", 1) < 0)
			return -1;
	return buf_add_slice(to, command);
}

/* Appends the message's text from `from` to the end of the server, whose command is wrapped if it is a stdio server. */
static int
put_server(struct passing *p, const char *from, struct slice server, struct buf *to)
{
	char *const *words = p->inject->options->wrap;
	struct slice command = json_get(server, "command"), args = json_get(server, "args"), type = json_get(server, "type"), name;
	struct slice text = slice_between(from, server.p + server.n);
	SCOPED struct buf first = {0}, more = {0}, room = {0};
	bool list = json_type(args) == JSON_ARRAY, before = args.p && args.p < command.p;
	struct splice s[2];

	if (json_type(server) != JSON_OBJECT || (type.p && !json_string_is(type, "stdio")))
		return buf_add_slice(to, text);
	if (json_type(command) != JSON_STRING || (args.p && !list && json_type(args) != JSON_NULL)) {
		passing_failed(p, "--wrap-mcp", "a server without a command, or whose args are not a list", "it is forwarded unchanged");
		return buf_add_slice(to, text);
	}
	name = json_text(json_get(server, acp_server_name), &room);
	if (put_word(&first, words[0], name) || buf_add_string(&more, list ? "" : args.p ? "[" : ",\"args\":[") ||
		put_arguments(&more, words + 1, name, command) || buf_add_string(&more, !list ? "]" : json_is_empty(args) ? "" : ","))
		return -1;
	s[before] = (struct splice){command.p, command.p + command.n, buf_slice(&first)};
	if (!args.p)
		args = slice(command.p + command.n, 0);
	else if (list)
		args = slice(args.p + 1, 0);
	s[!before] = (struct splice){args.p, args.p + args.n, buf_slice(&more)};
	return splice_write(text, s, 2, to);
}

enum step
wrap_message(struct passing *p)
{
	const struct msg *m = &p->message.msg;
	struct slice list = json_get(m->params, acp_mcp_servers), key, server;
	struct json_iter it = {.in = list};
	const char *from = m->text.p;
	SCOPED struct buf text = {0};

	if (!p->inject->options->wrap || m->kind != MSG_REQUEST || !acp_opens_session(m->what) || json_type(list) != JSON_ARRAY)
		return STEP_ON;
	for (; json_next(&it, &key, &server); from = server.p + server.n)
		if (put_server(p, from, server, &text) < 0)
			return STEP_FAILED;
	if (p->inject->stopped || from == m->text.p)
		return STEP_ON;
	return buf_add_slice(&text, slice_between(from, m->text.p + m->text.n)) || passing_become(p, buf_slice(&text)) ? STEP_FAILED : STEP_ON;
}
