/*
 * Writes a transcript as Markdown (CommonMark with tables). Every text is escaped, so that a viewer shows the text itself. markup.c
 * reads the Markdown of agents; the blocks and spans that markup.c finds are written here.
 */
#include <strings.h>

#include "cmd/acp-export/page.h"

enum { FENCE = 3 };

/* Begins a line with the prefix. */
static void
put_prefix(struct page *p)
{
	page_put_slice(p, buf_slice(&p->prefix));
	p->line_start = true;
}

static void
new_line(struct page *p)
{
	page_put(p, "\n");
	put_prefix(p);
}

/* Begins a new line, unless the line has only the prefix. */
static void
end_line(struct page *p)
{
	size_t n = p->prefix.n;

	if (!(p->to->n >= n && (p->to->n == n || p->to->p[p->to->n - n - 1] == '\n') &&
		(n == 0 || memcmp(p->to->p + p->to->n - n, p->prefix.p, n) == 0)))
		new_line(p);
}

/* Adds to the prefix of this line, which is still empty, and of all later lines. */
static void
push(struct page *p, struct slice prefix)
{
	export_must(buf_add_slice(&p->prefix, prefix));
	page_put_slice(p, prefix);
	p->line_start = true;
}

/* Ends the line, and removes the last n bytes of the prefix. */
static void
pop(struct page *p, size_t n)
{
	end_line(p);
	p->to->n -= n;
	p->prefix.n -= n;
}

static void
put_char(struct page *p, int32_t code)
{
	char name[TEXT_SHOW_SIZE];
	size_t n;

	if (code == '<' || code == '>' || code == '&') {
		page_put(p, code == '<' ? "&lt;" : code == '>' ? "&gt;" : "&amp;");
	} else if ((code == ' ' || code == '\t') && p->line_start) {
		page_put(p, code == ' ' ? "&nbsp;" : "&nbsp;&nbsp;&nbsp;&nbsp;");
		return;
	} else if (code == '\t' || text_is_safe(code)) {
		/* A backslash before what would be markup here. 1. and 1) at the beginning of a line make lists. */
		if (code < 0x80 && (strchr("\\`*_[]#|~$!", code) || (p->line_start && strchr("-+=:", code)) || (p->number && strchr(".)", code))))
			page_put(p, "\\");
		export_must(text_put(p->to, code));
	} else {
		n = text_name(name, code);
		for (size_t i = 0; i < n; i++)
			put_char(p, name[i]);
	}
	p->number = (p->line_start || p->number) && code >= '0' && code <= '9';
	p->line_start = false;
}

/*
 * Returns whether a forge, such as GitHub, would make a link if this character comes next: @name, #1, GH-1, ftp:// or www. Escapes
 * do not prevent such a link; an empty comment does.
 */
static bool
is_reference(const struct page *p, int32_t next)
{
	static const struct {
		const char *before;
		int32_t from, to; /* the characters that make a link */
	} references[] = {{"@", '!', INT32_MAX}, {"#", '0', '9'}, {"gh-", '0', '9'}, {"ftp:", '!', INT32_MAX}, {"www", '.', '.'}};

	for (size_t i = 0, n; i < sizeof(references) / sizeof(*references); i++) {
		n = strlen(references[i].before);
		if (p->to->n >= n && strncasecmp(p->to->p + p->to->n - n, references[i].before, n) == 0 &&
			next >= references[i].from && next <= references[i].to)
			return true;
	}
	return false;
}

/* Writes an escaped text without links. breaks: a newline in the text ends the line; else it becomes a blank. */
static void
put_plain(struct page *p, struct slice s, bool breaks)
{
	struct text t = text_of(s);
	int32_t code;

	while ((code = page_next(&t)) >= 0) {
		if (code != '\n') {
			if (is_reference(p, code))
				page_put(p, "<!-- -->");
			put_char(p, code);
		} else if (breaks) {
			page_put(p, p->line_start ? "&nbsp;\\\n" : "\\\n");
			put_prefix(p);
		} else {
			page_put(p, " ");
		}
	}
}

