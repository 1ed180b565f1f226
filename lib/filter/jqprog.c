#include "lib/filter/jqprog.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include <jv.h>

#include <jq.h>

#include "lib/base/cli.h"
#include "lib/filter/jqprog_parts.h"

/* The depth to which libjq 1.7 prints. libjq 1.6 reads to this depth, in nested objects less deep. */
enum { DEPTH = 256 };

struct jqprog {
	jq_state *jq;
	bool uses[JQPROG_VARS]; /* the program may use this variable */
	struct buf edited;      /* the current output of jqprog_edit */
	bool stopped;           /* a signal has stopped it, so it is not run again */
};

/* --- messages --- */

/* Collects the compiler's messages, without the last one, which counts the errors. */
static void
collect(void *arg, jv message)
{
	static const char prefix[] = "jq: error: ", count[] = "jq: ";
	struct buf *b = arg;
	jv formatted = jq_format_error(message);
	const char *text = "";
	size_t n;

	if (jv_get_kind(formatted) == JV_KIND_STRING)
		text = jv_string_value(formatted);
	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	else if (strncmp(text, count, sizeof(count) - 1) == 0)
		text = "";
	n = strlen(text);
	while (n > 0 && strchr(" \n", text[n - 1]))
		n--;
	if (n > 0 && (b->n == 0 || buf_add(b, "\n", 1) == 0))
		(void)buf_add(b, text, n); /* out of memory, this message is missing */
	jv_free(formatted);
}

static void
ignore(void *arg, jv message)
{
	(void)arg;
	jv_free(message);
}

static void
report_debug(void *arg, jv message)
{
	jv text = jv_dump_string(message, 0);

	(void)arg;
	cli_warn("jq", "debug: %s", jv_string_value(text));
	jv_free(text);
}

static jv
no_input(jq_state *jq, void *arg)
{
	(void)jq;
	(void)arg;
	return jv_invalid();
}

/* --- values --- */

static bool
too_deep(struct slice text)
{
	const char *p = text.p, *end = text.p + text.n;
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"')
			for (p++; p < end && *p != '"'; p++)
				p += *p == '\\';
		else if (*p == '[' || *p == '{')
			depth++;
		else if (*p == ']' || *p == '}')
			depth--;
		if (depth > DEPTH)
			return true;
	}
	return false;
}

static jv
parse_bytes(struct slice text)
{
	jv_parser *parser = jv_parser_new(0);
	jv value;

	jv_parser_set_buf(parser, text.p, (int)text.n, 0);
	value = jv_parser_next(parser);
	jv_parser_free(parser);
	return value;
}

/* The hex digits of an escaped surrogate at p ("\ud800"): 'h'igh, 'l'ow, or 0. */
static char
surrogate(const char *p, const char *end)
{
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || (p[2] != 'd' && p[2] != 'D') || !strchr("89abcdefABCDEF", p[3]))
		return 0;
	return strchr("89abAB", p[3]) ? 'h' : 'l';
}

/* Reads half a pair of surrogates as U+FFFD, as libjq does from 1.7 on. 1.6 does not read such a string. */
static jv
parse_replaced(struct slice text)
{
	char *copy = malloc(text.n), *p, *end = copy + text.n, kind;
	jv value;

	if (!copy)
		return jv_invalid();
	memcpy(copy, text.p, text.n);
	for (p = copy; p < end; p++) {
		if (*p != '\\')
			continue;
		kind = surrogate(p, end);
		if (kind == 'h' && surrogate(p + 6, end) == 'l')
			p += 11;
		else if (kind)
			memcpy(p + 2, "fffd", 4);
		else
			p++;
	}
	value = parse_bytes(slice(copy, text.n));
	free(copy);
	return value;
}

/* The value of a JSON text (p NULL: null); invalid if libjq cannot read it. */
static jv
parse(struct slice text)
{
	jv value;

	if (!text.p)
		return jv_null();
	if (text.n > INT_MAX || too_deep(text))
		return jv_invalid();
	value = parse_bytes(text);
	if (jv_is_valid(value) || !memmem(text.p, text.n, "\\u", 2))
		return value;
	jv_free(value);
	return parse_replaced(text);
}

/* --- programs that do not end --- */

/* Seconds: a signal that has waited for this time stops the program. */
enum { PATIENCE = 1 };

static const char stopped[] = "stopped by a signal";

/* The program that runs now, for the signal handler. */
static jq_state *volatile running;

/* Does a signal wait that ends a tool? Our loops block these signals while a program runs. */
static bool
signal_waits(void)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0
		&& (sigismember(&waiting, SIGINT) || sigismember(&waiting, SIGTERM) || sigismember(&waiting, SIGHUP));
}

static void
look_for_signal(int alarm)
{
	(void)alarm;
	if (running && !jq_halted(running) && signal_waits())
		jq_halt(running, jv_null(), jv_false());
}

