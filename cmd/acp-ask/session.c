/* The connection: initialize, and authentication. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
	size_t before = to->n;

	if (o->fs)
		need(buf_printf(to, ",\"fs\":{\"readTextFile\":true,\"writeTextFile\":%s}", o->fs == FS_WRITE ? "true" : "false"));
	if (o->terminal)
		need(buf_add_string(to, ",\"terminal\":true"));
	if (answer_person(a))
		need(buf_printf(to, ",\"auth\":{\"terminal\":%s}", o->protocol == 2 ? "{}" : "true"));
	if (answer_person(a) || o->form)
		need(buf_add_string(to, ",\"elicitation\":{\"form\":{}}"));
	if (to->n > before)
		to->p[before] = '{';
	need(buf_add_string(to, to->n > before ? "}" : "{}"));
}

static bool
initialize(struct ask *a)
{
	static const char info[] = "{\"name\":\"acp-ask\",\"version\":\"" VERSION "\"}";
	bool v2 = a->options->protocol == 2;
	struct buf params = {0};
	uint64_t version;

	need(buf_printf(&params, "{\"%s\":%d,\"%s\":%s,\"%s\":", acp_protocol_version, a->options->protocol, v2 ? "info" : "clientInfo", info,
		v2 ? "capabilities" : "clientCapabilities"));
	put_capabilities(a, &params);
	need(buf_add(&params, "}", 1));
	if (!ask_must(a, acp_name(ACP_INITIALIZE, ACP_PLAIN), &params, &a->initialized))
		return false;
	if (json_u64(json_get(buf_slice(&a->initialized), acp_protocol_version), &version) && version == (uint64_t)a->options->protocol)
		return true;
	show_note(a, "acp-ask: the agent does not speak version %d of the protocol; see --protocol", a->options->protocol);
	ask_fail(a, EXIT_NEGATIVE);
	return false;
}

/* --- authentication --- */

static struct slice
method_id(struct slice method)
{
	struct slice id = json_get_string(method, "id");

	return id.p ? id : json_get_string(method, "methodId");
}

void
session_list_methods(struct ask *a, const char *why)
{
	struct json_iter it = {.in = json_get(buf_slice(&a->initialized), "authMethods")};
	SCOPED struct buf all = {0}, room = {0};
	struct slice key, method, id;

	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &method)) {
		id = json_text(method_id(method), &room);
		need(buf_printf(&all, "%s%.*s", all.n ? ", " : "", (int)id.n, id.p ? id.p : ""));
	}
	show_note(a, "acp-ask: %s; --auth: %.*s", why, all.n ? (int)all.n : 20, all.n ? all.p : "the agent names none");
}

/* Adds NAME=VALUE to the environment of what is started from now on. */
static void
set_variable(struct slice name, struct slice value)
{
	SCOPED struct buf n = {0}, v = {0};

	need(json_unescape(name, &n));
	need(json_unescape(value, &v));
	need(buf_string(&n) && buf_string(&v) ? setenv(n.p, v.p, 1) : -1);
}

/* Runs the agent's command with the method's arguments at the terminal, where the person logs in. */
static bool
log_in(struct ask *a, struct slice method)
{
	struct slice args = json_get(method, "args"), env = json_get(method, "env"), key, value;
	struct json_iter it = {.in = args};
	const char **argv = NULL;
	size_t n = 0;
	pid_t pid;
	int status = 0;

	for (; a->options->command[n]; n++)
		(argv = cli_grow(tool_name, argv, n, sizeof(*argv)))[n] = a->options->command[n];
	while (json_type(args) == JSON_ARRAY && json_next(&it, &key, &value)) {
		struct buf word = {0};

		need(json_unescape(value, &word));
		need(buf_string(&word) ? 0 : -1);
		(argv = cli_grow(tool_name, argv, n, sizeof(*argv)))[n] = word.p;
		n++;
	}
	argv = cli_grow(tool_name, argv, n, sizeof(*argv));
	argv[n] = NULL;
	it = (struct json_iter){.in = env};
	/* Version 1 has an object, version 2 a list of names and values. */
	while ((json_type(env) == JSON_ARRAY || json_type(env) == JSON_OBJECT) && json_next(&it, &key, &value))
		set_variable(json_type(env) == JSON_OBJECT ? key : json_get(value, "name"), json_type(env) == JSON_OBJECT ? value : json_get(value, "value"));
	show_clear(a);
	pid = proc_start(&(struct proc_spec){.argv = (char *const *)argv, .death_signal = SIGKILL}, NULL);
	if (pid > 0) {
		tcsetpgrp(a->person.fd.fd, pid);
		proc_signal(pid, SIGCONT); /* it may have wanted the terminal before it had it */
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		tcsetpgrp(a->person.fd.fd, getpgrp());
	}
	for (size_t i = 0; argv[i]; i++)
		if (argv[i] != a->options->command[i])
			free((char *)argv[i]);
	free(argv);
	return pid > 0 && status == 0;
}

/* Are the variables set that the method names? */
static bool
has_variables(struct ask *a, struct slice method)
{
	struct json_iter it = {.in = json_get(method, "vars")};
	SCOPED struct buf name = {0};
	struct slice key, variable;

	if (json_type(it.in) != JSON_ARRAY)
		return true;
	while (json_next(&it, &key, &variable)) {
		name.n = 0;
		need(json_unescape(json_get_string(variable, "name"), &name));
		need(buf_string(&name) ? 0 : -1);
		if (!getenv(name.p) && json_type(json_get(variable, "optional")) != JSON_TRUE) {
			show_note(a, "acp-ask: --auth %s: the environment variable %s is not set", a->options->auth, name.p);
			return false;
		}
	}
	return true;
}

/* 1: the agent is to be started again; 0; -1: it failed. */
static int
authenticate(struct ask *a)
{
	struct json_iter it = {.in = json_get(buf_slice(&a->initialized), "authMethods")};
	SCOPED struct buf response = {0};
	struct slice key, method;
	struct buf params = {0};

	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &method)) {
		if (!json_string_is(method_id(method), a->options->auth))
			continue;
		if (json_string_is(json_get(method, "type"), "terminal")) {
			if (answer_person(a) && log_in(a, method))
				return 1;
			show_note(a, "acp-ask: --auth %s: %s", a->options->auth, answer_person(a) ? "it failed" : "it needs a terminal");
			return -1;
		}
		if (!has_variables(a, method))
			return -1;
		need(buf_printf(&params, "{\"methodId\":%.*s}", (int)method_id(method).n, method_id(method).p));
		return ask_must(a, ask_v2(a) ? "auth/login" : "authenticate", &params, &response) ? 0 : -1;
	}
	session_list_methods(a, "the agent has no such method");
	return -1;
}

/* Ends the agent and starts it again, now that somebody has logged in. */
static bool
restart(struct ask *a)
{
	int status;

	agent_end(a);
	if (a->signals || a->status)
		return false;
	a->over = false;
	status = agent_start(a);
	ask_fail(a, status);
	return status == 0 && initialize(a);
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
	return again > 0 ? restart(a) : again == 0;
}

void
session_directory(struct ask *a)
{
	char *path = realpath(a->options->cwd ? a->options->cwd : ".", NULL);

	if (!path)
		cli_die(EXIT_USAGE, tool_name, "--cwd %s: %s", a->options->cwd ? a->options->cwd : ".", strerror(errno));
	a->cwd = (struct buf){.p = path, .n = strlen(path), .cap = strlen(path) + 1};
}
