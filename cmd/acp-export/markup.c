/*
 * The Markdown that agents write: headings, lists, quotes, tables, fences, emphasis, code and links. What is not understood is
 * text, so that nothing is lost and nothing gets through; raw HTML never is.
 */
#include "cmd/acp-export/page.h"

/* NEAR: emphasis and links are looked for so far ahead; NESTED: and so deep. */
enum { NEAR = 2048, NESTED = 6, FENCE = 3 };

struct markup {
	struct page *page;
	const char *p, *end; /* what has not been read; p is at the beginning of a line */
};

/* --- lines --- */

static struct slice
peek_line(const struct markup *m)
{
	const char *newline = memchr(m->p, '\n', (size_t)(m->end - m->p));
	struct slice line = slice_between(m->p, newline ? newline : m->end);

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

static void
skip_line(struct markup *m)
{
	const char *newline = memchr(m->p, '\n', (size_t)(m->end - m->p));

	m->p = newline ? newline + 1 : m->end;
}

static size_t
indent_of(struct slice line)
{
	size_t i, n = 0;

	for (i = 0; i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'); i++)
		n += line.p[i] == '\t' ? 4 : 1;
	return n;
}

static struct slice
trim(struct slice s)
{
	while (s.n && strchr(" \t", s.p[0]) && s.p[0])
		s = slice(s.p + 1, s.n - 1);
	while (s.n && strchr(" \t", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

static size_t
run_of(struct slice s, char c)
{
	size_t n = 0;

	while (n < s.n && s.p[n] == c)
		n++;
	return n;
}

static bool
is_fence(struct slice line, char *mark, size_t *length)
{
	line = trim(line);
	*mark = line.n ? line.p[0] : ' ';
	*length = run_of(line, *mark);
	return (*mark == '`' || *mark == '~') && *length >= FENCE &&
		(*mark == '~' || !memchr(line.p + *length, '`', line.n - *length));
}

static unsigned
heading_level(struct slice line)
{
	size_t n = run_of(line, '#');

	return n >= 1 && n <= 6 && (n == line.n || line.p[n] == ' ') ? (unsigned)n : 0;
}

static bool
is_rule(struct slice line)
{
	size_t i, n = 0;

	line = trim(line);
	if (line.n < 3 || !strchr("-*_", line.p[0]) || !line.p[0])
		return false;
	for (i = 0; i < line.n; i++) {
		n += line.p[i] == line.p[0];
		if (line.p[i] != line.p[0] && line.p[i] != ' ')
			return false;
	}
	return n >= 3;
}

/* The marker of an item, or an empty slice. */
static struct slice
item_marker(struct slice line)
{
	size_t n = 0;

	line = trim(line);
	while (n < line.n && n < 9 && line.p[n] >= '0' && line.p[n] <= '9')
		n++;
	if (n ? n < line.n && strchr(".)", line.p[n]) : line.n && strchr("-*+", line.p[0]))
		n++;
	else
		return slice(NULL, 0);
	return line.p[n - 1] && (n == line.n || line.p[n] == ' ' || line.p[n] == '\t') ? slice(line.p, n) : slice(NULL, 0);
}

/* The line between the head of a table and its rows. */
static bool
is_table_rule(struct slice line)
{
	if (!memchr(line.p, '-', line.n) || !memchr(line.p, '|', line.n))
		return false;
	for (size_t i = 0; i < line.n; i++)
		if (!line.p[i] || !strchr("-|: \t", line.p[i]))
			return false;
	return true;
}

static bool
begins_table(const struct markup *m)
{
	struct markup ahead = *m;
	struct slice line = peek_line(m);

	if (!memchr(line.p, '|', line.n))
		return false;
	skip_line(&ahead);
	return ahead.p < ahead.end && is_table_rule(peek_line(&ahead));
}

/* Does another block begin here, or none? */
static bool
interrupts(const struct markup *m)
{
	struct slice line = peek_line(m), text = trim(line);
	char mark;
	size_t length;

	return text.n == 0 || heading_level(text) || text.p[0] == '>' || is_fence(line, &mark, &length) || is_rule(line) ||
		item_marker(line).n || begins_table(m);
}

/* --- within a block --- */

/* What begins at a byte: so many bytes are the span; what it holds, and where a link goes. */
struct found {
	size_t n; /* 0: nothing */
	enum markup_span span;
	bool bare; /* what it holds is text, and no span is around it */
	struct slice inside, url;
};

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static size_t
find(struct slice s, size_t from, const char *what)
{
	size_t end = s.n < from + NEAR ? s.n : from + NEAR;
	const char *hit = from < end ? memmem(s.p + from, end - from, what, strlen(what)) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

static struct found
find_code(struct slice s)
{
	size_t n = run_of(s, '`'), i, run, end = s.n < NEAR ? s.n : NEAR;
	struct slice code;

	for (i = n; i < end; i += run ? run : 1) {
		run = run_of(slice(s.p + i, s.n - i), '`');
		if (run != n)
			continue;
		code = slice(s.p + n, i - n);
		if (code.n > 2 && code.p[0] == ' ' && code.p[code.n - 1] == ' ')
			code = slice(code.p + 1, code.n - 2);
		return (struct found){.n = i + n, .span = SPAN_CODE, .inside = code};
	}
	return (struct found){.n = n, .bare = true, .inside = slice(s.p, n)};
}

static struct found
find_emphasis(struct slice all, size_t at)
{
	struct slice s = slice(all.p + at, all.n - at);
	char c = s.p[0], what[3] = {c, s.n > 1 && s.p[1] == c ? c : '\0', '\0'};
	size_t n = strlen(what), end;

	if (s.n <= n || s.p[n] == ' ' || s.p[n] == '\n' || s.p[n] == c || (c == '_' && at > 0 && is_word(all.p[at - 1])))
		return (struct found){0};
	end = find(s, n, what);
	if (end >= s.n || s.p[end - 1] == ' ' || s.p[end - 1] == '\n' || (c == '_' && end + n < s.n && is_word(s.p[end + n])))
		return (struct found){0};
	return (struct found){.n = end + n, .span = n == 2 ? SPAN_STRONG : SPAN_EMPHASIS, .inside = slice(s.p + n, end - n)};
}

/* [text](url), where the url is one that may be linked to. */
static struct found
find_link(struct slice s)
{
	size_t middle = find(s, 1, "]("), end = middle < s.n ? find(s, middle, ")") : s.n;
	struct slice url;

	if (end >= s.n || memchr(s.p + 1, '[', middle - 1))
		return (struct found){0};
	url = slice(s.p + middle + 2, end - middle - 2);
	if (!page_is_link(url))
		return (struct found){0};
	return (struct found){.n = end + 1, .span = SPAN_LINK, .inside = slice(s.p + 1, middle - 1), .url = url};
}

static struct found
find_bare_link(struct slice s)
{
	size_t n = 0;

	while (n < s.n && n < NEAR && (unsigned char)s.p[n] > ' ' && (unsigned char)s.p[n] < 0x7f && !strchr("\"'<>\\^`{|}()[]*", s.p[n]))
		n++;
	while (n && strchr(".,;:!?_~", s.p[n - 1]))
		n--;
	if (!page_is_link(slice(s.p, n)))
		return (struct found){0};
	return (struct found){.n = n, .span = SPAN_LINK, .inside = slice(s.p, n), .url = slice(s.p, n)};
}

static bool
begins(struct slice s, const char *what)
{
	return s.n > strlen(what) && memcmp(s.p, what, strlen(what)) == 0;
}

static struct found
find_span(struct slice all, size_t at, unsigned depth, bool linked)
{
	struct slice s = slice(all.p + at, all.n - at);

	if (s.p[0] == '`')
		return find_code(s);
	if ((s.p[0] == '*' || s.p[0] == '_') && depth < NESTED)
		return find_emphasis(all, at);
	if (s.p[0] == '[' && !linked)
		return find_link(s);
	if (s.p[0] == 'h' && !linked && (at == 0 || !is_word(all.p[at - 1])) && (begins(s, "http://") || begins(s, "https://")))
		return find_bare_link(s);
	if (s.p[0] == '\\' && s.n > 1 && s.p[1] && strchr("\\`*_{}[]()#+-.!|~<>", s.p[1]))
		return (struct found){.n = 2, .bare = true, .inside = slice(s.p + 1, 1)};
	return (struct found){0};
}

static void
put_spans(struct page *p, struct slice s, unsigned depth, bool linked)
{
	size_t i = 0, done = 0;
	struct found f;

	while (i < s.n) {
		f = s.p[i] && strchr("`*_[h\\", s.p[i]) ? find_span(s, i, depth, linked) : (struct found){0};
		if (f.n == 0) {
			i++;
			continue;
		}
		if (done < i)
			p->paint->text(p, slice(s.p + done, i - done));
		if (!f.bare)
			p->paint->span(p, f.span, f.url, true);
		if (f.bare || f.span == SPAN_CODE || slice_eq(f.inside, f.url))
			p->paint->text(p, f.inside);
		else
			put_spans(p, f.inside, depth + 1, linked || f.span == SPAN_LINK);
		if (!f.bare)
			p->paint->span(p, f.span, f.url, false);
		done = i += f.n;
	}
	if (done < s.n)
		p->paint->text(p, slice(s.p + done, s.n - done));
}

/* --- blocks --- */

static void
put_block(struct page *p, enum markup_block block, unsigned level, struct slice marker, struct slice text)
{
	p->paint->block(p, block, level, marker, true);
	put_spans(p, text, 0, false);
	p->paint->block(p, block, level, marker, false);
}

/* One word, or nothing. */
static bool
is_language(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(is_word(s.p[i]) && (unsigned char)s.p[i] < 0x80) && !(s.p[i] && strchr("+-_.#", s.p[i])))
			return false;
	return s.n < 32;
}

static void
put_fence(struct markup *m, char mark, size_t length)
{
	struct slice line = trim(peek_line(m)), language = trim(slice(line.p + length, line.n - length)), body;
	size_t n;
	char c;

	skip_line(m);
	body = slice(m->p, 0);
	while (m->p < m->end) {
		line = peek_line(m);
		if (is_fence(line, &c, &n) && c == mark && n >= length && trim(line).n == n)
			break;
		skip_line(m);
		body.n = (size_t)(m->p - body.p);
	}
	skip_line(m);
	if (!is_language(language)) {
		put_block(m->page, BLOCK_PARAGRAPH, 0, slice(NULL, 0), language);
		language = slice(NULL, 0);
	}
	m->page->paint->code(m->page, language, body);
}

static void
put_cells(struct markup *m, struct slice line)
{
	struct page *p = m->page;
	const char *bar;
	struct slice cell;

	line = trim(line);
	if (line.n && line.p[0] == '|')
		line = slice(line.p + 1, line.n - 1);
	if (line.n && line.p[line.n - 1] == '|')
		line.n--;
	p->paint->block(p, BLOCK_ROW, 0, slice(NULL, 0), true);
	do {
		bar = memchr(line.p, '|', line.n);
		while (bar && bar > line.p && bar[-1] == '\\')
			bar = memchr(bar + 1, '|', (size_t)(line.p + line.n - bar - 1));
		cell = bar ? slice_between(line.p, bar) : line;
		put_block(p, BLOCK_CELL, 0, slice(NULL, 0), trim(cell));
		line = bar ? slice_between(bar + 1, line.p + line.n) : slice(NULL, 0);
	} while (bar);
	p->paint->block(p, BLOCK_ROW, 0, slice(NULL, 0), false);
}

static void
put_table(struct markup *m)
{
	struct page *p = m->page;

	p->paint->block(p, BLOCK_TABLE, 0, slice(NULL, 0), true);
	put_cells(m, peek_line(m));
	skip_line(m);
	skip_line(m);
	while (m->p < m->end && memchr(peek_line(m).p, '|', peek_line(m).n)) {
		put_cells(m, peek_line(m));
		skip_line(m);
	}
	p->paint->block(p, BLOCK_TABLE, 0, slice(NULL, 0), false);
}

/* The lines of a paragraph or an item: up to where another block begins. */
static struct slice
take_lines(struct markup *m)
{
	const char *from = m->p;
	struct slice last;

	do {
		last = peek_line(m);
		skip_line(m);
	} while (m->p < m->end && !interrupts(m));
	return slice_between(from, last.p + last.n);
}

static void
put_quote(struct markup *m)
{
	struct page *p = m->page;
	struct slice line;
	bool first = true;

	p->paint->block(p, BLOCK_QUOTE, 0, slice(NULL, 0), true);
	while (m->p < m->end && (line = trim(peek_line(m))).n && line.p[0] == '>') {
		if (!first)
			p->paint->text(p, slice_of("\n"));
		first = false;
		put_spans(p, trim(slice(line.p + 1, line.n - 1)), 0, false);
		skip_line(m);
	}
	p->paint->block(p, BLOCK_QUOTE, 0, slice(NULL, 0), false);
}

static void
put_next(struct markup *m)
{
	struct slice line = peek_line(m), text = trim(line), marker = item_marker(line), all;
	unsigned level = heading_level(text);
	size_t length;
	char mark;

	if (text.n == 0) {
		skip_line(m);
	} else if (is_fence(line, &mark, &length)) {
		put_fence(m, mark, length);
	} else if (level) {
		put_block(m->page, BLOCK_HEADING, level, slice(NULL, 0), trim(slice(text.p + level, text.n - level)));
		skip_line(m);
	} else if (text.p[0] == '>') {
		put_quote(m);
	} else if (begins_table(m)) {
		put_table(m);
	} else if (is_rule(line)) {
		m->page->paint->block(m->page, BLOCK_RULE, 0, slice(NULL, 0), true);
		skip_line(m);
	} else if (marker.n) {
		all = take_lines(m);
		all = slice_between(marker.p + marker.n, all.p + all.n);
		put_block(m->page, BLOCK_ITEM, (unsigned)(indent_of(line) < 16 ? indent_of(line) / 2 : 8), marker, trim(all));
	} else {
		put_block(m->page, BLOCK_PARAGRAPH, 0, slice(NULL, 0), trim(take_lines(m)));
	}
}

void
markup_put(struct page *page, struct slice text)
{
	struct markup m = {.page = page, .p = text.p, .end = text.p + text.n};

	while (m.p < m.end)
		put_next(&m);
}
