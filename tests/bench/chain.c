/*
 * chain: what the benchmarks of proxy chains time with.
 *
 *   chain agent                        answers each request; a prompt with "updates":N and "size":S behind so many
 *                                      session/update notifications of so many bytes
 *   chain proxy                        a proxy that costs next to nothing
 *   chain star K                       a chain of K proxies without any JSON, in front of `chain agent`: what such
 *                                      processes cost that only read, look at one byte, and write
 *   chain echo                         one of those proxies
 *   chain trip N COMMAND...            N requests, each when the last is answered. Prints the median, the median of the
 *                                      first and of the last tenth (us), and the command's peak memory (KiB)
 *   chain stream N SIZE PAUSE COMMAND...   a prompt with N updates of SIZE bytes, with a pause (us) after each 64 KiB
 *                                      read. Prints messages and megabytes a second, and the command's peak memory (KiB)
 *   chain first N COMMAND...           N times: how long from its start to its first answer. Prints the median (ms)
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/acp/msg.h"

enum { BLOCK = 64 * 1024, STAR_MOST = 64 };

static const char session[] = "68eb7d40-5122-4bb7-8318-91f63ac071f4";

static void
fail(const char *what)
{
	fprintf(stderr, "chain: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
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
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static double
median(double *times, size_t n)
{
	qsort(times, n, sizeof(*times), compare);
	return times[n / 2];
}

/* --- whole lines --- */

struct lines {
	int fd;
	char *p;
	size_t start, end, cap;
};

/* The next line without its newline; p NULL at the end. It stays until the next call. */
static struct slice
next_line(struct lines *l)
{
	size_t searched = l->start;
	char *newline;
	ssize_t r;

	for (;;) {
		newline = l->end > searched ? memchr(l->p + searched, '\n', l->end - searched) : NULL;
		if (newline) {
			struct slice line = slice_between(l->p + l->start, newline);

			l->start = (size_t)(newline + 1 - l->p);
			return line;
		}
		searched = l->end - l->start;
		if (l->start)
			memmove(l->p, l->p + l->start, l->end - l->start);
		l->end -= l->start;
		l->start = 0;
		if (l->cap - l->end < BLOCK) {
			l->cap = l->cap * 2 + BLOCK;
			l->p = realloc(l->p, l->cap);
			if (!l->p)
				fail("realloc");
		}
		r = read(l->fd, l->p + l->end, BLOCK);
		if (r < 0)
			fail("read");
		if (r == 0)
			return slice(NULL, 0);
		l->end += (size_t)r;
	}
}

static bool
more_lines(const struct lines *l)
{
	return l->end > l->start && memchr(l->p + l->start, '\n', l->end - l->start);
}

static long
member(struct msg *m, const char *name)
{
	struct slice value = json_type(m->params) == JSON_OBJECT ? json_get(m->params, name) : slice(NULL, 0);

	return value.p ? strtol(value.p, NULL, 10) : 0;
}

/* --- agent --- */

static void
send_updates(long n, long size)
{
	struct buf b = {0};
	long i;

	buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\",\"update\":"
		"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"", session);
	while (b.n + 6 < (size_t)size)
		if (buf_add(&b, "x", 1) < 0)
			fail("out of memory");
	buf_add_string(&b, "\"}}}}\n");
	for (i = 0; i < n; i++)
		if (fwrite(b.p, b.n, 1, stdout) != 1)
			fail("write");
	buf_free(&b);
}

static int
agent(void)
{
	struct lines in = {.fd = 0};
	struct json_error error;
	struct slice line;
	struct msg m;

	setvbuf(stdout, NULL, _IOFBF, BLOCK);
	while ((line = next_line(&in)).p) {
		if (msg_scan(line, &m, &error) != MSG_REQUEST)
			continue;
		send_updates(member(&m, "updates"), member(&m, "size"));
		printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{},\"stopReason\":\"end_turn\"}}\n",
			(int)m.id.n, m.id.p);
		fflush(stdout);
	}
	return 0;
}

/* --- proxy --- */

