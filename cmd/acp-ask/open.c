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

/* Appends what it is remembered under: the directory and the command, JSON. */
static void
put_key(const struct ask *a, struct buf *key)
{
	need(buf_add(key, "[", 1));
	need(json_quote(buf_slice(&a->cwd), key));
	for (char *const *word = a->options->command; *word; word++) {
		need(buf_add(key, ",", 1));
		need(json_quote(slice_of(*word), key));
	}
	need(buf_add(key, "]\n", 2));
}

/* The path of what is remembered under the key, to be freed. */
static char *
last_path(const struct buf *key, bool make)
{
	uint64_t hash = 14695981039346656037u;
	char name[32], *path;

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
	char *path, *why = NULL;

	put_key(a, &text);
	path = last_path(&text, true);
	need(buf_add_slice(&text, buf_slice(&a->session_id)));
	need(buf_add(&text, "\n", 1));
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
	char *path;
	int fd;

	put_key(a, &key);
	path = last_path(&key, false);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return false;
	if (prompt_read_all(fd, a->options->line_limit, &text) == 0 && text.n > key.n && memcmp(text.p, key.p, key.n) == 0 &&
		json_scan(slice(text.p + key.n, text.n - key.n), 1, NULL, 0, NULL, NULL) == JSON_STRING)
		need(buf_add(id, text.p + key.n, text.n - key.n - 1));
	close(fd);
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
	need(buf_add_string(to, to->p[to->n - 1] == '[' ? "{" : ",{"));
	need(buf_add_string(to, url ? "\"type\":\"http\"," : ask_v2(a) ? "\"type\":\"stdio\"," : ""));
	need(buf_add_string(to, "\"name\":"));
	need(json_quote(slice_between(server, equals), to));
	need(buf_add_string(to, url ? ",\"url\":" : ",\"command\":"));
	need(json_quote(slice_of(url ? equals + 1 : words[0]), to));
	need(buf_add_string(to, url ? ",\"headers\":[" : ",\"args\":["));
	for (size_t i = 1; !url && words[i]; i++) {
		need(i > 1 ? buf_add(to, ",", 1) : 0);
		need(json_quote(slice_of(words[i]), to));
	}
	need(buf_add_string(to, url ? "]}" : "],\"env\":[]}"));
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

	need(buf_add(&params, "{", 1));
	if (id.p)
		need(json_add_member(&params, acp_session_id, id));
	need(buf_add_string(&params, id.p ? ",\"cwd\":" : "\"cwd\":"));
	need(json_quote(buf_slice(&a->cwd), &params));
	need(buf_add_string(&params, ",\"mcpServers\":["));
	for (size_t i = 0; good && o->mcp && o->mcp[i]; i++)
		good = put_server(a, o->mcp[i], false, &params);
	for (size_t i = 0; good && o->mcp_urls && o->mcp_urls[i]; i++)
		good = put_server(a, o->mcp_urls[i], true, &params);
	need(buf_add_string(&params, history ? "],\"replayFrom\":{\"type\":\"start\"}" : "]"));
	if (o->meta)
		need(json_add_member(&params, "_meta", slice_of(o->meta)));
	need(buf_add(&params, "}", 1));
	if (!good) {
		buf_free(&params);
		return false;
	}
	got = ask_call(a, name, &params, &a->opened);
	if (got == GOT_ERROR && slice_is(json_get(buf_slice(&a->opened), "code"), "-32000"))
		session_list_methods(a, "the agent requires authentication");
	else if (got == GOT_ERROR)
		ask_report(a, name, buf_slice(&a->opened));
	id = id.p ? id : json_get_string(buf_slice(&a->opened), acp_session_id);
	if (got != GOT_RESULT || !id.p) {
		ask_fail(a, EXIT_NEGATIVE);
		return false;
	}
	need(buf_add_slice(&a->session_id, id));
	a->session = sessions_find(a->sessions, json_text(id, &room));
	if (json_type(opened(a, acp_commands)) == JSON_ARRAY && !a->commands.n)
		need(buf_add_slice(&a->commands, opened(a, acp_commands)));
	remember(a);
	return true;
}

static bool
reopen(struct ask *a, const char *name, bool load)
{
	bool v2 = ask_v2(a), loads = ask_has(a, "agentCapabilities.loadSession", NULL);
	bool resumes = v2 || ask_has(a, "agentCapabilities.sessionCapabilities.resume", NULL);
	const char *option = load ? "--load" : "--resume";
	SCOPED struct buf id = {0};

	if (strcmp(name, "last") != 0)
		need(json_quote(slice_of(name), &id));
	else if (!recall(a, &id))
		return refuse(a, option, name, "no session of this agent is remembered for this directory");
	if (load ? v2 || loads : loads || resumes)
		return open_by(a, (load || !resumes) && !v2 ? ACP_SESSION_LOAD : ACP_SESSION_RESUME, buf_slice(&id), load && v2);
	return refuse(a, option, name, "the agent cannot do that");
}

/* --- what is set in it --- */

/* Sends a request of the session with one more member, or two. */
static bool
set(struct ask *a, const char *method, const char *member, struct slice value, const char *second, struct slice value2, const char *type)
{
	SCOPED struct buf response = {0};
	struct buf params = {0};

	need(buf_add(&params, "{", 1));
	need(json_add_member(&params, acp_session_id, buf_slice(&a->session_id)));
	need(json_add_member(&params, member, value));
	if (second)
		need(json_add_member(&params, second, value2));
	if (type)
		need(buf_printf(&params, ",\"type\":\"%s\"", type));
	need(buf_add(&params, "}", 1));
	return ask_must(a, method, &params, &response);
}

