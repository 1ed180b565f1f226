/* Reads a price list as LiteLLM publishes it: an object with a member for each model. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"

enum price { INPUT, OUTPUT, READ, WRITE, WRITE_HOUR, REASONING, PRICES };

static const char *const members[PRICES] = {"input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
	"cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr", "output_cost_per_reasoning_token"};

/* The prices of one tier. */
struct tariff {
	struct decimal price[PRICES];
	bool has[PRICES];
};

/* What the list has about a model that was looked up. */
struct model {
	struct model *next;
	bool known, reported;
	struct tariff tiers[USAGE_TIERS + 1];
	uint64_t size;
	size_t length;
	char name[];
};

struct prices {
	struct buf text;
	struct slice list; /* the object in `text` */
	bool hour;
	struct model *models;
};

struct prices *
prices_open(const char *path, bool hour)
{
	struct prices *p = calloc(1, sizeof(*p));
	int fd = p ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	const char *why = NULL;

	if (fd < 0 || buf_read_all(&p->text, fd, SIZE_MAX) < 0)
		why = strerror(errno);
	else if (json_scan(buf_slice(&p->text), JSON_DEPTH, NULL, 0, NULL, NULL) != JSON_OBJECT)
		why = "not a price list: expected a JSON object";
	if (fd >= 0)
		close(fd);
	if (!why) {
		p->hour = hour;
		for (p->list = buf_slice(&p->text); *p->list.p != '{'; p->list.n--)
			p->list.p++;
		return p;
	}
	prices_close(p);
	cli_die(EXIT_USAGE, tool_name, "%s: %s", path, why);
}

void
prices_close(struct prices *p)
{
	struct model *m;

	if (!p)
		return;
	while ((m = p->models)) {
		p->models = m->next;
		free(m);
	}
	buf_free(&p->text);
	free(p);
}

/* The entry with this name, or else the first with a provider before the name: anthropic/NAME. p NULL: none. */
static struct slice
entry_of(const struct prices *p, struct slice name)
{
	struct json_iter it = {.in = p->list};
	struct slice key, value, found = {0};

	while (name.n && json_next(&it, &key, &value)) {
		if (json_type(value) != JSON_OBJECT || key.n < name.n + 2)
			continue;
		if (memcmp(key.p + key.n - 1 - name.n, name.p, name.n) != 0)
			continue;
		if (key.n == name.n + 2)
			return value;
		if (!found.p && key.p[key.n - name.n - 2] == '/')
			found = value;
	}
	return found;
}

/* Finds an entry also without what agents add to a model's name: claude-opus-5-5[1m], qwen3-coder(openai), a date, :latest. */
static struct slice
entry(const struct prices *p, struct slice name)
{
	struct slice found = entry_of(p, name);

	for (size_t n = 0; !found.p && n < name.n; n++)
		if (n > 0 && strchr("[(:@", name.p[n]))
			found = entry_of(p, slice(name.p, n));
	return found;
}

/* Reads the prices that an object has under the members' names with `suffix`. Other prices stay. */
static void
read_tariff(struct tariff *to, struct slice in, const char *suffix)
{
	struct slice v;
	char name[96];

	for (unsigned i = 0; i < PRICES; i++) {
		snprintf(name, sizeof(name), "%s%s", members[i], suffix);
		v = json_get(in, name);
		to->has[i] |= v.p && json_type(v) == JSON_NUMBER && decimal_parse(v, &to->price[i]);
	}
}

/* Reads prices from objects in an array, each for contexts from a size on: {"range":[FROM,TO],...}. The last one counts. */
static void
read_ranges(struct tariff *to, struct slice tiers, uint64_t context)
{
	struct json_iter it = {.in = tiers}, bounds;
	struct slice tier, from;
	uint64_t n;

	while (json_item(&it, &tier)) {
		bounds = (struct json_iter){.in = json_type(tier) == JSON_OBJECT ? json_get(tier, "range") : slice(NULL, 0)};
		if (json_item(&bounds, &from) && json_u64(from, &n) && n <= context)
			read_tariff(to, tier, "");
	}
}

