/*
 * storm: makes components of a running chain fail while turns stream, and looks at what comes through.
 *
 *   storm agent                    an agent: streams UPDATES numbered updates for each prompt, asks the client in the middle
 *                                  of it, and then responds; a prompt that says stay ends only when it is cancelled
 *   storm run SEED FAULTS KINDS COMMAND...
 *                                  a client of that command, with OPEN prompts at a time and cancellations; random children
 *                                  of it that are called acp-tap, acp-share or faulty fail in one of these ways (kill,segv,
 *                                  stop,exit,close,half,garbage; the last four only faulty can) so often, or until none is left
 *
 * What must hold: each request of either side gets one response, and one that is cancelled ends; no update is doubled, none
 * comes out of order or after its turn's response. Prints a line for each failure and a sum at the end; status 1 where anything
 * failed. STORM_FAIL=1: the first fault may end the chain, after it has responded to everything. STORM_STOP: how long one is
 * stopped, ms (200).
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

enum { UPDATES = 100, AT_ONCE = 16, OPEN = 8, VICTIMS = 64, BETWEEN = 1000 /* lines at most between two faults */, TRIES = 100 };

static void
fail(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	exit(2);
}

static long
number(const char *line, const char *name)
{
	const char *p = strstr(line, name);

	return p ? strtol(p + strlen(name), NULL, 10) : -1;
}

static long
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool
is_readable(int fd, int patience)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, patience) > 0;
}

/* The next line that has been read, without its newline; NULL: none. It stays until the next call. */
static char *
next_line(struct buf *in, size_t *taken)
{
	char *newline;

	if (in->n == 0)
		return NULL;
	memmove(in->p, in->p + *taken, in->n - *taken);
	in->n -= *taken;
	newline = memchr(in->p, '\n', in->n);
	*taken = newline ? (size_t)(newline - in->p) + 1 : 0;
	if (newline)
		*newline = '\0';
	return newline ? in->p : NULL;
}

/* False at the end. */
static bool
read_more(int fd, struct buf *in)
{
	ssize_t r;

	if (buf_reserve(in, 65536) < 0)
		fail("memory");
	r = read(fd, in->p + in->n, 65536);
	in->n += r > 0 ? (size_t)r : 0;
	return r > 0;
}

/* --- the agent --- */

struct turn {
	long id, turn, k;
	bool stays, asked, waits;
	struct turn *next;
};

static void
respond(struct turn **at, const char *how, long value)
{
	struct turn *t = *at;

	printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"%s\":{\"turn\":%ld,\"code\":%ld,\"message\":\"\"}}\n", t->id, how, t->turn, value);
	if (t->waits)
		printf("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"a%ld\"}}\n", t->turn);
	*at = t->next;
	free(t);
}

static void
step(struct turn **at)
{
	struct turn *t = *at;
	int n;

	if (t->k == UPDATES / 2 && !t->asked) {
		t->asked = t->waits = true;
		printf("{\"jsonrpc\":\"2.0\",\"id\":\"a%ld\",\"method\":\"_test/ask\",\"params\":{\"ask\":%ld}}\n", t->turn, t->turn);
	} else if (t->k < UPDATES) {
		for (n = 0; n < AT_ONCE && t->k < UPDATES && (t->k != UPDATES / 2 || t->asked); n++)
			printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"turn\":%ld,\"k\":%ld}}\n", t->turn, t->k++);
	} else if (!t->stays) {
		respond(at, "result", UPDATES);
	}
}

static bool
may_step(const struct turn *t)
{
	return !t->waits && (t->k < UPDATES || !t->stays);
}

/* A request that is no prompt: a guest's, whose id is a string where no proxy is between. */
static void
respond_to_other(const char *line)
{
	const char *id = strstr(line, "\"id\":");
	int n = id ? (int)strcspn(id, ",}") : 0;

	if (id)
		printf("{\"jsonrpc\":\"2.0\",%.*s,\"result\":{}}\n", n, id);
}

