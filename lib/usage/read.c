/* Where agents report usage, and how they spell it. Only this file knows. */
#include <math.h>
#include <stdlib.h>

#include "lib/usage/usage_parts.h"

/* The message, or the kind of update, in which a member stands. */
enum { IN_UPDATE = 1, IN_RESPONSE = 2, IN_STATE = 4, IN_OTHER = 8, IN_CHILD = 16, IN_INFO = 32, IN_COMPACT = 64, IN_OPENED = 128,
	IN_ANY_UPDATE = IN_UPDATE | IN_OTHER | IN_STATE };

/* What a member means. */
enum role { USED, SIZE, COST, COUNTS, CALL, ROWS, MODEL, STOP, CHILD, TITLE, OPTIONS, ORIGIN, SUB_AGENT, SESSION };

/* The members of updates and results that are read, themselves or (META, NAME_MODELS, NAME_STATE) what is in them. */
enum first { KIND, NAME_USED, NAME_SIZE, NAME_COST, NAME_USAGE, NAME_STOP, NAME_STATE, NAME_PERCENTAGE,
	NAME_REMAINING, NAME_SESSION, NAME_TITLE, NAME_STATUS, NAME_OPTIONS, NAME_MODELS, META, FIRST_NAMES };
static const char *const first_names[FIRST_NAMES] = {acp_update_kind, "used", "size", "cost", "usage", acp_stop_reason, "state",
	"percentage", "remaining", acp_session_id, "title", "status", "configOptions", "models", "_meta"};

static const struct source {
	unsigned in;
	enum role role;
	enum first first;
	const char *path[2]; /* the keys below `first` */
} sources[] = {
	/* the standard's */
	{IN_UPDATE, USED, NAME_USED, {NULL}},
	{IN_UPDATE, SIZE, NAME_SIZE, {NULL}},
	{IN_UPDATE, COST, NAME_COST, {NULL}},
	{IN_RESPONSE | IN_STATE, COUNTS, NAME_USAGE, {NULL}},
	{IN_RESPONSE | IN_STATE, STOP, NAME_STOP, {NULL}},
	/* of drafts of the standard */
	{IN_CHILD, CHILD, NAME_SESSION, {NULL}},
	{IN_CHILD, STOP, NAME_STATE, {acp_stop_reason}},
	{IN_CHILD, COUNTS, NAME_STATE, {"usage"}},
	{IN_CHILD | IN_INFO, TITLE, NAME_TITLE, {NULL}},
	{IN_COMPACT, STOP, NAME_STATUS, {NULL}},
	{IN_OPENED, SESSION, NAME_SESSION, {NULL}},
	{IN_OPENED | IN_INFO, OPTIONS, NAME_OPTIONS, {NULL}},
	/* of claude-agent-acp, codex-acp, gemini-cli */
	{IN_RESPONSE | IN_STATE, COUNTS, META, {"quota", "token_count"}},
	{IN_RESPONSE | IN_STATE, ROWS, META, {"quota", "model_usage"}},
	{IN_UPDATE, MODEL, META, {"_claude/model"}},
	{IN_UPDATE, ORIGIN, META, {"_claude/origin", "kind"}},
	/* of qwen, which reports each call by itself */
	{IN_ANY_UPDATE, CALL, META, {"usage"}},
	{IN_ANY_UPDATE, SUB_AGENT, META, {"parentToolCallId"}},
	{IN_RESPONSE, COUNTS, META, {"usage"}},
	{IN_ANY_UPDATE | IN_RESPONSE, MODEL, META, {"model"}},
	{IN_OPENED, MODEL, NAME_MODELS, {"currentModelId"}},
};

static const struct spelling {
	enum usage_type type;
	const char *name;
} spellings[] = {
	{USAGE_TOTAL, "totalTokens"}, {USAGE_TOTAL, "total_tokens"},
	{USAGE_INPUT, "inputTokens"}, {USAGE_INPUT, "input_tokens"}, {USAGE_INPUT, "promptTokens"},
	{USAGE_OUTPUT, "outputTokens"}, {USAGE_OUTPUT, "output_tokens"}, {USAGE_OUTPUT, "completionTokens"},
	{USAGE_THOUGHT, "thoughtTokens"}, {USAGE_THOUGHT, "thought_tokens"}, {USAGE_THOUGHT, "thoughtsTokens"},
	{USAGE_THOUGHT, "reasoning_tokens"}, {USAGE_THOUGHT, "reasoningOutputTokens"},
	{USAGE_READ, "cachedReadTokens"}, {USAGE_READ, "cached_read_tokens"}, {USAGE_READ, "cachedInputTokens"},
	{USAGE_READ, "cachedTokens"},
	{USAGE_WRITE, "cachedWriteTokens"}, {USAGE_WRITE, "cached_write_tokens"},
	{USAGE_WRITE, "cacheWriteInputTokens"},
};