/* Reads prices of large contexts: from members that end in _above_200k_tokens, or from an array of ranges. */
static void
read_tiers(struct model *m, struct slice in)
{
	struct slice ranges = json_get(in, "tiered_pricing");
	char suffix[40];

	read_tariff(&m->tiers[0], in, "");
	read_ranges(&m->tiers[0], ranges, 0);
	for (unsigned i = 1; i <= USAGE_TIERS; i++) {
		m->tiers[i] = m->tiers[i - 1];
		snprintf(suffix, sizeof(suffix), "_above_%lluk_tokens", (unsigned long long)usage_tiers[i - 1] / 1000);
		read_tariff(&m->tiers[i], in, suffix);
		read_ranges(&m->tiers[i], ranges, usage_tiers[i - 1]);
	}
	m->known = m->tiers[0].has[INPUT] && m->tiers[0].has[OUTPUT];
}

static struct model *
look_up(struct prices *p, struct slice name)
{
	struct model *m;
	struct slice in, v;

	for (m = p->models; m; m = m->next)
		if (m->length == name.n && memcmp(m->name, name.p, name.n) == 0)
			return m;
	m = calloc(1, sizeof(*m) + name.n + 1);
	if (!m)
		return NULL;
	if (name.n)
		memcpy(m->name, name.p, name.n);
	m->length = name.n;
	m->next = p->models;
	p->models = m;
	in = entry(p, name);
	if (!in.p)
		return m;
	read_tiers(m, in);
	v = json_get(in, "max_input_tokens");
	if (json_type(v) != JSON_NUMBER || !json_u64(v, &m->size))
		m->size = 0;
	return m;
}

/* The price of a token of this type: the first price in the table's order that the list has. */
static struct decimal
price_of(const struct prices *p, const struct tariff *t, enum usage_type type)
{
	static const enum price order[USAGE_TYPES][3] = {[USAGE_INPUT] = {INPUT, INPUT, INPUT}, [USAGE_OUTPUT] = {OUTPUT, OUTPUT, OUTPUT},
		[USAGE_THOUGHT] = {REASONING, OUTPUT, OUTPUT}, [USAGE_READ] = {READ, INPUT, INPUT}, [USAGE_WRITE] = {WRITE_HOUR, WRITE, INPUT}};
	unsigned i = type == USAGE_WRITE && !p->hour;

	while (i < 2 && !t->has[order[type][i]])
		i++;
	return t->price[order[type][i]];
}

int
prices_estimate(struct prices *p, struct slice model, const struct usage_sums *s, uint8_t inside, uint8_t tier, struct decimal *to)
{
	struct model *m = look_up(p, model);
	decimal_units n[USAGE_TYPES];
	struct decimal some;
	bool fits = true;

	*to = (struct decimal){0};
	if (!m)
		return -1;
	if (!m->known) {
		if (!m->reported)
			cli_warn(tool_name, model.n ? "the price list lacks the model %s" : "no estimate: the agent does not name the model%s",
				m->name);
		m->reported = true;
		return 1;
	}
	usage_disjoint(s, inside, n);
	for (int i = USAGE_INPUT; i < USAGE_TYPES; i++)
		fits &= !__builtin_mul_overflow(price_of(p, &m->tiers[tier], (enum usage_type)i).units, n[i], &some.units) &&
			decimal_add(*to, some, to);
	if (!fits && !m->reported)
		cli_warn(tool_name, "%s: the estimate is too large", m->name);
	m->reported |= !fits;
	return fits ? 0 : 1;
}

uint64_t
prices_size(struct prices *p, struct slice model)
{
	struct model *m = look_up(p, model);

	return m ? m->size : 0;
}