/* What the client has sent. Counts its responses. */
static void
hear(struct turn **turns, const char *line, long *open)
{
	const char *answer = strstr(line, "\"method\"") ? NULL : strstr(line, "\"id\":\"a");
	long id = number(line, "\"id\":"), cancelled = number(line, "\"requestId\":"), turn;
	struct turn *t, **at;

	if (answer) {
		turn = strtol(answer + 7, NULL, 10);
		--*open;
		for (t = *turns; t; t = t->next)
			if (t->turn == turn)
				t->waits = false;
	} else if (cancelled >= 0) {
		for (at = turns; *at && (*at)->id != cancelled; at = &(*at)->next)
			;
		if (*at)
			respond(at, "error", -32800);
	} else if (strstr(line, "session/prompt")) {
		t = calloc(1, sizeof(*t));
		if (!t)
			fail("calloc");
		*t = (struct turn){.id = id, .turn = number(line, "\"turn\":"), .stays = strstr(line, "\"stay\":true"), .next = *turns};
		*turns = t;
	} else if (strstr(line, "\"method\"")) {
		respond_to_other(line);
	}
}

static int
agent(void)
{
	struct turn *turns = NULL, **at;
	struct buf in = {0};
	size_t taken = 0;
	long open = 0;
	bool busy = false;
	char *line;

	for (;;) {
		fflush(stdout);
		if (is_readable(0, busy ? 0 : -1) && !read_more(0, &in))
			break;
		while ((line = next_line(&in, &taken)))
			hear(&turns, line, &open);
		busy = false;
		for (at = &turns; *at;) {
			struct turn *t = *at;
			bool asked = t->asked;

			if (may_step(t)) {
				step(at);
				busy = true;
			}
			if (*at == t) {
				open += t->asked && !asked;
				at = &t->next;
			}
		}
	}
	buf_free(&in);
	while (turns) {
		struct turn *t = turns;

		turns = t->next;
		free(t);
	}
	if (open != 0)
		fprintf(stderr, "storm: %ld requests of the agent have not had one response\n", open);
	return open != 0 && !getenv("STORM_FAIL") ? 3 : 0;
}

/* --- the client --- */

struct request {
	int answers;
	bool final;     /* by a response of the agent's */
	bool stays, cancelled;
	long next;      /* the smallest number that its next update may have */
	long updates;
};

struct stopped {
	pid_t pid;
	long until;
};

struct storm {
	struct request *requests;
	long sent, answered, cap, refused, cancelled, lost, bad;
	long asked[OPEN * 4];
	size_t nasked;
	struct stopped stopped[VICTIMS];
	size_t nstopped;
	long faults, done, missed;
	bool may_end;  /* at the first fault ... */
	long before;   /* ... after so many requests */
	const char *kinds;
	int to, from;
	pid_t chain;
};

static const struct {
	const char *name;
	int signal; /* from SIGRTMIN on, where it is negative: -1 is that */
} kinds[] = {{"kill", SIGKILL}, {"segv", SIGSEGV}, {"stop", SIGSTOP}, {"exit", -1}, {"close", -2}, {"half", -3}, {"garbage", -4}};

enum { KINDS = sizeof(kinds) / sizeof(*kinds), SHARED = 3 /* that every program can do */ };

static void
start(struct storm *s, char **argv)
{
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		fail("pipe");
	s->chain = fork();
	if (s->chain < 0)
		fail("fork");
	if (s->chain == 0) {
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0)
			fail("dup2");
		execvp(argv[0], argv);
		fail(argv[0]);
	}
	close(down[0]);
	close(up[1]);
	s->to = down[1];
	s->from = up[0];
}

static void
say(struct storm *s, const char *format, long a, long b, const char *c)
{
	/* A chain that has ended shows at its other side. */
	dprintf(s->to, format, a, b, c);
}

static void
prompt(struct storm *s)
{
	struct request *r;

	if (s->sent == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 1024;
		s->requests = realloc(s->requests, (size_t)s->cap * sizeof(*s->requests));
		if (!s->requests)
			fail("realloc");
	}
	r = &s->requests[s->sent];
	*r = (struct request){.stays = rand() % 8 == 0};
	say(s, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"turn\":%ld,\"stay\":%s}}\n",
		s->sent + 1, s->sent, r->stays ? "true" : "false");
	s->sent++;
}

static void
cancel(struct storm *s, long request)
{
	s->requests[request].cancelled = true;
	say(s, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":%ld}}\n", request + 1, 0, NULL);
}

