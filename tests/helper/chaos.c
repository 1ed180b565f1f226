/*
 * chaos: kills a process of a running chain at a random moment and looks at what came through.
 *
 *   chaos agent LOG FLOOD        an agent: sends FLOOD numbered notifications, logs the numbers it gets
 *   chaos run SEED ROUNDS DIR    in each round a chain of three acp-tap around that agent, with
 *                                numbered notifications both ways; one process is killed
 *
 * What must hold: each side sees 0, 1, 2, ... with no gap and nothing doubled; what a survivor has
 * recorded it has delivered; no process is left over. Prints one line a failure; status 1 then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/bytes.h"

enum { FLOOD = 20000, LINE = 128, LITTLE = 4096, TAPS = 3 };

/* Numbered messages out of one descriptor and into another, without ever blocking on one of them. */
struct talk {
	int in, out;
	long sent, flood;
	long next;     /* the number that has to come */
	bool wrong;    /* another one came */
	struct buf read, unwritten;
	int log;
};

static void
fail(const char *what)
{
	fprintf(stderr, "chaos: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void
send_some(struct talk *t)
{
	char line[LINE];
	ssize_t r;

	while (t->unwritten.n < LITTLE && t->sent < t->flood) {
		snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"method\":\"_test/count\",\"params\":{\"n\":%ld}}\n", t->sent++);
		buf_add_string(&t->unwritten, line);
	}
	if (t->unwritten.n == 0)
		return;
	/* poll promises room for this much. */
	r = write(t->out, t->unwritten.p, t->unwritten.n < LITTLE ? t->unwritten.n : LITTLE);
	if (r < 0) {
		t->flood = t->sent;
		t->unwritten.n = 0;
		close(t->out);
		t->out = -1;
		return;
	}
	memmove(t->unwritten.p, t->unwritten.p + r, t->unwritten.n - (size_t)r);
	t->unwritten.n -= (size_t)r;
}

static void
take_line(struct talk *t, const char *line, size_t n)
{
	const char *at = memmem(line, n, "\"n\":", 4);

	if (!at)
		return;
	if (strtol(at + 4, NULL, 10) != t->next)
		t->wrong = true;
	t->next++;
}

/* A last line that lacks nothing but its newline is one; any other torn line is not. */
static void
take_last(struct talk *t)
{
	static const char end[] = "}}";

	if (t->read.n >= 2 && memcmp(t->read.p + t->read.n - 2, end, 2) == 0)
		take_line(t, t->read.p, t->read.n);
	if (t->log >= 0)
		dprintf(t->log, "%ld\n", t->next);
}

/* False at the end of input. */
static bool
take_some(struct talk *t)
{
	char bytes[65536], *newline, *from;
	ssize_t r = read(t->in, bytes, sizeof(bytes));

	if (r <= 0) {
		take_last(t);
		return false;
	}
	buf_add(&t->read, bytes, (size_t)r);
	from = t->read.p;
	while ((newline = memchr(from, '\n', (size_t)(t->read.p + t->read.n - from)))) {
		take_line(t, from, (size_t)(newline - from));
		from = newline + 1;
	}
	t->read.n -= (size_t)(from - t->read.p);
	memmove(t->read.p, from, t->read.n);
	if (t->log >= 0)
		dprintf(t->log, "%ld\n", t->next);
	return true;
}

/* Until the other side ends, or `until` numbers have come. */
static bool
talk(struct talk *t, long until)
{
	struct pollfd p[2];

	while (t->next < until) {
		p[0] = (struct pollfd){.fd = t->in, .events = POLLIN};
		p[1] = (struct pollfd){.fd = t->out, .events = t->unwritten.n || t->sent < t->flood ? POLLOUT : 0};
		if (t->out < 0 || (p[1].events == 0))
			p[1].fd = -1;
		if (poll(p, 2, -1) < 0)
			fail("poll");
		if (p[1].revents)
			send_some(t);
		if (p[0].revents && !take_some(t))
			return false;
	}
	return true;
}

static int
agent(const char *log, long flood)
{
	struct talk t = {.in = 0, .out = 1, .flood = flood, .log = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600)};

	signal(SIGPIPE, SIG_IGN);
	talk(&t, 1L << 40);
	buf_free(&t.read);
	buf_free(&t.unwritten);
	return 0;
}

/* --- the rounds --- */

struct round {
	char dir[512];
	char marker[64];
	pid_t conduct;
	struct talk client;
	const char *victim;
	int tap;       /* which one of the three was killed, or -1 */
	bool conductor, killed_agent;
};

static long
count_in(const struct round *r, const char *file, const char *what)
{
	char path[600], *line = NULL;
	size_t cap = 0;
	long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (getline(&line, &cap, f) > 0)
		if (strstr(line, what) && strstr(line, "\"n\":") && line[strlen(line) - 1] == '\n')
			n++;
	free(line);
	fclose(f);
	return n;
}

/* The last number that the agent's log has. */
static long
agent_got(const struct round *r)
{
	char path[600], line[64];
	long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/agent.log", r->dir);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n = strtol(line, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* What the round before has left would be taken for this one's. */
static void
clear(const struct round *r)
{
	static const char *const files[] = {"0.rec", "1.rec", "2.rec", "agent.log"};
	char path[600];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		unlink(path);
	}
}