/* Looks regularly for a signal while this program runs; NULL: stops looking. */
static void
watch(jq_state *jq)
{
	static const struct itimerval often = {{PATIENCE, 0}, {PATIENCE, 0}}, never;

	running = jq;
	setitimer(ITIMER_REAL, jq ? &often : &never, NULL);
}

/* --- compiling --- */

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *
skip_blank(const char *p)
{
	for (;; p++) {
		if (*p == '#')
			p += strcspn(p, "\n");
		if (!*p || !strchr(" \t\r\n", *p))
			return p;
	}
}

static const char *
skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return p;
}

/* The end of the module, import and include directives, which must stay at the beginning of the program. */
static const char *
directives_end(const char *program)
{
	static const char *const words[] = {"module", "import", "include"};
	const char *p = program, *end = program;
	size_t i, n = 0;

	for (;;) {
		p = skip_blank(p);
		for (i = 0; i < 3; i++) {
			n = strlen(words[i]);
			if (strncmp(p, words[i], n) == 0 && !is_word(p[n]))
				break;
		}
		if (i == 3)
			return end;
		for (p += n; *p && *p != ';'; p++) {
			if (*p == '"')
				p = skip_string(p);
			else if (*p == '#')
				p += strcspn(p, "\n");
			if (!*p)
				return end;
		}
		if (*p)
			end = ++p;
	}
}

/*
 * libjq binds variables when it compiles, but they have new values at each run. So the program is run on an array of the values, with the
 * text at its end, and gets a prefix that binds the variables, on the same line. No operator binds less than the prefix's pipes. `last`
 * follows the program: "." for one of definitions only, as jq does it.
 */
static int
wrap(struct buf *b, const char *program, const struct jqprog_var *vars, size_t nvars, const char *last)
{
	const char *body = directives_end(program);

	b->n = 0;
	if (buf_add(b, program, (size_t)(body - program)) < 0)
		return -1;
	for (size_t i = 0; i < nvars; i++)
		if (buf_printf(b, " .[%zu] as $%s |", i, vars[i].name) < 0)
			return -1;
	/* In newer versions a comment with a backslash at its end goes on in the next line. */
	if (buf_printf(b, " .[%zu] | %s\n\n%s", nvars, body, last) < 0)
		return -1;
	return buf_string(b) ? 0 : -1;
}

/* Compiles a program. NULL with jq's messages in errors. Frees args. */
static jq_state *
compile(const char *program, jv args, struct buf *errors)
{
	jq_state *jq = jq_init();

	if (!jq) {
		jv_free(args);
		return NULL;
	}
	jq_set_error_cb(jq, collect, errors);
	jq_set_debug_cb(jq, report_debug, NULL);
	jq_set_input_cb(jq, no_input, NULL);
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array_append(jv_array(), jv_string("~/.jq")));
	jq_set_attr(jq, jv_string("PROGRAM_ORIGIN"), jv_string("."));
	if (!jq_compile_args(jq, program, args))
		jq_teardown(&jq);
	return jq;
}

/* Does the program compile without the prefix? If not, errors has messages with the user's positions. Frees args. */
static bool
compiles(const char *program, const struct jqprog_var *vars, size_t nvars, jv args, struct buf *errors)
{
	jq_state *jq;

	for (size_t i = 0; i < nvars; i++)
		args = jv_object_set(args, jv_string(vars[i].name), jv_null());
	jq = compile(program, args, errors);
	if (!jq)
		return false;
	jq_teardown(&jq);
	return true;
}

/* May the program use this variable? In doubt it may. Some versions of jq allow white space after the $. */
static bool
may_use(const char *program, const char *name)
{
	const char *p = strchr(program, '$');

	while (p && is_word(p[1]) && strncmp(p + 1, name, strlen(name)) != 0)
		p = strchr(p + 1, '$');
	return p;
}

/* An object of the constants; invalid if one is too deep for libjq. */
static jv
named(const struct jqprog_var *constants, size_t n)
{
	jv all = jv_object(), one;

	for (size_t i = 0; i < n; i++) {
		one = parse(constants[i].value);
		if (!jv_is_valid(one)) {
			jv_free(all);
			return one;
		}
		all = jv_object_set(all, jv_string(constants[i].name), one);
	}
	return all;
}

/* Compiles the wrapped program. NULL with jq's messages in errors, which is empty out of memory. */
static jq_state *
compile_wrapped(const char *program, const struct jqprog_var *vars, size_t nvars, jv args, struct buf *errors)
{
	SCOPED struct buf wrapped = {0};
	jq_state *jq = NULL;

	if (wrap(&wrapped, program, vars, nvars, "") == 0)
		jq = compile(wrapped.p, jv_copy(args), errors);
	errors->n = 0;
	if (!jq && compiles(program, vars, nvars, jv_copy(args), errors) && wrap(&wrapped, program, vars, nvars, ".") == 0)
		jq = compile(wrapped.p, jv_copy(args), errors);
	return jq;
}

