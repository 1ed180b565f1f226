/* redact_parts: for the files of lib/redact. They share the list of hits, the names of secrets and the search in texts. */
#ifndef REDACT_PARTS_H
#define REDACT_PARTS_H

#include "lib/redact/redact.h"

/* A range of bytes that is a secret, as offsets in the current text. */
struct redact_hit {
	size_t from, to;
	bool bare;           /* the value is not a string: the replacement brings its own quotes */
	unsigned char depth; /* how many JSON strings of the line surround the text */
};

static inline struct redact_hit *
redact_hits(struct redact *r)
{
	return (void *)r->hits.p;
}

/*
 * Appends a hit, cut where it overlaps the last hit of the same text. `first` is the index of that text's first hit.
 * 0, or -1 out of memory.
 */
int redact_hit(struct redact *, size_t first, struct redact_hit, enum redact_kind);

/* What a name means for its value. */
enum redact_name {
	REDACT_NAME_NONE,     /* the value is no secret */
	REDACT_NAME_TOKEN,    /* a string is a secret; a number is a count of tokens */
	REDACT_NAME_SECRET,   /* a string or number is a secret, and so is each one inside an object or array */
	REDACT_NAME_VARIABLE, /* as REDACT_NAME_SECRET, but a path is no secret */
	REDACT_NAME_PAIR,     /* a string is a secret if it is base64 of user:password, or long base64 */
	REDACT_NAME_LIST,     /* headers or an environment: every value inside is a secret, except the names in an array of pairs */
	REDACT_NAME_ALL,      /* every value inside is a secret */
};
/* Classifies the name of a member, variable, option or header. */
enum redact_name redact_name(struct slice name);
/* Is the name spelled like an environment variable of several words: capitals, digits and at least one '_'? */
bool redact_is_variable(struct slice name);
/* Is the text base64 of user:password, or base64 that is longer than a word? */
bool redact_is_pair(struct slice text);
/* Does the name label a secret, and can this value be one? Where value.p is NULL the name alone decides. */
bool redact_is_secret(struct slice name, struct slice value);

/*
 * Appends the secrets in a text to the hits. The first `before` bytes are the end of an earlier chunk: they are context only, and
 * offsets count from their end. commands: the text is an element of an array, such as --token=VALUE, and these are the commands
 * (redact_commands) of the elements before it; NULL: it is no element.
 * 0, or -1 out of memory; 1 if a private key continues after the end.
 */
int redact_text(struct redact *, struct slice text, size_t before, const uint32_t *commands);

/* The commands with options for passwords that the words of a text name: a bit for each option of a command. */
uint32_t redact_commands(struct slice text);
/*
 * The kind of value that follows an option in an array. REDACT_NAME_SECRET: a secret; REDACT_NAME_PAIR: user:password. commands: the
 * commands of the elements before it.
 */
enum redact_name redact_option_next(struct slice option, uint32_t commands);

/*
 * The search in one text. Each function find_... examines the position i, and appends a hit if it finds a secret there.
 * 0, or -1 out of memory.
 */
struct search {
	struct redact *redact;
	struct slice text;
	size_t first_hit; /* the index of this text's first hit */
	size_t done;      /* bytes before this offset are not searched again */
	size_t word_end;  /* of the latest word that redact_word_end was asked for */
	size_t before;    /* bytes at the beginning that are an earlier chunk's, and are not replaced */
	size_t rejected;     /* values that are no secrets and overlap (reject) */
	size_t rejected_end; /* where the longest of them ends */
	bool open;        /* a private key begins in the text and does not end in it */
	uint32_t commands; /* of the array of which the text is an element (redact_commands) */
};

/* Bytes. Context before a position is read NEAR bytes far at most, and a key LONGEST, so that the search stays linear. */
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
	return i < t->text.n ? t->text.p[i] : '\0';
}

/* Is there a digit among the first NEAR characters? */
bool redact_has_digit(struct slice);
/* The end of the word at i. It is remembered: several shapes of keys may begin in one word, which is read once. */
size_t redact_word_end(struct search *, size_t i);
/* Appends the bytes [from, to) as a hit, unless they are <redacted>; the search continues at `to`. 0, or -1 out of memory. */
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

/* Is the character at i the backslash of an escaped quote or white space? They occur where a text quotes JSON or code. */
static inline bool
is_escape(const struct search *t, size_t i)
{
	char next = search_at(t, i + 1);

	return t->text.p[i] == '\\' && next && strchr("\"'nrt", next);
}

/* Is the character at i of one of the classes `chars`, or one of the characters in `more`? */
static inline bool
is_of(const struct search *t, size_t i, unsigned chars, const char *more)
{
	return i < t->text.n && (class_of(t->text.p[i]) & chars || (t->text.p[i] && strchr(more, t->text.p[i])));
}

static inline size_t
skip_chars(const struct search *t, size_t i, unsigned chars, const char *more)
{
	while (is_of(t, i, chars, more))
		i++;
	return i;
}

/* How many blanks may surround a '='. */
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

/* A value after '=', ':' or an option. */
struct value {
	size_t from;
	struct slice s; /* p NULL: there is no value, or only a reference (redact_is_reference) */
	bool quoted;
	bool tight;     /* it follows a '=' without a blank */
};
/* Reads the value that begins at i or after blanks. parameter: it belongs to the query of a URL. */
struct value redact_value_at(const struct search *, size_t i, bool parameter);
/* Does the value only refer to a secret, as $NAME, ${NAME}, $(cat file), {{ name }} and process.env.NAME do? */
bool redact_is_reference(struct slice value);

/* Fills `first` and `second` with the shapes of keys: once, before the first search. */
void redact_index_shapes(struct redact *);
/* Finds keys in the word that begins at i. */
int redact_find_keys(struct search *, size_t i);
/* Finds a key of Azure, which has a '~': the one at i. */
int redact_find_tilde(struct search *, size_t i);
/* Finds a private key in PEM, -----BEGIN ... PRIVATE KEY-----, whose first '-' is at i. */
int redact_find_pem(struct search *, size_t i);
/* Finds the secret argument of an option, or a private key, whose first '-' is at i. */
int redact_find_dash(struct search *, size_t i);

#endif