const char usage_row_model[] = "model", usage_row_counts[] = "token_count";

enum { SOURCES = sizeof(sources) / sizeof(*sources), SPELLINGS = sizeof(spellings) / sizeof(*spellings) };

/* Is this key the name? Most keys are not, and differ in the first byte. */
static bool
key_is(struct slice key, const char *name)
{
	return (key.p[1] == name[0] || key.p[1] == '\\') && json_string_is(key, name);
}

enum usage_type
usage_spelled(struct slice key)
{
	size_t i;

	for (i = 0; i < SPELLINGS && !key_is(key, spellings[i].name); i++)
		;
	return i < SPELLINGS ? spellings[i].type : USAGE_TYPES;
}

enum usage_member
usage_member(bool idle, const struct slice *keys, size_t n)
{
	enum usage_member found = USAGE_MEMBER_NONE;
	size_t length;

	for (const struct source *p = sources; p < sources + SOURCES; p++) {
		if (!(p->in & (idle ? IN_STATE : IN_RESPONSE)) || (p->role != COUNTS && p->role != ROWS))
			continue;
		length = p->path[0] ? p->path[1] ? 3 : 2 : 1;
		if (n > length || !key_is(keys[0], first_names[p->first]) || (n > 1 && !key_is(keys[1], p->path[0]))
			|| (n > 2 && !key_is(keys[2], p->path[1])))
			continue;
		if (n == length)
			return p->role == ROWS ? USAGE_MEMBER_ROWS : USAGE_MEMBER_COUNTS;
		found = USAGE_MEMBER_ABOVE;
	}
	return found;
}

/* Reads an integer from 0 to 2^64-1. False if it is null, which counts as left out, or (*wrong) malformed. */
static bool
read_count(struct slice value, uint64_t *n, const char **wrong)
{
	if (json_type(value) == JSON_NULL)
		return false;
	if (json_type(value) == JSON_NUMBER && json_u64(value, n))
		return true;
	*wrong = "a count that is not an integer from 0 to 2^64-1";
	return false;
}

static void
read_counts(struct slice object, struct usage_counts *c, const char **wrong)
{
	struct json_iter it = {.in = object};
	struct slice key, value;
	enum usage_type type;

	if (json_type(object) == JSON_NULL)
		return;
	if (json_type(object) != JSON_OBJECT) {
		*wrong = "usage that is not an object";
		return;
	}
	while (json_next(&it, &key, &value)) {
		type = usage_spelled(key);
		if (type < USAGE_TYPES && !(c->has & 1u << type) && read_count(value, &c->n[type], wrong))
			c->has |= 1u << type;
	}
}

static void
read_cost(struct usage_report *r, struct slice cost)
{
	r->cost_null = json_type(cost) == JSON_NULL;
	if (r->cost_null)
		return;
	if (json_type(cost) != JSON_OBJECT) {
		r->wrong = "a cost that is not an object";
		return;
	}
	r->amount = json_get(cost, "amount");
	r->currency = json_get_string(cost, "currency");
	if (json_type(r->amount) != JSON_NUMBER || r->amount.p[0] == '-')
		r->wrong = "a cost whose amount is not a number, or is below 0";
	else if (r->currency.n <= 2)
		r->wrong = "a cost without a currency";
	else
		return;
	r->amount = r->currency = slice(NULL, 0);
}

static bool
is_string(struct slice value)
{
	return json_type(value) == JSON_STRING;
}

/* The value of the option that selects the model; p NULL if there is none, or it is "default", which names no model. */
static struct slice
chosen_model(struct slice options)
{
	static const char *const names[] = {"category", "id", "configId", "currentValue"};
	struct json_iter it = {.in = options}, in;
	struct slice option, v[4], found = {0};

	while (json_item(&it, &option)) {
		in = (struct json_iter){.in = option};
		if (json_type(option) != JSON_OBJECT || !json_pick(&in, names, 4, v) || !is_string(v[3]))
			continue;
		for (size_t i = 0; i < 3; i++)
			if (is_string(v[i]) && json_string_is(v[i], "model") && !json_string_is(v[3], "default"))
				found = v[3];
	}
	return found;
}

