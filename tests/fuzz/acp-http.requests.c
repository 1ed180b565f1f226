/*
 * What any client may send to the server before it has a connection of the protocol: HTTP/1.1, HTTP/2 and what is neither, in two pieces,
 * the length of the first of which is in the first byte. The server stays up, no channel is left, and responses begin as they should.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/acp-http/server.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static void
turn(struct server *s, int times)
{
	for (; times > 0; times--)
		expect(loop_run_once(s->service.loop) == 0);
}

static void
caught(void *arg, int signal)
{
	(void)arg;
	(void)signal;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static char *command[] = {NULL};
	static const char *origins[] = {"http://a", NULL};
	static const struct options options = {.path = "/acp", .limit = 4096, .queue = 4096, .origins = origins, .command = command};
	static struct server s = {.options = &options, .service.options = &options, .max_channels = 4};
	static const int signals[] = {0};
	size_t first = size > 0 ? *data * (size - 1) / 255 : 0;
	char room[4096];
	int ends[2];
	ssize_t n;

	if (!s.service.loop)
		s.service.loop = loop_new(signals, caught, NULL);
	if (size-- == 0)
		return 0;
	data++;
	expect(s.service.loop && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
	channel_new(&s, ends[0]);
	expect(s.channels);
	send(ends[1], data, first, MSG_NOSIGNAL);
	turn(&s, 3);
	send(ends[1], data + first, size - first, MSG_NOSIGNAL);
	turn(&s, 6);
	n = recv(ends[1], room, sizeof(room), 0);
	if (n > 0 && (size < 4 || memcmp(data, "PRI ", 4) != 0))
		expect(n >= 12 && memcmp(room, "HTTP/1.1 ", 9) == 0);
	while (n > 0 && recv(ends[1], room, sizeof(room), 0) > 0)
		turn(&s, 2);
	close(ends[1]);
	turn(&s, 4);
	expect(!s.channels && s.nchannels == 0 && !s.conns);
	return 0;
}
