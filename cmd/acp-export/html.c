/* Writes a transcript as one HTML file, without scripts. The page loads nothing, and has a policy that forbids both. */
#include "cmd/acp-export/page.h"

static void
begin(struct page *p, struct slice title)
{
	page_printf(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; img-src data:; "
		"base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"generator\" content=\"acp-export " VERSION "\">\n<title>", html_style_hash);
	page_put_html(p, title, true);
	page_put(p, "</title>\n<style>");
	for (size_t i = 0; html_style[i]; i++)
		page_put(p, html_style[i]);
	page_put(p, "</style>\n</head>\n<body>\n<main>\n");
}

/* --- boxes --- */

/* Writes when a box began, and how long it took. */
static void
put_when(struct page *p, const struct box *b)
{
	if (!*b->clock && !*b->length)
		return;
	page_put(p, " <span class=\"when\">");
	if (*b->date)
		page_printf(p, "<time datetime=\"%s\" title=\"%s\">%s</time>", b->date, b->date, b->clock);
	else if (*b->clock)
		page_printf(p, "<time>%s</time>", b->clock);
	page_printf(p, "%s%s</span>", *b->clock && *b->length ? " · " : "", b->length);
}

static const struct {
	const char *element, *class;
} elements[] = {[BOX_SESSION] = {"article", "session"}, [BOX_CHILD] = {"details", "child"}, [BOX_TURN] = {"section", "turn"},
	[BOX_CONTENTS] = {"ol", "contents"}, [BOX_FACTS] = {"dl", "facts"}, [BOX_USER] = {"div", "user"}, [BOX_AGENT] = {"div", "agent"},
	[BOX_THOUGHT] = {"details", "thought"}, [BOX_TOOL] = {"details", "tool"}, [BOX_ASK] = {"div", "ask"},
	[BOX_PLAN] = {"div", "plan"}, [BOX_FOLD] = {"details", "fold"}};

static void
open_box(struct page *p, const struct box *b)
{
	unsigned level = b->kind == BOX_SESSION ? 1 : p->depth < 5 ? p->depth + 1 : 6; /* the level of the heading */

	page_printf(p, "<%s class=\"%s%s%s\"", elements[b->kind].element, elements[b->kind].class, b->state ? " " : "",
		b->state ? b->state : "");
	if (*b->anchor)
		page_printf(p, " id=\"%s\"", b->anchor);
	page_put(p, b->open || b->kind == BOX_CHILD ? " open>\n" : ">\n");
	if (b->kind == BOX_SESSION || b->kind == BOX_TURN) {
		page_printf(p, "<h%u>", level);
		if (b->kind == BOX_SESSION)
			page_put_html(p, b->title, false);
		else
			page_printf(p, "<a href=\"#%s\">%s</a>", b->anchor, b->label);
		put_when(p, b);
		page_printf(p, "</h%u>\n", level);
	} else if (strcmp(elements[b->kind].element, "details") == 0) {
		page_put(p, "<summary>");
		if (b->state)
			page_printf(p, "<span class=\"state\">%s</span> ", b->state);
		page_printf(p, "<span class=\"label\">%s</span> ", b->label);
		page_put(p, b->title.n ? "<span class=\"title\">" : "");
		page_put_html(p, b->title, false);
		page_put(p, b->title.n ? "</span>" : "");
		put_when(p, b);
		page_put(p, "</summary>\n");
	} else if (b->kind == BOX_ASK || b->kind == BOX_PLAN || b->kind == BOX_USER) {
		page_printf(p, "<p class=\"who\"><span class=\"label\">%s</span> ", b->label);
		page_put_html(p, b->title, false);
		put_when(p, b);
		page_put(p, "</p>\n");
	}
	if (b->kind == BOX_PLAN || b->kind == BOX_ASK)
		page_put(p, "<div class=\"entries\">\n");
}

static void
close_box(struct page *p, const struct box *b)
{
	if (b->kind == BOX_PLAN || b->kind == BOX_ASK)
		page_put(p, "</div>\n");
	page_printf(p, "</%s>\n", elements[b->kind].element);
}

/* --- contents --- */