/*
 * Ids may stay: what it asks is always what it was asked, and either side numbers its own questions. So an answer is
 * written back as it came.
 */
static void
turn(struct slice line, enum acp_dialect *dialect, struct buf *to)
{
	static const char initialize[] = "\"initialize\"";
	static struct buf with;
	struct splices s = {.n = 0};
	struct buf plain = {0};
	struct json_error error;
	struct msg m, inner;
	const char *why;

	msg_scan(line, &m, &error);
	with.n = 0;
	/* Asked so, it says `initialize` inside. */
	if (m.what == ACP_PROXY_INITIALIZE) {
		*dialect = acp_dialect(m.method);
		splice_value(&s, m.method, slice_of(initialize));
		splice_write(line, s.at, s.n, &plain);
		turn(buf_slice(&plain), dialect, to);
		buf_free(&plain);
		return;
	}
	if (m.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m, &inner, NULL, &why) == 0)
		msg_unwrap(&m, &inner, &s);
	else if (m.method.p)
		msg_wrap(&m, *dialect, NULL, &s, &with);
	if (splice_write(line, s.at, s.n, to) < 0)
		fail("out of memory");
}

static int
proxy(void)
{
	struct lines in = {.fd = 0};
	enum acp_dialect dialect = ACP_PLAIN;
	struct buf out = {0};
	struct slice line;

	while ((line = next_line(&in)).p) {
		turn(line, &dialect, &out);
		buf_add(&out, "\n", 1);
		if (more_lines(&in) && out.n < BLOCK)
			continue;
		write_all(1, out.p, out.n);
		out.n = 0;
	}
	return 0;
}

/* --- star --- */

struct child {
	pid_t pid;
	int to, from;
};

static struct child
start(char *const *argv)
{
	int down[2], up[2];
	struct child c;

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		fail("pipe");
	c = (struct child){fork(), down[1], up[0]};
	if (c.pid < 0)
		fail("fork");
	if (c.pid == 0) {
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0)
			fail("dup2");
		execvp(argv[0], argv);
		fail(argv[0]);
	}
	close(down[0]);
	close(up[1]);
	return c;
}

static int
echo(void)
{
	char block[BLOCK];
	ssize_t r;

	while ((r = read(0, block, sizeof(block))) > 0)
		write_all(1, block, (size_t)r);
	return 0;
}

/* Its messages come one at a time. The first byte of one that a proxy has tells where it goes: to the agent or the client. */
static int
star(size_t k)
{
	static char self[] = "/proc/self/exe", echo_word[] = "echo", agent_word[] = "agent";
	char *const echo_argv[] = {self, echo_word, NULL}, *const agent_argv[] = {self, agent_word, NULL};
	struct child at[STAR_MOST + 2] = {{0, 1, 0}};
	struct pollfd fds[STAR_MOST + 2];
	char block[BLOCK];
	ssize_t r;
	size_t i, to;

	if (k > STAR_MOST)
		return 2;
	for (i = 1; i <= k + 1; i++)
		at[i] = start(i <= k ? echo_argv : agent_argv);
	for (i = 0; i <= k + 1; i++)
		fds[i] = (struct pollfd){.fd = at[i].from, .events = POLLIN};
	for (;;) {
		if (poll(fds, k + 2, -1) < 0)
			fail("poll");
		for (i = 0; i <= k + 1; i++) {
			if (!fds[i].revents)
				continue;
			r = read(at[i].from, block, sizeof(block));
			if (r <= 0)
				return 0;
			to = i == 0 ? 1 : i == k + 1 ? k : block[0] == ' ' ? i + 1 : i - 1;
			block[0] = i == 0 ? ' ' : i == k + 1 ? '{' : block[0];
			if (to == k + 1 || to == 0)
				block[0] = '{';
			write_all(at[to].to, block, (size_t)r);
		}
	}
}

/* --- client --- */

static void
ask(int fd, size_t id, const char *method, const char *params)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":%s}\n", id, method, params);

	write_all(fd, line, (size_t)n);
}

