/*
 * Reads the Markdown of agents, with md4c: CommonMark with tables, without raw HTML. No part of a text is lost: parts that Markdown
 * would leave out (a link that is not allowed, the definition of a reference, cells that have no column) become text.
 */
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-export/page.h"

/* NESTED: the depth of quotes, lists and items; deeper ones are text. MOST: bytes of a text to read. */
enum { NESTED = 16, FENCE_WORD = 32, MOST = 256 * 1024 };

/*
 * Bytes that no UTF-8 text has. add_line puts these bytes into the text for md4c, and `bare` removes them: HIDE with the backslash
 * that follows; BAR also with the backslash, which escapes the bar of a table, but in a block of code without the backslash.
 */
enum { GUARD = (char)0xff, HIDE = (char)0xfe, BAR = (char)0xfd };

struct markup {
	struct page *page;
	struct buf text;     /* the text as md4c gets it */
	struct buf word;     /* a piece of text without guards, or a URL; overwritten by the next one */
	struct buf code;     /* the text of the block of code that is open */
	struct buf info;     /* the words after the fence of this block */
	bool in_code;        /* a block of code is open */
	unsigned depth;      /* how many quotes, lists and items are open */
	unsigned number[NESTED]; /* 1 more than the number of the next item in the list at this depth; 0: the list is not numbered */
	char marker[NESTED]; /* the marker of the items of the list at this depth */
	unsigned linked;     /* how many links are open */
	uint64_t left;       /* events that may still come */
};

static const struct slice nothing = {NULL, 0};

/* --- what md4c gets --- */

static bool
is_one_of(char c, const char *chars)
{
	return c && strchr(chars, c);
}

/* Counts the columns of a table in the line between its head and its rows; 0: the line is not such a line. */
static size_t
columns_of(struct slice line)
{
	size_t n = 0;

	if (!memchr(line.p, '-', line.n) || !memchr(line.p, '|', line.n))
		return 0;
	for (size_t i = 0; i < line.n; i++) {
		if (!is_one_of(line.p[i], "-|: \t\r\n>+*.)0123456789"))
			return 0;
		n += line.p[i] == '-' && (i == 0 || line.p[i - 1] != '-') && !(i + 1 < line.n && is_one_of(line.p[i + 1], " \t") && n == 0 &&
			!memchr(line.p, '|', i));
	}
	return n;
}

/*
 * Appends a line for md4c. A guard keeps ]: from defining a reference, which md4c would leave out. columns: of the table that the
 * line may belong to, or 0; md4c would leave out cells beyond these columns, so that the bars of such cells are escaped.
 */
static void
add_line(struct buf *to, struct slice line, size_t columns)
{
	size_t bars = 0, last = line.n;
	bool begun = false;

	while (last > 0 && is_one_of(line.p[last - 1], " \t\r\n"))
		last--;
	for (size_t i = 0; i < line.n; i++) {
		if (columns && line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] == '|') {
			export_must(buf_add(to, (const char[]){BAR, '\\', '|'}, 3));
			i++;
			continue;
		}
		if (line.p[i] == '|' && columns) {
			bars += begun;
			if (bars >= columns && i + 1 < last)
				export_must(buf_add(to, (const char[]){HIDE, '\\'}, 2));
		}
		begun |= !is_one_of(line.p[i], " \t>");
		export_must(buf_add(to, &line.p[i], 1));
		if (line.p[i] == ']' && i + 1 < line.n && line.p[i + 1] == ':')
			export_must(buf_add(to, (const char[]){GUARD}, 1));
	}
}

static void
prepare(struct buf *to, struct slice text)
{
	const char *p = text.p, *end = text.p + text.n, *next;
	size_t columns = 0, found, blank;
	struct slice line;

	export_must(buf_reserve(to, text.n + text.n / 8 + 1));
	for (; p < end; p = next) {
		next = memchr(p, '\n', (size_t)(end - p));
		next = next ? next + 1 : end;
		line = slice_between(p, next);
		found = columns_of(line);
		for (blank = 0; blank < line.n && (byte_is_space(line.p[blank]) || line.p[blank] == '>'); blank++)
			;
		columns = found ? found : blank == line.n ? 0 : columns;
		add_line(to, line, found ? 0 : columns);
	}
	/* md4c may look at the byte after the text. */
	export_must(buf_add(to, "", 1));
}

/* Returns a text without the bytes that add_line put into it; may be m->word. */
static struct slice
bare(struct markup *m, struct slice s)
{
	if (s.n == 0 || (!memchr(s.p, GUARD, s.n) && !memchr(s.p, HIDE, s.n) && !memchr(s.p, BAR, s.n)))
		return s;
	m->word.n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if ((s.p[i] == HIDE || (s.p[i] == BAR && !m->in_code)) && i + 1 < s.n && s.p[i + 1] == '\\')
			i++;
		else if (s.p[i] != GUARD && s.p[i] != HIDE && s.p[i] != BAR)
			export_must(buf_add(&m->word, &s.p[i], 1));
	}
	return buf_slice(&m->word);
}

