/*
 * faulty: a component that can be made to fail.
 *
 *   faulty               a filter that changes nothing: it copies 0 to 7 and 6 to 1
 *   faulty COMMAND...    the same around a proxy: 0 to its standard input, its standard output to 1
 *
 * After one of these signals it fails when it has read something: SIGRTMIN: it exits with status 0. SIGRTMIN+1: it closes its
 * outputs and lives on. SIGRTMIN+2: it writes half of what it has read, and exits with 1. SIGRTMIN+3: it writes garbage and
 * exits with 7.
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
#include <unistd.h>

enum { LITTLE = 4096 /* bytes: poll promises room for so many */ };

struct copy {
	int in, out;
	bool own; /* its output is one of the component's */
	char bytes[LITTLE];
	size_t n;
};

static volatile sig_atomic_t fault = -1;

static void
caught(int signal)
{
	fault = signal - SIGRTMIN;
}

/* It fails with something in its hands. */
static void
fail(struct copy *copies, const struct copy *held, int how)
{
	static const char garbage[] = "garbage \033]0;x\007\n\200\377\n{\"id\":\n[1,2]\n{}\n";
	const char *last = how == 2 ? held->bytes : garbage;
	int i;

	for (i = 0; how == 1 && i < 2; i++)
		if (copies[i].out >= 0 && copies[i].own)
			close(copies[i].out);
	while (how == 1)
		pause();
	if (how > 1 && held->own && write(held->out, last, how == 2 ? held->n / 2 : sizeof(garbage) - 1) < 0)
		_exit(2);
	_exit(how == 3 ? 7 : how == 2);
}

/* One step; an end of input closes the output once everything is written. */
static void
copy_some(struct copy *c, short readable, short writable)
{
	ssize_t r;

	if (writable && c->n > 0) {
		r = write(c->out, c->bytes, c->n);
		if (r < 0)
			_exit(1);
		c->n -= (size_t)r;
		memmove(c->bytes, c->bytes + r, c->n);
	} else if (readable) {
		r = read(c->in, c->bytes, sizeof(c->bytes));
		if (r < 0)
			_exit(1);
		c->n = (size_t)r;
		if (r == 0) {
			close(c->in);
			close(c->out);
			c->in = c->out = -1;
		}
	}
}

static void
copy_all(struct copy *copies)
{
	struct pollfd p[4];
	int i;

	while (copies[0].out >= 0 || copies[1].out >= 0) {
		for (i = 0; i < 2; i++) {
			p[2 * i] = (struct pollfd){.fd = copies[i].n ? -1 : copies[i].in, .events = POLLIN};
			p[2 * i + 1] = (struct pollfd){.fd = copies[i].n ? copies[i].out : -1, .events = POLLOUT};
		}
		if (poll(p, 4, -1) < 0 && errno != EINTR)
			_exit(2);
		for (i = 0; i < 2; i++) {
			copy_some(&copies[i], p[2 * i].revents, p[2 * i + 1].revents);
			if (fault >= 0 && copies[i].n > 0)
				fail(copies, &copies[i], fault);
		}
	}
}

static void
start(char **argv, int *to, int *from)
{
	int down[2], up[2];
	pid_t pid;

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		_exit(2);
	if (pid == 0) {
		if (dup2(down[0], 0) < 0 || dup2(up[1], 1) < 0)
			_exit(2);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	*to = down[1];
	*from = up[0];
}

int
main(int argc, char **argv)
{
	static struct copy copies[2] = {{.in = 0, .out = 7, .own = true}, {.in = 6, .out = 1, .own = true}};
	int i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < 4; i++)
		signal(SIGRTMIN + i, caught);
	if (argc > 1) {
		start(argv + 1, &copies[0].out, &copies[1].in);
		copies[0].own = false;
	}
	copy_all(copies);
	while (wait(NULL) > 0)
		;
	return 0;
}
