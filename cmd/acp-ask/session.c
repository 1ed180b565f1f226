/* What is asked of the agent beside prompts: the connection, the session, the list of sessions, and --probe. ask.jq has the requests. */
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

/* Sends a request of ask.jq. False: it has no result; that is reported, and the exit status set. */
static bool
must(struct ask *a, struct slice request, struct buf *result)
{
	const char *member = ask_call(a, request, result);
	SCOPED struct buf failure = {0};

	if (member && strcmp(member, "result") == 0)
		return true;
	if (member) {
		put_object(&failure, {"request", request}, {member, buf_slice(result)});
		ask_jq(a, "failure", buf_slice(&failure), &failure);
	}
	return ask_fail(a, EXIT_NEGATIVE);
}

/* The same with the request that a function makes of the input. */
static bool
must_do(struct ask *a, const char *function, struct slice input, struct buf *result)
{
	SCOPED struct buf request = {0};

	return ask_jq(a, function, input, &request) && must(a, buf_slice(&request), result);
}

/* --- the connection --- */

/* Runs the agent's command with the method's arguments at the terminal, where the person logs in. */
static bool
log_in(struct ask *a, struct slice method)
{
	char **argv = words_new(a->options->command, json_get(method, "args"));
	pid_t pid;
	int status = 0;

	a->variables = words_new(NULL, json_get(method, "variables"));
	show_clear(a);
	pid = proc_start(&(struct proc_spec){.argv = argv, .death_signal = SIGKILL, .variables = a->variables}, NULL);
	words_free(argv);
	if (pid > 0) {
		tcsetpgrp(a->person.fd.fd, pid);
		proc_signal(pid, SIGCONT); /* it may have wanted the terminal before it had it */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		tcsetpgrp(a->person.fd.fd, getpgrp());
	}
	return (pid > 0 && status == 0) || ask_report(a, "--auth %s: it failed", a->options->auth);
}

bool
session_connect(struct ask *a)
{
	SCOPED struct buf next = {0}, response = {0};
	uint64_t version;

	for (;;) {
		if (!must_do(a, "initialize", slice(NULL, 0), &a->initialized))
			return false;
		if (!json_u64(json_get(buf_slice(&a->initialized), acp_protocol_version), &version) || version != (uint64_t)a->options->protocol)
			return ask_report(a, "the agent does not speak version %d of the protocol; see --protocol", a->options->protocol);
		if (!a->options->auth || a->variables)
			return true;
		if (!ask_jq(a, "authenticate", slice(NULL, 0), &next))
			return false;
		if (json_type(buf_slice(&next)) == JSON_ARRAY)
			return must(a, buf_slice(&next), &response);
		if (!log_in(a, buf_slice(&next)))
			return false;
		/* An agent that begins now finds that somebody has logged in. */
		agent_end(a);
		if (a->signals || a->status || !agent_start(a))
			return false;
	}
}

/* --- the session that was open last, in this directory and with this agent --- */

/* The path of the file that has its id, to be freed. make: and its directories. */
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

/* Appends the id, a JSON string. False: there is none. */
static bool
recall(const struct ask *a, struct buf *id)
{
	char *path = last_path(a, false);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd >= 0 && (buf_read_all(id, fd, a->options->line_limit) < 0 || json_scan(buf_slice(id), 1, NULL, 0, NULL, NULL) != JSON_STRING))
		id->n = 0;
	proc_close(fd);
	return id->n > 0;
}

bool
session_open(struct ask *a)
{
	const char *name = a->options->resume ? a->options->resume : a->options->load;
	SCOPED struct buf steps = {0}, response = {0}, room = {0};
	struct slice request;

	if (name && strcmp(name, "last") != 0)
		put_quoted(&a->session_id, slice_of(name));
	else if (name && !recall(a, &a->session_id))
		return ask_report(a, "--%s last: no session of this agent is remembered for this directory",
			a->options->load ? "load" : "resume");
	if (!must_do(a, "open", slice(NULL, 0), &a->opened))
		return false;
	if (!name)
		put_slice(&a->session_id, json_get_string(buf_slice(&a->opened), acp_session_id));
	a->session = sessions_find(a->sessions, json_text(buf_slice(&a->session_id), &room));
	if (!a->session)
		return ask_report(a, "the agent did not say which session it has opened");
	remember(a);
	if (a->options->given.n && !ask_jq(a, "settings", buf_slice(&a->opened), &steps))
		return false;
	for (struct json_iter it = {.in = buf_slice(&steps)}; next_item(&it, &request);)
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
	for (struct json_iter it = {.in = buf_slice(&output)}; next_item(&it, &line);)
		show_line(a, slice_of(plain_of(line, &room)));
	if (json_type(buf_slice(&output)) == JSON_OBJECT) {
		need(json_indent(&room, buf_slice(&output), 0, buf_add_slice));
		show_line(a, buf_slice(&room));
	}
}

void
session_list(struct ask *a)
{
	SCOPED struct buf response = {0}, pages = {0}, last = {0};
	struct slice cursor = {0};
	bool endless;

	do {
		if (!must_do(a, "list", cursor, &response))
			return;
		put(&pages, pages.n ? "," : "[");
		put_slice(&pages, buf_slice(&response));
		cursor = json_get_string(buf_slice(&response), "nextCursor");
		endless = cursor.p && (slice_eq(cursor, buf_slice(&last)) || pages.n > a->options->line_limit);
		last.n = 0;
		put_slice(&last, cursor);
	} while (cursor.p && !endless);
	put(&pages, "]");
	if (endless)
		ask_report(a, "the agent's list of sessions does not end");
	print(a, "sessions", buf_slice(&pages));
}

void
session_probe(struct ask *a)
{
	bool session = !a->options->no_session && session_open(a);
	SCOPED struct buf probes = {0}, tried = {0}, response = {0}, all = {0}, room = {0};
	struct slice probe;

	if (a->over || !ask_jq(a, "probes", slice_of(session ? "true" : "false"), &probes))
		return;
	put(&tried, "[");
	for (struct json_iter it = {.in = buf_slice(&probes)}; next_item(&it, &probe);) {
		const char *member = ask_call(a, probe, &response);

		if (!member)
			return;
		put(&tried, tried.n > 1 ? "," : "");
		put_object(&tried, {"probe", probe}, {member, buf_slice(&response)});
	}
	put(&tried, "]");
	put_object(&all, {"tried", buf_slice(&tried)}, {"session", session ? buf_slice(&a->opened) : slice(NULL, 0)},
		{"commands", buf_slice(&a->commands)});
	if (!ask_jq(a, "broken", buf_slice(&all), &probes))
		return;
	for (struct json_iter it = {.in = buf_slice(&probes)}; next_item(&it, &probe);)
		ask_report(a, "%s", plain_of(probe, &room));
	print(a, "report", buf_slice(&all));
}