/* --- text --- */

static void
put_text(struct markup *m, struct slice text)
{
	if (text.n)
		m->page->paint->text(m->page, text);
}

/* Writes a text, in which URLs become links unless a link is open. */
static void
put_linking(struct markup *m, struct slice s)
{
	struct slice url;

	for (; !m->linked && (url = page_find_link(s)).n; s = slice_between(url.p + url.n, s.p + s.n)) {
		put_text(m, slice_between(s.p, url.p));
		m->page->paint->span(m->page, SPAN_LINK, url, true);
		put_text(m, url);
		m->page->paint->span(m->page, SPAN_LINK, url, false);
	}
	put_text(m, s);
}

/* Appends the character of an entity, a number or one of a few names. Other entities are appended as text. */
static int
add_entity(struct buf *to, struct slice s)
{
	static const struct {
		const char *name;
		int32_t code;
	} names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&nbsp;", 0xa0}};
	char digits[12] = "";
	bool hex = s.n > 2 && (s.p[2] | 0x20) == 'x';
	unsigned long code;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_is(s, names[i].name))
			return text_put(to, names[i].code);
	if (s.n < 4 || s.p[1] != '#' || s.n - 3 >= sizeof(digits))
		return buf_add_slice(to, s);
	memcpy(digits, s.p + 2 + hex, s.n - 3 - hex);
	code = strtoul(digits, NULL, hex ? 16 : 10);
	return text_put(to, code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : (int32_t)code);
}

static int
read_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *arg)
{
	struct markup *m = arg;
	struct slice text = slice(p, n);

	if (m->left-- == 0)
		return 1;
	if (m->in_code) {
		export_must(buf_add_slice(&m->code, type == MD_TEXT_NULLCHAR ? slice("", 1) : bare(m, text)));
		return 0;
	}
	switch (type) {
	case MD_TEXT_NULLCHAR:
		put_text(m, slice("", 1));
		break;
	case MD_TEXT_BR:
	case MD_TEXT_SOFTBR:
		put_text(m, slice_of("\n"));
		break;
	case MD_TEXT_ENTITY:
		m->word.n = 0;
		export_must(add_entity(&m->word, text));
		put_text(m, buf_slice(&m->word));
		break;
	case MD_TEXT_CODE:
		put_text(m, bare(m, text));
		break;
	default:
		put_linking(m, bare(m, text));
	}
	return 0;
}

/* --- links --- */

/* Returns the text of an attribute, in m->word. */
static struct slice
attribute(struct markup *m, const MD_ATTRIBUTE *a)
{
	SCOPED struct buf raw = {0};
	struct slice part;

	for (size_t i = 0; a->text && a->substr_offsets[i] < a->size; i++) {
		part = slice(a->text + a->substr_offsets[i], a->substr_offsets[i + 1] - a->substr_offsets[i]);
		export_must((a->substr_types[i] == MD_TEXT_ENTITY ? add_entity(&raw, part) : buf_add_slice(&raw, part)));
	}
	part = bare(m, buf_slice(&raw));
	if (part.p == raw.p) {
		m->word.n = 0;
		export_must(buf_add_slice(&m->word, part));
	}
	return buf_slice(&m->word);
}

/* Begins or ends a link; an image becomes a link. A URL that is not allowed, or within a link, follows as text in parentheses. */
static void
put_link(struct markup *m, const MD_ATTRIBUTE *href, const MD_ATTRIBUTE *title, bool open)
{
	struct page *p = m->page;
	struct slice url = attribute(m, href);

	m->linked -= !open;
	if (page_is_link(url) && m->linked == 0)
		p->paint->span(p, SPAN_LINK, url, open);
	else if (!open && url.n)
		put_text(m, slice_of(" (")), put_text(m, url), put_text(m, slice_of(")"));
	m->linked += open;
	if (!open && title->size)
		put_text(m, slice_of(" \"")), put_text(m, attribute(m, title)), put_text(m, slice_of("\""));
}

static int
read_span(struct markup *m, MD_SPANTYPE type, const void *detail, bool open)
{
	struct page *p = m->page;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *img = detail;

	if (m->left-- == 0)
		return 1;
	if (type == MD_SPAN_A)
		put_link(m, &a->href, &a->title, open);
	else if (type == MD_SPAN_IMG)
		put_link(m, &img->src, &img->title, open);
	else
		p->paint->span(p, type == MD_SPAN_STRONG ? SPAN_STRONG : type == MD_SPAN_CODE ? SPAN_CODE : SPAN_EMPHASIS, nothing, open);
	return 0;
}

static int
enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	return read_span(arg, type, detail, true);
}

static int
leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	return read_span(arg, type, detail, false);
}

/* --- blocks --- */