struct jqprog *
jqprog_new(const char *program, const struct jqprog_var *vars, size_t nvars, const struct jqprog_var *constants, size_t nconstants,
	char **why)
{
	struct jqprog *prog = calloc(1, sizeof(*prog));
	struct buf errors = {0};
	jv args = named(constants, nconstants);

	if (!jv_is_valid(args))
		(void)buf_add_string(&errors, "a value is too deep for jq");
	else if (prog)
		prog->jq = compile_wrapped(program, vars, nvars, args, &errors);
	jv_free(args);
	*why = errors.n ? buf_string(&errors) : NULL;
	if (!*why)
		buf_free(&errors);
	if (!prog || !prog->jq) {
		free(prog);
		return NULL;
	}
	for (size_t i = 0; i < nvars; i++)
		prog->uses[i] = may_use(program, vars[i].name);
	jq_set_error_cb(prog->jq, ignore, NULL);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = look_for_signal, .sa_flags = SA_RESTART}, NULL);
	return prog;
}

void
jqprog_free(struct jqprog *prog)
{
	if (!prog)
		return;
	jq_teardown(&prog->jq);
	buf_free(&prog->edited);
	free(prog);
}

/* --- running --- */

/* The input of the wrapped program; invalid if the text or a variable is. Takes over text. */
static jv
input(const struct jqprog *prog, jv text, const struct jqprog_var *vars, size_t nvars)
{
	jv all = jv_array_sized((int)nvars + 1), one;

	for (size_t i = 0; i <= nvars; i++) {
		if (i == nvars)
			one = text;
		else
			one = prog->uses[i] ? parse(vars[i].value) : jv_null();
		if (!jv_is_valid(one)) {
			if (i < nvars)
				jv_free(text);
			jv_free(all);
			return one;
		}
		all = jv_array_append(all, one);
	}
	return all;
}

/* How the program ended: 0, or 1 with *why. last: jq_next's last value, which this frees. */
static int
outcome(struct jqprog *prog, jv last, char **why)
{
	bool halted = jq_halted(prog->jq);
	jv message = jv_invalid();

	prog->stopped = halted && signal_waits();
	if (prog->stopped)
		message = jv_string(stopped);
	else if (halted) /* halt_error has a message, halt has none. */
		message = jq_get_error_message(prog->jq);
	else if (jv_invalid_has_msg(jv_copy(last)))
		message = jv_invalid_get_msg(jv_copy(last));
	jv_free(last);
	if (!jv_is_valid(message)) {
		jv_free(message);
		return 0;
	}
	if (jv_get_kind(message) != JV_KIND_STRING)
		message = jv_string_concat(jv_string("(not a string): "), jv_dump_string(message, 0));
	*why = strdup(jv_string_value(message));
	jv_free(message);
	return 1;
}

enum purpose { PRINT, EDIT, TEST };

/* Calls fn with each output as text. With purpose TEST, sets the bool arg: is the last output true? */
static int
run(struct jqprog *prog, enum purpose purpose, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why)
{
	jv value = prog->stopped ? jv_invalid() : parse(text), was = purpose == EDIT ? jv_copy(value) : jv_invalid(), in, out;
	bool more = true, failed = false;
	struct slice result;

	in = input(prog, value, vars, nvars);
	*why = prog->stopped ? strdup(stopped) : NULL;
	if (!jv_is_valid(in)) {
		jv_free(in);
		jv_free(was);
		return prog->stopped ? 1 : 2;
	}
	jq_start(prog->jq, in, 0);
	watch(prog->jq);
	while (more && jv_is_valid(out = jq_next(prog->jq))) {
		if (purpose == PRINT) {
			out = jv_dump_string(out, 0);
			more = fn(arg, slice(jv_string_value(out), (size_t)jv_string_length_bytes(jv_copy(out))));
		} else if (purpose == EDIT) {
			failed = jqprog_patch(text, was, out, &prog->edited, &result) < 0;
			more = !failed && fn(arg, result);
		} else {
			*(bool *)arg = jv_get_kind(out) != JV_KIND_FALSE && jv_get_kind(out) != JV_KIND_NULL;
		}
		jv_free(out);
	}
	watch(NULL);
	jv_free(was);
	return failed ? -1 : more ? outcome(prog, out, why) : 0;
}

int
jqprog_run(struct jqprog *prog, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why)
{
	return run(prog, PRINT, text, vars, nvars, fn, arg, why);
}

int
jqprog_edit(struct jqprog *prog, struct slice text, const struct jqprog_var *vars, size_t nvars,
	bool (*fn)(void *arg, struct slice output), void *arg, char **why)
{
	return run(prog, EDIT, text, vars, nvars, fn, arg, why);
}

int
jqprog_test(struct jqprog *prog, struct slice text, const struct jqprog_var *vars, size_t nvars, bool *yes, char **why)
{
	bool last = false;
	int r = run(prog, TEST, text, vars, nvars, NULL, &last, why);

	*yes = r == 0 && last;
	return r;
}