static void
answer_all(struct storm *s)
{
	while (s->nasked > 0)
		say(s, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{}}\n", s->asked[--s->nasked], 0, NULL);
}

static void
bad(struct storm *s, const char *what, const char *line)
{
	printf("%s: %s\n", what, line);
	s->bad++;
}

static void
take_update(struct storm *s, const char *line, long turn, long k)
{
	struct request *r = turn >= 0 && turn < s->sent ? &s->requests[turn] : NULL;

	if (!r || k < r->next) {
		bad(s, "doubled or out of order", line);
	} else if (r->final) {
		bad(s, "after its turn's response", line);
	} else {
		r->next = k + 1;
		r->updates++;
	}
}

static void
take_response(struct storm *s, const char *line, long id)
{
	struct request *r = id >= 0 && id < s->sent ? &s->requests[id] : NULL;
	long turn = number(line, "\"turn\":");
	bool result = strstr(line, "\"result\"") != NULL, ended = strstr(line, "-32800") != NULL;

	if (!r || r->answers++ > 0 || (turn >= 0 && turn != id) || (result && r->stays) || (ended && !r->cancelled)) {
		bad(s, "not a response to an open request", line);
		return;
	}
	r->final = turn >= 0;
	s->refused += !result && !ended;
	s->cancelled += ended;
	s->lost += result ? UPDATES - r->updates : 0;
	s->answered++;
}

static void
take(struct storm *s, const char *line)
{
	long id = number(line, "\"id\":"), turn = number(line, "\"turn\":"), k = number(line, "\"k\":"), ask = number(line, "\"ask\":");

	if (ask >= 0) {
		/* The conductor gives the request an id of its own. */
		if (s->nasked == OPEN * 4)
			answer_all(s);
		s->asked[s->nasked++] = id;
	} else if (k >= 0) {
		take_update(s, line, turn, k);
	} else if (id > 0) {
		take_response(s, line, id - 1);
	}
}

static bool
can_fail(const char *name)
{
	return strcmp(name, "acp-tap\n") == 0 || strcmp(name, "acp-share\n") == 0 || strcmp(name, "faulty\n") == 0;
}

/* The children of the chain that can fail. */
static int
find_victims(const struct storm *s, pid_t *victims, bool *faulty)
{
	char path[64], name[32];
	int n = 0, pid;
	FILE *f, *comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", s->chain, s->chain);
	f = fopen(path, "r");
	while (f && n < VICTIMS && fscanf(f, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "r");
		if (!comm)
			continue;
		if (fgets(name, sizeof(name), comm) && can_fail(name)) {
			faulty[n] = name[0] == 'f';
			victims[n++] = pid;
		}
		fclose(comm);
	}
	if (f)
		fclose(f);
	return n;
}

static void
make_fail(struct storm *s)
{
	const char *stop = getenv("STORM_STOP");
	pid_t victims[VICTIMS];
	bool faulty[VICTIMS];
	int n = find_victims(s, victims, faulty), who, how;

	if (n == 0) {
		s->missed++;
		return;
	}
	who = rand() % n;
	do
		how = rand() % KINDS;
	while (!strstr(s->kinds, kinds[how].name) || (how >= SHARED && !faulty[who]));
	if (kinds[how].signal == SIGSTOP && s->nstopped < VICTIMS)
		s->stopped[s->nstopped++] = (struct stopped){victims[who], now_ms() + (stop ? strtol(stop, NULL, 10) : 200)};
	else if (s->before == 0)
		s->before = s->sent;
	s->missed = 0;
	s->done += kill(victims[who], kinds[how].signal < 0 ? SIGRTMIN - 1 - kinds[how].signal : kinds[how].signal) == 0;
}

/* Lets those go on whose time has come. The ms until the next one's has; -1: there is none. */
static int
wake(struct storm *s)
{
	long now = now_ms(), first = -1;
	size_t i;

	for (i = 0; i < s->nstopped;) {
		if (s->stopped[i].until <= now) {
			kill(s->stopped[i].pid, SIGCONT);
			s->stopped[i] = s->stopped[--s->nstopped];
			continue;
		}
		if (first < 0 || s->stopped[i].until - now < first)
			first = s->stopped[i].until - now;
		i++;
	}
	return (int)first;
}

