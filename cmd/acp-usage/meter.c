/* A live line on a terminal, written over itself. The modes of the terminal are never changed. */
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/people.h"

enum { BAR = 20, COLUMNS = 80 };

struct meter {
	int fd;
	bool utf8, color, drawn;
};

struct meter *
meter_open(const struct options *o)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	if (o->meter == METER_TTY)
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
meter_hide(struct tool *t)
{
	if (!t->meter)
		return;
	if (t->meter->drawn)
		cli_write_now(t->meter->fd, slice_of("\r\033[K"));
	t->meter->drawn = false;
}

void
meter_close(struct tool *t)
{
	if (!t->meter)
		return;
	if (t->meter->drawn)
		cli_write_now(t->meter->fd, slice_of("\n"));
	close(t->meter->fd);
	free(t->meter);
}

/* The line while it is made. */
struct shown {
	struct buf text;
	size_t used, width; /* in columns */
	int failed;
};

/* Adds a part after two blanks, if it still fits. */
__attribute__((format(printf, 2, 3))) static void
add(struct shown *line, const char *format, ...)
{
	SCOPED struct buf part = {0};
	va_list args;

	va_start(args, format);
	line->failed |= buf_vprintf(&part, format, args);
	va_end(args);
	if (line->used + 2 + part.n <= line->width) {
		line->used += 2 + part.n;
		line->failed |= -(buf_add(&line->text, "  ", 2) || buf_add_slice(&line->text, buf_slice(&part)));
	}
}

static int
add_bar(const struct meter *m, struct buf *line, int percent)
{
	int full = percent < 0 ? 0 : percent > 100 ? BAR : (percent * BAR + 50) / 100, i, r = buf_add(line, "[", 1);

	for (i = 0; i < BAR; i++)
		r |= buf_add_string(line, m->utf8 ? i < full ? "\u2588" : "\u2591" : i < full ? "#" : ".");
	return r | buf_add(line, "]", 1);
}

static void
add_context(struct shown *line, const struct usage_session *s)
{
	char used[PEOPLE_FIGURE], size[PEOPLE_FIGURE], left[PEOPLE_FIGURE];

	if (s->size)
		add(line, "%d%%", usage_percent(s->used, s->size));
	if (s->has_used)
		add(line, "%s%s%s tokens", people_count(used, s->used), s->size ? "/" : "", s->size ? people_count(size, s->size) : "");
	if (s->size)
		add(line, "%s left", people_count(left, tokens_left(s)));
}

static void
add_session(struct shown *line, struct tool *t, const struct usage_session *s)
{
	const struct usage_cost *c = usage_costs(s);
	struct usage_money total;
	SCOPED struct buf part = {0};

	add_context(line, s);
	if (c && !s->cleared && usage_cost_total(s, c->currency, &total)
		&& usage_money_put(t->usage, &total, &part) == 0 && buf_string(&part))
		add(line, "%s", part.p);
	add(line, "turn %u", s->turns + (s->turn.state == USAGE_RUNS || s->turn.state >= USAGE_ENDED ? 1u : 0u));
	part.n = 0;
	if (usage_count(t->usage) > 1 && put_session(&part, t, s) == 0 && buf_string(&part))
		add(line, "%s", part.p);
}

void
meter_draw(struct tool *t)
{
	struct meter *m = t->meter;
	const struct usage_session *s = t->metered;
	struct shown line = {0};
	struct winsize w;

	if (!m)
		return;
	line.width = ioctl(m->fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col - 1u : COLUMNS - 1;
	line.failed = -(buf_add_string(&line.text, "\r")
		|| buf_add_string(&line.text, s ? level_color(tool_level(t->options, s), m->color) : ""));
	if (line.width >= 2 * BAR) {
		line.failed |= add_bar(m, &line.text, s && s->size ? usage_percent(s->used, s->size) : -1);
		line.used = BAR + 2;
	}
	if (s)
		add_session(&line, t, s);
	else
		add(&line, "no usage yet");
	line.failed |= -(buf_add_string(&line.text, m->color ? "\033[0m" : "") || buf_add_string(&line.text, "\033[K"));
	if (!line.failed)
		m->drawn = cli_write_now(m->fd, buf_slice(&line.text));
	buf_free(&line.text);
}
