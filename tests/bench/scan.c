/*
 * scan FILE...: how fast json_members goes through lines, with each set of instructions, beside
 * simdjson. Recordings (*.jsonl) give the lines, all other files text for long lines. All take
 * turns on the same bytes on one core; what is told are medians, the ratios' within each round.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/json/json_set.h"

long simdjson_pass(const char *p, size_t n, size_t longest);
const char *simdjson_kernel(void);

enum { ROUNDS = 11, CONTENDERS = 5, PADDING = 64, LONG_LINE = 64 << 10 };
static const size_t VOLUME = (size_t)256 << 20;

enum { KEYS = 6 };
static const struct json_keys keys = {
	KEYS, {"jsonrpc", "id", "method", "params", "result", "error"}};

static void
must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "scan: %s\n", what);
		exit(125);
	}
}

static void
read_file(const char *name, struct buf *to)
{
	FILE *f = fopen(name, "r");
	size_t n = 1;

	must(f != NULL, name);
	while (n > 0) {
		must(buf_reserve(to, 1 << 16) == 0, "out of memory");
		n = fread(to->p + to->n, 1, 1 << 16, f);
		to->n += n;
	}
	must(!ferror(f), name);
	fclose(f);
}

static void
add(struct buf *to, struct slice s)
{
	must(buf_add_slice(to, s) == 0, "out of memory");
}

/* The messages in a recording, a line each. */
static void
add_lines(struct slice recording, struct buf *to)
{
	static const char *const line_key[] = {"line"};
	const char *p = recording.p, *end = p + recording.n, *newline;
	struct json_error error;
	struct slice line;

	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		must(newline != NULL, "a recording is torn");
		must(json_scan(slice_between(p, newline), JSON_DEPTH, line_key, 1, &line, &error) !=
				JSON_NONE,
			"a recording is not JSON");
		if (!line.p)
			continue;
		must(json_unescape(line, to) == 0, "out of memory");
		add(to, slice_of("\n"));
	}
}

/* Lines of 64 KiB: messages in an array, and source text in a string, in turns. */
static void
add_long_lines(struct slice lines, struct slice text, struct buf *to)
{
	const char *p = lines.p, *newline;
	struct slice part = {text.p, LONG_LINE - LONG_LINE / 16};
	size_t begin;

	while (p < lines.p + lines.n) {
		begin = to->n;
		add(to, slice_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"messages\":["));
		while (p < lines.p + lines.n && to->n - begin < LONG_LINE) {
			newline = memchr(p, '\n', (size_t)(lines.p + lines.n - p));
			add(to, slice_between(p, newline));
			add(to, slice_of(","));
			p = newline + 1;
		}
		to->n--;
		add(to, slice_of("]}}\n{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"content\":"));
		must(json_quote(part, to) == 0, "out of memory");
		add(to, slice_of("}}\n"));
	}
}

static size_t
longest_line(struct slice lines)
{
	const char *p = lines.p, *end = p + lines.n, *newline;
	size_t longest = 0;

	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if ((size_t)(newline - p) > longest)
			longest = (size_t)(newline - p);
	}
	return longest;
}

static long
scan_pass(const struct json_set *set, struct slice lines)
{
	const char *p = lines.p, *end = p + lines.n, *newline;
	struct slice values[KEYS];
	struct json_error error;
	long count = 0;

	for (; p < end; p = newline + 1, count++) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (json_members_by(set, slice_between(p, newline), JSON_DEPTH, &keys, values, &error) == JSON_NONE)
			return -1;
	}
	return count;
}

/* Of this thread: what else runs on the machine is not our time. */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
measure(const char *title, struct slice lines)
{
	const struct json_set *sets[CONTENDERS] = {NULL}, *set = json_sets; /* NULL: simdjson */
	int n = 0;
	double times[CONTENDERS][ROUNDS], ratios[CONTENDERS][ROUNDS], start;
	size_t longest = longest_line(lines);
	long count = simdjson_pass(lines.p, lines.n, longest), got;

	do {
		if (set->here())
			sets[n++] = set;
	} while (set++->scan);
	n++;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < n; i++) {
			start = now();
			got = sets[i] ? scan_pass(sets[i], lines) : simdjson_pass(lines.p, lines.n, longest);
			times[i][round] = now() - start;
			must(got == count && count > 0, "they do not agree");
		}
	}
	for (int i = 0; i < n; i++) {
		for (int round = 0; round < ROUNDS; round++)
			ratios[i][round] = times[n - 1][round] / times[i][round];
		qsort(ratios[i], ROUNDS, sizeof(double), by_size);
		qsort(times[i], ROUNDS, sizeof(double), by_size);
	}
	printf("%s: %ld lines, %zu bytes each on average\n", title, count, lines.n / (size_t)count);
	for (int i = 0; i < n; i++)
		printf("  %-10s %6.2f GB/s  %5.2f of simdjson\n", sets[i] ? sets[i]->name : "simdjson",
			(double)lines.n / times[i][ROUNDS / 2] / 1e9, ratios[i][ROUNDS / 2]);
}

/* The lines again and again up to the volume, and room behind for simdjson. */
static void
repeat(struct slice lines, struct buf *to)
{
	must(buf_reserve(to, VOLUME + lines.n + PADDING) == 0, "out of memory");
	while (to->n < VOLUME)
		add(to, lines);
	memset(to->p + to->n, 0, PADDING);
}

int
main(int argc, char **argv)
{
	struct buf lines = {0}, text = {0}, lengthy = {0}, all = {0}, file = {0};
	cpu_set_t one;
	const char *dot;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	must(sched_setaffinity(0, sizeof(one), &one) == 0, "cannot stay on one core");
	for (int i = 1; i < argc; i++) {
		dot = strrchr(argv[i], '.');
		file.n = 0;
		read_file(argv[i], &file);
		if (dot && strcmp(dot, ".jsonl") == 0)
			add_lines(buf_slice(&file), &lines);
		else
			add(&text, buf_slice(&file));
	}
	must(lines.n > 0 && text.n > 0, "recordings and text are wanted");
	while (text.n < LONG_LINE) {
		must(buf_reserve(&text, text.n) == 0, "out of memory");
		add(&text, buf_slice(&text));
	}
	add_long_lines(buf_slice(&lines), buf_slice(&text), &lengthy);
	printf("simdjson's kernel: %s, ours: %s\n", simdjson_kernel(), json_set_here()->name);
	repeat(buf_slice(&lines), &all);
	measure("the fixtures' mix", buf_slice(&all));
	all.n = 0;
	repeat(buf_slice(&lengthy), &all);
	measure("long lines", buf_slice(&all));
	buf_free(&lines);
	buf_free(&text);
	buf_free(&lengthy);
	buf_free(&all);
	buf_free(&file);
	return 0;
}