/* Sets the configuration option of this id, or of this category. 1: there is none; 0; -1: it failed. */
static int
set_config(struct ask *a, struct slice key, const char *category, const char *value)
{
	struct json_iter it = {.in = opened(a, "configOptions")};
	SCOPED struct buf quoted = {0}, name = {0};
	struct slice index, option, id;
	bool boolean;

	need(buf_add_slice(&name, key));
	need(buf_string(&name) ? 0 : -1);
	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &index, &option)) {
		id = json_get_string(option, "id");
		if (!id.p)
			id = json_get_string(option, "configId");
		if (!(category ? json_string_is(json_get(option, "category"), category) : json_string_is(id, name.p)))
			continue;
		boolean = json_string_is(json_get(option, "type"), "boolean");
		need(boolean ? buf_add_string(&quoted, value) : json_quote(slice_of(value), &quoted));
		if (boolean && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
			return refuse(a, "--config", name.p, "expected true or false"), -1;
		return set(a, acp_name(ACP_SESSION_SET_CONFIG, ACP_PLAIN), "configId", id, "value", buf_slice(&quoted),
			boolean ? "boolean" : ask_v2(a) ? "id" : NULL) ? 0 : -1;
	}
	return 1;
}

/* --mode or --model: by a method of its own (old), where the session has a list of them, or as an option of this category. */
static bool
set_choice(struct ask *a, const char *option, const char *category, const char *list, const char *method, const char *member, const char *value)
{
	SCOPED struct buf quoted = {0};
	int r;

	need(json_quote(slice_of(value), &quoted));
	r = set_config(a, slice(NULL, 0), category, value);
	if (r <= 0)
		return r == 0;
	if (json_type(opened(a, list)) == JSON_OBJECT)
		return set(a, method, member, buf_slice(&quoted), NULL, slice(NULL, 0), NULL);
	return refuse(a, option, value, "the agent offers no choice");
}

static bool
set_all(struct ask *a)
{
	const struct options *o = a->options;
	SCOPED struct buf title = {0};
	const char *equals;
	int r = 0;

	if (o->mode && !set_choice(a, "--mode", "mode", "modes", "session/set_mode", "modeId", o->mode))
		return false;
	if (o->model && !set_choice(a, "--model", "model", "models", "session/set_model", "modelId", o->model))
		return false;
	for (size_t i = 0; r == 0 && o->configs && o->configs[i]; i++) {
		equals = strchr(o->configs[i], '=');
		if (!equals)
			return refuse(a, "--config", o->configs[i], "expected KEY=VALUE");
		r = set_config(a, slice_between(o->configs[i], equals), NULL, equals + 1);
		if (r > 0)
			refuse(a, "--config", o->configs[i], "the agent has no such option");
	}
	if (r == 0 && o->title && !ask_has(a, "agentCapabilities.sessionCapabilities.title", "capabilities.session.title"))
		return refuse(a, "--title", o->title, "the agent does not offer titles");
	if (r == 0 && o->title)
		need(json_quote(slice_of(o->title), &title));
	return r == 0 && (!o->title || set(a, "session/set_title", "title", buf_slice(&title), NULL, slice(NULL, 0), NULL));
}

bool
session_open(struct ask *a)
{
	const struct options *o = a->options;
	bool is_open;

	if (ask_v2(a) && !ask_has(a, NULL, "capabilities.session")) {
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

static void
print_session(struct ask *a, struct slice info, bool first)
{
	static const char *const members[] = {acp_session_id, "updatedAt", "title"};
	SCOPED struct buf line = {0}, room = {0};
	struct slice text;

	if (a->options->format != FORMAT_TEXT) {
		need(buf_add_string(&line, first ? "" : a->options->format == FORMAT_JSON ? "," : ""));
		need(buf_add_slice(&line, info));
		need(a->options->format == FORMAT_JSON ? 0 : buf_add(&line, "\n", 1));
	}
	for (size_t i = 0; a->options->format == FORMAT_TEXT && i < 3; i++) {
		text = json_text(json_get(info, members[i]), &room);
		need(buf_printf(&line, "%s%.*s%s", i ? "\t" : "", (int)text.n, text.p ? text.p : "", i == 2 ? "\n" : ""));
	}
	show_text(a, buf_slice(&line));
}

void
session_list(struct ask *a)
{
	bool json = a->options->format == FORMAT_JSON, first = true, more = true;
	SCOPED struct buf response = {0};
	struct slice key, info, cursor = {0};
	struct json_iter it;

	if (!ask_has(a, "agentCapabilities.sessionCapabilities.list", "capabilities.session")) {
		refuse(a, "--list", buf_string(&a->cwd), "the agent has no list of sessions");
		return;
	}
	for (show_text(a, slice_of(json ? "[" : "")); more; more = cursor.p) {
		struct buf params = {0};

		need(buf_add_string(&params, "{\"cwd\":"));
		need(json_quote(buf_slice(&a->cwd), &params));
		if (cursor.p)
			need(json_add_member(&params, "cursor", cursor));
		need(buf_add(&params, "}", 1));
		if (!ask_must(a, "session/list", &params, &response))
			return;
		it = (struct json_iter){.in = json_get(buf_slice(&response), "sessions")};
		for (; json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &info); first = false)
			print_session(a, info, first);
		cursor = json_get_string(buf_slice(&response), "nextCursor");
	}
	show_text(a, slice_of(json ? "]\n" : ""));
}
