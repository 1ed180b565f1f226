#include "lib/base/text.h"

#include <stdio.h>

/* --- characters --- */

struct text
text_of(struct slice bytes)
{
	return (struct text){bytes.p, bytes.p + bytes.n, false, false};
}

struct text
text_of_string(struct slice string)
{
	return (struct text){string.p + 1, string.p + string.n - 1, true, false};
}

unsigned
text_utf8_length(const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	unsigned char least = 0x80, most = 0xbf;
	unsigned n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	if ((size_t)(end - p) < n)
		return 0;
	/* The limits of the second byte exclude overlong forms, surrogates and code points above U+10FFFF. */
	if (u[0] == 0xe0)
		least = 0xa0;
	else if (u[0] == 0xed)
		most = 0x9f;
	else if (u[0] == 0xf0)
		least = 0x90;
	else if (u[0] == 0xf4)
		most = 0x8f;
	if (u[1] < least || u[1] > most)
		return 0;
	for (unsigned i = 2; i < n; i++)
		if (u[i] < 0x80 || u[i] > 0xbf)
			return 0;
	return n;
}

static int32_t
hex4(struct text *t)
{
	int32_t code = 0;

	for (int i = 0; i < 4 && t->p < t->end; i++, t->p++)
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
	return t->exact ? code : 0xfffd;
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
	unsigned n;
	unsigned char lead;
	int32_t code;

	if (t->p >= t->end)
		return -1;
	if (t->json && *t->p == '\\')
		return next_escape(t);
	n = text_utf8_length(t->p, t->end);
	lead = (unsigned char)*t->p++;
	if (n == 0)
		return TEXT_BYTE + lead;
	code = lead & (n > 1 ? 0x7f >> n : 0x7f);
	for (unsigned i = 1; i < n; i++)
		code = code << 6 | (*t->p++ & 0x3f);
	return code;
}

static size_t
encode(char *to, int32_t code)
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = code < 0x80 || code >= TEXT_BYTE ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;

	if (n == 1) {
		to[0] = (char)(code >= TEXT_BYTE ? code - TEXT_BYTE : code);
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

/* --- for people --- */

bool
text_is_safe(int32_t code)
{
	/* Not safe: controls, signs of direction, line separators, invisible letters, tags, bytes that are not UTF-8. */
	static const struct {
		int32_t from, to;
	} unsafe[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x180e, 0x180e}, {0x200b, 0x200b},
		{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
		{0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}, {TEXT_BYTE, TEXT_BYTE + 0xff}};

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		if (code >= unsafe[i].from && code <= unsafe[i].to)
			return false;
	return true;
}

size_t
text_name(char to[TEXT_SHOW_SIZE], int32_t code)
{
	char name[TEXT_SHOW_SIZE + 1];
	int n;

	if (code < 0x20 || code == 0x7f)
		n = snprintf(name, sizeof(name), "^%c", (char)(code ^ 0x40));
	else if (code < TEXT_BYTE)
		n = snprintf(name, sizeof(name), "<U+%04X>", (unsigned)code);
	else
		n = snprintf(name, sizeof(name), "<%02X>", (unsigned)(code - TEXT_BYTE));
	memcpy(to, name, (size_t)n);
	return (size_t)n;
}

size_t
text_show(char to[TEXT_SHOW_SIZE], int32_t code)
{
	return text_is_safe(code) ? encode(to, code) : text_name(to, code);
}

bool
text_skip_color(struct text *t)
{
	const char *p = t->p;

	if (p == t->end || *p++ != '[')
		return false;
	while (p < t->end && ((*p >= '0' && *p <= '9') || *p == ';' || *p == ':'))
		p++;
	if (p == t->end || *p != 'm')
		return false;
	t->p = p + 1;
	return true;
}

/* Reads the next code as people may read it. lines: tabs and newlines stay, else they become blanks. False at the end. */
static bool
next_piece(struct text *t, bool lines, char to[TEXT_SHOW_SIZE], size_t *n)
{
	int32_t code = text_next(t);

	while (code == '\033' && text_skip_color(t))
		code = text_next(t);
	if (code < 0)
		return false;
	if (code == '\n' || code == '\t')
		to[0] = lines ? (char)code : ' ', *n = 1;
	else
		*n = text_show(to, code);
	return true;
}

static int
put_pieces(struct buf *to, struct slice bytes, bool lines)
{
	struct text t = text_of(bytes);
	char piece[TEXT_SHOW_SIZE];
	size_t was = to->n, n;

	while (next_piece(&t, lines, piece, &n)) {
		if (buf_add(to, piece, n) < 0) {
			to->n = was;
			return -1;
		}
	}
	return 0;
}

int
text_plain(struct buf *to, struct slice bytes)
{
	return put_pieces(to, bytes, false);
}

int
text_lines(struct buf *to, struct slice bytes)
{
	return put_pieces(to, bytes, true);
}

int
text_list(struct buf *list, struct slice name)
{
	enum { LONGEST = 64, ALL = 2000 };
	SCOPED struct buf plain = {0};
	const char *at;

	if (list->n > ALL)
		return 0;
	if (text_plain(&plain, slice_cut(name, LONGEST)) < 0 || !buf_string(&plain))
		return -1;
	if (plain.n == 0)
		return 0;
	for (at = list->n ? strstr(list->p, plain.p) : NULL; at; at = strstr(at + 1, plain.p))
		if ((at == list->p || at[-1] == ' ') && (at[plain.n] == '\0' || at[plain.n] == ','))
			return 0;
	return buf_printf(list, "%s%s", list->n ? ", " : "", plain.p) < 0 || !buf_string(list) ? -1 : 0;
}

size_t
text_plain_in(char *to, size_t room, struct slice bytes)
{
	struct text t = text_of(bytes);
	char piece[TEXT_SHOW_SIZE];
	size_t at = 0, n;

	while (next_piece(&t, false, piece, &n) && n <= room - at) {
		memcpy(to + at, piece, n);
		at += n;
	}
	return at;
}

void
text_keep_tail(struct buf *tail, struct slice line, size_t most)
{
	const char *from;

	line = slice_cut(line, most / 2);
	if (tail->n + line.n + 1 > most) {
		from = memchr(tail->p + tail->n / 2, '\n', tail->n - tail->n / 2);
		tail->n = from ? (size_t)(tail->p + tail->n - (from + 1)) : 0;
		if (from)
			memmove(tail->p, from + 1, tail->n);
	}
	if (buf_add_slice(tail, line) < 0 || buf_add(tail, "\n", 1) < 0)
		tail->n = 0;
}
