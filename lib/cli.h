/* cli: what the command lines of all tools share. */
#ifndef CLI_H
#define CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses (DESIGN, rule 7). */
enum { EXIT_NEGATIVE = 1, EXIT_USAGE = 2, EXIT_FAILED = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

/* Numbers of people: all of the text has to be read. 0, or -1. */
int cli_bytes(const char *text, size_t *bytes);            /* 64M; K, M, G in 1024s */
int cli_count(const char *text, uint64_t *count);          /* 2k; k, m, b in 1000s; 1.5k */
int cli_duration(const char *text, uint64_t *us);          /* 500ms, 5s, 2m; bare is seconds */
int cli_probability(const char *text, double *p);          /* 0.1 or 10% */

enum cli_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
int cli_color(const char *text, enum cli_color *);
/* Colour on this descriptor? A terminal, and NO_COLOR is not set, unless it is said. */
bool cli_wants_color(enum cli_color, int fd);

/* Does this process take the place of one that has died (acp-conduct)? Then it goes on with that one's file. */
bool cli_started_again(void);

/* "acp-tap: ..." and a newline on stderr, as one write, without ever waiting. name: the tool's. */
void cli_warn(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

void cli_vwarn(const char *name, const char *format, va_list) __attribute__((format(printf, 2, 0)));
/* Replaces control characters, as cli_warn does: those of a peer must not reach a terminal. */
void cli_tame(char *text, size_t n);

/*
 * The words behind the options (argv from optind): files, or behind "--" a command, of which both are NULL-terminated or NULL.
 * ended: "--" has ended the options already. 0; -1: no command after "--"; -2: both.
 */
int cli_words(char **words, bool ended, char ***files, char *const **command);
/* Opens an operand for reading: a file, or standard input for "-"; *name is for diagnostics. A descriptor, or -1 with errno. */
int cli_open(const char *operand, const char **name);

/* Says why a command was not started (tried: its execution was), and returns the exit status for it. */
int cli_not_started(const char *name, const char *command, bool tried, int error);

/* For cmd only: says it and exits with the status. */
_Noreturn void cli_die(int status, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* For cmd only: prints text on stdout and exits with 0 (125 where it could not be written). */
_Noreturn void cli_print(const char *name, const char *text);

#endif
