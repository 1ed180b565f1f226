/* cli: what the command lines of all tools have in common: values, colours, warnings, files, exit statuses. */
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

/* How often something may happen in a time. */
struct cli_rate {
	const char *text; /* as people write the rate: "3/1m"; borrowed */
	size_t n;         /* at most 1000 */
	uint64_t window;  /* us */
};

/* These read numbers as people write them. The whole text must be a number. 0, or -1. */
int cli_bytes(const char *text, size_t *bytes);            /* 64M; at least 1; K, M, G in 1024s */
int cli_count(const char *text, uint64_t *count);          /* 2k, 1.5k; k, m, b in 1000s */
int cli_duration(const char *text, uint64_t *us);          /* 500ms, 5s, 2m; without a unit in seconds */
int cli_rate(const char *text, struct cli_rate *);         /* 3/1m: 3 in a minute */
int cli_probability(const char *text, double *p);          /* 0.1 or 10%; at most 1 */
/* The errors for a bad duration and a bad rate: "expected a duration, such as 500ms, 5s or 2m". */
extern const char cli_want_duration[], cli_want_rate[];

/*
 * Finds the word that a user may have meant: the first with the fewest wrong letters. The caller sets typed, and letters: fewer
 * letters than this may be wrong. cli_compare, called for each word, sets text to " (did you mean --summary?)", or leaves it "".
 */
struct cli_meant {
	struct slice typed;
	int letters;
	char text[64];
};
void cli_compare(struct cli_meant *, const char *dashes, struct slice word);

enum cli_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* Returns the width for a table on fd: COLUMNS, or the width of the terminal (80 if that is not known); 0: fd is not a terminal. */
size_t cli_columns(int fd);
/* Is colour to be used on fd? COLOR_AUTO: on a terminal, except with NO_COLOR or TERM=dumb. */
bool cli_wants_color(enum cli_color, int fd);

/*
 * Has acp-conduct restarted this tool? Then the tool continues the file of the process before it. Returns the id of the first
 * process in its place (1: not known), or 0 if this process is the first.
 */
pid_t cli_started_again(void);

/* Writes a line, "acp-tap: ...", to stderr: as plain text (text.h), in one write, at most PIPE_BUF bytes, without ever waiting. */
void cli_warn(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_vwarn(const char *name, const char *format, va_list) __attribute__((format(printf, 2, 0)));

/* Opens the controlling terminal for writing, wherever stdout and stderr go. A descriptor, or -1 with errno. */
int cli_terminal(void);
/* Writes to a terminal, a pipe or a file that is ready; up to PIPE_BUF bytes never wait. False: nothing was written. */
bool cli_write_now(int fd, struct slice);

/*
 * Opens an operand, the path of a recording or "-" for standard input, for reading. *name: the operand's name in diagnostics. A
 * descriptor, or -1 with errno.
 */
int cli_open(const char *tool, const char *operand, const char **name);
/* Warns, if fd (standard input) is a terminal, that the tool waits for `what` from it. */
void cli_waits(const char *tool, int fd, const char *what);
/* Returns the path of the program of this name in PATH, to be freed; NULL: there is none, or out of memory. */
char *cli_in_path(const char *name);
/* Is the word a program: an executable file that begins with #! or as ELF does, or, if there is no such path, one in PATH? */
bool cli_is_program(const char *word);

/* Warns why a command was not started, and returns the exit status for that. tried: its execution failed, not a step before it. */
int cli_not_started(const char *name, const char *command, bool tried, int error);

/* --- for cmd only: these end the process --- */

/* Warns as cli_warn, and exits with the status. */
_Noreturn void cli_die(int status, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints text on stdout and exits with 0 (125 if the text could not be written). */
_Noreturn void cli_print(const char *name, const char *text);

#endif
