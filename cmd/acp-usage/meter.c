/* One live line on a terminal, drawn over itself. Terminal modes are never set. */
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"

enum { BAR = 20, COLUMNS = 80 };

struct meter {
	int fd;
	bool utf8, color, drawn;
	const struct usage_session *session; /* the last that changed */
};

struct meter *
meter_open(const struct options *o)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	if (*o->meter)
		m->fd = cli_terminal();
	else
		m->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (m->fd < 0 || !isatty(m->fd)) {
		if (m->fd >= 0)
			close(m->fd);
		free(m);
		return NULL;
	}
	m->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	m->color = cli_wants_color(o->color, m->fd);
	return m;
}

void
meter_hide(struct meter *m)
{
	if (m->drawn)
		cli_write_now(m->fd, slice_of("\r\033[K"));
	m->drawn = false;
}

void
meter_close(struct meter *m)
{
	if (!m)
		return;
	if (m->drawn)
		cli_write_now(m->fd, slice_of("\n"));
	close(m->fd);
	free(m);
}

void
meter_show(struct meter *m, struct tool *t, const struct usage_event *e)
{
	m->session = e->session;
	meter_draw(m, t);
}

/* Adds a part with two blanks before it, where it still fits. */
static int
add(struct buf *line, size_t *used, size_t width, const struct buf *part)
{
	if (part->n == 0 || *used + 2 + part->n > width)
		return 0;
	*used += 2 + part->n;
	return -(buf_add(line, "  ", 2) || buf_add_slice(line, buf_slice(part)));
}

static int
add_bar(const struct meter *m, struct buf *line, int percent)
{
	int full = percent < 0 ? 0 : percent > 100 ? BAR : (percent * BAR + 50) / 100, i, r = buf_add(line, "[", 1);

	for (i = 0; i < BAR; i++)
		r |= buf_add_string(line, m->utf8 ? i < full ? "\u2588" : "\u2591" : i < full ? "#" : ".");
	return r | buf_add(line, "]", 1);
}

static int
add_context(struct buf *line, size_t *used, size_t width, const struct usage_session *s)
{
	struct buf part = {0};
	int r = 0;

	if (s->has_used && s->has_size)
		r |= -(buf_printf(&part, "%d%%", usage_percent(s->used, s->size)) || add(line, used, width, &part));
	part.n = 0;
	r |= s->has_used ? put_tokens(&part, s->used) : buf_add(&part, "?", 1);
	if (s->has_size)
		r |= -(buf_add(&part, "/", 1) || put_tokens(&part, s->size));
	r |= -(buf_add_string(&part, " tokens") || add(line, used, width, &part));
	part.n = 0;
	if (s->has_used && s->has_size)
		r |= -(put_tokens(&part, tokens_left(s)) || buf_add_string(&part, " left")
			|| add(line, used, width, &part));
	buf_free(&part);
	return r;
}

void
meter_draw(struct meter *m, struct tool *t)
{
	const struct usage_session *s = m->session;
	const struct usage_cost *c;
	struct decimal total;
	struct buf line = {0}, part = {0};
	size_t width, used = 0;
	struct winsize w;
	enum level l;
	int r;

	if (!s)
		return;
	width = ioctl(m->fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col - 1u : COLUMNS - 1;
	l = tool_level(t->options, s);
	r = -(buf_add_string(&line, "\r") || buf_add_string(&line, level_color(l, m->color)));
	if (width >= 2 * BAR) {
		r |= add_bar(m, &line, s->has_used && s->has_size ? usage_percent(s->used, s->size) : -1);
		used = BAR + 2;
	}
	r |= add_context(&line, &used, width, s);
	c = usage_costs(s);
	if (c && !s->cleared && usage_cost_total(s, c->currency, &total))
		r |= -(decimal_put_money(total, usage_name(t->usage, c->currency), &part) || add(&line, &used, width, &part));
	part.n = 0;
	r |= -(buf_printf(&part, "turn %u", s->turns + (s->turn.prompted || s->turn.answered ? 1u : 0u)) || add(&line, &used, width, &part));
	part.n = 0;
	if (usage_count(t->usage) > 1)
		r |= -(put_session(&part, t, s) || add(&line, &used, width, &part));
	r |= -(buf_add_string(&line, color_off(m->color)) || buf_add_string(&line, "\033[K"));
	if (r == 0)
		m->drawn = cli_write_now(m->fd, buf_slice(&line));
	buf_free(&line);
	buf_free(&part);
}
