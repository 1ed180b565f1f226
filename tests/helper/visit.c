/*
 * visit: attaches itself to a chain that runs under `acp-conduct --control SOCKET`.
 *
 *   visit SOCKET ask TEXT          sends TEXT as it is (and no newline), prints what is answered
 *   visit SOCKET pour              sends stdin, as far as it is taken, prints what is answered
 *   visit SOCKET watch [HOP]       prints what is answered on stderr, then copies what comes to stdout
 *   visit SOCKET join [HOP]        the same, and copies stdin to the chain; at its end it stays until the chain ends
 *   visit SOCKET answer [HOP]      the same, of acp-share --answers
 *   visit SOCKET call [HOP]        as join, but leaves when stdin ends
 *   visit SOCKET deaf [HOP]        as join, but reads nothing
 *   visit SOCKET sleep watch|join [HOP]   attaches and does not read, until the chain ends
 *   visit SOCKET often N [HOP]     attaches and leaves N times: at once, after a little, or without waiting for the answer
 *
 * HOP is JSON. Exits with 1 where the answer is no descriptor.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/run/socket.h"

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "visit: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void
wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	if (poll(&p, 1, -1) < 0)
		fail("poll");
}

/* Sends a text; false where nobody listens any more. */
static bool
say(int fd, struct slice text)
{
	ssize_t r;

	while (text.n > 0) {
		wait_for(fd, POLLOUT);
		r = socket_send(fd, text, -1);
		if (r < 0 && errno != EAGAIN)
			return false;
		if (r > 0)
			text = slice(text.p + r, text.n - (size_t)r);
	}
	return true;
}

/* What is answered; *got is the descriptor that came with it, or -1. */
static void
hear(int fd, struct buf *answer, int *got)
{
	ssize_t r;

	*got = -1;
	do {
		wait_for(fd, POLLIN);
		r = socket_receive(fd, answer, got);
	} while (r > 0 || (r < 0 && errno == EAGAIN));
}

static int
connect_to(const char *path)
{
	int fd = socket_connect(path, 0);

	if (fd < 0)
		fail(path);
	return fd;
}

static int
attach(const char *path, const char *want, const char *hop)
{
	struct buf question = {0}, answer = {0};
	int fd = connect_to(path), got;

	buf_printf(&question, "{\"want\":\"%s\"%s%s}\n", want, hop ? ",\"hop\":" : "", hop ? hop : "");
	say(fd, buf_slice(&question));
	hear(fd, &answer, &got);
	fwrite(answer.p, 1, answer.n, stderr);
	close(fd);
	buf_free(&question);
	buf_free(&answer);
	if (got < 0)
		exit(1);
	return got;
}

/* Copies what there is now. False at the end. */
static bool
copy(int from, int to)
{
	char data[64 * 1024];
	ssize_t n = read(from, data, sizeof(data)), r, done;

	for (done = 0; done < n; done += r) {
		r = write(to, data + done, (size_t)(n - done));
		if (r < 0)
			return false;
	}
	return n > 0;
}

static void
pour(int fd)
{
	char data[64 * 1024];
	ssize_t n;

	do
		n = read(STDIN_FILENO, data, sizeof(data));
	while (n > 0 && say(fd, slice(data, (size_t)n)));
}

static void
join(int fd, bool leave, bool deaf)
{
	struct pollfd p[2] = {{.fd = deaf ? -1 : fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	char data[64 * 1024];
	ssize_t n;

	while (poll(p, 2, -1) > 0) {
		if (p[0].revents && !copy(fd, STDOUT_FILENO))
			return;
		if (!p[1].revents)
			continue;
		n = read(STDIN_FILENO, data, sizeof(data));
		if (n > 0 ? !say(fd, slice(data, (size_t)n)) : leave)
			return;
		if (n <= 0)
			p[1].fd = -1;
	}
}

static void
come_and_go(const char *path, const char *hop, int i)
{
	char data[4096];
	int fd;

	if (i % 4 == 3) {
		fd = connect_to(path);
		say(fd, slice_of("{\"want\":\"watch\"}\n"));
	} else {
		fd = attach(path, i % 2 ? "watch" : "join", hop);
		if (i % 4 == 1 && read(fd, data, sizeof(data)) < 0)
			fail("read");
	}
	close(fd);
}

int
main(int argc, char **argv)
{
	struct buf answer = {0};
	const char *how = argc > 2 ? argv[2] : "", *hop = argc > 3 ? argv[3] : NULL;
	int fd, got, i;

	if (strcmp(how, "pour") == 0 || (strcmp(how, "ask") == 0 && hop)) {
		fd = connect_to(argv[1]);
		if (*how == 'p')
			pour(fd);
		else
			say(fd, slice_of(argv[3]));
		hear(fd, &answer, &got);
		fwrite(answer.p, 1, answer.n, stdout);
		buf_free(&answer);
	} else if (strcmp(how, "watch") == 0) {
		fd = attach(argv[1], how, hop);
		while (copy(fd, STDOUT_FILENO))
			;
	} else if (strcmp(how, "join") == 0 || strcmp(how, "answer") == 0 || strcmp(how, "call") == 0 || strcmp(how, "deaf") == 0) {
		join(attach(argv[1], strcmp(how, "answer") == 0 ? how : "join", hop), strcmp(how, "call") == 0, strcmp(how, "deaf") == 0);
	} else if (strcmp(how, "sleep") == 0 && hop) {
		wait_for(attach(argv[1], hop, argc > 4 ? argv[4] : NULL), 0);
	} else if (strcmp(how, "often") == 0 && hop) {
		for (i = 0; i < atoi(hop); i++)
			come_and_go(argv[1], argc > 4 ? argv[4] : NULL, i);
	} else {
		fprintf(stderr, "visit: see its source\n");
		return 2;
	}
	return 0;
}
