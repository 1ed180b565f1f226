/*
 * text: strings that came from a stream or a command line, for a terminal or a log that people read. What a
 * terminal might obey (controls, escape sequences), what turns the writing direction, what nobody would see, and bytes that
 * are not UTF-8 are shown by name: ^[ <U+009B> <9B>.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* The characters of a text, one after the other. */
struct text {
	const char *p, *end;
	bool json; /* the inside of a JSON string: escapes are decoded */
};
/* What text_next adds to a byte that is not UTF-8; the longest that text_show writes. */
enum { TEXT_BYTE = 0x110000, TEXT_SHOW_SIZE = 10 };

struct text text_of(struct slice bytes);
struct text text_of_string(struct slice string); /* a JSON string, with its quotes */
/* The next code point; TEXT_BYTE + b for a byte that is not UTF-8; -1 at the end. */
int32_t text_next(struct text *);
/* How many bytes the UTF-8 sequence (RFC 3629) at p < end has; 0 where it is none. */
unsigned text_utf8_length(const char *p, const char *end);
/* Appends a code point (or such a byte) as it is. 0, or -1 out of memory. */
int text_put(struct buf *, int32_t code);

/* After an ESC: steps over a sequence that sets a colour. False where it is another one. */
bool text_skip_color(struct text *);

/* May it be shown as it is? */
bool text_is_safe(int32_t code);
/* A code point as people read it: itself, or its name. Returns the length. */
size_t text_show(char to[TEXT_SHOW_SIZE], int32_t code);
/* Its name, always. */
size_t text_name(char to[TEXT_SHOW_SIZE], int32_t code);

/* Appends the text as one line for people: tabs and newlines are blanks, colours are left out. 0, or -1 out of memory. */
int text_plain(struct buf *to, struct slice bytes);
/* The same as several lines: tabs and newlines stay. */
int text_lines(struct buf *to, struct slice bytes);
/* Adds a line to the last lines of a program: those that fit into `most` bytes are kept. Without memory there are none. */
void text_keep_tail(struct buf *tail, struct slice line, size_t most);
/* Adds a name, as plain text, to a list with commas, unless it has the name or is long already. 0, or -1 out of memory. */
int text_list(struct buf *list, struct slice name);
/* As text_plain, into room bytes, as many characters as fit. Returns the length. */
size_t text_plain_in(char *to, size_t room, struct slice bytes);

#endif
