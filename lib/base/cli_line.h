/*
 * cli_line: reads a command line by a table. A row describes an option: its names, the values that it takes, and the member of
 * the tool's struct that gets the value. What the member holds before is the default.
 *
 *	static const struct cli_option options[] = {
 *		{"format", 'f', CLI_WORD(struct options, format, "text", "json")},
 *		{"timeout", 0, CLI_DURATION(struct options, timeout), .least = 1},
 *		{"merge", 0, CLI_FLAG(struct options, merge)},
 *		{"at", 0, CLI_PARSE(parse_at)},
 *		{CLI_ROWS(struct options, frame, frame_options)},
 *		{0},
 *	};
 *
 * For cmd only: a value that is not valid ends the process, with a line that says what was expected.
 */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "lib/base/cli.h"

/* --- the table --- */

struct cli_argument;

enum cli_kind {
	CLI_KIND_END,      /* ends the table */
	CLI_KIND_FLAG,     /* this and the next three: without an argument */
	CLI_KIND_SET,
	CLI_KIND_MARK,
	CLI_KIND_CALL,
	CLI_KIND_OPTIONAL, /* the argument may be missing */
	CLI_KIND_TEXT,     /* this and the next seven: with an argument */
	CLI_KIND_TEXTS,
	CLI_KIND_BYTES,
	CLI_KIND_COUNT,
	CLI_KIND_DURATION,
	CLI_KIND_RATE,
	CLI_KIND_WORD,
	CLI_KIND_PARSE,
	CLI_KIND_ROWS,     /* this and the next: not an option, but more rows */
	CLI_KIND_ROWS_BEHIND,
};

struct cli_option {
	const char *name;         /* the long name, without dashes. A row hides later rows of its name */
	char letter;              /* the short name, or 0 */
	enum cli_kind kind;       /* the macros below set kind, at, words, parse and rows */
	size_t at;                /* the offset of the member */
	const char *const *words; /* the values that the argument may have, NULL-terminated */
	int value;                /* the number of the first word, or what CLI_SET sets; with CLI_PARSE: for the function */
	uint64_t least, most;     /* limits of a number (least also of a duration, most also of bytes); most 0: no limit */
	const char *expected;     /* the error for a bad number or duration, or too many bytes; a text whose row has it must not be empty */
	void (*parse)(const struct cli_argument *);
	const struct cli_option *rows;
};

/* The offset of a member. CLI_AT: its type must be this; CLI_INT_AT: its size must be that of an int, so that it may be an enum. */
#define CLI_AT(type, s, member) (offsetof(s, member) + 0 * sizeof(_Generic(&((s *)0)->member, type *: 0)))
#define CLI_INT_AT(s, member) (offsetof(s, member) + 0 * sizeof(char[sizeof(((s *)0)->member) == sizeof(int) ? 1 : -1]))

/* Sets no member: cli_has shows whether the option was given. */
#define CLI_MARK .kind = CLI_KIND_MARK
/* Sets a bool to true. */
#define CLI_FLAG(s, member) .kind = CLI_KIND_FLAG, .at = CLI_AT(bool, s, member)
/* Sets an int or enum to a number, for a member that several flags set. */
#define CLI_SET(s, member, number) .kind = CLI_KIND_SET, .at = CLI_INT_AT(s, member), .value = (number)
/* CLI_TEXT sets a const char *. CLI_TEXTS adds to a const char **, a list that ends with NULL and is to be freed; NULL: empty. */
#define CLI_TEXT(s, member) .kind = CLI_KIND_TEXT, .at = CLI_AT(const char *, s, member)
#define CLI_TEXTS(s, member) .kind = CLI_KIND_TEXTS, .at = CLI_AT(const char **, s, member)
/* Sets a size_t, by cli_bytes. */
#define CLI_BYTES(s, member) .kind = CLI_KIND_BYTES, .at = CLI_AT(size_t, s, member)
/* These set a uint64_t, by cli_count or (us) cli_duration. */
#define CLI_COUNT(s, member) .kind = CLI_KIND_COUNT, .at = CLI_AT(uint64_t, s, member)
#define CLI_DURATION(s, member) .kind = CLI_KIND_DURATION, .at = CLI_AT(uint64_t, s, member)
#define CLI_TOKENS(s, member) CLI_COUNT(s, member), .expected = "expected a number of tokens, such as 500k"
/* Sets a struct cli_rate. */
#define CLI_RATE(s, member) .kind = CLI_KIND_RATE, .at = CLI_AT(struct cli_rate, s, member)
/* Sets an int or enum to the index of the argument among these words, or those of a list, plus .value. */
#define CLI_WORD(s, member, ...) CLI_WORD_OF(s, member, ((const char *const[]){__VA_ARGS__, NULL}))
#define CLI_WORD_OF(s, member, list) .kind = CLI_KIND_WORD, .at = CLI_INT_AT(s, member), .words = list
/* Sets an int or enum to 1 without an argument, or else to the index of the argument among these words, plus 2. */
#define CLI_OPTIONAL_WORD(s, member, ...) \
	.kind = CLI_KIND_OPTIONAL, .at = CLI_INT_AT(s, member), .words = (const char *const[]){__VA_ARGS__, NULL}, .value = 2
