/* Requests to the agent other than prompts: for the connection, the session, the list of sessions, and --probe. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"
#include "lib/run/replace.h"

void
session_failed(struct ask *a, struct slice request, struct slice error)
{
	SCOPED struct buf failure = {0}, room = {0};

	put_object(&failure, {"request", request}, {"error", error});
	if (ask_jq(a, "failure", buf_slice(&failure), &failure))
		show_note(a, "acp-ask: %s", plain_of(buf_slice(&failure), &room));
}

/* Sends a request by ask_call. False: there is no result, which is reported, and the exit status is set. */
static bool
must(struct ask *a, struct slice request, struct buf *result)
{
	const char *member = ask_call(a, request, result);

	if (member && strcmp(member, "result") == 0)
		return true;
	if (member)
		session_failed(a, request, buf_slice(result));
	return ask_fail(a, EXIT_NEGATIVE);
}

/* --- the connection --- */

static bool
initialize(struct ask *a)
{
	static const char *const files[] = {
		NULL, "{\"readTextFile\":true,\"writeTextFile\":false}", "{\"readTextFile\":true,\"writeTextFile\":true}"};
	const struct options *o = a->options;
	bool v2 = o->protocol == 2, person = person_is_there(a);
	SCOPED struct buf can = {0}, request = {0};
	uint64_t version;

	put_object(&can, {"fs", json_if(o->fs, files[o->fs])}, {"terminal", json_if(o->terminal, "true")},
		{"auth", json_if(person, v2 ? "{\"terminal\":{}}" : "{\"terminal\":true}")},
		{"elicitation", json_if(person || o->form, "{\"form\":{}}")});
	need(json_format(&request,
		"[\"initialize\",{\"protocolVersion\":%u,\"%s\":{\"name\":\"acp-ask\",\"version\":\"" VERSION "\"},\"%s\":%b}]",
		(uint64_t)o->protocol, v2 ? "info" : "clientInfo", v2 ? "capabilities" : "clientCapabilities", buf_slice(&can)));
	if (!must(a, buf_slice(&request), &a->initialized))
		return false;
	if (!json_u64(json_get(buf_slice(&a->initialized), acp_protocol_version), &version) || version != (uint64_t)o->protocol)
		return ask_report(a, "the agent does not speak version %d of the protocol; see --protocol", o->protocol);
	return true;
}

/* Runs the agent's command with the method's arguments at the terminal, where the person logs in. */
static bool
log_in(struct ask *a, struct slice method)
{
	char **argv = words_new(a->options->command, json_get(method, "args"));
	/* Standard error is the terminal. Standard input of acp-ask need not be, and its standard output is /dev/null now. */
	const struct proc_fd fds[] = {{a->line.fd.fd, STDIN_FILENO}, {STDERR_FILENO, STDOUT_FILENO}};
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 2, .death_signal = SIGKILL};
	pid_t pid;
	int status = 0;

	a->variables = words_new(NULL, json_get(method, "variables"));
	show_clear(a);
	spec.variables = a->variables;
	pid = proc_start(&spec, NULL);
	words_free(argv);
	while (pid > 0) {
		tcsetpgrp(a->line.fd.fd, pid);
		proc_signal(pid, SIGCONT); /* it may have stopped because it used the terminal too early */
		while (waitpid(pid, &status, WUNTRACED) < 0 && errno == EINTR)
			;
		tcsetpgrp(a->line.fd.fd, getpgrp());
		if (!WIFSTOPPED(status))
			break;
		/* After Ctrl-Z acp-ask stops, too, so that the shell can continue both. */
		if (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGSTOP)
			kill(0, SIGSTOP);
	}
	return (pid > 0 && status == 0) || ask_report(a, "--auth %s: it failed", a->options->auth);
}

bool
session_connect(struct ask *a)
{
	SCOPED struct buf next = {0}, response = {0};

	for (;;) {
		if (!initialize(a))
			return false;
		if (!a->options->auth || a->variables)
			return true;
		if (!ask_jq(a, "authenticate", slice(NULL, 0), &next))
			return false;
		if (json_type(buf_slice(&next)) == JSON_ARRAY)
			return must(a, buf_slice(&next), &response);
		if (!log_in(a, buf_slice(&next)))
			return false;
		/* An agent that is started now finds that the person has logged in. */
		agent_end(a);
		if (a->signals)
			return false;
		a->status = 0;
		if (!agent_start(a))
			return false;
	}
}

/* --- the session that was open last, in this directory and with this agent --- */

/* Returns the path of the file with the id of that session, to be freed. make: makes the directories of the file. */
static char *
last_path(const struct ask *a, bool make)
{
	const char *text = a->cwd;
	uint64_t hash = 0;
	char name[32], *path;

	for (char *const *word = a->options->command; text; text = *word++)
		hash = slice_hash(hash, slice(text, strlen(text) + 1));
	snprintf(name, sizeof(name), "ask-%016" PRIx64, hash);
	path = directory_state(name, make);
	need(path ? 0 : -1);
	return path;
}

static void
remember(struct ask *a)
{
	struct replace file = {0};
	char *path = last_path(a, true), *why = NULL;

	if ((replace_open(&file, path, NULL, &why) < 0 || replace_with(&file, 0600, buf_slice(&a->session_id)) < 0) && a->options->verbose)
		show_note(a, "acp-ask: %s: %s", path, strerror(errno));
	replace_close(&file);
	free(why);
	free(path);
}

/* Appends the id of that session, a JSON string. False: there is none. */
static bool
recall(const struct ask *a, struct buf *id)
{
	char *path = last_path(a, false);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd >= 0 && (buf_read_all(id, fd, a->options->line_limit) < 0 ||
			json_scan(buf_slice(id), 1, NULL, 0, NULL, NULL) != JSON_STRING))
		id->n = 0;
	proc_close(fd);
	return id->n > 0;
}