static void
put_span(struct page *p, enum markup_span span, struct slice url, bool open)
{
	if (span == SPAN_STRONG || span == SPAN_EMPHASIS) {
		page_put(p, span == SPAN_STRONG ? "**" : "*");
	} else if (span == SPAN_CODE) {
		p->in_code = open;
	} else if (open) {
		page_put(p, "[");
	} else {
		page_put(p, "](<");
		page_put_slice(p, url);
		page_put(p, ">)");
	}
	p->line_start = false;
}

/* Like put_plain, but URLs become links: a forge would link to them with their backslashes. */
static void
put_escaped(struct page *p, struct slice s, bool breaks)
{
	struct slice url;

	for (; (url = page_find_link(s)).n; s = slice_between(url.p + url.n, s.p + s.n)) {
		put_plain(p, slice_between(s.p, url.p), breaks);
		put_span(p, SPAN_LINK, url, true);
		put_plain(p, url, false);
		put_span(p, SPAN_LINK, url, false);
	}
	put_plain(p, s, breaks);
}

/* Ends the line, if the line is not empty, and writes an empty line. */
static void
end_block(struct page *p)
{
	end_line(p);
	new_line(p);
}

/* --- boxes --- */

static void
put_when(struct page *p, const struct box *b)
{
	if (*b->clock)
		page_printf(p, ", %s", b->clock);
	if (*b->length)
		page_printf(p, ", %s", b->length);
}

/* Opens a box that can be folded. Up to the next empty line Markdown viewers read HTML, so that the title is escaped as HTML. */
static void
open_details(struct page *p, const struct box *b)
{
	SCOPED struct buf title = {0};
	struct text t;
	const char *at;
	int32_t code;

	page_printf(p, "<details%s>\n<summary>%s", b->open || b->kind == BOX_CHILD ? " open" : "", b->label);
	if (b->title.n) {
		export_must(text_plain(&title, b->title));
		page_put(p, ": ");
		for (t = text_of(buf_slice(&title)), at = t.p; (code = text_next(&t)) >= 0; at = t.p) {
			if (is_reference(p, code))
				page_put(p, "<!-- -->");
			page_put_html(p, slice_between(at, t.p), true);
		}
	}
	if (b->state)
		page_printf(p, " (%s", b->state);
	put_when(p, b);
	page_put(p, b->state ? ")</summary>\n\n" : "</summary>\n\n");
	put_prefix(p);
}

static bool
is_folded(enum box_kind kind)
{
	return kind == BOX_THOUGHT || kind == BOX_TOOL || kind == BOX_FOLD || kind == BOX_CHILD;
}

static void
open_box(struct page *p, const struct box *b)
{
	static const char hashes[] = "######";

	if (is_folded(b->kind)) {
		open_details(p, b);
	} else if (b->kind == BOX_SESSION || b->kind == BOX_TURN) {
		page_printf(p, "%.*s ", b->kind == BOX_SESSION ? 1 : p->depth > 4 ? 6 : (int)p->depth + 1, hashes);
		if (b->kind == BOX_SESSION)
			put_escaped(p, b->title, false);
		else
			page_put(p, b->label);
		put_when(p, b);
		end_block(p);
	} else if (b->kind == BOX_ASK || b->kind == BOX_PLAN || b->kind == BOX_USER) {
		page_printf(p, "**%s**", b->label);
		if (b->title.n) {
			page_put(p, ": ");
			put_escaped(p, b->title, false);
		}
		put_when(p, b);
		end_block(p);
		if (b->kind == BOX_USER)
			push(p, slice_of("> "));
	}
}

static void
close_box(struct page *p, const struct box *b)
{
	if (b->kind == BOX_USER) {
		/* Remove the last lines if they have only the prefix. */
		while (p->to->n > 3 && memcmp(p->to->p + p->to->n - 3, "\n> ", 3) == 0)
			p->to->n -= 3;
		pop(p, 2);
		end_block(p);
	} else if (is_folded(b->kind)) {
		page_put(p, "</details>\n\n");
	} else if (b->kind == BOX_FACTS || b->kind == BOX_ASK || b->kind == BOX_PLAN) {
		end_block(p);
	}
}