static void
add_count(struct usage_report *r, enum role role, struct slice value)
{
	struct slice *const strings[] = {[MODEL] = &r->model, [STOP] = &r->stop, [CHILD] = &r->child, [SESSION] = &r->session,
		[TITLE] = &r->title};

	switch (role) {
	case USED:
		r->has_used = read_count(value, &r->used, &r->wrong);
		if (!r->has_used && !r->wrong)
			r->wrong = "used is null";
		break;
	case SIZE:
		if (!read_count(value, &r->size, &r->wrong))
			r->size = 0;
		break;
	case COST:
		read_cost(r, value);
		break;
	case COUNTS:
		if (!r->counts.has)
			read_counts(value, &r->counts, &r->wrong);
		break;
	case CALL:
		read_counts(value, &r->call, &r->wrong);
		break;
	case ROWS:
		if (json_type(value) == JSON_ARRAY)
			r->rows = value;
		else if (json_type(value) != JSON_NULL)
			r->wrong = "counts per model that are not an array";
		break;
	case OPTIONS:
		value = chosen_model(value);
		if (value.p)
			r->model = value;
		break;
	case ORIGIN:
		r->unprompted = is_string(value) && !json_string_is(value, "human");
		break;
	case SUB_AGENT:
		r->sub_agent = is_string(value);
		break;
	default:
		if (is_string(value) && (role != MODEL || value.n > 2))
			*strings[role] = value;
		break;
	}
}

/* Reads the members of an object that the table has below `first`. second: the key that led to the object, or NULL. */
static void
walk(struct usage_report *r, unsigned in, enum first first, struct slice object, const char *second)
{
	struct json_iter it = {.in = object};
	struct slice key, value;
	const char *name;

	while (json_type(object) == JSON_OBJECT && json_next(&it, &key, &value)) {
		for (const struct source *p = sources; p < sources + SOURCES; p++) {
			if (!(p->in & in) || p->first != first || !p->path[0] || (second && strcmp(p->path[0], second) != 0))
				continue;
			name = p->path[second != NULL];
			if (!name || !key_is(key, name))
				continue;
			if (!second && p->path[1])
				walk(r, in, first, value, name);
			else
				add_count(r, p->role, value);
			break;
		}
	}
}

/* Reads the values of first_names, as the table says. */
static void
read_values(struct usage_report *r, unsigned in, const struct slice *values)
{
	struct slice remaining = values[NAME_REMAINING], percentage = values[NAME_PERCENTAGE];
	uint64_t n, left;
	const char *wrong = NULL;
	double reported;

	for (const struct source *p = sources; p < sources + SOURCES; p++)
		if ((p->in & in) && !p->path[0] && values[p->first].p)
			add_count(r, p->role, values[p->first]);
	walk(r, in, NAME_MODELS, values[NAME_MODELS], NULL);
	walk(r, in, NAME_STATE, values[NAME_STATE], NULL);
	walk(r, in, META, values[META], NULL);
	if (in == IN_UPDATE && !values[NAME_USED].p)
		r->wrong = "an update without used";
	/* Drafts have `remaining` and `percentage` beside used and size. */
	if (!r->has_used || !r->size)
		return;
	left = r->size > r->used ? r->size - r->used : 0;
	if (remaining.p && read_count(remaining, &n, &wrong) && n != left)
		r->differs = "remaining";
	if (percentage.p && json_type(percentage) == JSON_NUMBER) {
		reported = strtod(percentage.p, NULL);
		if (!(fabs(reported - (double)r->used * 100 / (double)r->size) <= 1))
			r->differs = "percentage";
	}
}

bool
usage_row(struct json_iter *it, struct slice *model, struct usage_counts *c, const char **wrong)
{
	struct slice key, row, counts;

	*c = (struct usage_counts){0};
	*model = slice(NULL, 0);
	if (!json_next(it, &key, &row))
		return false;
	if (json_type(row) != JSON_OBJECT) {
		*wrong = "a row per model that is not an object";
		return true;
	}
	*model = json_get_string(row, usage_row_model);
	counts = json_get(row, usage_row_counts);
	if (!model->p)
		*wrong = "a row per model without a model";
	if (counts.p)
		read_counts(counts, c, wrong);
	return true;
}

/* --- messages --- */

/* The members of an update's params. read_params reads them in one pass, and returns false if they are malformed. */
struct params {
	struct slice session, meta, update[FIRST_NAMES];
	bool updated, twice;
};

static bool
read_params(struct slice params, struct params *to)
{
	struct json_iter it = {.in = params}, in;
	struct slice key, *value;

	*to = (struct params){0};
	while (json_step(&it, &key)) {
		if (key_is(key, acp_update) && !to->updated && json_enter(&it, &in)) {
			to->updated = true;
			to->twice |= !json_pick(&in, first_names, FIRST_NAMES, to->update);
			json_leave(&it, &in);
			continue;
		}
		value = key_is(key, acp_session_id) ? &to->session : key_is(key, first_names[META]) ? &to->meta : NULL;
		to->twice |= value ? value->p != NULL : key_is(key, acp_update);
		if (value && !value->p)
			*value = json_value(&it);
		else
			json_value(&it);
	}
	return to->updated && json_type(to->session) == JSON_STRING && json_type(to->update[KIND]) == JSON_STRING;
}

