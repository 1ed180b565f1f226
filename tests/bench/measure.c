/*
 * measure: what the benchmarks time with.
 *
 *   measure run COMMAND...      runs it; prints "SECONDS PEAK_KIB" on descriptor 9
 *   measure trip N COMMAND...   sends N requests to it, each when the answer to the last is there;
 *                               prints the median round trip and the 99th percentile in us
 *   measure pong                an agent that answers each line at once
 *   measure mix BYTES FILE...   the messages of the fixtures, again and again, BYTES in all
 *   measure big BYTES SIZE      messages of SIZE bytes, BYTES in all
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/recording/recording.h"

#include <fcntl.h>

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t
start(char **argv, int in, int out)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		fail("dup2");
	execvp(argv[0], argv);
	fail(argv[0]);
	return -1;
}

static int
run(char **argv)
{
	struct rusage usage;
	double began = now();
	int status;
	pid_t pid = start(argv, 0, 1);

	if (wait4(pid, &status, 0, &usage) < 0)
		fail("wait4");
	dprintf(9, "%.4f %ld\n", now() - began, usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
write_all(int fd, const char *p, size_t n)
{
	ssize_t r;

	for (; n > 0; p += r, n -= (size_t)r) {
		r = write(fd, p, n);
		if (r < 0)
			fail("write");
	}
}

static int
trip(size_t n, char **argv)
{
	int down[2], up[2];
	char line[256], answer[4096];
	double *times = calloc(n, sizeof(*times)), began;
	ssize_t r;
	size_t i, len;

	if (!times || pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		fail("pipe");
	start(argv, down[0], up[1]);
	close(down[0]);
	close(up[1]);
	for (i = 0; i < n; i++) {
		len = (size_t)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"session/prompt\","
			"\"params\":{\"sessionId\":\"68eb7d40-5122-4bb7-8318-91f63ac071f4\",\"prompt\":[{\"type\":\"text\","
			"\"text\":\"hello\"}]}}\n", i);
		began = now();
		write_all(down[1], line, len);
		do {
			r = read(up[0], answer, sizeof(answer));
			if (r <= 0)
				fail("the chain ended");
		} while (answer[r - 1] != '\n');
		times[i] = now() - began;
	}
	close(down[1]);
	while (read(up[0], answer, sizeof(answer)) > 0)
		;
	qsort(times, n, sizeof(*times), compare);
	printf("%.2f %.2f\n", times[n / 2] * 1e6, times[n * 99 / 100] * 1e6);
	while (wait(NULL) > 0)
		;
	free(times);
	return 0;
}

static int
pong(void)
{
	char line[4096], answer[64], *id;
	ssize_t r;
	int n;

	while ((r = read(0, line, sizeof(line) - 1)) > 0) {
		line[r] = '\0';
		id = strstr(line, "\"id\":");
		n = snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{}}\n",
			id ? strtol(id + 5, NULL, 10) : 0);
		write_all(1, answer, (size_t)n);
	}
	return 0;
}

static void
collect(const char *path, struct buf *to)
{
	struct recording *rec = recording_open(open(path, O_RDONLY | O_CLOEXEC), 1 << 26, NULL);
	struct record r;

	if (!rec)
		fail(path);
	while (recording_next(rec, &r) == 0 && r.kind != RECORD_END) {
		if (r.kind == RECORD_MESSAGE && (buf_add_slice(to, r.text) < 0 || buf_add(to, "\n", 1) < 0))
			fail("out of memory");
	}
	recording_close(rec);
}

static void
repeat(const struct buf *b, size_t bytes)
{
	size_t done;

	for (done = 0; done < bytes; done += b->n)
		write_all(1, b->p, b->n);
}

static int
mix(size_t bytes, char **files)
{
	struct buf all = {0};

	for (; *files; files++)
		collect(*files, &all);
	if (all.n == 0)
		fail("no messages");
	repeat(&all, bytes);
	buf_free(&all);
	return 0;
}

static int
big(size_t bytes, size_t size)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":"
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"";
	struct buf one = {0};

	if (buf_add_string(&one, head) < 0)
		fail("out of memory");
	while (one.n + 5 < size)
		if (buf_add_string(&one, one.n % 80 == 79 ? "\\n" : "x") < 0)
			fail("out of memory");
	if (buf_add_string(&one, "\"}}}}\n") < 0)
		fail("out of memory");
	repeat(&one, bytes);
	buf_free(&one);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return run(argv + 2);
	if (argc > 3 && strcmp(argv[1], "trip") == 0)
		return trip(strtoul(argv[2], NULL, 10), argv + 3);
	if (argc == 2 && strcmp(argv[1], "pong") == 0)
		return pong();
	if (argc > 3 && strcmp(argv[1], "mix") == 0)
		return mix(strtoul(argv[2], NULL, 10), argv + 3);
	if (argc == 4 && strcmp(argv[1], "big") == 0)
		return big(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	fprintf(stderr, "usage: measure run|trip|pong|mix|big ...\n");
	return 2;
}