static void
expect_answer(struct lines *in)
{
	struct slice line = next_line(in);

	if (!line.p || !memmem(line.p, line.n, "\"result\"", 8)) {
		fprintf(stderr, "chain: not answered: %.*s\n", (int)line.n, line.p ? line.p : "");
		exit(1);
	}
}

static struct child
begin(char *const *argv, struct lines *in)
{
	struct child c = start(argv);

	*in = (struct lines){.fd = c.from};
	ask(c.to, 0, "initialize", "{\"protocolVersion\":1,\"clientCapabilities\":{}}");
	expect_answer(in);
	return c;
}

static long
peak_memory(pid_t pid)
{
	char path[64], line[128];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static void
end(struct child *c, struct lines *in)
{
	close(c->to);
	while (next_line(in).p)
		;
	close(c->from);
	waitpid(c->pid, NULL, 0);
	free(in->p);
}

static int
trip(size_t n, char **argv)
{
	char params[256];
	double *times = calloc(n, sizeof(*times)), first, last, began;
	struct lines in;
	struct child c;
	long kib;
	size_t i;

	if (!times || n < 10)
		return 2;
	snprintf(params, sizeof(params), "{\"sessionId\":\"%s\",\"prompt\":[{\"type\":\"text\",\"text\":\"hello\"}]}", session);
	c = begin(argv, &in);
	for (i = 0; i < n; i++) {
		began = now();
		ask(c.to, i + 1, "session/prompt", params);
		expect_answer(&in);
		times[i] = now() - began;
	}
	kib = peak_memory(c.pid);
	end(&c, &in);
	first = median(times, n / 10);
	last = median(times + n - n / 10, n / 10);
	printf("%.1f %.1f %.1f %ld\n", median(times, n) * 1e6, first * 1e6, last * 1e6, kib);
	free(times);
	return 0;
}

static int
stream(long n, long size, long pause_us, char **argv)
{
	struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
	char params[256];
	struct lines in;
	struct child c = begin(argv, &in);
	double began = now(), took;
	struct slice line;
	long seen = 0, kib;

	snprintf(params, sizeof(params), "{\"sessionId\":\"%s\",\"prompt\":[],\"updates\":%ld,\"size\":%ld}", session, n, size);
	ask(c.to, 1, "session/prompt", params);
	while ((line = next_line(&in)).p && !memmem(line.p, line.n < 400 ? line.n : 400, "\"result\"", 8)) {
		seen++;
		if (pause_us && !more_lines(&in))
			nanosleep(&pause, NULL);
	}
	took = now() - began;
	kib = peak_memory(c.pid);
	if (!line.p || seen != n) {
		fprintf(stderr, "chain: %ld of %ld updates\n", seen, n);
		return 1;
	}
	end(&c, &in);
	printf("%.0f %.1f %ld\n", (double)n / took, (double)n * (double)size / took / 1e6, kib);
	return 0;
}

static int
first(size_t n, char **argv)
{
	double *times = calloc(n, sizeof(*times)), began;
	struct lines in;
	struct child c;
	size_t i;

	if (!times)
		return 2;
	for (i = 0; i < n; i++) {
		began = now();
		c = begin(argv, &in);
		times[i] = now() - began;
		end(&c, &in);
	}
	printf("%.2f\n", median(times, n) * 1e3);
	free(times);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "agent") == 0)
		return agent();
	if (strcmp(what, "proxy") == 0)
		return proxy();
	if (strcmp(what, "echo") == 0)
		return echo();
	if (strcmp(what, "star") == 0 && argc == 3)
		return star(strtoul(argv[2], NULL, 10));
	if (strcmp(what, "trip") == 0 && argc > 3)
		return trip(strtoul(argv[2], NULL, 10), argv + 3);
	if (strcmp(what, "stream") == 0 && argc > 5)
		return stream(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), argv + 5);
	if (strcmp(what, "first") == 0 && argc > 3)
		return first(strtoul(argv[2], NULL, 10), argv + 3);
	fprintf(stderr, "usage: chain agent|proxy|star|trip|stream|first ...\n");
	return 2;
}
