/* cli: what the command lines of all tools share. */
#ifndef CLI_H
#define CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/bytes.h"

/* Exit statuses (HACKING.md, rule 7). */
enum { EXIT_NEGATIVE = 1, EXIT_USAGE = 2, EXIT_FAILED = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

/* Numbers as people write them. The whole text must be a number. 0, or -1. */
int cli_bytes(const char *text, size_t *bytes);            /* 64M; K, M, G in 1024s */
int cli_count(const char *text, uint64_t *count);          /* 2k; k, m, b in 1000s; 1.5k */
int cli_duration(const char *text, uint64_t *us);          /* 500ms, 5s, 2m; bare is seconds */
int cli_rate(const char *text, size_t *n, uint64_t *us);   /* 3/1m: 3 in a minute; at most 1000 */
int cli_probability(const char *text, double *p);          /* 0.1 or 10% */
/* What is said where they fail: "expected a duration, such as 500ms, 5s or 2m". */
extern const char cli_want_duration[], cli_want_rate[];

/*
 * What a user may have meant: of several words the first that is the nearest to what was typed. Set typed; letters: less than this
 * many are wrong. text becomes " (did you mean --summary?)", or stays "".
 */
struct cli_meant {
	struct slice typed;
	int letters;
	char text[64];
};
void cli_compare(struct cli_meant *, const char *dashes, struct slice word);

enum cli_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* The width for a table there: COLUMNS, or that of a terminal (80 where it does not say); 0: neither. */
size_t cli_columns(int fd);
/* Colour on this descriptor? A terminal, and NO_COLOR is not set, unless it is said. */
bool cli_wants_color(enum cli_color, int fd);

/*
 * Does this process take the place of one that has died (acp-conduct)? Then it goes on with that one's file. Returns the
 * process id of the first in this place (1 where it is not known); 0: this is the first.
 */
pid_t cli_started_again(void);

/* "acp-tap: ..." as plain text (text.h) and a newline on stderr, as one write, without ever waiting. name: the tool's. */
void cli_warn(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_vwarn(const char *name, const char *format, va_list) __attribute__((format(printf, 2, 0)));

/* The terminal, to write to, whatever standard output and error are. A descriptor, or -1 with errno. */
int cli_terminal(void);
/* Writes to a terminal, a pipe or a file without ever waiting. False where nothing was written. */
bool cli_write_now(int fd, struct slice);

/*
 * Opens an operand for reading: a recording, or standard input for "-"; *name is for diagnostics. A descriptor, or -1 with
 * errno.
 */
int cli_open(const char *tool, const char *operand, const char **name);
/* Where standard input (fd) is a terminal: says that `what` is waited for. */
void cli_waits(const char *tool, int fd, const char *what);
/* The path of the program of that name in PATH, to be freed; NULL: there is none. */
char *cli_in_path(const char *name);
/* Is the word a program's: one found in PATH where there is no file of that name, or a file that begins as programs do? */
bool cli_is_program(const char *word);

/* Says why a command was not started (tried: its execution was), and returns the exit status for it. */
int cli_not_started(const char *name, const char *command, bool tried, int error);

/* --- for cmd only: these end the process --- */

/* Says it and exits with the status. */
_Noreturn void cli_die(int status, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints text on stdout and exits with 0 (125 where it could not be written). */
_Noreturn void cli_print(const char *name, const char *text);

#endif
