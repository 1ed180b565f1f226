/*
 * meet: runs a command whose stdin and stdout are something other than pipes, and stands between
 * it and its own: meet sockets|socket|terminal COMMAND...
 *
 *   sockets    a socket pair each, as Node makes them
 *   socket     one socket pair for both, as socat makes it
 *   terminal   a terminal of its own, without echo; at the end of our stdin ^D is typed
 *
 * Exits with the command's status.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* The command's two descriptors and ours that face them. */
struct ends {
	int in, out;
	int to, from;
	bool terminal;
};

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(125);
}

static void
make_sockets(struct ends *e, bool one)
{
	int in[2], out[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) < 0)
		fail("socketpair");
	*e = (struct ends){in[0], one ? in[0] : out[0], in[1], one ? in[1] : out[1], false};
	if (one) {
		close(out[0]);
		close(out[1]);
	}
}

static void
make_terminal(struct ends *e)
{
	struct termios t;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		fail("posix_openpt");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &t) < 0)
		fail("the terminal");
	t.c_lflag &= ~(tcflag_t)ECHO;
	t.c_oflag &= ~(tcflag_t)OPOST;
	tcsetattr(slave, TCSANOW, &t);
	*e = (struct ends){slave, slave, master, master, true};
}

static pid_t
start(const struct ends *e, char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	if (e->terminal) {
		setsid();
		if (ioctl(e->in, TIOCSCTTY, 0) < 0)
			fail("TIOCSCTTY");
	}
	dup2(e->in, 0);
	dup2(e->out, 1);
	execvp(argv[0], argv);
	fail(argv[0]);
}

/* Until the end of from; a terminal's is EIO. */
static void
copy(int from, int to)
{
	char data[65536];
	ssize_t n, w, r;

	while ((n = read(from, data, sizeof(data))) > 0)
		for (w = 0; w < n; w += r)
			if ((r = write(to, data + w, (size_t)(n - w))) < 0)
				return;
}

static pid_t
feed(const struct ends *e)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0)
		return pid;
	copy(0, e->to);
	if (e->terminal && write(e->to, "\004", 1) < 0)
		fail("the terminal");
	if (!e->terminal)
		shutdown(e->to, SHUT_WR);
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct ends e;
	pid_t command, feeder;
	int status;

	if (argc < 3)
		return 125;
	if (strcmp(argv[1], "terminal") == 0)
		make_terminal(&e);
	else
		make_sockets(&e, strcmp(argv[1], "socket") == 0);
	command = start(&e, argv + 2);
	close(e.in);
	if (e.out != e.in)
		close(e.out);
	feeder = feed(&e);
	copy(e.from, 1);
	while (waitpid(command, &status, 0) < 0 && errno == EINTR)
		;
	kill(feeder, SIGKILL);
	waitpid(feeder, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
