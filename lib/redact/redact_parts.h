/* redact_parts: what the files of redact share: the walk through JSON, the search in texts, and the names of secrets. */
#ifndef REDACT_PARTS_H
#define REDACT_PARTS_H

#include "lib/redact/redact.h"

/* Bytes of the current text that are replaced. */
struct redact_hit {
	size_t from, to;
	bool bare;           /* no string: the replacement has quotes */
	unsigned char depth; /* the strings of the line around the text */
};

static inline struct redact_hit *
redact_hits(struct redact *r)
{
	return (void *)r->hits.p;
}

/* Notes a hit, in order, without the bytes that the last one (from `first` on) has. 0, or -1 out of memory. */
int redact_hit(struct redact *, size_t first, struct redact_hit, enum redact_kind);

/* What a name means for its value. */
enum redact_name {
	REDACT_NAME_NONE,
	REDACT_NAME_TOKEN,    /* a secret, if it is a string: numbers count tokens */
	REDACT_NAME_SECRET,   /* a secret: a string or number, or all of them below */
	REDACT_NAME_VARIABLE, /* the same, unless it is a path */
	REDACT_NAME_PAIR,     /* a secret, if it is base64 of user:password, or long */
	REDACT_NAME_LIST,     /* headers or an environment: all below is secret, but for the names in an array of pairs */
	REDACT_NAME_ALL,      /* all below is secret */
};
/* Of a member, variable, option or header. */
enum redact_name redact_name(struct slice name);
/* Is the name spelled like a variable of the environment? */
bool redact_is_variable(struct slice name);
/* Does the name label a secret, and can this value be one? p NULL: any value. */
bool redact_is_secret(struct slice name, struct slice value);

/*
 * Notes the secrets in a text after its first `before` bytes; hits are offsets from there. argument: it is an element of an array,
 * such as --token=VALUE. 0, or -1 out of memory; 1 if a private key continues after the end.
 */
int redact_text(struct redact *, struct slice text, size_t before, bool argument);

/* The search in a text, what its files share. */
struct search {
	struct redact *redact;
	struct slice s;
	size_t first; /* hits of this text */
	size_t done;  /* nothing before it is searched again */
	size_t word;  /* the end of the last word (redact_word_end) */
	size_t before; /* the bytes that were searched with another text */
	bool open;    /* a private key has no end */
};

/* Bytes: the context of a position is searched only this far, so that the search is linear. */
enum { NEAR = 64, LONGEST = 128 };

/* Kinds of characters. */
enum { LOWER = 1, UPPER = 2, DIGIT = 4, DASH = 8, ALNUM = LOWER | UPPER | DIGIT, WORD = ALNUM | DASH };

static inline unsigned char
class_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return LOWER;
	if (c >= 'A' && c <= 'Z')
		return UPPER;
	if (c >= '0' && c <= '9')
		return DIGIT;
	return c == '-' || c == '_' ? DASH : 0;
}

/* The character at i, or NUL after the end. */
static inline char
search_at(const struct search *t, size_t i)
{
	return i < t->s.n ? t->s.p[i] : '\0';
}

/* Has its beginning a digit? */
bool redact_has_digit(struct slice);
/* The end of the word at i: many keys may seem to begin in a word, but it is read once. */
size_t redact_word_end(struct search *, size_t i);
/* Notes these bytes of the text as a hit; nothing before `to` is searched again. 0, or -1 out of memory. */
int redact_text_hit(struct search *, size_t from, size_t to, enum redact_kind);

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool
is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* An escaped quote or line end, where text lies in a text. */
static inline bool
is_escape(const struct search *t, size_t i)
{
	char next = search_at(t, i + 1);

	return t->s.p[i] == '\\' && next && strchr("\"'nrt", next);
}

/* Is the character at i of these classes, or one of these? */
static inline bool
is_of(const struct search *t, size_t i, unsigned chars, const char *more)
{
	return i < t->s.n && (class_of(t->s.p[i]) & chars || (t->s.p[i] && strchr(more, t->s.p[i])));
}

static inline size_t
skip_chars(const struct search *t, size_t i, unsigned chars, const char *more)
{
	while (is_of(t, i, chars, more))
		i++;
	return i;
}

/* The most blanks around '='. */
enum { SPACES = 4 };

static inline size_t
skip_blanks(const struct search *t, size_t i)
{
	for (size_t n = 0; n < SPACES && is_blank(search_at(t, i)); n++)
		i++;
	return i;
}

static inline bool
begins_with(struct slice s, const char *word)
{
	size_t n = strlen(word);

	return s.n >= n && memcmp(s.p, word, n) == 0;
}

/* A value after '=', ':' or an option; p NULL if there is none, or a reference to one. */
struct value {
	size_t from;
	struct slice s;
	bool quoted, tight; /* tight: nothing is between it and a '=' */
};
/* The value that begins at i or after blanks. parameter: it is one of a URL. */
struct value redact_value_at(const struct search *, size_t i, bool parameter);
/* Does it only refer to a secret: $NAME, ${NAME}, $(cat file), {{ name }}, process.env.NAME? */
bool redact_is_reference(struct slice value);

/* Makes the index of shapes. */
void redact_index_shapes(struct redact *);
/* Keys in a word that begins at i; a key with a '~' at i; a private key in PEM at i. 0, or -1 out of memory. */
int redact_see_keys(struct search *, size_t i);
int redact_see_tilde(struct search *, size_t i);
int redact_see_pem(struct search *, size_t i);
/* What begins with a '-' at i: an option, or a private key. 0, or -1 out of memory. */
int redact_see_dash(struct search *, size_t i);

#endif
