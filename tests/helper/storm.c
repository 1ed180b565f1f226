/*
 * storm: kills proxies of a running chain while turns stream, and looks at what comes through.
 *
 *   storm agent                  an agent: answers each prompt behind UPDATES numbered updates
 *   storm run SEED KILLS COMMAND...   a client of that command: keeps OPEN prompts going and kills a random child of it
 *                                that is called acp-tap, again and again
 *
 * What must hold: each prompt is answered once, no update is doubled, and they come in order. Prints a line for each
 * failure and a sum at the end; status 1 where anything failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UPDATES = 20, OPEN = 8, VICTIMS = 64 };

struct turn {
	int answers;
	long next; /* the smallest number that its next update may have */
};

struct storm {
	struct turn *turns;
	long sent, answered, cap, errors, updates, bad;
	FILE *to;
	pid_t chain;
};

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

static int
agent(void)
{
	char *line = NULL;
	size_t cap = 0;
	long id, turn, k;

	while (getline(&line, &cap, stdin) > 0) {
		id = number(line, "\"id\":");
		turn = number(line, "\"turn\":");
		for (k = 0; turn >= 0 && k < UPDATES; k++)
			printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"turn\":%ld,\"k\":%ld}}\n", turn, k);
		if (id >= 0)
			printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"turn\":%ld}}\n", id, turn);
		fflush(stdout);
	}
	free(line);
	return 0;
}

static void
start(struct storm *s, char **argv, FILE **from)
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
	s->to = fdopen(down[1], "w");
	*from = fdopen(up[0], "r");
	if (!s->to || !*from)
		fail("fdopen");
}

static void
prompt(struct storm *s)
{
	if (s->sent == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 1024;
		s->turns = realloc(s->turns, (size_t)s->cap * sizeof(*s->turns));
		if (!s->turns)
			fail("realloc");
	}
	s->turns[s->sent] = (struct turn){0, 0};
	fprintf(s->to, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s%ld\",\"turn\":%ld}}\n",
		s->sent + 1, s->sent % 3, s->sent);
	s->sent++;
	fflush(s->to);
}

static void
take(struct storm *s, const char *line)
{
	long id = number(line, "\"id\":") - 1, turn = number(line, "\"turn\":"), k = number(line, "\"k\":");

	if (k >= 0) {
		s->updates++;
		if (turn < 0 || turn >= s->sent || k < s->turns[turn].next) {
			printf("doubled or out of order: %s", line);
			s->bad++;
			return;
		}
		s->turns[turn].next = k + 1;
		return;
	}
	if (id < 0 || id >= s->sent || s->turns[id].answers++ > 0 || (turn >= 0 && turn != id)) {
		printf("not an open request's: %s", line);
		s->bad++;
		return;
	}
	s->errors += strstr(line, "\"error\"") != NULL;
	s->answered++;
}

/* Kills a child of the chain that is a proxy. False: there is none just now. */
static bool
kill_one(const struct storm *s)
{
	char path[64], name[32];
	pid_t victims[VICTIMS];
	int n = 0, pid;
	FILE *f, *comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", s->chain, s->chain);
	f = fopen(path, "r");
	if (!f)
		fail(path);
	while (n < VICTIMS && fscanf(f, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "r");
		if (!comm)
			continue;
		if (fgets(name, sizeof(name), comm) && strncmp(name, "acp-tap", 7) == 0)
			victims[n++] = pid;
		fclose(comm);
	}
	fclose(f);
	return n > 0 && kill(victims[rand() % n], SIGKILL) == 0;
}

static int
run(unsigned seed, long kills, char **argv)
{
	struct storm s = {0};
	char *line = NULL;
	size_t cap = 0;
	FILE *from;
	long killed = 0, after = 0, next = 20;
	int status;

	srand(seed);
	signal(SIGPIPE, SIG_IGN);
	start(&s, argv, &from);
	fprintf(s.to, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n");
	fflush(s.to);
	if (getline(&line, &cap, from) <= 0 || !strstr(line, "\"result\""))
		fail("initialize");
	/* A few more behind the last kill: who has passed them on has been started again. */
	while (killed < kills || after < OPEN || s.answered < s.sent) {
		for (; after < OPEN && s.sent - s.answered < OPEN; after += killed == kills)
			prompt(&s);
		if (getline(&line, &cap, from) <= 0) {
			printf("the chain ended\n");
			s.bad++;
			break;
		}
		take(&s, line);
		/* The moment depends on what has come so far: it falls anywhere in a turn. */
		if (killed < kills && --next <= 0) {
			next = 1 + rand() % 400;
			killed += kill_one(&s);
		}
	}
	fclose(s.to);
	while (getline(&line, &cap, from) > 0)
		take(&s, line);
	if (waitpid(s.chain, &status, 0) < 0 || status != 0) {
		printf("the chain's status is %d\n", status);
		s.bad++;
	}
	printf("seed %u: %ld killed, %ld requests, %ld of them refused, %ld updates lost, %ld bad\n", seed, killed, s.sent, s.errors,
		s.sent * UPDATES - s.updates, s.bad);
	free(s.turns);
	free(line);
	fclose(from);
	return s.bad > 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "agent") == 0)
		return agent();
	if (argc >= 5 && strcmp(argv[1], "run") == 0)
		return run((unsigned)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv + 4);
	fprintf(stderr, "usage: storm agent | storm run SEED KILLS COMMAND...\n");
	return 2;
}
