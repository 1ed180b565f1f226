/*
 * cli_line: a command line, read by one table. A row has all about an option: its names, what its value may be, and the member of the
 * tool's struct where that goes. What is there before is the default.
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
	CLI_KIND_END,      /* of the table */
	CLI_KIND_FLAG,     /* no argument */
	CLI_KIND_SET,
	CLI_KIND_MARK,
	CLI_KIND_CALL,
	CLI_KIND_OPTIONAL, /* none or one */
	CLI_KIND_TEXT,     /* one */
	CLI_KIND_TEXTS,
	CLI_KIND_BYTES,
	CLI_KIND_COUNT,
	CLI_KIND_DURATION,
	CLI_KIND_WORD,
	CLI_KIND_PARSE,
	CLI_KIND_ROWS,     /* no option, but more rows */
	CLI_KIND_ROWS_BEHIND,
};

struct cli_option {
	const char *name;         /* the long one, without its dashes. A row hides later ones of its name */
	char letter;              /* or 0 */
	enum cli_kind kind;       /* this and what follows: by the macros below */
	size_t at;
	const char *const *words; /* NULL-terminated */
	int value;                /* the first word's number */
	uint64_t least, most;     /* of a number; most 0: none */
	const char *expected;     /* the error for a number, and for bytes beyond most; a text that has it must not be empty */
	void (*parse)(const struct cli_argument *);
	const struct cli_option *rows;
};

/* The offset of a member, which must have this type; of a member that is an int or an enum. */
#define CLI_AT(type, s, member) (offsetof(s, member) + 0 * sizeof(_Generic(&((s *)0)->member, type *: 0)))
#define CLI_INT_AT(s, member) (offsetof(s, member) + 0 * sizeof(char[sizeof(((s *)0)->member) == sizeof(int) ? 1 : -1]))

/* Nothing: ask cli_has. */
#define CLI_MARK .kind = CLI_KIND_MARK
/* bool: true. */
#define CLI_FLAG(s, member) .kind = CLI_KIND_FLAG, .at = CLI_AT(bool, s, member)
/* int: a number for each of several flags. */
#define CLI_SET(s, member, number) .kind = CLI_KIND_SET, .at = CLI_INT_AT(s, member), .value = (number)
/* const char *; and const char **: all that are given, NULL-terminated, to be freed; NULL where none is. */
#define CLI_TEXT(s, member) .kind = CLI_KIND_TEXT, .at = CLI_AT(const char *, s, member)
#define CLI_TEXTS(s, member) .kind = CLI_KIND_TEXTS, .at = CLI_AT(const char **, s, member)
/* size_t */
#define CLI_BYTES(s, member) .kind = CLI_KIND_BYTES, .at = CLI_AT(size_t, s, member)
/* uint64_t; of a duration us */
#define CLI_COUNT(s, member) .kind = CLI_KIND_COUNT, .at = CLI_AT(uint64_t, s, member)
#define CLI_DURATION(s, member) .kind = CLI_KIND_DURATION, .at = CLI_AT(uint64_t, s, member)
#define CLI_TOKENS(s, member) CLI_COUNT(s, member), .expected = "expected a number of tokens, such as 500k"
/* int or enum: the word's number among these, or in a list that there is. With .value the first one's is that. */
#define CLI_WORD(s, member, ...) CLI_WORD_OF(s, member, ((const char *const[]){__VA_ARGS__, NULL}))
#define CLI_WORD_OF(s, member, list) .kind = CLI_KIND_WORD, .at = CLI_INT_AT(s, member), .words = list
/* The same, and 1 where there is no argument: the words count from 2. */
#define CLI_OPTIONAL_WORD(s, member, ...) \
	.kind = CLI_KIND_OPTIONAL, .at = CLI_INT_AT(s, member), .words = (const char *const[]){__VA_ARGS__, NULL}, .value = 2
/* A function takes it: with an argument, for the struct or a member of a type; without an argument. */
#define CLI_PARSE(function) .kind = CLI_KIND_PARSE, .parse = function
#define CLI_PARSE_AT(function, type, s, member) CLI_PARSE(function), .at = CLI_AT(type, s, member)
#define CLI_CALL(function) .kind = CLI_KIND_CALL, .parse = function
/* More rows: for the same struct; for one that is a member; for one to which a member points. */
#define CLI_HERE(table) .kind = CLI_KIND_ROWS, .rows = table
#define CLI_ROWS(s, member, table) .kind = CLI_KIND_ROWS, .at = offsetof(s, member), .rows = table
#define CLI_ROWS_BEHIND(s, member, table) .kind = CLI_KIND_ROWS_BEHIND, .at = offsetof(s, member), .rows = table

/* What may be given; name is "acp-tap", or "acp-tap: FILE: line 3" for options from a file, which have no help. */
struct cli_tool {
	const char *name;
	const char *help; /* for --help; and --version is read then */
	const struct cli_option *options;
};

/* An option as a function takes it. */
struct cli_argument {
	const struct cli_tool *tool;
	const struct cli_option *option;
	const char *argument; /* or NULL */
	void *at;             /* the member that the row names, or else the struct */
};

/* --- reading --- */

/* What a command line holds. */
enum { CLI_OPTIONS = 64, CLI_FACTS = 8 };
struct cli_line {
	const struct cli_tool *tool;
	char **words; /* those after the options */
	bool dashes;  /* "--" has ended the options */
	struct cli_known {
		const struct cli_option *option;
		void *into;
		bool given;
	} known[CLI_OPTIONS];
	size_t n;
	const char *facts[CLI_FACTS]; /* what else holds: "recordings" */
	size_t nfacts;
};

/* Reads the options in argv, which begins with the name of the program, into the tool's struct. --help and --version end here. */
void cli_read(const struct cli_tool *, int argc, char **argv, void *into, struct cli_line *);
/* The words are files: ends with status 2 where one is an option. */
void cli_files(const struct cli_line *);
/* Is this given? "--append", or "--format prom": an option's word, which may be the default as well; or a fact. */
bool cli_has(const struct cli_line *, const char *what);
/* Adds a fact, at most CLI_FACTS of them, where it holds. */
void cli_note(struct cli_line *, bool holds, const char *fact);

/* Combinations that make no sense. Each text is what cli_has knows, with | between. */
struct cli_rule {
	const char *what;  /* the rule applies if one of these is given; NULL ends the table */
	const char *needs; /* one of these must be given, too; or NULL */
	const char *bars;  /* and none of these may be; or NULL */
};
/* Ends with status 2 and a line where a rule is broken. */
void cli_check(const struct cli_line *, const struct cli_rule *);

/* "acp-tap: --grace x: WHY", exit status 2. why NULL: out of memory, 125. */
_Noreturn void cli_wrong(const struct cli_argument *, const char *why);
/* "acp-tap: out of memory", 125. */
_Noreturn void cli_no_memory(const char *name);
/* Adds the argument to a list as that of CLI_TEXTS. */
void cli_add(const struct cli_argument *, const char ***list);
/* Room for one more after n elements of an array. */
void *cli_grow(const char *name, void *array, size_t n, size_t size);

#endif
