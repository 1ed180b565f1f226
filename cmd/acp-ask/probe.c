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

static void
put_params(const struct ask *a, const struct probe *p, struct buf *to)
{
	need(buf_add(to, "{", 1));
	if (p->session)
		need(json_add_member(to, acp_session_id, buf_slice(&a->session_id)));
	if (p->opens) {
		need(buf_add_string(to, p->session ? ",\"cwd\":" : "\"cwd\":"));
		need(json_quote(buf_slice(&a->cwd), to));
	}
	need(buf_add_string(to, p->session && p->opens ? ",\"mcpServers\":[]}" : "}"));
}

/* Tries a method, and appends what came of it. */
static void
try_method(struct ask *a, const struct probe *p, struct buf *to)
{
	bool advertised = ask_has(a, p->v1, p->v2), missing;
	SCOPED struct buf response = {0};
	struct slice code;
	struct buf params = {0};
	enum got got;

	put_params(a, p, &params);
	got = ask_call(a, p->method, &params, &response);
	if (got == GOT_NOTHING)
		return;
	code = json_get(buf_slice(&response), "code");
	missing = got == GOT_ERROR && slice_is(code, "-32601");
	need(buf_printf(to, "%s\"%s\":{\"advertised\":%s,\"response\":", to->p[to->n - 1] == '{' ? "" : ",", p->method, advertised ? "true" : "false"));
	need(got == GOT_RESULT ? buf_add_string(to, "\"result\"}") : buf_printf(to, "\"error %.*s\"}", (int)code.n, code.p ? code.p : ""));
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
	need(buf_add(&text, "\n", 1));
	show_text(a, buf_slice(&text));
	return true;
}

void
probe_run(struct ask *a)
{
	SCOPED struct buf all = {0}, program = {0};
	struct jqprog *jq;
	char *why = NULL;

	need(buf_add_string(&all, "{"));
	need(json_add_member(&all, "initialize", buf_slice(&a->initialized)));
	if (!a->options->no_session && !session_open(a))
		return;
	need(buf_add_string(&all, ",\"methods\":{"));
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !a->over; i++)
		if (!a->options->no_session || !probes[i].session)
			try_method(a, &probes[i], &all);
	need(buf_add(&all, "}", 1));
	if (a->over)
		return;
	if (!a->options->no_session)
		need(json_add_member(&all, "session", buf_slice(&a->opened)));
	if (a->commands.n)
		need(json_add_member(&all, "commands", buf_slice(&a->commands)));
	need(buf_add(&all, "}", 1));
	need(buf_printf(&program, "%s%s", report, a->options->format == FORMAT_JSON ? "" : lines));
	jq = buf_string(&program) ? jqprog_new(program.p, NULL, 0, NULL, 0, &why) : NULL;
	if (!jq || jqprog_run(jq, buf_slice(&all), NULL, 0, print, a, &why) != 0) {
		show_note(a, "acp-ask: --probe: %s", why ? why : "out of memory");
		ask_fail(a, EXIT_FAILED);
	}
	free(why);
	jqprog_free(jq);
}
