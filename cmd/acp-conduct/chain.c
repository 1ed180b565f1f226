#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"

struct component *
chain_agent(struct chain *ch)
{
	return ch->has_agent ? &ch->components[ch->n - 1] : NULL;
}

struct link *
chain_client(struct chain *ch, enum lane lane)
{
	return ch->client[lane];
}

const char *
chain_kind(enum kind kind)
{
	static const char *const names[] = {"filter", "down filter", "up filter", "proxy", "agent"};

	return names[kind];
}

void
chain_close(int *copy)
{
	int null;

	if (*copy > 2) {
		close(*copy);
	} else if (*copy >= 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, *copy) < 0)
			close(*copy);
		if (null > 2)
			close(null);
	}
	*copy = -1;
}

/* Components */

static struct component *
add(struct chain *ch, enum kind kind)
{
	struct component *c = realloc(ch->components, (ch->n + 1) * sizeof(*c));

	if (!c)
		return NULL;
	ch->components = c;
	c += ch->n++;
	*c = (struct component){.kind = kind};
	return c;
}

int
chain_add_command(struct chain *ch, enum kind kind, const char *command)
{
	char **words = proc_words(command);
	struct component *c = words ? add(ch, kind) : NULL;

	if (!c) {
		free(words);
		return -1;
	}
	c->words = words;
	c->argv = words;
	return 0;
}

int
chain_add_argv(struct chain *ch, enum kind kind, char *const *argv)
{
	struct component *c = add(ch, kind);

	if (!c)
		return -1;
	c->argv = argv;
	return 0;
}

/* The program's base name; of a shell's command that of its first word that names one. */
static struct slice
base_name(const struct component *c)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
	const char *p = c->argv[0], *word;
	struct slice name;
	size_t n;

	if (c->kind == KIND_AGENT)
		return slice_of("agent");
	if (strcmp(p, "/bin/sh") == 0 && c->argv[1] && strcmp(c->argv[1], "-c") == 0 && c->argv[2])
		p = c->argv[2];
	do {
		p += strspn(p, " \t\n(");
		word = p;
		p += strcspn(p, " \t\n;|&<>()");
	} while (*p && memchr(word, '=', (size_t)(p - word)));
	name = slice_between(word, p);
	for (n = name.n; n > 0 && name.p[n - 1] != '/'; n--)
		;
	name = slice(name.p + n, name.n - n);
	return name.n > 0 && strspn(name.p, plain) >= name.n ? name : slice_of("sh");
}

bool
chain_runs(const struct component *c, const char *program)
{
	return slice_is(base_name(c), program);
}

static int
name_component(struct chain *ch, struct component *c)
{
	struct slice base = base_name(c);
	unsigned same = 1;
	size_t i;

	/* The agent's name is taken before all others. */
	if (c->kind != KIND_AGENT && slice_is(base, "agent"))
		same++;
	for (i = 0; &ch->components[i] != c; i++)
		if (slice_eq(base_name(&ch->components[i]), base))
			same++;
	c->name = malloc(base.n + 16);
	if (!c->name)
		return -1;
	memcpy(c->name, base.p, base.n);
	c->name[base.n] = '\0';
	if (same > 1 && c->kind != KIND_AGENT)
		snprintf(c->name + base.n, 16, ".%u", same);
	return 0;
}

/* Links */

static bool
stands_in(const struct component *c, enum lane lane)
{
	return c->kind != (lane == LANE_DOWN ? KIND_UP : KIND_DOWN);
}

/* A link between two neighbours in a lane; near is the one on the client's side (NULL: the client). */
static int
add_link(struct chain *ch, enum lane lane, struct component *near, struct component *far)
{
	struct link *l = &ch->links[ch->nlinks++];
	int ends[2] = {-1, -1};

	*l = (struct link){.chain = ch, .lane = lane, .rd = -1, .wr = -1};
	l->writer = lane == LANE_DOWN ? near : far;
	l->reader = lane == LANE_DOWN ? far : near;
	if (!near)
		ch->client[lane] = l;
	if (l->writer)
		l->writer->out[lane] = l;
	if (l->reader)
		l->reader->in[lane] = l;
	if (!near && lane == LANE_UP) {
		l->wr = STDOUT_FILENO;
		return 0;
	}
	if (!near && !isatty(STDIN_FILENO)) {
		l->rd = STDIN_FILENO;
		return 0;
	}
	if (proc_pipe(ends) < 0)
		return -1;
	l->rd = ends[0];
	l->wr = ends[1];
	return 0;
}

int
chain_name(struct chain *ch)
{
	size_t i;

	for (i = 0; i < ch->n; i++) {
		ch->components[i].chain = ch;
		if (name_component(ch, &ch->components[i]) < 0)
			return -1;
	}
	return 0;
}

