/* The connection: initialize, and authentication. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

/* --- initialize --- */

static void
put_capabilities(const struct ask *a, struct buf *to)
{
	const struct options *o = a->options;

	put(to, "{");
	if (o->fs)
		put_member(to, "fs", slice_of(o->fs == FS_WRITE ? "{\"readTextFile\":true,\"writeTextFile\":true}"
			: "{\"readTextFile\":true,\"writeTextFile\":false}"));
	if (o->terminal)
		put_member(to, "terminal", slice_of("true"));
	if (answer_person(a))
		put_member(to, "auth", slice_of(o->protocol == 2 ? "{\"terminal\":{}}" : "{\"terminal\":true}"));
	if (answer_person(a) || o->form)
		put_member(to, "elicitation", slice_of("{\"form\":{}}"));
	put(to, "}");
}

static bool
initialize(struct ask *a)
{
	bool v2 = a->options->protocol == 2;
	struct buf params = {0};
	uint64_t version;

	put(&params, "{\"%s\":%d,\"%s\":{\"name\":\"acp-ask\",\"version\":\"" VERSION "\"},\"%s\":", acp_protocol_version,
		a->options->protocol, v2 ? "info" : "clientInfo", v2 ? "capabilities" : "clientCapabilities");
	put_capabilities(a, &params);
	put(&params, "}");
	if (!ask_must(a, acp_name(ACP_INITIALIZE, ACP_PLAIN), &params, &a->initialized))
		return false;
	if (json_u64(json_get(buf_slice(&a->initialized), acp_protocol_version), &version) && version == (uint64_t)a->options->protocol)
		return true;
	show_note(a, "acp-ask: the agent does not speak version %d of the protocol; see --protocol", a->options->protocol);
	ask_fail(a, EXIT_NEGATIVE);
	return false;
}

/* --- authentication --- */

/* The next method of authentication that the agent has, and its id. */
static bool
next_method(struct json_iter *it, struct slice *method, struct slice *id)
{
	if (!next_item(it, method))
		return false;
	*id = json_get_string(*method, "id");
	if (!id->p)
		*id = json_get_string(*method, "methodId");
	return true;
}

void
session_list_methods(struct ask *a, const char *why)
{
	struct json_iter it = {.in = json_get(buf_slice(&a->initialized), "authMethods")};
	SCOPED struct buf all = {0}, room = {0};
	struct slice method, id;

	while (next_method(&it, &method, &id))
		put(&all, "%s%s", all.n ? ", " : "", plain_of(id, &room));
	need(buf_string(&all) ? 0 : -1);
	show_note(a, "acp-ask: %s; --auth: %s", why, all.n ? all.p : "the agent names none");
}

/* Runs the agent's command with the method's arguments at the terminal, where the person logs in. */
static bool
log_in(struct ask *a, struct slice method)
{
	struct slice env = json_get(method, "env"), key, value;
	char **argv = words_new(a->options->command, json_get(method, "args"));
	struct json_iter it = {.in = env};
	SCOPED struct buf name = {0}, text = {0};
	pid_t pid;
	int status = 0;

	/* Version 1 has an object, version 2 a list of names and values. They last, for the agent that is started then. */
	while ((json_type(env) == JSON_ARRAY || json_type(env) == JSON_OBJECT) && json_next(&it, &key, &value)) {
		bool pair = json_type(env) == JSON_OBJECT;

		plain_of(pair ? key : json_get(value, "name"), &name);
		plain_of(pair ? value : json_get(value, "value"), &text);
		need(setenv(name.p, text.p, 1) < 0 && errno == ENOMEM ? -1 : 0);
	}
	show_clear(a);
	pid = proc_start(&(struct proc_spec){.argv = argv, .death_signal = SIGKILL}, NULL);
	words_free(argv);
	if (pid > 0) {
		tcsetpgrp(a->person.fd.fd, pid);
		proc_signal(pid, SIGCONT); /* it may have wanted the terminal before it had it */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		tcsetpgrp(a->person.fd.fd, getpgrp());
	}
	return pid > 0 && status == 0;
}

/* Are the variables set that the method names? */
static bool
has_variables(struct ask *a, struct slice method)
{
	struct json_iter it = {.in = json_get(method, "vars")};
	SCOPED struct buf name = {0};
	struct slice variable;

	while (next_item(&it, &variable)) {
		if (getenv(plain_of(json_get(variable, "name"), &name)) || json_type(json_get(variable, "optional")) == JSON_TRUE)
			continue;
		show_note(a, "acp-ask: --auth %s: the environment variable %s is not set", a->options->auth, name.p);
		return false;
	}
	return true;
}

/* 1: the agent is to be started again; 0; -1: it failed. */
static int
authenticate(struct ask *a)
{
	struct json_iter it = {.in = json_get(buf_slice(&a->initialized), "authMethods")};
	SCOPED struct buf response = {0};
	struct slice method, id;
	struct buf params = {0};

	while (next_method(&it, &method, &id)) {
		if (!json_string_is(id, a->options->auth))
			continue;
		if (json_string_is(json_get(method, "type"), "terminal")) {
			if (answer_person(a) && log_in(a, method))
				return 1;
			show_note(a, "acp-ask: --auth %s: %s", a->options->auth, answer_person(a) ? "it failed" : "it needs a terminal");
			return -1;
		}
		if (!has_variables(a, method))
			return -1;
		put(&params, "{");
		put_member(&params, "methodId", id);
		put(&params, "}");
		return ask_must(a, a->options->protocol == 2 ? "auth/login" : "authenticate", &params, &response) ? 0 : -1;
	}
	session_list_methods(a, "the agent has no such method");
	return -1;
}

bool
session_connect(struct ask *a)
{
	int again;

	if (!initialize(a))
		return false;
	again = a->options->auth ? authenticate(a) : 0;
	if (again < 0)
		ask_fail(a, EXIT_NEGATIVE);
	if (again <= 0)
		return again == 0;
	/* Somebody has logged in: an agent that begins now finds that. */
	agent_end(a);
	if (a->signals || a->status)
		return false;
	a->over = false;
	ask_fail(a, agent_start(a));
	return a->status == 0 && initialize(a);
}
