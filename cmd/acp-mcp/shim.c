/*
 * The agent starts this as a stdio server. It forwards bytes between the agent's pipes and the socket of acp-mcp, which handles them,
 * and ends when either ends.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/base/cli.h"
#include "lib/run/io.h"
#include "lib/run/socket.h"

/* One direction: what was read from one and waits to be written to the other. */
struct pump {
	struct io from, to;
	char data[64 * 1024];
	size_t at, n;
	bool ended;
};

/* Reads where nothing waits, and writes. 0, or -1 where it is over. */
static int
pump_move(struct pump *p)
{
	struct iovec v;
	ssize_t n;

	if (p->n == 0 && !p->ended) {
		n = io_read(&p->from, p->data, sizeof(p->data));
		if (n < 0 && errno == EAGAIN)
			return 0;
		p->ended = n <= 0;
		p->at = 0;
		p->n = n > 0 ? (size_t)n : 0;
	}
	while (p->n > 0) {
		v = (struct iovec){p->data + p->at, p->n};
		n = io_writev(&p->to, &v, 1);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		p->at += (size_t)n;
		p->n -= (size_t)n;
	}
	return p->ended ? -1 : 0;
}

/* What it waits for. */
static struct pollfd
pump_poll(const struct pump *p)
{
	return p->n > 0 ? (struct pollfd){.fd = p->to.fd, .events = POLLOUT} : (struct pollfd){.fd = p->from.fd, .events = POLLIN};
}

/* After the agent has closed our input, forwards what the server still sends. */
static int
pump_both(struct pump *down, struct pump *up, const char *path)
{
	struct pollfd watch[2];
	bool closed = false;

	for (;;) {
		watch[0] = closed ? (struct pollfd){.fd = -1} : pump_poll(down);
		watch[1] = pump_poll(up);
		if (poll(watch, 2, -1) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (!closed && watch[0].revents && pump_move(down) < 0) {
			io_close(&down->to, true);
			closed = true;
		}
		if (watch[1].revents && pump_move(up) < 0) {
			if (!closed && up->ended)
				cli_warn(tool_name, "%s: the server has ended", path);
			return 0;
		}
	}
}

int
shim_run(const char *path)
{
	static struct pump down, up;
	int fd = socket_connect(path), other;

	if (fd < 0 || (other = dup(fd)) < 0) {
		cli_warn(tool_name, "%s: %s: has acp-mcp ended?", path, strerror(errno));
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	cli_waits(tool_name, STDIN_FILENO, "an MCP client's messages");
	if (io_reader(&down.from, STDIN_FILENO) < 0 || io_writer(&down.to, fd) < 0 || io_reader(&up.from, other) < 0
		|| io_writer(&up.to, STDOUT_FILENO) < 0) {
		cli_warn(tool_name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	return pump_both(&down, &up, path);
}
