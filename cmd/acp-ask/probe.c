/* --probe: what an agent can do, and whether it does what it advertises. */
#include <stdlib.h>

#include "cmd/acp-ask/ask.h"
#include "lib/filter/jqprog.h"

/* What is printed is a program's: keys are sorted, so that two agents can be compared by diff. */
static const char report[] =
	"def sorted: walk(if type == \"object\" then to_entries | sort_by(.key) | from_entries else . end);"
	"{protocol: .initialize.protocolVersion, agent: (.initialize.agentInfo // .initialize.info),"
	" capabilities: (.initialize.agentCapabilities // .initialize.capabilities // {}),"
	" auth_methods: ([.initialize.authMethods[]? | .id // .methodId] | sort), methods: .methods}"
	" + (if .session then {modes: ([.session.modes.availableModes[]?.id] | sort),"
	"  models: ([.session.models.availableModels[]?.modelId] | sort),"
	"  config_options: ([.session.configOptions[]? | {key: (.id // .configId), value: .currentValue}] | from_entries),"
	"  commands: ([.commands[]?.name] | sort)} else {} end) | sorted";
static const char lines[] = " | paths(type != \"object\" and type != \"array\") as $p | getpath($p)"
	" | if type == \"string\" then . else tojson end | ($p | map(tostring) | join(\".\")) + \"\\t\" + gsub(\"[\\n\\t]\"; \" \")";

/* The methods that are tried, in this order: they change nothing but our own session. */
static const struct probe {
	const char *method, *v1, *v2; /* where it is advertised */
	bool session;                 /* it is about our session */
	bool opens;                   /* and has a directory, too */
} probes[] = {
	{"session/list", "agentCapabilities.sessionCapabilities.list", "capabilities.session", false, true},
	{"session/fork", "agentCapabilities.sessionCapabilities.fork", "capabilities.session.fork", true, true},
	{"session/close", "agentCapabilities.sessionCapabilities.close", "capabilities.session", true, false},
	{"session/resume", "agentCapabilities.sessionCapabilities.resume", "capabilities.session", true, true},
	{"session/load", "agentCapabilities.loadSession", NULL, true, true},
};

/* Tries a method, and appends what came of it. */
static void
try_method(struct ask *a, const struct probe *p, struct buf *to)
{
	bool advertised = ask_has(a, p->v1, p->v2), missing;
	SCOPED struct buf response = {0}, error = {0};
	struct slice code;
	struct buf params = {0};
	enum got got;

	put(&params, "{");
	if (p->session)
		put_member(&params, acp_session_id, buf_slice(&a->session_id));
	if (p->opens)
		put_text(&params, "cwd", slice_of(a->cwd));
	if (p->session && p->opens)
		put_member(&params, acp_mcp_servers, slice_of("[]"));
	put(&params, "}");
	got = ask_call(a, p->method, &params, &response);
	if (got == GOT_NOTHING)
		return;
	code = json_get(buf_slice(&response), "code");
	missing = got == GOT_ERROR && slice_is(code, "-32601");
	put(&error, "\"error %.*s\"", (int)code.n, code.p ? code.p : "");
	put(to, "%s\"%s\":{\"advertised\":%s", to->p[to->n - 1] == '{' ? "" : ",", p->method, advertised ? "true" : "false");
	put_member(to, "response", got == GOT_RESULT ? slice_of("\"result\"") : buf_slice(&error));
	put(to, "}");
	if (advertised == missing) {
		show_note(a, "acp-ask: %s: %s", p->method, advertised ? "it is advertised, and the agent does not have it"
			: "it is not advertised, and the response is not the error -32601");
		ask_fail(a, EXIT_NEGATIVE);
	}
}

static bool
print(void *arg, struct slice output)
{
	struct ask *a = arg;
	SCOPED struct buf text = {0};

	if (a->options->format == FORMAT_JSON)
		need(json_indent(&text, output, 0, buf_add_slice));
	else
		need(json_unescape(output, &text));
	put(&text, "\n");
	show_text(a, buf_slice(&text));
	return true;
}

void
probe_run(struct ask *a)
{
	SCOPED struct buf all = {0}, program = {0};
	struct jqprog *jq;
	char *why = NULL;
	bool session;

	put(&all, "{");
	put_member(&all, "initialize", buf_slice(&a->initialized));
	session = !a->options->no_session && session_open(a);
	put(&all, ",\"methods\":{");
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !a->over; i++)
		if (session || !probes[i].session)
			try_method(a, &probes[i], &all);
	put(&all, "}");
	if (a->over)
		return;
	put_member(&all, "session", session ? buf_slice(&a->opened) : slice(NULL, 0));
	put_member(&all, "commands", a->commands.n ? buf_slice(&a->commands) : slice(NULL, 0));
	put(&all, "}");
	put(&program, "%s%s", report, a->options->format == FORMAT_JSON ? "" : lines);
	jq = buf_string(&program) ? jqprog_new(program.p, NULL, 0, NULL, 0, &why) : NULL;
	if (!jq || jqprog_run(jq, buf_slice(&all), NULL, 0, print, a, &why) != 0) {
		show_note(a, "acp-ask: --probe: %s", why ? why : "out of memory");
		ask_fail(a, EXIT_FAILED);
	}
	free(why);
	jqprog_free(jq);
}