/* --- contents --- */

static void
put_chart(struct page *p, const struct session *s)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	enum { COLUMNS = 40 };
	struct chart c;
	SCOPED struct buf text = {0};

	chart_make(&c, s->data, COLUMNS, false);
	for (size_t i = 0; i < c.n; i++)
		page_put(p, bars[(size_t)((double)c.column[i] / (double)c.height * 7.999)]);
	page_put(p, "\\\n");
	chart_caption(&c, &text, false);
	put_escaped(p, buf_slice(&text), false);
	end_block(p);
}

static void
put_line(struct page *p, enum line_kind kind, const char *state, struct slice text)
{
	if (kind == LINE_LINK)
		return;
	if (kind == LINE_FACT)
		page_printf(p, "- %s: ", state);
	if (kind == LINE_ENTRY) {
		page_printf(p, "- [%c] ", strcmp(state, "completed") == 0 || strcmp(state, "chosen") == 0 ? 'x' : ' ');
		page_put(p, strcmp(state, "in_progress") == 0 ? "(in progress) " : strcmp(state, "cancelled") == 0 ? "(cancelled) " : "");
		p->line_start = false;
	}
	if (kind == LINE_FACT || kind == LINE_ENTRY) {
		put_escaped(p, text, false);
		new_line(p);
		return;
	}
	if (kind == LINE_NOTE) {
		page_printf(p, "**%s**: ", strcmp(state, "error") == 0 ? "Error" : strcmp(state, "warning") == 0 ? "Warning" : "Note");
		p->line_start = false;
	}
	page_put(p, kind == LINE_FOOT ? "*" : "");
	put_escaped(p, text, kind != LINE_FOOT);
	page_put(p, kind == LINE_FOOT ? "*" : "");
	end_block(p);
}

/* --- code --- */

/* Returns how many backticks follow each other at most, as put_verbatim writes the text: without colours between the backticks. */
static size_t
longest_run(struct slice text)
{
	struct text t = text_of(text);
	size_t n = 0, most = 0;
	int32_t code;

	while ((code = page_next(&t)) >= 0) {
		n = code == '`' ? n + 1 : 0;
		most = n > most ? n : most;
	}
	return most;
}

static void
put_fence(struct page *p, size_t run, struct slice language)
{
	for (size_t i = 0; i < run || i < FENCE; i++)
		page_put(p, "`");
	page_put_slice(p, language);
	new_line(p);
}

static void
put_verbatim(struct page *p, struct slice s)
{
	struct text t = text_of(s);
	char name[TEXT_SHOW_SIZE];
	int32_t code;

	while ((code = page_next(&t)) >= 0) {
		if (code == '\t' || code == '\n' || text_is_safe(code))
			export_must(text_put(p->to, code));
		else
			page_put_slice(p, slice(name, text_name(name, code)));
		if (code == '\n')
			put_prefix(p);
	}
}

static void
put_code(struct page *p, struct slice language, struct slice text)
{
	size_t run = longest_run(text) + 1;

	end_line(p);
	put_fence(p, run, language);
	put_verbatim(p, text);
	if (text.n && text.p[text.n - 1] != '\n')
		new_line(p);
	put_fence(p, run, slice(NULL, 0));
	end_block(p);
}

static void
put_diff(struct page *p, struct slice path, const struct diff_line *line, size_t n)
{
	size_t i, run = 0, longest;

	if (path.n) {
		put_escaped(p, path, false);
		end_block(p);
	}
	for (i = 0; i < n; i++) {
		longest = line[i].sign == DIFF_GAP ? 0 : longest_run(line[i].text) + 1;
		run = longest > run ? longest : run;
	}
	put_fence(p, run, slice_of("diff"));
	for (i = 0; i < n; i++) {
		if (line[i].sign == DIFF_GAP)
			page_printf(p, "@@ %zu equal line%s @@\n", line[i].skipped, line[i].skipped == 1 ? "" : "s");
		else {
			page_printf(p, "%c", line[i].sign);
			put_verbatim(p, line[i].text);
			page_put(p, "\n");
		}
		put_prefix(p);
	}
	put_fence(p, run, slice(NULL, 0));
	end_block(p);
}

