/* Metrics in Prometheus' text format, for node_exporter's textfile collector. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"

enum { SECOND = 1000000 };

struct prom {
	const char *path;  /* NULL: standard output, at the end */
	uint64_t *stops;   /* turns by the number of their stop reason */
	size_t nstops;
	struct usage_sums *models;
	bool *seen;
	size_t nmodels;
	uint64_t written;  /* loop_clock of the last time */
	bool fresh, told;
};

struct prom *
prom_open(const struct options *o)
{
	struct prom *p = calloc(1, sizeof(*p));

	if (p)
		p->path = o->output;
	return p;
}

void
prom_close(struct prom *p)
{
	if (!p)
		return;
	free(p->stops);
	free(p->models);
	free(p->seen);
	free(p);
}

void
prom_event(struct prom *p, const struct tool *t, const struct usage_event *e)
{
	size_t n = (size_t)e->turn->stop + 1;
	uint64_t *more;

	(void)t;
	p->fresh = true;
	if (e->kind != USAGE_EVENT_TURN)
		return;
	if (n > p->nstops) {
		more = realloc(p->stops, n * sizeof(*more));
		if (!more)
			return;
		memset(more + p->nstops, 0, (n - p->nstops) * sizeof(*more));
		p->stops = more;
		p->nstops = n;
	}
	p->stops[n - 1]++;
}

/* A label's value. */
static int
put_label(struct buf *to, struct slice s)
{
	size_t i;
	int r = buf_add(to, "\"", 1);

	for (i = 0; i < s.n; i++)
		r |= s.p[i] == '\n' ? buf_add(to, "\\n", 2) : s.p[i] == '"' ? buf_add(to, "\\\"", 2)
			: s.p[i] == '\\' ? buf_add(to, "\\\\", 2) : buf_add(to, s.p + i, 1);
	return r | buf_add(to, "\"", 1);
}