/* Returns whether the result of initialize has true or an object at this path. */
static bool
offers(const struct ask *a, const char *path)
{
	enum json_type type = json_type(json_path(buf_slice(&a->initialized), path));

	return type == JSON_TRUE || type == JSON_OBJECT;
}

bool
session_open(struct ask *a)
{
	const char *load = a->options->load, *name = load ? load : a->options->resume, *method;
	SCOPED struct buf servers = {0}, opening = {0}, steps = {0}, response = {0}, room = {0};
	bool v2 = a->options->protocol == 2;
	struct slice request;

	if (name && strcmp(name, "last") != 0)
		need(json_format(&a->session_id, "%j", slice_of(name)));
	else if (name && !recall(a, &a->session_id))
		return ask_report(a, "--%s last: no session of this agent is remembered for this directory", load ? "load" : "resume");
	if (a->options->given.n && !ask_jq(a, "servers", slice(NULL, 0), &servers))
		return false;
	if (v2 && !offers(a, "capabilities.session"))
		return ask_report(a, "the agent offers no sessions");
	method = !name ? "new" : v2 || (!load && offers(a, "agentCapabilities.sessionCapabilities.resume")) ? "resume" :
		offers(a, "agentCapabilities.loadSession") ? "load" : NULL;
	if (!method)
		return ask_report(a, "--%s %s: the agent cannot do that", load ? "load" : "resume", name);
	need(json_format(&opening, "[\"session/%s\",", method));
	put_object(&opening, {acp_session_id, json_if(name, "null")}, {"cwd", string_in(&room, slice_of(a->cwd))},
		{acp_mcp_servers, servers.n ? buf_slice(&servers) : slice_of("[]")},
		{"replayFrom", json_if(v2 && load, "{\"type\":\"start\"}")}, {"_meta", json_if(a->options->meta, "null")});
	need(json_format(&opening, "]"));
	if (!must(a, buf_slice(&opening), &a->opened))
		return false;
	if (!name)
		put_slice(&a->session_id, json_get_string(buf_slice(&a->opened), acp_session_id));
	if (!a->session)
		return ask_report(a, "the agent did not say which session it has opened");
	if (!a->options->probe)
		remember(a);
	if (a->options->given.n && !ask_jq(a, "settings", buf_slice(&a->opened), &steps))
		return false;
	for (struct json_iter it = {.in = buf_slice(&steps)}; json_item(&it, &request);)
		if (!must(a, request, &response))
			return false;
	return true;
}

/* --- what is printed --- */

/* Prints what a function of ask.jq makes of the input: texts, a line each; or an object. */
static void
print(struct ask *a, const char *function, struct slice input)
{
	SCOPED struct buf output = {0}, room = {0};
	struct slice line;

	if (!ask_jq(a, function, input, &output))
		return;
	for (struct json_iter it = {.in = buf_slice(&output)}; json_item(&it, &line);)
		show_line(a, slice_of(plain_of(line, &room)));
	if (json_type(buf_slice(&output)) == JSON_OBJECT) {
		need(json_indent(&room, buf_slice(&output), 0, buf_add_slice));
		show_line(a, buf_slice(&room));
	}
}

void
session_list(struct ask *a)
{
	SCOPED struct buf request = {0}, response = {0}, pages = {0}, last = {0};
	struct slice cursor = {0};
	bool endless;

	do {
		if (!ask_jq(a, "list", cursor, &request) || !must(a, buf_slice(&request), &response))
			return;
		need(json_format(&pages, "%s%b", pages.n ? "," : "[", buf_slice(&response)));
		cursor = json_get_string(buf_slice(&response), "nextCursor");
		if (json_string_is(cursor, ""))
			cursor = slice(NULL, 0);
		endless = cursor.p && (slice_eq(cursor, buf_slice(&last)) || pages.n > a->options->line_limit);
		last.n = 0;
		put_slice(&last, cursor);
	} while (cursor.p && !endless);
	need(json_format(&pages, "]"));
	if (endless)
		ask_report(a, "the agent's list of sessions does not end");
	print(a, "sessions", buf_slice(&pages));
}

void
session_probe(struct ask *a)
{
	bool session = !a->options->no_session && session_open(a);
	SCOPED struct buf probes = {0}, tried = {0}, response = {0}, all = {0}, room = {0};
	struct slice probe, method;

	if (!ask_jq(a, "probes", slice_of(session ? "true" : "false"), &probes))
		return;
	need(json_format(&tried, "["));
	for (struct json_iter it = {.in = buf_slice(&probes)}; !a->over && json_item(&it, &probe);) {
		const char *member = ask_call(a, probe, &response);
		struct json_iter first = {.in = probe};

		if (!member && json_item(&first, &method)) {
			ask_report(a, "%s: no response", plain_of(method, &room));
			break;
		}
		need(json_format(&tried, tried.n > 1 ? "," : ""));
		put_object(&tried, {"probe", probe}, {member, buf_slice(&response)});
	}
	need(json_format(&tried, "]"));
	put_object(&all, {"tried", buf_slice(&tried)}, {"session", session ? buf_slice(&a->opened) : slice(NULL, 0)},
		{"commands", buf_slice(&a->commands)});
	if (!ask_jq(a, "broken", buf_slice(&all), &probes))
		return;
	for (struct json_iter it = {.in = buf_slice(&probes)}; json_item(&it, &probe);)
		ask_report(a, "%s", plain_of(probe, &room));
	print(a, "report", buf_slice(&all));
}