static const struct kind {
	const char *name;
	unsigned in;
	enum usage_what what;
} kinds[] = {
#define KIND(name, in, what, rare, bit) {name, in, what},
	USAGE_KINDS(KIND)
#undef KIND
};

static bool
read_update(const struct msg *m, struct usage_report *r)
{
	unsigned in = IN_OTHER;
	struct params p;

	if (!read_params(m->params, &p))
		return false;
	r->session = p.session;
	r->what = USAGE_UPDATE;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (json_string_is(p.update[KIND], kinds[i].name)) {
			in = kinds[i].in;
			r->what = kinds[i].what;
		}
	}
	read_values(r, in, p.update);
	walk(r, in & IN_ANY_UPDATE, META, p.meta, NULL);
	if (p.twice && in & (IN_UPDATE | IN_STATE))
		r->wrong = "a member that occurs twice";
	switch (in) {
	case IN_OTHER: /* usage_find does not find an update without a call in a file, so none is taken here. */
		return r->call.has || r->wrong;
	case IN_CHILD:
		return r->child.p != NULL;
	case IN_INFO:
		return r->model.p || r->title.p;
	default:
		return true;
	}
}

static bool
read_hello(const struct message *s, struct usage_report *r)
{
	const struct msg *m = &s->msg;
	struct slice info = json_get(m->result, "agentInfo"), version;
	uint64_t n;

	if (json_type(m->result) != JSON_OBJECT)
		return false;
	if (json_type(info) != JSON_OBJECT)
		info = json_get(m->result, "info");
	r->what = USAGE_HELLO;
	r->name = json_get_string(info, "name");
	r->version = json_get_string(info, "version");
	version = json_get(m->result, acp_protocol_version);
	r->v2 = json_type(version) == JSON_NUMBER && json_u64(version, &n) && n == 2;
	return true;
}

/* Reads the response to a request that opens a session, or to session/set_config_option. */
static bool
read_opened(const struct message *s, struct usage_report *r)
{
	struct json_iter it = {.in = s->msg.result};
	struct slice values[FIRST_NAMES];

	r->what = USAGE_OPENED;
	r->session = s->request->session;
	r->cwd = s->request->cwd;
	r->failed = s->msg.error.p != NULL;
	if (json_type(s->msg.result) == JSON_OBJECT) {
		json_pick(&it, first_names, FIRST_NAMES, values);
		read_values(r, IN_OPENED, values);
	}
	r->fresh = s->request->what == ACP_SESSION_NEW;
	if (r->failed && (r->fresh || s->request->what == ACP_SESSION_FORK))
		return false;
	return r->session.p != NULL;
}

/* Reads the response to a prompt, or to an unknown request that may have been a prompt. */
static bool
read_prompt_response(const struct message *s, struct usage_report *r)
{
	const struct msg *m = &s->msg;
	struct json_iter it = {.in = m->result};
	struct slice values[FIRST_NAMES];

	r->what = USAGE_RESPONSE;
	r->failed = m->error.p != NULL;
	if (s->request)
		r->session = s->request->session;
	if (json_type(m->result) == JSON_OBJECT) {
		if (!json_pick(&it, first_names, FIRST_NAMES, values))
			r->wrong = "a member that occurs twice";
		read_values(r, IN_RESPONSE, values);
	}
	if (s->request)
		return true;
	return m->error.p ? !msg_null_id(m) : r->stop.p || r->counts.has || r->rows.p;
}

static bool
read_response(const struct message *s, struct usage_report *r)
{
	if (!s->request)
		return json_type(s->msg.result) == JSON_OBJECT && json_get(s->msg.result, acp_protocol_version).p
			? read_hello(s, r) : read_prompt_response(s, r);
	switch (s->request->what) {
	case ACP_INITIALIZE:
	case ACP_PROXY_INITIALIZE:
		return read_hello(s, r);
	case ACP_SESSION_PROMPT:
		return read_prompt_response(s, r);
	default:
		return (acp_opens_session(s->request->what) || s->request->what == ACP_SESSION_SET_CONFIG) && read_opened(s, r);
	}
}

bool
usage_read(const struct message *s, struct usage_report *r)
{
	*r = (struct usage_report){0};
	if (s->msg.kind == MSG_RESPONSE)
		return read_response(s, r);
	return s->msg.what == ACP_SESSION_UPDATE && read_update(&s->msg, r);
}
