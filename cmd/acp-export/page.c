#include "cmd/acp-export/page.h"

#include <math.h>
#include <strings.h>

#include "lib/base/people.h"

void
page_put_slice(struct page *p, struct slice s)
{
	export_must(buf_add_slice(p->to, s));
}

void
page_put(struct page *p, const char *s)
{
	page_put_slice(p, slice_of(s));
}

void
page_printf(struct page *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	export_must(buf_vprintf(p->to, format, ap));
	va_end(ap);
}

static void
put_char(struct page *p, int32_t code, bool attribute)
{
	static const char *const entities[] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
	char name[TEXT_SHOW_SIZE];
	size_t n;

	if (code >= 0 && (size_t)code < sizeof(entities) / sizeof(*entities) && entities[code]) {
		page_put(p, entities[code]);
		return;
	}
	if (code == '\n' || code == '\t' || text_is_safe(code)) {
		export_must(text_put(p->to, code));
		return;
	}
	n = text_name(name, code);
	if (!attribute)
		page_put(p, "<span class=\"c\">");
	for (size_t i = 0; i < n; i++)
		put_char(p, name[i], true);
	if (!attribute)
		page_put(p, "</span>");
}

int32_t
page_next(struct text *t)
{
	int32_t code = text_next(t);

	while ((code == '\033' && text_skip_color(t)) || (code == '\r' && t->p < t->end && *t->p == '\n'))
		code = text_next(t);
	return code;
}

void
page_put_html(struct page *p, struct slice s, bool attribute)
{
	struct text t = text_of(s);
	int32_t code;

	while ((code = page_next(&t)) >= 0)
		put_char(p, code, attribute);
}

bool
page_is_link(struct slice url)
{
	static const char *const schemes[] = {"http://", "https://", "mailto:"};
	struct text t = text_of(url);
	size_t n;
	int32_t code;

	while ((code = text_next(&t)) >= 0)
		if (code == ' ' || !text_is_safe(code) || (code < 0x80 && strchr("\"'<>\\^`{|}", code)))
			return false;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		n = strlen(schemes[i]);
		if (url.n > n && strncasecmp(url.p, schemes[i], n) == 0)
			return true;
	}
	return false;
}

bool
page_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

bool
page_has_only(struct slice s, const char *others)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || (!strchr(others, s.p[i]) && (!page_is_word(s.p[i]) || (unsigned char)s.p[i] >= 0x80)))
			return false;
	return true;
}

/* Returns the length of the URL at the beginning of a text, or 0. A ')' belongs to the URL if its '(' does. */
static size_t
link_length(struct slice s)
{
	enum { MOST = 2048 };
	size_t n = 0, open = 0;

	for (; n < s.n && n < MOST && (unsigned char)s.p[n] > ' ' && (unsigned char)s.p[n] < 0x7f && !strchr("\"'<>\\^`{|}[]*", s.p[n]); n++) {
		if (s.p[n] == ')' && open-- == 0)
			break;
		open += s.p[n] == '(';
	}
	while (n && strchr(".,;:!?_~", s.p[n - 1]))
		n--;
	return page_is_link(slice(s.p, n)) ? n : 0;
}

struct slice
page_find_link(struct slice s)
{
	const char *end = s.p + s.n, *at = s.p, *colon;
	size_t n;

	for (; s.n && (colon = memmem(at, (size_t)(end - at), "://", 3)); at = colon + 3) {
		for (at = colon; at > s.p && colon - at < 6 && page_is_word(at[-1]); at--)
			;
		n = (size_t)(colon - at);
		if (n < 4 || n > 5 || strncasecmp(at, "https", n) != 0)
			continue;
		n = link_length(slice_between(at, end));
		if (n)
			return slice(at, n);
	}
	return slice(NULL, 0);
}

/* Returns the least of 1, 2, 5, 10, 20, ... that is not below n; or n, if 64 bits have no such number. */
static uint64_t
round_up(uint64_t n)
{
	uint64_t unit = 1;

	while (unit < UINT64_MAX / 20 && unit * 10 <= n)
		unit *= 10;
	return n <= unit ? unit : n <= 2 * unit ? 2 * unit : n <= 5 * unit ? 5 * unit : n <= 10 * unit ? 10 * unit : n;
}

void
chart_make(struct chart *c, const struct export_session *s, size_t columns, bool whole)
{
	const struct sample *samples = (const void *)s->samples.p, *sample;
	size_t n = s->samples.n / sizeof(*samples), i, at;
	double begin = n ? samples[0].at : 0, end = n ? samples[n - 1].at : 0, span;
	bool set[CHART_MOST] = {0};

	*c = (struct chart){.n = columns, .first = columns - 1};
	for (i = 0; i < columns; i++)
		c->cost[i] = -1;
	for (const struct export_turn *turn = whole ? s->turns : NULL; turn; turn = turn->next) {
		begin = fmin(begin, turn->started + (double)turn->t / 1e6);
		end = fmax(end, turn->started + (double)turn->end / 1e6);
	}
	span = end - begin;
	for (i = 0; i < n; i++) {
		sample = &samples[i];
		/* Without times the samples are evenly spaced. If recordings are not in the order of time, a sample may lie outside. */
		at = span > 0 ? (size_t)(fmin(fmax((sample->at - begin) / span, 0), 1) * (double)(columns - 1)) : i * (columns - 1) / n;
		c->column[at] = set[at] && c->column[at] > sample->used ? c->column[at] : sample->used;
		set[at] = true;
		c->first = at < c->first ? at : c->first;
		c->cost[at] = sample->cost >= 0 ? sample->cost : c->cost[at];
		c->most_cost = fmax(c->most_cost, sample->cost);
		c->peak = sample->used > c->peak ? sample->used : c->peak;
		c->last = sample->used;
		c->size = sample->size ? sample->size : c->size;
	}
	c->height = c->size >= c->peak && c->size / 4 <= c->peak && c->size ? c->size : round_up(c->peak);
	c->begin = begin;
	c->seconds = span > 0 ? span : 0;
	/* Between two reports, tokens and cost stay at the values of the first. */
	for (i = 1; i < columns; i++) {
		c->column[i] = set[i] ? c->column[i] : c->column[i - 1];
		c->cost[i] = c->cost[i] >= 0 ? c->cost[i] : c->cost[i - 1];
	}
}

void
chart_caption(const struct chart *c, struct buf *to, bool axes)
{
	char last[PEOPLE_FIGURE], size[PEOPLE_FIGURE], peak[PEOPLE_FIGURE], width[PEOPLE_FIGURE];

	export_must(buf_printf(to, c->size ? "Context: %s of %s tokens (%d%%)" : "Context: %s tokens", people_count(last, c->last),
		people_count(size, c->size), usage_percent(c->last, c->size)));
	export_must(buf_printf(to, c->peak > c->last ? ", at most %s." : ".", people_count(peak, c->peak)));
	if (!axes)
		export_must(buf_printf(to, c->seconds > 0 ? " Height: %s, width: %s." : " Height: %s.", people_count(peak, c->height),
			people_duration(width, (uint64_t)(c->seconds * 1e6))));
}
