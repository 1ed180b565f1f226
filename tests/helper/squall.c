/*
 * squall: kills filters of a running chain, again and again, and looks at what comes through.
 *
 *   squall agent LOG             an agent: sends numbered messages until it is told to stop, logs the numbers it gets
 *   squall run SEED KILLS DIR    rounds of a chain of three acp-tap around that agent, with numbered messages both
 *                                ways; in each round some of the three are victims, and killed a few times
 *
 * What must hold: numbers rise, so nothing is doubled; a line is whole, or empty, or the beginning of one, never the
 * end of one or two in one; between two that were not killed nothing is missing where no victim stands; each death is
 * told; the client can still talk with the agent afterwards, and the chain ends with 0.
 */
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

enum { FILTERS = 3, KILLS = 5, LITTLE = 4096, PATIENCE = 300 /* ms */ };

static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"_test/count\",\"params\":{\"n\":";
static const char stop[] = "{\"jsonrpc\":\"2.0\",\"method\":\"_test/stop\"}\n";

/* Numbered messages out of one descriptor, and in from another. */
struct talk {
	int in, out;
	bool sending;
	long sent, next, torn, bad;
	bool stopped;  /* the other side has said it */
	struct buf read, unwritten;
	FILE *got;
};

static void
fail(const char *what)
{
	fprintf(stderr, "squall: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* Most are short; some do not fit into a pipe. */
static void
queue_next(struct talk *t)
{
	size_t pad = t->sent % 997 == 996 ? 150000 : (size_t)(t->sent * 7919 % 400);
	char *x = malloc(pad + 1);

	if (!x)
		fail("malloc");
	memset(x, 'x', pad);
	x[pad] = '\0';
	buf_printf(&t->unwritten, "%s%ld,\"pad\":\"%s\"}}\n", head, t->sent++, x);
	free(x);
}

static void
send_some(struct talk *t)
{
	ssize_t r;

	while (t->sending && t->unwritten.n < LITTLE)
		queue_next(t);
	if (t->unwritten.n == 0)
		return;
	r = write(t->out, t->unwritten.p, t->unwritten.n < LITTLE ? t->unwritten.n : LITTLE);
	if (r < 0)
		fail("write");
	memmove(t->unwritten.p, t->unwritten.p + r, t->unwritten.n - (size_t)r);
	t->unwritten.n -= (size_t)r;
}

/* 1: a whole one, with its number; 0: the beginning of one; -1: neither. */
static int
look_at(const char *line, size_t n, long *number)
{
	const char *p = line, *end = line + n, *rest[] = {",\"pad\":\"", "\"}}"};
	size_t i, k;

	for (k = 0; head[k]; k++, p++)
		if (p == end || *p != head[k])
			return p == end ? 0 : -1;
	*number = strtol(p, NULL, 10);
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	for (i = 0; i < 2; i++) {
		for (k = 0; rest[i][k]; k++, p++)
			if (p == end || *p != rest[i][k])
				return p == end ? 0 : -1;
		while (i == 0 && p < end && *p == 'x')
			p++;
	}
	return p == end ? 1 : -1;
}

/*
 * Is it the beginning of a line, or none, with what acp-conduct writes to end a line of which it cannot be seen whether it has an end?
 * That may have been cut, too.
 */
static bool
is_ended_for_it(const char *line, size_t n)
{
	static const char ending[] = "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"acp-conduct\"}}";
	size_t size = sizeof(ending) - 1, part;
	long number;

	while (n >= size && memcmp(line + n - size, ending, size) == 0)
		n -= size;
	for (part = 0; part < size && part <= n; part++)
		if (memcmp(line + n - part, ending, part) == 0 && (part == n || look_at(line, n - part, &number) >= 0))
			return true;
	return false;
}

static void
take_line(struct talk *t, const char *line, size_t n)
{
	long number = -1;
	int whole;

	if (n + 1 == sizeof(stop) - 1 && memcmp(line, stop, n) == 0) {
		t->stopped = true;
		return;
	}
	whole = look_at(line, n, &number);
	if (whole == 1 && number >= t->next) {
		t->next = number + 1;
		fprintf(t->got, "%ld\n", number);
	} else if (n > 0 && (whole == 0 || is_ended_for_it(line, n))) {
		t->torn += whole == 0;
	} else if (n > 0) {
		t->bad++;
		printf("after %ld: %.*s\n", t->next - 1, (int)(n < 200 ? n : 200), line);
	}
}

/* False at the end of input. */
static bool
take_some(struct talk *t)
{
	static char bytes[65536];
	char *newline, *from;
	ssize_t r = read(t->in, bytes, sizeof(bytes));

	if (r <= 0)
		return false;
	buf_add(&t->read, bytes, (size_t)r);
	from = t->read.p;
	while ((newline = memchr(from, '\n', (size_t)(t->read.p + t->read.n - from)))) {
		take_line(t, from, (size_t)(newline - from));
		from = newline + 1;
	}
	t->read.n -= (size_t)(from - t->read.p);
	memmove(t->read.p, from, t->read.n);
	return true;
}

static long
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Once, or not at all in that time. False at the end of input. */
static bool
turn(struct talk *t, int patience)
{
	struct pollfd p[2] = {{.fd = t->in, .events = POLLIN},
		{.fd = t->unwritten.n || t->sending ? t->out : -1, .events = POLLOUT}};

	if (poll(p, 2, patience) < 0)
		fail("poll");
	if (p[1].revents)
		send_some(t);
	return !p[0].revents || take_some(t);
}

static int
agent(const char *log)
{
	struct talk t = {.in = 0, .out = 1, .sending = true, .got = fopen(log, "w")};

	if (!t.got)
		fail(log);
	while (turn(&t, -1)) {
		if (!t.stopped)
			continue;
		t.sending = t.stopped = false;
		buf_add_string(&t.unwritten, stop);
	}
	fclose(t.got);
	printf("%s", t.read.n ? "torn" : "");
	buf_free(&t.read);
	buf_free(&t.unwritten);
	return t.bad || t.read.n ? 1 : 0;
}

/* --- the rounds --- */

struct round {
	char dir[512];
	pid_t conduct;
	struct talk client;
	unsigned victims; /* a bit for each filter */
	long killed;
	int last[FILTERS]; /* whom it was last: he may still look alive */
};

static void
path_of(const struct round *r, char path[600], const char *name)
{
	snprintf(path, 600, "%s/%s", r->dir, name);
}

static void
start(struct round *r, const char *self)
{
	static const char *const files[] = {"0.rec", "1.rec", "2.rec", "agent.got", "client.got"};
	char taps[FILTERS][620], log[600], path[600];
	int down[2], up[2], err;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		path_of(r, path, files[i]);
		unlink(path);
	}
	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		fail("pipe");
	for (int i = 0; i < FILTERS; i++)
		snprintf(taps[i], sizeof(taps[i]), "acp-tap -a -o %.500s/%d.rec", r->dir, i);
	path_of(r, log, "agent.got");
	path_of(r, path, "stderr");
	r->conduct = fork();
	if (r->conduct < 0)
		fail("fork");
	if (r->conduct == 0) {
		err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0 || dup2(err, 2) < 0)
			_exit(2);
		execlp("acp-conduct", "acp-conduct", "--restarts", "1000/1m", "--grace", "20s", "-f", taps[0], "-f", taps[1], "-f",
			taps[2], "--", self, "agent", log, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	path_of(r, path, "client.got");
	r->client = (struct talk){.in = up[0], .out = down[1], .sending = true, .got = fopen(path, "w")};
	if (!r->client.got)
		fail(path);
}

/* Is the process this filter? */
static bool
is_filter(const struct round *r, pid_t pid, int filter)
{
	char path[64], name[600], command[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	snprintf(name, sizeof(name), "%.500s/%d.rec", r->dir, filter);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, command, sizeof(command));
	if (fd >= 0)
		close(fd);
	return n > 7 && memcmp(command, "acp-tap", 7) == 0 && memmem(command, (size_t)n, name, strlen(name));
}

/* It may be dead already, and not yet started again. */
static void
kill_filter(struct round *r, int filter)
{
	char path[64];
	int pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)r->conduct, (int)r->conduct);
	f = fopen(path, "r");
	if (!f)
		fail(path);
	while (fscanf(f, "%d", &pid) == 1)
		if (pid != r->last[filter] && is_filter(r, pid, filter) && kill(pid, SIGKILL) == 0) {
			r->last[filter] = pid;
			r->killed++;
		}
	fclose(f);
}