static void
read_code(struct markup *m, const MD_BLOCK_CODE_DETAIL *detail, bool open)
{
	struct page *p = m->page;

	m->in_code = open;
	if (open) {
		m->code.n = m->info.n = 0;
		export_must(buf_add_slice(&m->info, attribute(m, &detail->info)));
		return;
	}
	/* Only a short word may follow a fence. */
	if (m->info.n >= FENCE_WORD || !page_has_only(buf_slice(&m->info), "+-_.#")) {
		p->paint->block(p, BLOCK_PARAGRAPH, 0, nothing, true);
		put_text(m, buf_slice(&m->info));
		p->paint->block(p, BLOCK_PARAGRAPH, 0, nothing, false);
		m->info.n = 0;
	}
	p->paint->code(p, buf_slice(&m->info), buf_slice(&m->code));
}

/* Begins or ends a quote, a list or an item. These blocks nest; below the depth NESTED each becomes a newline. */
static void
read_nested(struct markup *m, enum markup_block block, const void *detail, bool open)
{
	const MD_BLOCK_OL_DETAIL *ol = detail;
	struct page *p = m->page;
	char text[16] = "";
	unsigned at;

	m->depth -= !open;
	at = m->depth;
	if (at < NESTED) {
		if (block == BLOCK_ITEM && at > 0 && m->number[at - 1])
			snprintf(text, sizeof(text), "%u%c", m->number[at - 1] - 1, m->marker[at - 1]);
		else if (block == BLOCK_ITEM && at > 0)
			text[0] = m->marker[at - 1];
		else if (block == BLOCK_LIST && ol && open)
			snprintf(text, sizeof(text), "%u", ol->start);
		p->paint->block(p, block, block == BLOCK_LIST && m->number[at] != 0, slice_of(text), open);
		if (block == BLOCK_ITEM && at > 0 && !open)
			m->number[at - 1] += m->number[at - 1] != 0;
	} else if (open) {
		put_text(m, slice_of("\n"));
	}
	m->depth += open;
}

static int
read_block(struct markup *m, MD_BLOCKTYPE type, const void *detail, bool open)
{
	static const enum markup_block blocks[] = {[MD_BLOCK_QUOTE] = BLOCK_QUOTE, [MD_BLOCK_UL] = BLOCK_LIST, [MD_BLOCK_OL] = BLOCK_LIST,
		[MD_BLOCK_LI] = BLOCK_ITEM, [MD_BLOCK_HR] = BLOCK_RULE, [MD_BLOCK_H] = BLOCK_HEADING, [MD_BLOCK_P] = BLOCK_PARAGRAPH,
		[MD_BLOCK_TABLE] = BLOCK_TABLE, [MD_BLOCK_TR] = BLOCK_ROW, [MD_BLOCK_TH] = BLOCK_CELL, [MD_BLOCK_TD] = BLOCK_CELL};
	const MD_BLOCK_UL_DETAIL *ul = detail;
	const MD_BLOCK_OL_DETAIL *ol = detail;
	const MD_BLOCK_H_DETAIL *h = detail;
	struct page *p = m->page;

	if (m->left-- == 0)
		return 1;
	switch (type) {
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		if (open && m->depth < NESTED) {
			m->number[m->depth] = type == MD_BLOCK_OL ? ol->start + 1 : 0;
			m->marker[m->depth] = type == MD_BLOCK_OL ? ol->mark_delimiter : ul->mark;
		}
		read_nested(m, BLOCK_LIST, type == MD_BLOCK_OL ? detail : NULL, open);
		break;
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_LI:
		read_nested(m, blocks[type], NULL, open);
		break;
	case MD_BLOCK_CODE:
		read_code(m, detail, open);
		break;
	case MD_BLOCK_HR:
		if (open)
			p->paint->block(p, BLOCK_RULE, 0, nothing, true);
		break;
	case MD_BLOCK_DOC:
	case MD_BLOCK_HTML:
	case MD_BLOCK_THEAD:
	case MD_BLOCK_TBODY:
		break;
	default:
		p->paint->block(p, blocks[type], type == MD_BLOCK_H ? h->level : 0, nothing, open);
	}
	return 0;
}

static int
enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	return read_block(arg, type, detail, true);
}

static int
leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	return read_block(arg, type, detail, false);
}

void
markup_put(struct page *page, struct slice text)
{
	static const MD_PARSER parser = {.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES, .enter_block = enter_block,
		.leave_block = leave_block, .enter_span = enter_span, .leave_span = leave_span, .text = read_text};
	struct markup m = {.page = page, .left = 16 * (uint64_t)text.n + 1024};
	size_t before = page->to->n, prefix = page->prefix.n;
	struct page saved = *page;

	prepare(&m.text, text);
	if (text.n > MOST || md_parse(m.text.p, (MD_SIZE)m.text.n - 1, &parser, &m) != 0) {
		/* The text is too long, or makes far more events than it has bytes, such as cells that a table of many columns lacks. */
		saved.prefix = page->prefix;
		*page = saved;
		page->to->n = before;
		page->prefix.n = prefix;
		page->paint->line(page, LINE_PLAIN, "text", text);
	}
	buf_free(&m.text);
	buf_free(&m.word);
	buf_free(&m.code);
	buf_free(&m.info);
}