/* Writes the type and size of an image, because few viewers show embedded images. */
static void
put_image(struct page *p, const char *type, struct slice data)
{
	page_printf(p, "\\[%s, %zu bytes\\]", type, data.n / 4 * 3);
	end_block(p);
}

/* --- Markdown --- */

static void
open_block(struct page *p, enum markup_block block, unsigned level, struct slice marker)
{
	static const char blanks[] = "                ";

	if (block != BLOCK_CELL)
		end_line(p);
	if (block == BLOCK_HEADING) {
		page_printf(p, "%s ", level < 3 ? "#####" : "######");
	} else if (block == BLOCK_ITEM) {
		page_put_slice(p, marker);
		page_put(p, " ");
		export_must(buf_add(&p->prefix, blanks, marker.n + 1));
	} else if (block == BLOCK_QUOTE) {
		push(p, slice_of("> "));
	} else if (block == BLOCK_RULE) {
		page_put(p, "***");
		end_block(p);
	} else if (block == BLOCK_TABLE) {
		p->headed = false;
	} else if (block == BLOCK_ROW) {
		p->cells = 0;
	} else if (block == BLOCK_CELL) {
		page_put(p, p->cells++ == 0 ? "| " : " | ");
	}
	p->line_start = block != BLOCK_HEADING && block != BLOCK_CELL;
}

static void
put_block(struct page *p, enum markup_block block, unsigned level, struct slice marker, bool open)
{
	if (open) {
		open_block(p, block, level, marker);
		p->block = block;
	} else if (block == BLOCK_ROW) {
		page_put(p, " |");
		end_line(p);
		if (p->headed)
			return;
		/* The first row is the head, and a line of dashes follows the head. */
		p->headed = true;
		for (unsigned i = 0; i < p->cells; i++)
			page_put(p, "| --- ");
		page_put(p, "|");
		end_line(p);
	} else if (block == BLOCK_ITEM) {
		pop(p, marker.n + 1);
	} else if (block != BLOCK_CELL) {
		if (block == BLOCK_QUOTE)
			pop(p, 2);
		end_block(p);
	}
}

/* Writes code on one line, between more backticks than follow each other in the code. */
static void
put_code_span(struct page *p, struct slice text)
{
	size_t run = longest_run(text) + 1, i, from;
	const char *bar;

	for (i = 0; i < run; i++)
		page_put(p, "`");
	page_put(p, run > 1 ? " " : "");
	from = p->to->n;
	/* A bar would end a cell, even within code. */
	for (; p->block == BLOCK_CELL && (bar = memchr(text.p, '|', text.n)); text = slice_between(bar + 1, text.p + text.n)) {
		put_verbatim(p, slice_between(text.p, bar));
		page_put(p, "\\|");
	}
	put_verbatim(p, text);
	for (i = from; i < p->to->n; i++)
		if (p->to->p[i] == '\n')
			p->to->p[i] = ' ';
	page_put(p, run > 1 ? " " : "");
	for (i = 0; i < run; i++)
		page_put(p, "`");
}

/* Writes a text or code. A newline stays, except in a cell or a heading, which the newline would end. */
static void
put_text(struct page *p, struct slice text)
{
	if (p->in_code)
		put_code_span(p, text);
	else
		put_plain(p, text, p->block != BLOCK_CELL && p->block != BLOCK_HEADING);
}

const struct paint paint_markdown = {.end = "Written by acp-export " VERSION ".\n", .open = open_box, .close = close_box,
	.chart = put_chart, .line = put_line, .code = put_code, .diff = put_diff, .image = put_image, .block = put_block, .span = put_span,
	.text = put_text};