static void
put_line(struct page *p, enum line_kind kind, const char *state, struct slice text)
{
	static const struct {
		const char *open, *close;
	} lines[] = {[LINE_PLAIN] = {"<div class=\"plain %s\">", "</div>\n"}, [LINE_NOTE] = {"<p class=\"note %s\">", "</p>\n"},
		[LINE_FOOT] = {"<footer class=\"foot %s\">", "</footer>\n"}, [LINE_ENTRY] = {"<div class=\"entry %s\">", "</div>\n"},
		[LINE_FACT] = {"<div><dt>%s</dt><dd>", "</dd></div>\n"}, [LINE_LINK] = {"<li><a href=\"#%s\">", "</a></li>\n"},
		[LINE_PATH] = {"<p class=\"path %s\">", "</p>\n"}};

	page_printf(p, lines[kind].open, state);
	page_put_html(p, text, false);
	page_put(p, lines[kind].close);
}

static void
put_code(struct page *p, struct slice language, struct slice text)
{
	if (language.n && !slice_is(language, "json"))
		put_line(p, LINE_PATH, "text", language);
	page_put(p, "<pre><code>");
	page_put_html(p, text, false);
	page_put(p, "</code></pre>\n");
}

static void
put_diff(struct page *p, struct slice path, const struct diff_line *line, size_t n)
{
	if (path.n)
		put_line(p, LINE_PATH, "text", path);
	page_put(p, "<pre class=\"diff\"><code>");
	for (size_t i = 0; i < n; i++) {
		page_put(p, line[i].sign == DIFF_OLD ? "<del>- " : line[i].sign == DIFF_NEW ? "<ins>+ " : line[i].sign == DIFF_GAP ?
			"<span class=\"gap\">" : "<span>  ");
		if (line[i].sign == DIFF_GAP)
			page_printf(p, "… %zu equal line%s", line[i].skipped, line[i].skipped == 1 ? "" : "s");
		else
			page_put_html(p, line[i].text, false);
		page_put(p, line[i].sign == DIFF_OLD ? "\n</del>" : line[i].sign == DIFF_NEW ? "\n</ins>" : "\n</span>");
	}
	page_put(p, "</code></pre>\n");
}

static void
put_image(struct page *p, const char *type, struct slice data)
{
	page_printf(p, "<img alt=\"%s\" src=\"data:%s;base64,", type, type);
	page_put_slice(p, data);
	page_put(p, "\">\n");
}

/* --- Markdown --- */

static void
put_block(struct page *p, enum markup_block block, unsigned level, struct slice marker, bool open)
{
	static const struct {
		const char *open, *close;
	} blocks[] = {[BLOCK_PARAGRAPH] = {"<p>", "</p>\n"}, [BLOCK_HEADING] = {NULL, "</p>\n"},
		[BLOCK_LIST] = {"<ul>\n", "</ul>\n"}, [BLOCK_ITEM] = {"<li>", "</li>\n"}, [BLOCK_QUOTE] = {"<blockquote>", "</blockquote>\n"},
		[BLOCK_TABLE] = {"<div class=\"table\"><table>\n", "</table></div>\n"}, [BLOCK_ROW] = {"<tr>", "</tr>\n"},
		[BLOCK_CELL] = {"<td>", "</td>"}, [BLOCK_RULE] = {"<hr>\n", NULL}};

	if (open && block == BLOCK_HEADING) {
		page_printf(p, "<p class=\"heading l%u\">", level);
	} else if (block == BLOCK_LIST && level) {
		page_put(p, open ? "<ol start=\"" : "</ol>\n");
		page_put_slice(p, marker);
		page_put(p, open ? "\">\n" : "");
	} else {
		page_put(p, open ? blocks[block].open : blocks[block].close);
	}
	p->block = block;
}

static void
put_span(struct page *p, enum markup_span span, struct slice url, bool open)
{
	static const char *const names[] = {[SPAN_STRONG] = "strong", [SPAN_EMPHASIS] = "em", [SPAN_CODE] = "code", [SPAN_LINK] = "a"};

	if (open && span == SPAN_LINK) {
		page_put(p, "<a rel=\"noopener noreferrer nofollow\" href=\"");
		page_put_html(p, url, true);
		page_put(p, "\">");
	} else {
		page_printf(p, open ? "<%s>" : "</%s>", names[span]);
	}
}

static void
put_text(struct page *p, struct slice text)
{
	/* The style keeps newlines in paragraphs and cells, but not in items. */
	if (p->block == BLOCK_ITEM && slice_is(text, "\n"))
		page_put(p, "<br>");
	page_put_html(p, text, false);
}

const struct paint paint_html = {.begin = begin, .end = "</main>\n</body>\n</html>\n", .open = open_box, .close = close_box,
	.chart = html_chart, .timeline = html_timeline, .line = put_line, .code = put_code, .diff = put_diff, .image = put_image,
	.block = put_block, .span = put_span, .text = put_text};