/* There is nothing to read: everybody may wait for the client. */
static void
go_on(struct storm *s)
{
	long i;

	answer_all(s);
	for (i = 0; i < s->sent; i++)
		if (s->requests[i].stays && !s->requests[i].cancelled && s->requests[i].answers == 0)
			cancel(s, i);
}

static bool
is_over(const struct storm *s)
{
	return s->done >= s->faults || s->missed >= TRIES;
}

/* Until all is answered, or the chain has ended: false. */
static bool
play(struct storm *s, struct buf *in, size_t *taken)
{
	long next = 1 + rand() % BETWEEN, after = 0, some;
	char *line;

	/* A few more after the last fault: whoever has passed them on has been started again. */
	while (!is_over(s) || after < OPEN || s->answered < s->sent) {
		/* A chain that is ending is not asked more. */
		if (s->may_end && s->refused > 0)
			after = OPEN;
		for (; after < OPEN && s->sent - s->answered < OPEN; after += is_over(s))
			prompt(s);
		line = next_line(in, taken);
		if (!line) {
			if (!is_readable(s->from, 0))
				go_on(s);
			if (is_readable(s->from, wake(s)) && !read_more(s->from, in))
				return false;
			continue;
		}
		take(s, line);
		if (rand() % 8 == 0)
			answer_all(s);
		some = s->sent - 1 - rand() % OPEN;
		if (some >= 0 && s->requests[some].answers == 0 && !s->requests[some].cancelled && rand() % 512 == 0)
			cancel(s, some);
		if (!is_over(s) && --next <= 0) {
			next = s->missed ? 1 : 1 + rand() % BETWEEN;
			make_fail(s);
		}
		wake(s);
	}
	/* Its responses are the last that it says before it leaves. */
	answer_all(s);
	return true;
}

static int
run(unsigned seed, struct storm *s, char **argv)
{
	bool ended;
	struct buf in = {0};
	size_t taken = 0;
	char *line;
	int status;
	long i;

	srand(seed);
	signal(SIGPIPE, SIG_IGN);
	start(s, argv);
	say(s, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n", 0, 0, NULL);
	while (!(line = next_line(&in, &taken)))
		if (!read_more(s->from, &in))
			fail("initialize");
	if (!strstr(line, "\"result\""))
		fail(line);
	ended = !play(s, &in, &taken);
	while (wake(s) >= 0)
		poll(NULL, 0, 10);
	close(s->to);
	while (ended ? false : read_more(s->from, &in))
		;
	while ((line = next_line(&in, &taken)))
		take(s, line);
	if (ended && !s->may_end)
		bad(s, "the chain ended", "");
	/* What is sent to a chain that is ending may find nobody. */
	for (i = 0; i < (ended ? s->before : s->sent); i++)
		if (s->requests[i].answers == 0)
			bad(s, "a request has no response", "");
	/* A chain that has failed may respond to everything before its output ends: then `ended` is not set. */
	if (waitpid(s->chain, &status, 0) < 0 || (status != 0 && !ended && !s->may_end))
		bad(s, "the chain's status is not 0", "");
	printf("seed %u: %ld faults, %ld requests, %ld of them refused, %ld cancelled, %ld updates lost, %ld bad\n", seed, s->done, s->sent,
		s->refused, s->cancelled, s->lost, s->bad);
	free(s->requests);
	buf_free(&in);
	return s->bad > 0;
}

int
main(int argc, char **argv)
{
	struct storm s = {.may_end = getenv("STORM_FAIL")};

	if (argc == 2 && strcmp(argv[1], "agent") == 0)
		return agent();
	if (argc >= 6 && strcmp(argv[1], "run") == 0) {
		s.faults = strtol(argv[3], NULL, 10);
		s.kinds = strcmp(argv[4], "all") == 0 ? "kill,segv,stop,exit,close,half,garbage" : argv[4];
		return run((unsigned)strtoul(argv[2], NULL, 10), &s, argv + 5);
	}
	fprintf(stderr, "usage: storm agent | storm run SEED FAULTS KINDS COMMAND...\n");
	return 2;
}
