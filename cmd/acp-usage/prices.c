/* A price list, as LiteLLM publishes it: an object with a member for each model. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"

enum price { INPUT, OUTPUT, READ, WRITE, PRICES };

static const char *const members[PRICES] = {"input_cost_per_token", "output_cost_per_token",
	"cache_read_input_token_cost", "cache_creation_input_token_cost"};

/* What the list says of a model that was asked for. */
struct model {
	struct model *next;
	bool known, told;
	struct decimal price[PRICES];
	bool has[PRICES];
	uint64_t size;
	size_t length;
	char name[];
};

struct prices {
	struct buf text;
	struct model *models;
};

static int
read_all(int fd, struct buf *to)
{
	ssize_t n;

	do {
		if (buf_reserve(to, 64 * 1024) < 0)
			return -1;
		n = read(fd, to->p + to->n, to->cap - to->n);
		if (n > 0)
			to->n += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : 0;
}

struct prices *
prices_open(const char *path)
{
	struct prices *p = calloc(1, sizeof(*p));
	int fd = p ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	const char *why = NULL;
	struct json_error error;

	if (fd < 0 || read_all(fd, &p->text) < 0)
		why = strerror(errno);
	else if (json_scan(buf_slice(&p->text), JSON_DEPTH, NULL, 0, NULL, &error) != JSON_OBJECT)
		why = "no price list: it is no JSON object";
	if (fd >= 0)
		close(fd);
	if (!why)
		return p;
	prices_close(p);
	cli_die(EXIT_USAGE, tool_name, "%s: %s", path, why);
}

void
prices_close(struct prices *p)
{
	struct model *m;
	int i;

	if (!p)
		return;
	while ((m = p->models)) {
		p->models = m->next;
		for (i = 0; i < PRICES; i++)
			decimal_free(&m->price[i]);
		free(m);
	}
	buf_free(&p->text);
	free(p);
}

static struct slice
list(const struct prices *p)
{
	struct slice s = buf_slice(&p->text);

	for (; s.n && strchr(" \t\r\n", *s.p); s.n--)
		s.p++;
	return s;
}

/* The entry of that name, or the first that has it behind a provider's: anthropic/NAME. */
static struct slice
entry(const struct prices *p, const char *name)
{
	struct json_iter it = {.in = list(p)};
	struct slice key, value, behind = {0};
	size_t n = strlen(name);

	while (json_next(&it, &key, &value)) {
		if (json_type(value) != JSON_OBJECT)
			continue;
		if (json_string_is(key, name))
			return value;
		if (!behind.p && key.n > n + 2 && key.p[key.n - n - 2] == '/' && memcmp(key.p + key.n - n - 1, name, n) == 0)
			behind = value;
	}
	return behind;
}

static struct model *
look_up(struct prices *p, struct slice name)
{
	struct model *m;
	struct slice in, v;
	int i;

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
	in = entry(p, m->name);
	if (!in.p)
		return m;
	for (i = 0; i < PRICES; i++) {
		v = json_get(in, members[i]);
		m->has[i] = v.p && decimal_parse(v, &m->price[i]) == 0;
	}
	v = json_get(in, "max_input_tokens");
	if (json_type(v) != JSON_NUMBER || !json_u64(v, &m->size))
		m->size = 0;
	m->known = m->has[INPUT] && m->has[OUTPUT];
	return m;
}

/* to += amount * price, or -= */
static int
add(struct decimal *to, const struct usage_sums *s, enum usage_type type, const struct model *m, enum price price, bool minus)
{
	struct decimal d = {0};
	int r = 0;

	if (!(s->has & 1u << type))
		return 0;
	/* What the list has no price for costs what input does. */
	r = -(usage_sum_decimal(s, type, &d) || decimal_multiply(&d, &m->price[m->has[price] ? price : INPUT], &d)
		|| (minus ? decimal_subtract(to, &d, to) : decimal_add(to, &d, to)));
	decimal_free(&d);
	return r;
}

int
prices_estimate(struct prices *p, struct slice model, const struct usage_sums *s, struct decimal *to)
{
	struct model *m = look_up(p, model);
	int r;

	decimal_free(to);
	if (!m)
		return -1;
	if (!m->known) {
		if (!m->told)
			cli_warn(tool_name, model.n ? "the price list lacks the model %s" : "no estimate: the agent does not tell the model%s",
				m->name);
		m->told = true;
		return 1;
	}
	r = -(add(to, s, USAGE_INPUT, m, INPUT, false) || add(to, s, USAGE_OUTPUT, m, OUTPUT, false)
		|| add(to, s, USAGE_READ, m, READ, false) || add(to, s, USAGE_WRITE, m, WRITE, false));
	/* What lies inside has been counted with what it lies in. */
	if (s->parts & USAGE_READ_INSIDE)
		r |= add(to, s, USAGE_READ, m, INPUT, true);
	if (s->parts & USAGE_WRITE_INSIDE)
		r |= add(to, s, USAGE_WRITE, m, INPUT, true);
	if (s->parts & USAGE_THOUGHT_BESIDE)
		r |= add(to, s, USAGE_THOUGHT, m, OUTPUT, false);
	return r < 0 ? -1 : 0;
}

uint64_t
prices_size(struct prices *p, struct slice model)
{
	struct model *m = look_up(p, model);

	return m ? m->size : 0;
}