int
chain_join(struct chain *ch)
{
	struct component *near, *c;
	enum lane lane;
	size_t i;

	/* A link in each lane before each component is more than enough. */
	ch->links = calloc(ch->n * LANES, sizeof(*ch->links));
	if (!ch->links)
		return -1;
	for (lane = LANE_DOWN; lane < LANES; lane++) {
		near = NULL;
		for (i = 0; i < ch->n; i++) {
			c = &ch->components[i];
			if (!stands_in(c, lane))
				continue;
			if (add_link(ch, lane, near, c) < 0)
				return -1;
			near = c;
		}
	}
	return 0;
}

/* Starting */

/* Which of our copies it gets as which of its descriptors. */
static size_t
descriptors(const struct component *c, int errors, struct proc_fd *fds)
{
	size_t n = 0;
	const struct link *in = c->in[LANE_DOWN] ? c->in[LANE_DOWN] : c->in[LANE_UP];
	const struct link *out = c->out[LANE_UP] ? c->out[LANE_UP] : c->out[LANE_DOWN];

	fds[n++] = (struct proc_fd){in->rd, STDIN_FILENO};
	fds[n++] = (struct proc_fd){out->wr, STDOUT_FILENO};
	fds[n++] = (struct proc_fd){errors, STDERR_FILENO};
	if (c->kind == KIND_FILTER) {
		fds[n++] = (struct proc_fd){c->in[LANE_UP]->rd, 6};
		fds[n++] = (struct proc_fd){c->out[LANE_DOWN]->wr, 7};
	}
	return n;
}

/* 0, or the exit status. */
static int
start(struct chain *ch, struct component *c)
{
	struct proc_fd fds[PROC_FDS];
	struct proc_spec spec = {.argv = c->argv, .fds = fds, .ucspi = c->kind == KIND_FILTER,
		.again = c->ndeaths > 0, .death_signal = SIGTERM, .guardian = &ch->guardian};
	enum proc_stage stage = PROC_FORK;
	int errors[2], error;

	if (proc_pipe(errors) < 0) {
		report_say(&ch->report, "%s: cannot start it: %s", c->name, strerror(errno));
		return EXIT_FAILED;
	}
	spec.nfds = descriptors(c, errors[1], fds);
	c->pid = proc_start(&spec, &stage);
	error = errno;
	close(errors[1]);
	if (c->pid > 0) {
		c->life = LIFE_RUNS;
		if (report_listen(&c->errors, &ch->report, c->name, errors[0]) == 0)
			return 0;
		report_say(&ch->report, "%s: %s", c->name, strerror(errno));
		return EXIT_FAILED;
	}
	close(errors[0]);
	if (stage == PROC_EXEC && error == ENOENT) {
		report_say(&ch->report, "%s: command not found: %s", c->name, c->argv[0]);
		return EXIT_NOT_FOUND;
	}
	report_say(&ch->report, "%s: cannot %s %s: %s", c->name,
		stage == PROC_EXEC ? "execute" : "start", c->argv[0], strerror(error));
	return stage == PROC_EXEC ? EXIT_CANNOT_EXECUTE : EXIT_FAILED;
}

int
chain_start_one(struct chain *ch, struct component *c)
{
	return start(ch, c);
}

int
chain_start_rest(struct chain *ch, struct component **bad)
{
	size_t i;
	int status;

	for (i = ch->n; i-- > 0;) {
		if (ch->components[i].life != LIFE_NONE)
			continue;
		status = start(ch, &ch->components[i]);
		if (status) {
			*bad = &ch->components[i];
			return status;
		}
	}
	/* The end of their output is an end of file. */
	for (i = 0; ch->route && i < ch->n; i++)
		if (ch->components[i].kind >= KIND_PROXY)
			chain_close(&ch->components[i].out[LANE_UP]->wr);
	return 0;
}

/* The filters that have the client's descriptors cannot wait until somebody has read its first message. */
static int
start_leading(struct chain *ch)
{
	size_t i = 0;
	int status = 0;

	if (!ch->client[LANE_DOWN] && !ch->client[LANE_UP])
		return 0;
	while (i < ch->n && ch->components[i].kind < KIND_PROXY)
		i++;
	while (status == 0 && i-- > 0)
		status = start(ch, &ch->components[i]);
	return status;
}

int
chain_start(struct chain *ch)
{
	struct link *typed = chain_client(ch, LANE_DOWN);
	struct component *bad;
	int status = ch->route ? start_leading(ch) : chain_start_rest(ch, &bad);

	if (status || !typed || typed->wr < 0)
		return status;
	if (terminal_open(&ch->terminal, ch->loop, typed->wr) < 0) {
		report_say(&ch->report, "standard input: %s", strerror(errno));
		status = EXIT_FAILED;
	}
	typed->wr = -1; /* the terminal's now */
	return status;
}

void
chain_free(struct chain *ch)
{
	size_t i;

	for (i = 0; i < ch->n; i++) {
		free(ch->components[i].name);
		free(ch->components[i].words);
		free(ch->components[i].deaths);
		report_source_free(&ch->components[i].errors);
	}
	free(ch->components);
	free(ch->links);
}