/* A function takes the option. CLI_PARSE: with an argument, for the struct; _AT: for a member; CLI_CALL: without an argument. */
#define CLI_PARSE(function) .kind = CLI_KIND_PARSE, .parse = function
#define CLI_PARSE_AT(function, type, s, member) CLI_PARSE(function), .at = CLI_AT(type, s, member)
#define CLI_CALL(function) .kind = CLI_KIND_CALL, .parse = function
/* More rows: CLI_HERE for this struct; CLI_ROWS for a struct that is a member; CLI_ROWS_BEHIND: to which a member points. */
#define CLI_HERE(table) .kind = CLI_KIND_ROWS, .rows = table
#define CLI_ROWS(s, member, table) .kind = CLI_KIND_ROWS, .at = offsetof(s, member), .rows = table
#define CLI_ROWS_BEHIND(s, member, table) .kind = CLI_KIND_ROWS_BEHIND, .at = offsetof(s, member), .rows = table

/* The options that a tool takes, or a line of a file. name, for errors: "acp-tap", or "acp-tap: FILE: line 3". */
struct cli_tool {
	const char *name;
	const char *help; /* the text for --help; NULL: neither --help nor --version is an option */
	const struct cli_option *options;
};

/* An option in a command line, for its function. */
struct cli_argument {
	const struct cli_tool *tool;
	const struct cli_option *option;
	const char *argument; /* or NULL */
	void *at;             /* the member that the row names, or else the struct */
};

/* --- reading --- */

/* A command line that was read. */
enum { CLI_OPTIONS = 64, CLI_FACTS = 8 };
struct cli_line {
	const struct cli_tool *tool;
	char **words; /* the words after the options, NULL-terminated */
	bool dashes;  /* "--" has ended the options */
	struct cli_known { /* an option of the table, and the struct for its value */
		const struct cli_option *option;
		void *into;
		bool given;
	} known[CLI_OPTIONS];
	size_t n;
	const char *facts[CLI_FACTS]; /* from cli_note: "recordings" */
	size_t nfacts;
};

/* Reads the options after argv[0] into the tool's struct. --help, --version and a wrong option end the process. */
void cli_read(const struct cli_tool *, int argc, char **argv, void *into, struct cli_line *);
/* For words that are files: ends with status 2 if one looks like an option, and there is no such file. */
void cli_files(const struct cli_line *);
/* Does this hold: an option was given ("--append"), or has a value, perhaps by default ("--format prom"), or a fact was noted? */
bool cli_has(const struct cli_line *, const char *what);
/* Adds a fact if it holds. More than CLI_FACTS facts are ignored. */
void cli_note(struct cli_line *, bool holds, const char *fact);

/* Combinations that are refused. A text is one or more names for cli_has, with | between them. */
struct cli_rule {
	const char *what;  /* the rule applies if one of these is given; NULL ends the table */
	const char *needs; /* one of these must be given, too; or NULL */
	const char *bars;  /* none of these may be given; or NULL */
};
/* Ends with status 2 and a line if a rule is broken. */
void cli_check(const struct cli_line *, const struct cli_rule *);

/* Ends with the line "acp-tap: --grace x: WHY" and status 2; why NULL: out of memory, 125. */
_Noreturn void cli_wrong(const struct cli_argument *, const char *why);
/* Ends with the line "acp-tap: out of memory" and status 125. */
_Noreturn void cli_no_memory(const char *name);
/* Adds the argument to a list, in the form of CLI_TEXTS. Ends the process out of memory. */
void cli_add(const struct cli_argument *, const char ***list);
/* Returns the array (NULL at first) with room for n + 1 elements of this size, to be freed. Ends the process out of memory. */
void *cli_grow(const char *name, void *array, size_t n, size_t size);

#endif