static void
kill_some(struct round *r, unsigned *seed)
{
	unsigned which = (unsigned)rand_r(seed) & r->victims;
	int i;

	if (!which)
		which = r->victims;
	for (i = 0; i < FILTERS; i++)
		if (which & 1u << i)
			kill_filter(r, i);
}

/* The numbers that a file has, of the lines with what: a byte for each. */
static char *
numbers(const struct round *r, const char *name, const char *what, size_t size)
{
	static const char key[] = "\"n\":";
	char path[600], *line = NULL, *at, *set = calloc(1, size);
	size_t cap = 0;
	long n;
	FILE *f;

	path_of(r, path, name);
	f = fopen(path, "r");
	if (!f || !set)
		fail(path);
	while (getline(&line, &cap, f) > 0) {
		at = what ? strstr(line, key) : line;
		if (!at || (what && !strstr(line, what)))
			continue;
		n = strtol(what ? at + strlen(key) : at, NULL, 10);
		if (n >= 0 && (size_t)n < size)
			set[n]++;
	}
	free(line);
	fclose(f);
	return set;
}

static bool
expect(const struct round *r, bool ok, const char *what)
{
	if (!ok)
		printf("%s: victims %u: %s\n", r->dir, r->victims, what);
	return ok;
}

/* Who has not died, in the order in which the messages come to them: what one had, the next has. */
static bool
judge_direction(const struct round *r, bool up)
{
	const char *ends[] = {"client.got", "agent.got"}, *from = up ? "\"from\":\"agent\"" : "\"from\":\"client\"";
	size_t size = 1000000;
	char name[16], text[200], *last = calloc(1, size), *set;
	bool ok = true, between = false, first = true;
	long missing;

	for (int i = 0; i <= FILTERS; i++) {
		int filter = up ? FILTERS - 1 - i : i;

		if (i < FILTERS && (r->victims & 1u << filter)) {
			between = true;
			continue;
		}
		snprintf(name, sizeof(name), "%d.rec", filter);
		set = i < FILTERS ? numbers(r, name, from, size) : numbers(r, ends[!up], NULL, size);
		missing = 0;
		for (size_t n = 0; n < size; n++) {
			if (set[n] > 1 || (!first && set[n] > last[n]))
				ok = expect(r, false, "a message is there twice, or came from nowhere");
			missing += !first && set[n] < last[n];
		}
		snprintf(text, sizeof(text), "%ld are missing %s at %s", missing, up ? "up" : "down", i < FILTERS ? name : ends[!up]);
		ok &= expect(r, missing == 0 || between, text);
		free(last);
		last = set;
		between = first = false;
	}
	free(last);
	return ok;
}

