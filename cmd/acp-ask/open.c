/* The session: new, resumed or loaded; its mode, model and options; the list of sessions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"
#include "lib/run/replace.h"

static struct slice
opened(const struct ask *a, const char *member)
{
	return json_get(buf_slice(&a->opened), member);
}

static bool
refuse(struct ask *a, const char *option, const char *value, const char *why)
{
	show_note(a, "acp-ask: %s %s: %s", option, value, why);
	ask_fail(a, EXIT_NEGATIVE);
	return false;
}

/* --- the session that was open last, in this directory and with this agent --- */

/* The path of what is remembered, to be freed, and under what: the directory and the command, JSON. make: and its directories. */
static char *
last_path(const struct ask *a, bool make, struct buf *key)
{
	uint64_t hash = 14695981039346656037u;
	char name[32], *path;

	put(key, "[");
	put_quoted(key, slice_of(a->cwd));
	for (char *const *word = a->options->command; *word; word++) {
		put(key, ",");
		put_quoted(key, slice_of(*word));
	}
	put(key, "]\n");
	for (size_t i = 0; i < key->n; i++)
		hash = (hash ^ (unsigned char)key->p[i]) * 1099511628211u;
	snprintf(name, sizeof(name), "ask-%016" PRIx64, hash);
	path = directory_state(name, make);
	need(path ? 0 : -1);
	return path;
}

static void
remember(struct ask *a)
{
	SCOPED struct buf text = {0};
	struct replace file = {0};
	char *path = last_path(a, true, &text), *why = NULL;

	put_slice(&text, buf_slice(&a->session_id));
	put(&text, "\n");
	if ((replace_open(&file, path, NULL, &why) < 0 || replace_with(&file, 0600, buf_slice(&text)) < 0) && a->options->verbose)
		show_note(a, "acp-ask: %s: %s", path, strerror(errno));
	replace_close(&file);
	free(why);
	free(path);
}

/* Appends the id, a JSON string. False: there is none. */
static bool
recall(const struct ask *a, struct buf *id)
{
	SCOPED struct buf key = {0}, text = {0};
	char *path = last_path(a, false, &key);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct slice rest;

	free(path);
	if (fd >= 0 && buf_read_all(&text, fd, a->options->line_limit) == 0 && text.n > key.n && memcmp(text.p, key.p, key.n) == 0) {
		rest = slice(text.p + key.n, text.n - key.n);
		if (json_scan(rest, 1, NULL, 0, NULL, NULL) == JSON_STRING)
			put_slice(id, slice(rest.p, rest.n - 1));
	}
	proc_close(fd);
	return id->n > 0;
}

/* --- opening --- */

/* NAME=CMD or NAME=URL. */
static bool
put_server(struct ask *a, const char *server, bool url, struct buf *to)
{
	const char *equals = strchr(server, '=');
	char **words = equals && equals > server && !url ? proc_words(equals + 1) : NULL;

	if (!equals || equals == server || (!url && !words))
		return refuse(a, url ? "--mcp-url" : "--mcp", server, url ? "expected NAME=URL" : "expected NAME=CMD");
	if (url && !ask_has(a, "agentCapabilities.mcpCapabilities.http", "capabilities.session.mcp.http"))
		return refuse(a, "--mcp-url", server, "the agent does not take servers over HTTP");
	put(to, to->p[to->n - 1] == '[' ? "{" : ",{");
	put_member(to, "type", url ? slice_of("\"http\"") : a->options->protocol == 2 ? slice_of("\"stdio\"") : slice(NULL, 0));
	put_text(to, "name", slice_between(server, equals));
	put_text(to, url ? "url" : "command", slice_of(url ? equals + 1 : words[0]));
	put(to, url ? ",\"headers\":[" : ",\"args\":[");
	for (size_t i = 1; !url && words[i]; i++) {
		put_slice(to, slice(",", i > 1));
		put_quoted(to, slice_of(words[i]));
	}
	put(to, url ? "]}" : "],\"env\":[]}");
	free(words);
	return true;
}

