#include "lib/base/cells.h"

#include <stdlib.h>
#include <wchar.h>

static const char *const sgr[] = {
	[STYLE_PLAIN] = "",
	[STYLE_DIM] = "2",
	[STYLE_BOLD] = "1",
	[STYLE_THOUGHT] = "2;3",
	[STYLE_RED] = "31",
	[STYLE_HIT] = "1;31",
	[STYLE_GREEN] = "32",
	[STYLE_YELLOW] = "33",
	[STYLE_ORANGE] = "38;5;208",
	[STYLE_BLUE] = "34",
	[STYLE_MAGENTA] = "35",
	[STYLE_CYAN] = "36",
};

/* --- the line --- */

static void
put(struct cells *c, const char *p, size_t n)
{
	if (buf_add(c->to, p, n) < 0)
		c->failed = true;
}

void
cells_begin(struct cells *c, struct buf *to, bool utf8, bool color)
{
	*c = (struct cells){.to = to, .utf8 = utf8, .color = color, .limit = UINT16_MAX, .between = 1, .ellipsis = utf8 ? "…" : "~"};
}

static void
turn_on(struct cells *c)
{
	if (c->on == c->style)
		return;
	c->on = c->style;
	if (c->color && buf_printf(c->to, "\033[%s%sm", c->on == STYLE_PLAIN ? "" : "0;", sgr[c->on]) < 0)
		c->failed = true;
}

int
cells_end(struct cells *c)
{
	c->style = STYLE_PLAIN;
	turn_on(c);
	put(c, "\n", 1);
	return c->failed ? -1 : 0;
}

/* Notes the present end of the text, to which cut() returns. */
static void
note_cut(struct cells *c)
{
	c->cut_at = c->to->n;
	c->cut_used = c->used;
	c->cut_gap = c->gap;
	c->cut_on = c->on;
}

void
cells_open(struct cells *c, unsigned width)
{
	c->limit = c->used + width;
	c->cut = false;
	note_cut(c);
}

void
cells_close(struct cells *c)
{
	c->gap += c->limit - c->used + c->between;
	c->used = c->limit + c->between;
	c->limit = UINT16_MAX;
	c->cut = false;
	c->style = STYLE_PLAIN;
}

void
cells_style(struct cells *c, enum style style)
{
	c->style = style;
}

static void
fill_gap(struct cells *c)
{
	static const char spaces[] = "                ";
	unsigned n;

	for (; c->gap > 0; c->gap -= n) {
		n = c->gap < sizeof(spaces) - 1 ? c->gap : (unsigned)sizeof(spaces) - 1;
		put(c, spaces, n);
	}
}

/* Replaces the last character of the column by an ellipsis: it was written before the column had too much text. */
static void
cut(struct cells *c)
{
	enum style style = c->style;

	c->cut = true;
	if (c->cut_used >= c->limit)
		return;
	if (c->to->n > c->cut_at)
		c->to->n = c->cut_at;
	c->on = c->cut_on;
	c->gap = c->cut_gap;
	fill_gap(c);
	c->style = STYLE_DIM;
	turn_on(c);
	put(c, c->ellipsis, strlen(c->ellipsis));
	c->used = c->cut_used + (*c->ellipsis != '\0');
	c->style = style;
}

/* Writes one character, or several that are cut off together; width: of all, in cells. */
static void
put_cells(struct cells *c, const char *p, size_t n, unsigned width)
{
	if (c->cut)
		return;
	if (c->used + width > c->limit) {
		cut(c);
		return;
	}
	c->used += width;
	/* Spaces are written only before a character, so that no line ends with spaces. */
	if (n == 1 && *p == ' ') {
		c->gap++;
		return;
	}
	fill_gap(c);
	turn_on(c);
	put(c, p, n);
	if (c->used + (*c->ellipsis != '\0') <= c->limit)
		note_cut(c);
}

void
cells_ascii(struct cells *c, const char *text)
{
	for (; *text; text++)
		put_cells(c, text, 1, 1);
}

void
cells_printf(struct cells *c, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		cells_ascii(c, text.p);
	else
		c->failed = true;
	va_end(args);
}

void
cells_sign(struct cells *c, const char *utf8, const char *ascii)
{
	if (c->utf8)
		put_cells(c, utf8, strlen(utf8), 1);
	else
		cells_ascii(c, ascii);
}

/* --- text of peers --- */

static void
put_code(struct cells *c, int32_t code)
{
	char visible[TEXT_SHOW_SIZE + 1];
	size_t n = text_show(visible, code == '\t' ? ' ' : code);
	int width;

	if (code == '\n') {
		cells_sign(c, "↵", "\\n");
		return;
	}
	if (code >= 0x80 && text_is_safe(code)) {
		width = c->utf8 ? wcwidth((wchar_t)code) : 1;
		/* In an ASCII locale wcwidth does not know the widths of other characters. */
		if (width < 0 && MB_CUR_MAX == 1)
			width = 1;
		if (width >= 0) {
			put_cells(c, c->utf8 ? visible : "?", c->utf8 ? n : 1, (unsigned)width);
			return;
		}
		n = text_name(visible, code);
	}
	visible[n] = '\0';
	cells_ascii(c, visible);
}

static void
put_text(struct cells *c, struct text t)
{
	int32_t code;

	while (!c->cut && (code = text_next(&t)) >= 0)
		put_code(c, code);
}

void
cells_text(struct cells *c, struct slice bytes)
{
	put_text(c, text_of(bytes));
}

void
cells_value(struct cells *c, struct slice value)
{
	put_text(c, value.n && *value.p == '"' ? text_of_string(value) : text_of(value));
}

unsigned
cells_width(struct slice bytes)
{
	SCOPED struct buf text = {0};
	struct cells c;
	size_t n;

	for (n = 0; n < bytes.n && bytes.p[n] >= ' ' && bytes.p[n] <= '~'; n++)
		;
	if (n == bytes.n)
		return (unsigned)n;
	cells_begin(&c, &text, true, false);
	cells_text(&c, bytes);
	return c.used;
}

void
cells_right(struct cells *c, unsigned width, enum style style, const char *text)
{
	unsigned n = cells_width(slice_of(text));

	if (n < width) {
		c->gap += width - n;
		c->used += width - n;
	}
	cells_open(c, n);
	c->style = style;
	cells_text(c, slice_of(text));
	cells_close(c);
}

int
cells_put(struct buf *to, struct slice bytes, unsigned width)
{
	struct cells c;

	cells_begin(&c, to, true, false);
	c.ellipsis = "";
	c.between = 0;
	cells_open(&c, width);
	cells_text(&c, bytes);
	cells_close(&c);
	fill_gap(&c);
	return c.failed ? -1 : 0;
}
