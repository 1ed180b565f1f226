/*
 * sockpair [-1] COMMAND...: runs a command whose stdin and stdout are Unix sockets, as Node gives
 * them to its children, and relays between them and its own. -1: one socket is both, as inetd has
 * it. The end of stdin is handed on by closing (-1: by a shutdown). Exits with the command's status.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "sockpair: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* Copies until the end of input, or until nobody reads. */
static void
relay(int from, int to)
{
	char bytes[16384];
	ssize_t n, w, at;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		for (at = 0; at < n; at += w)
			if ((w = write(to, bytes + at, (size_t)(n - at))) < 0)
				return;
}

int
main(int argc, char **argv)
{
	bool one = argc > 1 && strcmp(argv[1], "-1") == 0;
	int in[2], out[2], status;
	pid_t pid, feeder;

	argv += one ? 2 : 1;
	if (!*argv)
		return 2;
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, in) == 0, "socketpair");
	if (one)
		memcpy(out, in, sizeof(out));
	else
		check(socketpair(AF_UNIX, SOCK_STREAM, 0, out) == 0, "socketpair");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		dup2(in[1], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[0]);
		close(in[1]);
		if (!one) {
			close(out[0]);
			close(out[1]);
		}
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in[1]);
	if (!one)
		close(out[1]);
	signal(SIGPIPE, SIG_IGN);
	feeder = fork();
	check(feeder >= 0, "fork");
	if (feeder == 0) {
		if (!one)
			close(out[0]);
		close(STDOUT_FILENO);
		relay(STDIN_FILENO, in[0]);
		if (one)
			shutdown(in[0], SHUT_WR);
		_exit(0);
	}
	close(STDIN_FILENO);
	if (!one)
		close(in[0]);
	relay(out[0], STDOUT_FILENO);
	close(out[0]);
	close(STDOUT_FILENO);
	check(waitpid(pid, &status, 0) == pid, "waitpid");
	kill(feeder, SIGKILL);
	waitpid(feeder, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