/* Opens it by this method. id: a JSON string, or p NULL for a new session. */
static bool
open_by(struct ask *a, enum acp_method what, struct slice id, bool history)
{
	const struct options *o = a->options;
	const char *name = acp_name(what, ACP_PLAIN);
	SCOPED struct buf room = {0};
	struct buf params = {0};
	bool good = true;
	enum got got;

	put(&params, "{");
	put_member(&params, acp_session_id, id);
	put_text(&params, "cwd", slice_of(a->cwd));
	put(&params, ",\"%s\":[", acp_mcp_servers);
	for (size_t i = 0; good && o->mcp && o->mcp[i]; i++)
		good = put_server(a, o->mcp[i], false, &params);
	for (size_t i = 0; good && o->mcp_urls && o->mcp_urls[i]; i++)
		good = put_server(a, o->mcp_urls[i], true, &params);
	put(&params, history ? "],\"replayFrom\":{\"type\":\"start\"}" : "]");
	put_member(&params, "_meta", o->meta ? slice_of(o->meta) : slice(NULL, 0));
	put(&params, "}");
	if (!good) {
		buf_free(&params);
		return false;
	}
	got = ask_call(a, name, &params, &a->opened);
	if (got == GOT_ERROR && slice_is(opened(a, "code"), "-32000"))
		session_list_methods(a, "the agent requires authentication");
	else if (got == GOT_ERROR)
		ask_report(a, name, buf_slice(&a->opened));
	id = id.p ? id : json_get_string(buf_slice(&a->opened), acp_session_id);
	if (got != GOT_RESULT || !id.p) {
		ask_fail(a, EXIT_NEGATIVE);
		return false;
	}
	put_slice(&a->session_id, id);
	a->session = sessions_find(a->sessions, json_text(id, &room));
	remember(a);
	return true;
}

static bool
reopen(struct ask *a, const char *name, bool load)
{
	bool v2 = a->options->protocol == 2, loads = ask_has(a, "agentCapabilities.loadSession", NULL);
	bool resumes = v2 || ask_has(a, "agentCapabilities.sessionCapabilities.resume", NULL);
	const char *option = load ? "--load" : "--resume";
	SCOPED struct buf id = {0};

	if (strcmp(name, "last") != 0)
		put_quoted(&id, slice_of(name));
	else if (!recall(a, &id))
		return refuse(a, option, name, "no session of this agent is remembered for this directory");
	if (load ? v2 || loads : loads || resumes)
		return open_by(a, (load || !resumes) && !v2 ? ACP_SESSION_LOAD : ACP_SESSION_RESUME, buf_slice(&id), load && v2);
	return refuse(a, option, name, "the agent cannot do that");
}

/* --- what is set in it --- */

/* Sends a request of the session with these members. */
static bool
set(struct ask *a, const char *method, const struct json_member *members)
{
	SCOPED struct buf response = {0};
	struct buf params = {0};

	put(&params, "{");
	put_member(&params, acp_session_id, buf_slice(&a->session_id));
	for (; members->name; members++)
		put_member(&params, members->name, members->value);
	put(&params, "}");
	return ask_must(a, method, &params, &response);
}

/* Sets the configuration option of this id, or of this category. 1: there is none; 0; -1: it failed. */
static int
set_config(struct ask *a, const char *member, const char *key, const char *value)
{
	struct json_iter it = {.in = opened(a, "configOptions")};
	SCOPED struct buf quoted = {0};
	struct slice option, id, type = {0};

	while (next_item(&it, &option)) {
		id = json_get_string(option, "id");
		if (!id.p)
			id = json_get_string(option, "configId");
		if (!json_string_is(member ? json_get(option, member) : id, key))
			continue;
		put_quoted(&quoted, slice_of(value));
		if (json_string_is(json_get(option, "type"), "boolean")) {
			if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
				return refuse(a, "--config", key, "expected true or false"), -1;
			quoted.n = 0;
			put_slice(&quoted, slice_of(value));
			type = slice_of("\"boolean\"");
		} else if (a->options->protocol == 2) {
			type = slice_of("\"id\"");
		}
		return set(a, acp_name(ACP_SESSION_SET_CONFIG, ACP_PLAIN), (struct json_member[]){{"configId", id},
			{"value", buf_slice(&quoted)}, {"type", type}, {0}}) ? 0 : -1;
	}
	return 1;
}