static bool
judge(const struct round *r)
{
	char path[600], text[100], *line = NULL;
	size_t cap = 0;
	long told = 0;
	bool ok;
	FILE *f;

	path_of(r, path, "stderr");
	f = fopen(path, "r");
	if (!f)
		fail(path);
	while (getline(&line, &cap, f) > 0)
		told += strstr(line, "died (signal KILL); restarting it") != NULL;
	free(line);
	fclose(f);
	snprintf(text, sizeof(text), "%ld killed, %ld told, %ld torn", r->killed, told, r->client.torn);
	ok = expect(r, told == r->killed && r->client.torn <= told, text);
	ok &= expect(r, r->client.bad == 0, "a line that nobody wrote, or one that is out of order");
	return ok & judge_direction(r, true) & judge_direction(r, false);
}

static bool
play(unsigned *seed, const char *dir, const char *self, long *killed)
{
	struct round r = {.victims = 1 + (unsigned)rand_r(seed) % 7};
	struct talk *t = &r.client;
	bool open = true;
	int status = 0;
	long when = 1, again = 0;

	snprintf(r.dir, sizeof(r.dir), "%s", dir);
	start(&r, self);
	for (int i = 0; i < KILLS && open; i++) {
		when += rand_r(seed) % 2000;
		while (open && t->next < when)
			open = turn(t, -1);
		kill_some(&r, seed);
		when = t->next + 1;
	}
	/* What tells the agent to stop, or its answer, may be in the hands of the one that was killed last. */
	t->sending = false;
	while (open && !t->stopped) {
		if (t->unwritten.n == 0 && now_ms() >= again) {
			buf_add_string(&t->unwritten, stop);
			again = now_ms() + PATIENCE;
		}
		open = turn(t, PATIENCE);
	}
	close(t->out);
	while (open && take_some(t))
		;
	close(t->in);
	fclose(t->got);
	if (waitpid(r.conduct, &status, 0) < 0)
		fail("waitpid");
	*killed += r.killed;
	buf_free(&t->read);
	buf_free(&t->unwritten);
	return expect(&r, open, "the chain ended") & expect(&r, status == 0, "the chain's status is not 0") & judge(&r);
}

int
main(int argc, char **argv)
{
	long killed = 0, rounds = 0, bad = 0, kills;
	unsigned seed;

	if (argc == 3 && strcmp(argv[1], "agent") == 0)
		return agent(argv[2]);
	if (argc != 5 || strcmp(argv[1], "run") != 0) {
		fprintf(stderr, "usage: squall agent LOG | squall run SEED KILLS DIR\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	seed = (unsigned)strtoul(argv[2], NULL, 10);
	kills = strtol(argv[3], NULL, 10);
	printf("seed %u\n", seed);
	for (; killed < kills && !(bad && getenv("ACP_SQUALL_STOP")); rounds++)
		bad += !play(&seed, argv[4], argv[0], &killed);
	printf("%ld killed in %ld rounds, %ld bad\n", killed, rounds, bad);
	return bad > 0;
}