static void
start(struct round *r, const char *self)
{
	int down[2], up[2], err;
	char taps[TAPS][600], log[600], flood[16], path[600];

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		fail("pipe");
	for (int i = 0; i < TAPS; i++)
		snprintf(taps[i], sizeof(taps[i]), "acp-tap -o %s/%d.rec", r->dir, i);
	snprintf(log, sizeof(log), "%s/agent.log", r->dir);
	snprintf(path, sizeof(path), "%s/stderr", r->dir);
	snprintf(flood, sizeof(flood), "%d", FLOOD);
	r->conduct = fork();
	if (r->conduct < 0)
		fail("fork");
	if (r->conduct == 0) {
		setenv("ACP_CHAOS", r->marker, 1);
		err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0 || dup2(err, 2) < 0)
			_exit(2);
		execlp("acp-conduct", "acp-conduct", "--on-crash", "fail", "--grace", "20s", "-f", taps[0], "-f", taps[1], "-f", taps[2], "--",
			self, "agent", log, flood, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	r->client = (struct talk){.in = up[0], .out = down[1], .flood = FLOOD, .log = -1};
}

/* The process of this round whose command line has all of these words, or 0; any with what NULL. */
static pid_t
find(const struct round *r, const char *what)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char path[300], bytes[65536];
	ssize_t n, i;
	pid_t found = 0;
	int fd;

	while (!found && (e = readdir(proc))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
		close(fd);
		if (n <= 0 || !memmem(bytes, (size_t)n, r->marker, strlen(r->marker)))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);
		close(fd);
		for (i = 0; i < n; i++)
			if (bytes[i] == '\0')
				bytes[i] = ' ';
		if (n > 0)
			bytes[n] = '\0';
		if (!what || (n > 0 && strstr(bytes, what) && strncmp(bytes, "acp-conduct", 11) != 0))
			found = (pid_t)strtol(e->d_name, NULL, 10);
	}
	closedir(proc);
	return found;
}

static void
kill_one(struct round *r, unsigned which)
{
	static const char *const names[] = {"/0.rec", "/1.rec", "/2.rec", "/agent.log", "conductor"};
	pid_t pid;

	r->victim = names[which % 5];
	r->tap = which % 5 < TAPS ? (int)(which % 5) : -1;
	r->conductor = which % 5 == 4;
	r->killed_agent = which % 5 == 3;
	pid = r->conductor ? r->conduct : find(r, r->victim);
	if (pid <= 0 || kill(pid, SIGKILL) < 0)
		fail(r->victim);
}

/* Bounded: the guardian takes up to two seconds. */
static bool
all_gone(const struct round *r)
{
	struct timespec little = {0, 20 * 1000 * 1000};

	for (int i = 0; i < 1000; i++) {
		if (!find(r, NULL))
			return true;
		nanosleep(&little, NULL);
	}
	return false;
}

static bool
expect(const struct round *r, bool ok, const char *what)
{
	if (!ok)
		printf("%s: killed %s: %s\n", r->marker, r->victim, what);
	return ok;
}

static bool
judge(const struct round *r)
{
	static const char *const recs[] = {"0.rec", "1.rec", "2.rec"};
	const char *up = "\"from\":\"agent\"", *down = "\"from\":\"client\"";
	char text[128];
	bool ok = expect(r, !r->client.wrong, "what the client got has a gap or a double");
	long before, got = agent_got(r);

	ok &= expect(r, all_gone(r), "a process is left over");
	ok &= expect(r, got <= r->client.sent, "the agent got more than was sent");
	if (r->conductor)
		return ok;
	/* Each survivor above the dead one delivered all that it had read; likewise below it. */
	for (int i = 0; i < TAPS && i != r->tap; i++) {
		before = count_in(r, recs[i], up);
		snprintf(text, sizeof(text), "filter %d had read %ld on the way up, the client got %ld", i, before, r->client.next);
		ok &= expect(r, before == r->client.next, text);
	}
	for (int i = TAPS - 1; i >= 0 && i != r->tap && !r->killed_agent; i--) {
		before = count_in(r, recs[i], down);
		snprintf(text, sizeof(text), "filter %d had read %ld on the way down, the agent got %ld", i, before, got);
		ok &= expect(r, before == got, text);
	}
	return ok;
}

static bool
play(unsigned *seed, int number, const char *dir, const char *self)
{
	struct round r = {.tap = -1};
	long when;
	bool ok;

	snprintf(r.dir, sizeof(r.dir), "%s", dir);
	snprintf(r.marker, sizeof(r.marker), "chaos-%d-%d", (int)getpid(), number);
	clear(&r);
	start(&r, self);
	when = 1 + rand_r(seed) % (FLOOD - 1);
	if (!talk(&r.client, when)) {
		printf("%s: the chain ended before anything was killed\n", r.marker);
		exit(1);
	}
	kill_one(&r, (unsigned)rand_r(seed));
	talk(&r.client, 1L << 40);
	close(r.client.in);
	if (r.client.out >= 0)
		close(r.client.out);
	waitpid(r.conduct, NULL, 0);
	ok = judge(&r);
	buf_free(&r.client.read);
	buf_free(&r.client.unwritten);
	return ok;
}

int
main(int argc, char **argv)
{
	unsigned seed;
	int rounds, bad = 0;

	if (argc == 4 && strcmp(argv[1], "agent") == 0)
		return agent(argv[2], strtol(argv[3], NULL, 10));
	if (argc != 5 || strcmp(argv[1], "run") != 0) {
		fprintf(stderr, "usage: chaos run SEED ROUNDS DIR\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	seed = (unsigned)strtoul(argv[2], NULL, 10);
	rounds = atoi(argv[3]);
	printf("seed %u\n", seed);
	for (int i = 0; i < rounds; i++)
		if (!play(&seed, i, argv[4], argv[0]) && ++bad == 1 && getenv("ACP_CHAOS_STOP"))
			break;
	printf("%d rounds, %d bad\n", rounds, bad);
	return bad > 0;
}