/* --mode or --model, where it is given: as an option of this category, or by a method of its own, where the session has a list. */
static bool
set_choice(struct ask *a, const char *option, const char *list, const char *method, const char *member, const char *value)
{
	SCOPED struct buf quoted = {0};
	int r = value ? set_config(a, "category", option + 2, value) : 0;

	if (r <= 0)
		return r == 0;
	if (json_type(opened(a, list)) != JSON_OBJECT)
		return refuse(a, option, value, "the agent offers no choice");
	put_quoted(&quoted, slice_of(value));
	return set(a, method, (struct json_member[]){{member, buf_slice(&quoted)}, {0}});
}

static bool
set_all(struct ask *a)
{
	const struct options *o = a->options;
	SCOPED struct buf text = {0};
	const char *equals;
	int r;

	if (!set_choice(a, "--mode", "modes", "session/set_mode", "modeId", o->mode) ||
		!set_choice(a, "--model", "models", "session/set_model", "modelId", o->model))
		return false;
	for (size_t i = 0; o->configs && o->configs[i]; i++) {
		equals = strchr(o->configs[i], '=');
		if (!equals)
			return refuse(a, "--config", o->configs[i], "expected KEY=VALUE");
		text.n = 0;
		put(&text, "%.*s", (int)(equals - o->configs[i]), o->configs[i]);
		need(buf_string(&text) ? 0 : -1);
		r = set_config(a, NULL, text.p, equals + 1);
		if (r != 0)
			return r > 0 && refuse(a, "--config", o->configs[i], "the agent has no such option");
	}
	if (!o->title)
		return true;
	if (!ask_has(a, "agentCapabilities.sessionCapabilities.title", "capabilities.session.title"))
		return refuse(a, "--title", o->title, "the agent does not offer titles");
	text.n = 0;
	put_quoted(&text, slice_of(o->title));
	return set(a, "session/set_title", (struct json_member[]){{"title", buf_slice(&text)}, {0}});
}

bool
session_open(struct ask *a)
{
	const struct options *o = a->options;
	bool is_open;

	if (a->options->protocol == 2 && !ask_has(a, NULL, "capabilities.session")) {
		show_note(a, "acp-ask: the agent offers no sessions");
		ask_fail(a, EXIT_NEGATIVE);
		return false;
	}
	if (o->resume || o->load)
		is_open = reopen(a, o->resume ? o->resume : o->load, o->load);
	else
		is_open = open_by(a, ACP_SESSION_NEW, slice(NULL, 0), false);
	return is_open && set_all(a);
}

/* --- the list --- */

/* As the agent has it, or as a line: id, time, title. */
static void
put_session(struct slice info, bool json, struct buf *to)
{
	SCOPED struct buf room = {0};

	if (json) {
		put_slice(to, info);
		return;
	}
	put(to, "%s\t", plain_of(json_get(info, acp_session_id), &room));
	put(to, "%s\t", plain_of(json_get(info, "updatedAt"), &room));
	put(to, "%s", plain_of(json_get(info, "title"), &room));
}

void
session_list(struct ask *a)
{
	const char *before = a->options->format == FORMAT_JSON ? "[" : "";
	SCOPED struct buf response = {0}, text = {0};
	struct slice info, cursor = {0};
	struct json_iter it;

	if (!ask_has(a, "agentCapabilities.sessionCapabilities.list", "capabilities.session")) {
		refuse(a, "--list", a->cwd, "the agent has no list of sessions");
		return;
	}
	do {
		struct buf params = {0};

		put(&params, "{");
		put_text(&params, "cwd", slice_of(a->cwd));
		put_member(&params, "cursor", cursor);
		put(&params, "}");
		if (!ask_must(a, "session/list", &params, &response))
			return;
		it = (struct json_iter){.in = json_get(buf_slice(&response), "sessions")};
		for (text.n = 0; next_item(&it, &info); before = a->options->format == FORMAT_JSON ? "," : "") {
			put_slice(&text, slice_of(before));
			put_session(info, a->options->format != FORMAT_TEXT, &text);
			put_slice(&text, slice("\n", a->options->format != FORMAT_JSON));
		}
		show_text(a, buf_slice(&text));
		cursor = json_get_string(buf_slice(&response), "nextCursor");
	} while (cursor.p);
	if (a->options->format == FORMAT_JSON)
		show_text(a, slice_of(*before == '[' ? "[]\n" : "]\n"));
}