static int
put_head(struct buf *to, const char *name, const char *type, const char *help)
{
	return buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int
put_gauge(struct buf *to, const char *name, const struct usage_session *s, uint64_t value)
{
	return -(buf_printf(to, "%s{session=", name) || put_label(to, slice(s->id, s->id_length))
		|| buf_printf(to, "} %llu\n", (unsigned long long)value));
}

static int
put_sessions(struct buf *to, struct tool *t)
{
	static const char used[] = "acp_context_used_tokens", size[] = "acp_context_size_tokens", cost[] = "acp_session_cost";
	const struct usage_session *s;
	const struct usage_cost *c;
	struct decimal d = {0};
	int r;

	r = put_head(to, used, "gauge", "Tokens in the context of a session.");
	for (s = usage_sessions(t->usage); s; s = usage_next(s))
		if (s->has_used && tool_wants(t, s))
			r |= put_gauge(to, used, s, s->used);
	r |= put_head(to, size, "gauge", "Context window of a session in tokens.");
	for (s = usage_sessions(t->usage); s; s = usage_next(s))
		if (s->has_size && tool_wants(t, s))
			r |= put_gauge(to, size, s, s->size);
	r |= put_head(to, cost, "gauge", "Cost of a session in its currency.");
	for (s = usage_sessions(t->usage); s; s = usage_next(s)) {
		for (c = tool_wants(t, s) ? s->cost : NULL; c; c = c->next)
			r |= -(buf_printf(to, "%s{session=", cost) || put_label(to, slice(s->id, s->id_length))
				|| buf_add_string(to, ",currency=") || put_label(to, usage_name(t->usage, c->currency))
				|| buf_add_string(to, "} ") || usage_cost_total(c, &d) || decimal_put(&d, to) || buf_add(to, "\n", 1));
	}
	decimal_free(&d);
	return r;
}

static int
add_model(struct prom *p, uint32_t name, const struct usage_sums *sums)
{
	size_t n = (size_t)name + 1;
	void *more;

	if (n > p->nmodels) {
		if (!(more = realloc(p->models, n * sizeof(*p->models))))
			return -1;
		p->models = more;
		if (!(more = realloc(p->seen, n * sizeof(*p->seen))))
			return -1;
		p->seen = more;
		memset(p->models + p->nmodels, 0, (n - p->nmodels) * sizeof(*p->models));
		memset(p->seen + p->nmodels, 0, (n - p->nmodels) * sizeof(*p->seen));
		p->nmodels = n;
	}
	p->seen[name] = true;
	usage_sums_add(&p->models[name], sums);
	return 0;
}

/* Tokens by model, over all sessions. */
static int
put_models(struct prom *p, struct buf *to, struct tool *t)
{
	static const char name[] = "acp_turn_tokens_total";
	const struct usage_session *s;
	struct usage_model m;
	unsigned type;
	size_t i;
	int r;

	if (p->nmodels) {
		memset(p->models, 0, p->nmodels * sizeof(*p->models));
		memset(p->seen, 0, p->nmodels * sizeof(*p->seen));
	}
	r = put_head(to, name, "counter", "Tokens that turns were billed, by type and model.");
	for (s = usage_sessions(t->usage); s; s = usage_next(s)) {
		if (!tool_wants(t, s))
			continue;
		for (i = 0; usage_session_model(t->usage, s, i, &m); i++)
			if (m.sums.has)
				r |= add_model(p, m.name, &m.sums);
	}
	for (i = 0; i < p->nmodels; i++)
		for (type = USAGE_INPUT; p->seen[i] && type < USAGE_TYPES; type++)
			if (p->models[i].has & 1u << type)
				r |= -(buf_printf(to, "%s{type=\"%s\",model=", name, usage_type_name((enum usage_type)type))
					|| put_label(to, usage_name(t->usage, (uint32_t)i)) || buf_add_string(to, "} ")
					|| usage_sum_put(&p->models[i], (enum usage_type)type, to) || buf_add(to, "\n", 1));
	return r;
}

static int
put_turns(struct prom *p, struct buf *to, struct tool *t)
{
	static const char name[] = "acp_turns_total";
	size_t i;
	int r = put_head(to, name, "counter", "Turns that have ended, by stop reason.");

	for (i = 0; i < p->nstops; i++)
		if (p->stops[i])
			r |= -(buf_printf(to, "%s{stop_reason=", name) || put_label(to, usage_name(t->usage, (uint32_t)i))
				|| buf_printf(to, "} %llu\n", (unsigned long long)p->stops[i]));
	return r;
}

/* A file of its own that takes the other's name when it is whole. 0, or -1 with errno. */
static int
replace(const char *path, const struct buf *text)
{
	struct buf name = {0};
	size_t sent = 0;
	ssize_t n = 0;
	int fd, e = 0;

	if (buf_printf(&name, "%s.%ld.tmp", path, (long)getpid()) < 0 || !buf_string(&name)) {
		buf_free(&name);
		return -1;
	}
	fd = open(name.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	while (fd >= 0 && sent < text->n && n >= 0) {
		n = write(fd, text->p + sent, text->n - sent);
		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EINTR)
			n = 0;
	}
	if (fd < 0 || n < 0 || close(fd) < 0 || rename(name.p, path) < 0) {
		e = errno;
		unlink(name.p);
	}
	buf_free(&name);
	errno = e;
	return e ? -1 : 0;
}

void
prom_write(struct prom *p, struct tool *t, bool now)
{
	struct buf text = {0};
	uint64_t clock = loop_clock();

	if (!now && (!p->fresh || !p->path || clock < p->written + SECOND))
		return;
	p->fresh = false;
	p->written = clock;
	if (put_sessions(&text, t) || put_models(p, &text, t) || put_turns(p, &text, t)) {
		tool_fail(t, "out of memory: no metrics");
	} else if (!p->path) {
		if (buf_add_slice(out_buf(&t->out), buf_slice(&text)) < 0)
			tool_fail(t, "out of memory: no metrics");
		out_mark(&t->out, 0);
	} else if (replace(p->path, &text) < 0 && !p->told) {
		tool_say(t, "%s: %s", p->path, strerror(errno));
		p->told = true;
		t->failed = true;
	}
	buf_free(&text);
}
