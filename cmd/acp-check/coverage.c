/* --coverage: counts which names of the schema the messages use, of all that the capabilities of the two sides permit. */
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"

/* A name of the schema, as one side sends it. Names that only the messages have are not counted. */
struct covered {
	const char *name;
	const char *capability; /* the capability that the other side must advertise; NULL: none */
	uint64_t n;             /* how often messages have used the name */
	enum covered_kind kind;
	enum acp_side from;
	bool offered;           /* the other side has advertised the capability, or none is needed */
};

/* Which member of which message has the names of a kind, in the schema. */
static const struct {
	const char *what, *method, *member;
	enum schema_part part;
	enum acp_side from;
} places[COVERED_KINDS] = {
	[COVERED_METHOD] = {.what = "method"},
	[COVERED_UPDATE] = {"update", "\"session/update\"", "sessionUpdate", SCHEMA_NOTIFICATION, ACP_AGENT},
	[COVERED_CONTENT] = {"content", "\"session/prompt\"", "type", SCHEMA_REQUEST, ACP_CLIENT},
	[COVERED_SERVER] = {"server", "\"session/new\"", "type", SCHEMA_REQUEST, ACP_CLIENT},
	[COVERED_OPTION] = {"option", "\"session/request_permission\"", "kind", SCHEMA_REQUEST, ACP_AGENT},
	[COVERED_OUTCOME] = {"outcome", "\"session/request_permission\"", "outcome", SCHEMA_RESPONSE, ACP_CLIENT},
	[COVERED_STOP] = {"stop", "\"session/prompt\"", "stopReason", SCHEMA_RESPONSE, ACP_AGENT},
};

/* --- the names of the schema --- */

/* Finds an entry by its name, a JSON string; NULL: there is none. */
static struct covered *
find(const struct check *c, enum covered_kind kind, enum acp_side from, struct slice name)
{
	struct covered *one = (void *)c->covered.p, *end = one + c->covered.n / sizeof(*one);

	while (one < end && !(one->kind == kind && one->from == from && json_string_is(name, one->name)))
		one++;
	return one < end ? one : NULL;
}

struct offer {
	struct check *check;
	enum covered_kind kind;
	enum acp_side from;
};

/* Adds a name of the schema, or renews what the entry says about its capability. */
static void
offer(void *arg, struct slice name)
{
	const struct offer *o = arg;
	struct check *c = o->check;
	struct covered new = {.name = name.p, .kind = o->kind, .from = o->from}, *one;
	SCOPED struct buf quoted = {0};

	c->failed |= json_quote(name, &quoted) < 0;
	one = c->failed ? &new : find(c, o->kind, o->from, buf_slice(&quoted));
	if (c->failed || (one && one->offered))
		return;
	new.capability = check_capability_for(c, o->kind, o->from, buf_slice(&quoted));
	new.offered = !new.capability || check_advertises(c, acp_other_side(o->from), new.capability);
	if (one)
		*one = (struct covered){new.name, new.capability, one->n, new.kind, new.from, new.offered};
	else
		c->failed |= buf_add(&c->covered, &new, sizeof(new)) < 0;
}

void
coverage_offer(struct check *c)
{
	const struct schema *schema = schema_of(c->conn.version, c->options->unstable);
	struct offer o = {.check = c};
	struct slice name;

	for (const struct schema_method *m = schema_next(schema, NULL, &name); m; m = schema_next(schema, m, &name)) {
		unsigned char to = m->parts[m->parts[SCHEMA_REQUEST].to ? SCHEMA_REQUEST : SCHEMA_NOTIFICATION].to;

		o.from = to == SCHEMA_TO_AGENT ? ACP_CLIENT : ACP_AGENT;
		if (to != SCHEMA_TO_EITHER)
			offer(&o, name);
	}
	for (o.kind = COVERED_UPDATE; o.kind < COVERED_KINDS; o.kind++) {
		bool idle = o.kind == COVERED_STOP && c->conn.version == 2;

		o.from = places[o.kind].from;
		schema_names_of(schema, idle ? "\"session/update\"" : places[o.kind].method, idle ? SCHEMA_NOTIFICATION : places[o.kind].part,
			places[o.kind].member, offer, &o);
	}
}

