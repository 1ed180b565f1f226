/*
 * link [-s] FILTER [ARG...] -- AGENT [ARG...]: runs a filter as acp-conduct -f does: stdin and
 * stdout are ours, 6 is what the agent writes and 7 what it reads, PROTO=ACP is in the environment. -s: 6
 * and 7 are Unix sockets. Exits with the filter's status when both have ended.
 */
#include <errno.h>
#include <fcntl.h>
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
	fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* Both ends far above 7. */
static void
make_pipe(bool sockets, int p[2])
{
	int i, high;

	check((sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p)) == 0, "pipe");
	for (i = 0; i < 2; i++) {
		high = fcntl(p[i], F_DUPFD_CLOEXEC, 20);
		check(high >= 0, "fcntl");
		close(p[i]);
		p[i] = high;
	}
}

static pid_t
start(char **argv, const int *from, const int *to)
{
	pid_t pid = fork();
	int i;

	check(pid >= 0, "fork");
	if (pid != 0)
		return pid;
	for (i = 0; i < 2; i++)
		if (dup2(from[i], to[i]) < 0)
			_exit(125);
	execvp(argv[0], argv);
	fprintf(stderr, "link: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int
main(int argc, char **argv)
{
	bool sockets = argc > 1 && strcmp(argv[1], "-s") == 0;
	int down[2], up[2], status, other;
	char **filter = argv + (sockets ? 2 : 1), **agent = filter;
	pid_t pid, far;

	while (*agent && strcmp(*agent, "--") != 0)
		agent++;
	if (!*agent || agent == filter || !agent[1])
		return 2;
	*agent++ = NULL;
	make_pipe(sockets, down);
	make_pipe(sockets, up);
	setenv("PROTO", "ACP", 1);
	pid = start(filter, (int[]){up[0], down[1]}, (int[]){6, 7});
	unsetenv("PROTO");
	far = start(agent, (int[]){down[0], up[1]}, (int[]){0, 1});
	close(down[0]);
	close(down[1]);
	close(up[0]);
	close(up[1]);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	check(waitpid(pid, &status, 0) == pid, "waitpid");
	check(waitpid(far, &other, 0) == far, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
