/*
 * text: makes strings from a stream or a command line safe for a terminal, or for a log that people read. Characters that a
 * terminal might obey (controls, escape sequences), that turn the writing direction or are invisible, and bytes that are not
 * UTF-8 are shown by name: ^[ <U+009B> <9B>.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* A place in a text that is read character by character. */
struct text {
	const char *p, *end;
	bool json;  /* the text is the inside of a JSON string, whose escapes are decoded */
	bool exact; /* the escape of a lone surrogate is its code, else U+FFFD */
};
/* TEXT_BYTE is added to a byte that is not UTF-8, to make a code of it. TEXT_SHOW_SIZE: the most bytes that text_show writes. */
enum { TEXT_BYTE = 0x110000, TEXT_SHOW_SIZE = 10 };

struct text text_of(struct slice bytes);
struct text text_of_string(struct slice string); /* a JSON string, with its quotes */
/* Returns the next code point; TEXT_BYTE + b for a byte b that is not UTF-8; -1 at the end. */
int32_t text_next(struct text *);
/* Returns the length of the UTF-8 sequence (RFC 3629) at p < end; 0: these bytes are not UTF-8. */
unsigned text_utf8_length(const char *p, const char *end);
/* Appends a code point as UTF-8, or TEXT_BYTE + b as the byte b. 0, or -1 out of memory. */
int text_put(struct buf *, int32_t code);

/* Skips, after an ESC, the rest of a sequence that sets a colour, as in the logs of many agents. False: another sequence. */
bool text_skip_color(struct text *);

/* May the code be shown unchanged? */
bool text_is_safe(int32_t code);
/* Writes a code as people may read it: unchanged if it is safe, else its name. Returns the length. */
size_t text_show(char to[TEXT_SHOW_SIZE], int32_t code);
/* Writes the name of a code: ^[ <U+009B> <9B>. Returns the length. */
size_t text_name(char to[TEXT_SHOW_SIZE], int32_t code);

/* Appends a text as one line for people: tabs and newlines become blanks, colours are removed. 0, or -1 out of memory. */
int text_plain(struct buf *to, struct slice bytes);
/* Appends a text for people as text_plain does, but keeps tabs and newlines. */
int text_lines(struct buf *to, struct slice bytes);
/* Adds a line, cut to most / 2 bytes, to a program's last lines. Drops the older half above `most` bytes; out of memory, all. */
void text_keep_tail(struct buf *tail, struct slice line, size_t most);
/* Adds a name, as plain text, to a list with commas, unless it is empty, or the list has it or over 2000 bytes. 0, or -1 out of memory. */
int text_list(struct buf *list, struct slice name);
/* Writes a text as text_plain does, as many characters as fit into room bytes. Returns the length. */
size_t text_plain_in(char *to, size_t room, struct slice bytes);

#endif
