/* Figures and names, as people and tables have them. */
#include <math.h>
#include <time.h>

#include "cmd/acp-usage/tool.h"

enum { SHORT_ID = 8, MANY_SESSIONS = 256 };

int
put_tokens(struct buf *to, uint64_t n)
{
	static const char units[] = "KMBTQ";
	uint64_t unit = 1000, tenths;
	size_t i = 0;

	if (n < 1000)
		return buf_printf(to, "%llu", (unsigned long long)n);
	while (i < sizeof(units) - 2 && n / unit >= 1000) {
		unit *= 1000;
		i++;
	}
	tenths = n / (unit / 10) + (n % (unit / 10) >= unit / 20);
	if (tenths >= 10000 && i < sizeof(units) - 2) {
		tenths = 10;
		i++;
	}
	if (tenths >= 1000 || (i > 0 && tenths % 10 == 0))
		return buf_printf(to, "%llu%c", (unsigned long long)((tenths + 5) / 10), units[i]);
	return buf_printf(to, "%llu.%llu%c", (unsigned long long)(tenths / 10), (unsigned long long)(tenths % 10), units[i]);
}

int
put_wall(struct buf *to, double when)
{
	time_t seconds = (time_t)floor(when);
	long us = (long)((when - floor(when)) * 1e6);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return 0;
	return buf_printf(to, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		tm.tm_hour, tm.tm_min, tm.tm_sec, us);
}

int
put_clock(struct buf *to, const struct tool *t, uint64_t us)
{
	time_t seconds = (time_t)(t->started + (double)us / 1e6);
	struct tm tm;

	if (!t->timed)
		return buf_printf(to, "-");
	if (t->started > 0 && localtime_r(&seconds, &tm))
		return buf_printf(to, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	return buf_printf(to, "%llu.%03llus", (unsigned long long)(us / 1000000), (unsigned long long)(us / 1000 % 1000));
}

int
put_amount(struct buf *to, const struct decimal *d, unsigned places)
{
	size_t from = to->n;
	const char *point;
	unsigned have = 0;

	if (decimal_put(d, to) < 0)
		return -1;
	point = memchr(to->p + from, '.', to->n - from);
	if (point)
		have = (unsigned)(to->p + to->n - point - 1);
	else if (places > 0 && buf_add(to, ".", 1) < 0)
		return -1;
	for (; have < places; have++)
		if (buf_add(to, "0", 1) < 0)
			return -1;
	return 0;
}

/* Control characters, and what turns the writing direction, would not be text. */
int
put_plain(struct buf *to, struct slice s)
{
	size_t i;

	for (i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c == 0x7f ? buf_printf(to, "\\x%02x", c) < 0 : buf_add(to, s.p + i, 1) < 0)
			return -1;
	}
	return 0;
}

int
put_session(struct buf *to, const struct tool *t, const struct usage_session *s)
{
	const struct usage_session *other;
	size_t n = s->id_length, same;

	if (n == 0)
		return buf_add(to, "-", 1);
	if (n > SHORT_ID && usage_count(t->usage) <= MANY_SESSIONS) {
		n = SHORT_ID;
		for (other = usage_sessions(t->usage); other; other = usage_next(other)) {
			if (other == s)
				continue;
			for (same = 0; same < s->id_length && same < other->id_length && s->id[same] == other->id[same]; same++)
				;
			if (same >= n)
				n = same < s->id_length ? same + 1 : same;
		}
		/* Not in the midst of a character. */
		while (n < s->id_length && ((unsigned char)s->id[n] & 0xc0) == 0x80)
			n++;
	}
	return put_plain(to, slice(s->id, n));
}

const char *
level_color(enum level l, bool wanted)
{
	static const char *const colors[] = {"", "", "\033[33m", "\033[38;5;208m", "\033[31m"};

	return wanted ? colors[l] : "";
}

const char *
color_off(bool wanted)
{
	return wanted ? "\033[0m" : "";
}
