/*
 * acp-mcp --connect, which the agent starts as a stdio server. It forwards bytes between the agent's pipes and the socket of the
 * filter, which handles them, and ends when either side ends.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/run/endpoint.h"
#include "lib/run/socket.h"

/* One side: all bytes that it sends go to the other side. */
struct shim {
	struct endpoint endpoint;
	struct shim *other;
	const char *path; /* of the socket; NULL: this is the agent's side */
	bool closed;      /* this side sends nothing more; the bytes that the other side still sends are forwarded */
};

static bool
forward(void *arg, enum input_got got, const struct line *bytes)
{
	struct shim *s = arg;

	(void)got;
	if (endpoint_put(&s->other->endpoint, NULL, bytes->text) < 0)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	endpoint_pause(&s->endpoint, s->other->endpoint.out.full);
	return true;
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct shim *s = arg;
	int error = s->endpoint.out.error;

	endpoint_pause(&s->other->endpoint, s->endpoint.out.full);
	if (event == ENDPOINT_ENDED) {
		if (s->path && !s->other->closed)
			cli_warn(tool_name, "%s: the server has ended", s->path);
		s->closed = true;
		endpoint_finish(&s->other->endpoint);
	}
	/* Nothing more can be sent to the agent. */
	if (event == ENDPOINT_CLOSED && !s->path && error && error != EPIPE && error != ECONNRESET)
		cli_die(EXIT_FAILED, tool_name, "writing to the agent: %s", strerror(error));
	if (event == ENDPOINT_CLOSED && !s->path)
		loop_stop(s->endpoint.loop);
}

int
shim_run(const char *path)
{
	struct shim agent = {.other = NULL}, server = {.path = path};
	int fd = socket_connect(path, 0);
	struct loop *loop;

	if (fd < 0) {
		cli_warn(tool_name, "%s: %s: has acp-mcp ended?", path, strerror(errno));
		return EXIT_FAILED;
	}
	cli_waits(tool_name, STDIN_FILENO, "an MCP client's messages");
	loop = loop_new((const int[]){0}, NULL, NULL);
	agent.endpoint = (struct endpoint){.line = forward, .event = on_event, .arg = &agent};
	server.endpoint = (struct endpoint){.line = forward, .event = on_event, .arg = &server};
	agent.other = &server;
	server.other = &agent;
	if (!loop || endpoint_open(&agent.endpoint, loop, STDIN_FILENO, STDOUT_FILENO, 0) < 0 ||
		endpoint_open(&server.endpoint, loop, fd, fd, 0) < 0 || loop_run(loop) < 0)
		cli_die(EXIT_FAILED, tool_name, "%s", strerror(errno));
	endpoint_close(&agent.endpoint);
	endpoint_close(&server.endpoint);
	loop_free(loop);
	return 0;
}
