/*
 * Two JSON texts with a NUL between them: the first is edited into the second. What comes out has
 * the second one's value, and is the first byte for byte where the values are the same.
 */
#include <stdlib.h>

#include "lib/filter/jqprog.h"
#include "lib/json/json.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct jqprog *other, *same, *infinite;

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static bool
is_json(struct slice text)
{
	struct json_error error;

	return json_scan(text, JSON_DEPTH, NULL, 0, NULL, &error) != JSON_NONE;
}

static bool
keep(void *arg, struct slice output)
{
	struct buf *b = arg;

	expect(b->n == 0 && buf_add_slice(b, output) == 0);
	return true;
}

static struct slice
trim(struct slice s)
{
	for (; s.n > 0 && strchr(" \t\r\n", s.p[0]); s.n--)
		s.p++;
	while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	return s;
}

/* A number beyond the doubles is not what it is printed as. */
static bool
holds_infinity(struct slice text)
{
	bool yes;
	char *why;

	return jqprog_test(infinite, text, NULL, 0, &yes, &why) == 0 && yes;
}

static void
check(struct slice a, struct slice b)
{
	struct jqprog_var v[] = {{"v", b}};
	struct buf made = {0};
	bool was = false, is = false;
	char *why;
	int r = jqprog_edit(other, a, v, 1, keep, &made, &why);

	expect(r == 0 || r == 2);
	if (r == 0) {
		expect(jqprog_test(same, a, v, 1, &was, &why) == 0);
		if (was)
			expect(slice_eq(buf_slice(&made), a));
		expect(is_json(buf_slice(&made)));
		/* Deeper than libjq reads again, perhaps. */
		if (!holds_infinity(b) && jqprog_test(same, buf_slice(&made), v, 1, &is, &why) == 0)
			expect(is);
	}
	buf_free(&made);
}

/* libjq's own stack is not found by who looks for leaks. */
static void
put_away(void)
{
	jqprog_free(other);
	jqprog_free(same);
	jqprog_free(infinite);
}

/* Compiling takes libjq its time, and is no part of an input's. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct jqprog_var vars[] = {{"v", {NULL, 0}}};
	char *why;

	(void)argc;
	(void)argv;
	other = jqprog_new("$v", vars, 1, NULL, 0, &why);
	same = jqprog_new(". == $v", vars, 1, NULL, 0, &why);
	infinite = jqprog_new("[.. | numbers | isinfinite] | any", NULL, 0, NULL, 0, &why);
	expect(other && same && infinite && atexit(put_away) == 0);
	return 0;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const unsigned char *nul = size ? memchr(data, 0, size) : NULL;
	struct slice a, b;
	char *copy;

	if (!nul)
		return 0;
	copy = malloc(size);
	expect(copy != NULL);
	memcpy(copy, data, size);
	a = trim(slice(copy, (size_t)(nul - data)));
	b = trim(slice(copy + (nul - data) + 1, size - (size_t)(nul - data) - 1));
	if (is_json(a) && is_json(b))
		check(a, b);
	free(copy);
	return 0;
}
