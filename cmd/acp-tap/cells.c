#include "cmd/acp-tap/cells.h"

#include <stdio.h>
#include <wchar.h>

#include "lib/json.h"

static const char *const sgr[] = {
	[STYLE_PLAIN] = "",
	[STYLE_DIM] = "2",
	[STYLE_BOLD] = "1",
	[STYLE_THOUGHT] = "2;3",
	[STYLE_RED] = "31",
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
	*c = (struct cells){.to = to, .utf8 = utf8, .color = color, .limit = UINT16_MAX};
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

/* What is written so far may stay where the line is cut. */
static void
set_mark(struct cells *c)
{
	c->mark = c->to->n;
	c->mark_used = c->used;
	c->mark_gap = c->gap;
	c->mark_on = c->on;
}

void
cells_open(struct cells *c, unsigned width)
{
	c->limit = c->used + width;
	c->cut = false;
	set_mark(c);
}

void
cells_close(struct cells *c)
{
	c->gap += c->limit - c->used + 1;
	c->used = c->limit + 1;
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

/* What goes into the last cell is not known to be the last: the mark of the cut takes its place then. */
static void
cut(struct cells *c)
{
	enum style style = c->style;

	c->cut = true;
	if (c->mark_used >= c->limit)
		return;
	if (c->to->n > c->mark)
		c->to->n = c->mark;
	c->on = c->mark_on;
	c->gap = c->mark_gap;
	fill_gap(c);
	c->style = STYLE_DIM;
	turn_on(c);
	put(c, c->utf8 ? "…" : "~", c->utf8 ? strlen("…") : 1);
	c->used = c->mark_used + 1;
	c->style = style;
}

/* One character, or several that belong together, so many cells wide. */
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
	/* Spaces wait for what comes behind them: no line ends with any. */
	if (n == 1 && *p == ' ') {
		c->gap++;
		return;
	}
	fill_gap(c);
	turn_on(c);
	put(c, p, n);
	if (c->used < c->limit)
		set_mark(c);
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
	struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		cells_ascii(c, text.p);
	else
		c->failed = true;
	va_end(args);
	buf_free(&text);
}

void
cells_sign(struct cells *c, const char *utf8, const char *ascii)
{
	if (c->utf8)
		put_cells(c, utf8, strlen(utf8), 1);
	else
		cells_ascii(c, ascii);
}

void
cells_right(struct cells *c, unsigned width, enum style style, const char *text)
{
	unsigned n = (unsigned)strlen(text);

	if (n < width) {
		c->gap += width - n;
		c->used += width - n;
	}
	cells_open(c, n);
	c->style = style;
	cells_ascii(c, text);
	cells_close(c);
}

/* --- text of peers --- */

struct range {
	int32_t from, to;
};

/* What a terminal might obey, or nobody would see: controls, direction, separators, invisible letters, tags. */
static const struct range shown_by_name[] = {
	{0x80, 0x9f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f},
	{0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb},
	{0xe0000, 0xe0fff},
};

static bool
is_named(int32_t code)
{
	size_t i;

	for (i = 0; i < sizeof(shown_by_name) / sizeof(shown_by_name[0]); i++)
		if (code >= shown_by_name[i].from && code <= shown_by_name[i].to)
			return true;
	return false;
}

static void
put_control(struct cells *c, int32_t code)
{
	char name[3] = {'^', (char)(code ^ 0x40), '\0'};

	if (code == '\n')
		cells_sign(c, "↵", "\\n");
	else if (code == '\t')
		cells_ascii(c, " ");
	else
		cells_ascii(c, name);
}

static size_t
encode(char *to, int32_t code)
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;

	if (n == 1) {
		to[0] = (char)code;
		return 1;
	}
	for (i = n - 1; i > 0; i--) {
		to[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	to[0] = (char)(lead[n] | code);
	return n;
}

int
text_put(struct buf *b, int32_t code)
{
	char bytes[4];

	return buf_add(b, bytes, encode(bytes, code));
}

static void
put_code(struct cells *c, int32_t code)
{
	char bytes[16];
	int width;

	if (code >= 0x20 && code < 0x7f) {
		bytes[0] = (char)code;
		put_cells(c, bytes, 1, 1);
		return;
	}
	if (code < 0x20 || code == 0x7f) {
		put_control(c, code);
		return;
	}
	width = code < TEXT_BYTE && c->utf8 && !is_named(code) ? wcwidth((wchar_t)code) : -1;
	if (width >= 0) {
		put_cells(c, bytes, encode(bytes, code), (unsigned)width);
	} else if (code < TEXT_BYTE && !c->utf8 && !is_named(code)) {
		cells_ascii(c, "?");
	} else {
		snprintf(bytes, sizeof(bytes), code < TEXT_BYTE ? "<U+%04X>" : "<%02X>",
			(unsigned)(code < TEXT_BYTE ? code : code - TEXT_BYTE));
		cells_ascii(c, bytes);
	}
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
	put_text(c, (struct text){bytes.p, bytes.p + bytes.n, false});
}

void
cells_string(struct cells *c, struct slice string)
{
	put_text(c, text_of_string(string));
}

void
cells_value(struct cells *c, struct slice value)
{
	if (json_type(value) == JSON_STRING)
		cells_string(c, value);
	else
		cells_text(c, value);
}

/* --- characters --- */

struct text
text_of_string(struct slice string)
{
	return (struct text){string.p + 1, string.p + string.n - 1, true};
}

static int32_t
next_utf8(struct text *t)
{
	unsigned char lead = (unsigned char)*t->p;
	unsigned n = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2, i;
	int32_t code = n == 1 ? lead : lead & (0x7f >> n);

	/* A sequence is looked at as a whole; what is none is shown byte by byte. */
	if (n > 1 && ((size_t)(t->end - t->p) < n || !json_utf8(slice(t->p, n)))) {
		t->p++;
		return TEXT_BYTE + lead;
	}
	for (i = 1; i < n; i++)
		code = code << 6 | (t->p[i] & 0x3f);
	t->p += n;
	return code;
}

static int32_t
hex4(struct text *t)
{
	int32_t code = 0;
	int i;

	for (i = 0; i < 4 && t->p < t->end; i++, t->p++)
		code = code << 4 | ((*t->p & 0xf) + (*t->p > '9' ? 9 : 0));
	return code;
}

static int32_t
next_u(struct text *t)
{
	int32_t code = hex4(t), low;
	struct text ahead = *t;

	if (code < 0xd800 || code > 0xdfff)
		return code;
	if (code < 0xdc00 && t->end - t->p >= 6 && t->p[0] == '\\' && t->p[1] == 'u') {
		ahead.p += 2;
		low = hex4(&ahead);
		if (low >= 0xdc00 && low <= 0xdfff) {
			t->p = ahead.p;
			return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return 0xfffd;
}

static int32_t
next_escape(struct text *t)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *at;
	char c;

	if (t->end - t->p < 2)
		return *t->p++;
	c = t->p[1];
	t->p += 2;
	if (c == 'u')
		return next_u(t);
	at = strchr(from, c);
	return at ? to[at - from] : c;
}

int32_t
text_next(struct text *t)
{
	if (t->p >= t->end)
		return -1;
	if (t->json && *t->p == '\\')
		return next_escape(t);
	return next_utf8(t);
}

/* --- figures --- */

const char *
people_bytes(char *to, uint64_t n)
{
	static const char units[] = " KMGTPE";
	double v = (double)n;
	int i = 0;

	if (n < 1000) {
		snprintf(to, 16, "%u", (unsigned)n);
		return to;
	}
	for (; v >= 999.5; i++)
		v /= 1024;
	snprintf(to, 16, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[i]);
	return to;
}

const char *
people_count(char *to, uint64_t n)
{
	static const char units[] = " KMBT";
	double v = (double)n;
	int i = 0;

	if (n < 1000) {
		snprintf(to, 16, "%u", (unsigned)n);
		return to;
	}
	for (; v >= 999.5 && i < 4; i++)
		v /= 1000;
	if (v < 99.95 && !(i > 1 && (double)(uint64_t)v == v))
		snprintf(to, 16, "%.1f%c", v, units[i]);
	else
		snprintf(to, 16, "%.0f%c", v, units[i]);
	return to;
}
