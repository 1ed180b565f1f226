/*
 * conductor [OPTION]... SOCKET: acp-conduct's end of attaching, for tests that want it to behave just so. It listens, answers
 * whoever asks, and copies its stdin to the one who attached last; at the end of stdin it lets him go and exits.
 * On stdout, a line each: "asked LINE", "got LINE" of what he sends, "left" when he does not read or send any more.
 *   -a TEXT   answers that, and a newline      -b TEXT   answers that, without one
 *   -n N      passes N descriptors (1)         -s        never answers
 *   -q        hangs up in place of answering   -d        does not read what is sent before SIGUSR1
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/attach/rendezvous.h"
#include "lib/run/socket.h"

enum { FDS_MOST = 16 };

static const char list[] = "{\"pid\":%ld,\"version\":\"0.1.0\",\"started\":0,\"name\":\"agent\",\"cwd\":\"/home/x\",\"client\":\"zed 1\","
	"\"agent\":\"agent 2\",\"sessions\":[],\"guests\":0,\"messages\":{\"down\":0,\"up\":0}}\n";

static const char *answer = "{\"hop\":0,\"name\":\"agent\"}\n";
static size_t passes = 1;
static bool silent, hangs_up, deaf;
static int guest = -1;   /* what he reads is written there */
static bool joined, left;
static char bytes[65536]; /* of stdin, that wait for him */
static size_t waiting, written;

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "conductor: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* Reads a line; false at the end. */
static bool
read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(fd, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = '\0';
			return true;
		}
		n++;
	}
	return false;
}

static void
send_with(int to, const char *text, int fd, size_t n)
{
	union {
		char room[CMSG_SPACE(FDS_MOST * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {(void *)(size_t)text, strlen(text)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c;
	size_t i;

	memset(&control, 0, sizeof(control));
	if (n > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	}
	(void)!sendmsg(to, &m, MSG_NOSIGNAL);
}

static void
attach(int fd, bool join)
{
	int p[2];

	if (guest >= 0)
		close(guest);
	check((join ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p)) == 0, "pipe");
	guest = p[1];
	joined = join;
	send_with(fd, answer, p[0], passes);
	close(p[0]);
}

static void
serve(int fd)
{
	char line[4096], text[4096];

	if (!read_line(fd, line, sizeof(line)))
		return;
	printf("asked %s\n", line);
	snprintf(text, sizeof(text), list, (long)getpid());
	if (silent)
		pause();
	else if (strstr(line, "\"list\""))
		send_with(fd, text, -1, 0);
	else if (!hangs_up)
		attach(fd, strstr(line, "\"join\"") != NULL);
}

static void
leave(void)
{
	printf("left\n");
	left = true;
	close(guest);
	guest = -1;
}

/* Without a guest there is nothing to read but the end. As acp-share, it tells the guest of the end, unless the last line is torn. */
static void
read_stdin(void)
{
	static const char end[] = "{\"event\":\"exit\",\"status\":0}\n";
	static char last = '\n';
	ssize_t n = guest < 0 ? 0 : read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n <= 0) {
		if (guest >= 0 && last == '\n')
			check(write(guest, end, sizeof(end) - 1) > 0 || errno == EPIPE, "writing the end");
		exit(0);
	}
	last = bytes[n - 1];
	waiting = (size_t)n;
	written = 0;
}

/* As much as there is room for: he may not read. */
static void
write_some(void)
{
	size_t n = waiting - written;
	ssize_t w = joined ? send(guest, bytes + written, n, MSG_DONTWAIT) : write(guest, bytes + written, n < PIPE_BUF ? n : PIPE_BUF);

	if (w < 0 && errno != EAGAIN) {
		waiting = 0;
		leave();
	} else if (w > 0 && (written += (size_t)w) == waiting) {
		waiting = 0;
	}
}

static void
hear_again(int signal)
{
	(void)signal;
	deaf = false;
}

static void
hear(void)
{
	static char line[1024 * 1024];

	if (joined && read_line(guest, line, sizeof(line)))
		printf("got %s\n", line);
	else
		leave();
}

int
main(int argc, char **argv)
{
	struct pollfd p[3];
	int option, listener, fd;
	char *with_newline = NULL;

	while ((option = getopt(argc, argv, "a:b:n:sqd")) != -1) {
		if (option == 'a') {
			check(asprintf(&with_newline, "%s\n", optarg) > 0, "memory");
			answer = with_newline;
		} else if (option == 'b') {
			answer = optarg;
		} else if (option == 'n') {
			passes = (size_t)atoi(optarg);
		} else if (option == '?') {
			return 2;
		}
		silent |= option == 's';
		hangs_up |= option == 'q';
		deaf |= option == 'd';
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, hear_again);
	listener = rendezvous_listen(argv[optind]);
	check(listener >= 0, argv[optind]);
	for (;;) {
		p[0] = (struct pollfd){.fd = listener, .events = POLLIN};
		/* A pipe's writing end tells nothing but that its reader has gone. */
		p[1] = (struct pollfd){.fd = guest, .events = (short)((joined && !deaf ? POLLIN : 0) | (waiting ? POLLOUT : 0))};
		p[2] = (struct pollfd){.fd = waiting || !(guest >= 0 || left) ? -1 : STDIN_FILENO, .events = guest >= 0 ? POLLIN : 0};
		if (poll(p, 3, -1) < 0) {
			check(errno == EINTR, "poll");
			continue;
		}
		if (p[0].revents && (fd = socket_accept(listener)) >= 0) {
			serve(fd);
			close(fd);
		}
		if (p[1].revents & (POLLIN | POLLERR | POLLHUP))
			hear();
		else if (p[1].revents & POLLOUT)
			write_some();
		else if (p[2].revents)
			read_stdin();
	}
}