/* --- the names that messages use --- */

static void
use(struct check *c, enum covered_kind kind, enum acp_side from, struct slice string)
{
	struct covered *one = json_type(string) == JSON_STRING ? find(c, kind, from, string) : NULL;

	if (one)
		one->n++;
}

/* Counts the names in a list of objects. */
static void
use_all(struct check *c, enum covered_kind kind, struct slice list)
{
	struct json_iter it = {.in = list};
	struct slice value;

	while (json_item(&it, &value))
		use(c, kind, places[kind].from, json_get(value, places[kind].member));
}

void
coverage_see(struct check *c, struct slice kind, struct slice update)
{
	const struct message *s = &c->message;

	if (c->covered.n == 0)
		coverage_offer(c);
	if (!check_selects(c))
		return;
	if (s->msg.kind != MSG_RESPONSE)
		use(c, COVERED_METHOD, s->from, s->msg.method);
	use(c, COVERED_UPDATE, ACP_AGENT, kind);
	use(c, COVERED_STOP, ACP_AGENT, json_get(update, "stopReason"));
	use(c, COVERED_STOP, ACP_AGENT, json_get(s->msg.result, "stopReason"));
	use(c, COVERED_OUTCOME, ACP_CLIENT, json_path(s->msg.result, "outcome.outcome"));
	if (s->msg.what == ACP_SESSION_PROMPT)
		use_all(c, COVERED_CONTENT, json_get(s->msg.params, acp_prompt));
	if (acp_opens_session(s->msg.what))
		use_all(c, COVERED_SERVER, json_get(s->msg.params, acp_mcp_servers));
	if (s->msg.what == ACP_REQUEST_PERMISSION)
		use_all(c, COVERED_OPTION, json_get(s->msg.params, acp_options));
}

/* --- the report --- */

static int
by_name(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->from != y->from ? (int)x->from - (int)y->from : strcmp(x->name, y->name);
}

static int
put_one(const struct covered *one, bool json, struct buf *to)
{
	const char *what = places[one->kind].what, *from = acp_side_name(one->from), *name = one->name;
	const char *capability = one->capability ? one->capability : "";

	if (!json)
		return buf_printf(to, "%7" PRIu64 "  %-8s %-7s %s%s%s%s\n", one->n, what, from, name, *capability ? " (" : "", capability,
			one->offered ? *capability ? ")" : "" : ", not advertised)");
	return buf_printf(to, "{\"what\":\"%s\",\"from\":\"%s\",\"name\":\"%s\",\"count\":%" PRIu64 ",\"offered\":%s%s%s%s}\n", what, from, name,
		one->n, one->offered ? "true" : "false", *capability ? ",\"capability\":\"" : "", capability, *capability ? "\"" : "");
}

void
coverage_report(struct check *c)
{
	struct buf *to = out_buf(&c->watch->out);
	const struct covered *one = (void *)c->covered.p, *end = one + c->covered.n / sizeof(*one);
	bool json = c->options->format == CHECK_JSON;
	size_t before = to->n, all = 0, used = 0;
	int r = 0;

	if (end > one)
		qsort(c->covered.p, (size_t)(end - one), sizeof(*one), by_name);
	for (; one < end; one++) {
		if (!one->offered && one->n == 0)
			continue;
		all++;
		used += one->n > 0;
		r |= put_one(one, json, to);
	}
	r |= buf_printf(to, json ? "{\"used\":%zu,\"offered\":%zu}\n" : "%zu of %zu used\n", used, all);
	out_commit(&c->watch->out, before, r);
}
