/*
 * What a remote peer may send once it is connected: WebSocket frames to a client or to a server, or an event stream. It comes whole, and
 * once more a byte at a time: the local peer gets the same messages, each of which is one on a line of its own.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/acp-http/streams.c" /* for stream_receive */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum kind { OF_SERVER, OF_CLIENT, EVENTS, KINDS };

static const struct options options = {.limit = 2000, .timeout = 1};

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static void
turn(struct loop *loop)
{
	expect(loop_run_once(loop) == 0);
}

static void
caught(void *arg, int signal)
{
	(void)arg;
	(void)signal;
}

static void
send_nowhere(void *arg, const struct message *m)
{
	(void)arg;
	(void)m;
}

static void
changed(void *arg)
{
	(void)arg;
}

static bool
no_line(void *arg, enum input_got got, const struct line *line)
{
	(void)arg;
	(void)got;
	(void)line;
	return true;
}

static void
no_event(void *arg, enum endpoint_event event)
{
	(void)arg;
	(void)event;
}

static void
collect(int fd, struct buf *to)
{
	char room[4096];
	ssize_t n;

	while ((n = recv(fd, room, sizeof(room), MSG_DONTWAIT)) > 0)
		expect(buf_add(to, room, (size_t)n) == 0);
}

/* What the local peer gets of it; how the WebSocket was closed. */
static unsigned
run(struct loop *loop, enum kind kind, struct slice in, size_t step, struct buf *got)
{
	struct client c = {.options = &options, .service = {.options = &options, .loop = loop, .report = {.tool = tool_name}}};
	struct endpoint far = {.line = no_line, .event = no_event};
	struct stream *s;
	struct ws ws = {0};
	int local[2], remote[2];
	size_t n;
	unsigned code;

	c.link = (struct link){.service = &c.service, .remote = kind == OF_CLIENT ? ACP_CLIENT : ACP_AGENT, .send = send_nowhere, .changed = changed};
	c.changed = changed;
	c.task = (struct loop_task){.run = changed};
	expect(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, remote) == 0);
	expect(link_open(&c.link, dup(local[0]), local[0]) == 0 && endpoint_open(&far, loop, remote[0], remote[0], 0) == 0);
	s = stream_of(&c, slice("", 0));
	expect(s);
	ws_open(&ws, &far, &c.link);
	for (; in.n > 0; in = slice(in.p + n, in.n - n)) {
		n = step < in.n ? step : in.n;
		if (kind != EVENTS)
			ws_receive(&ws, slice(in.p, n));
		else if (stream_receive(s, slice(in.p, n)) < 0)
			break;
		turn(loop);
		collect(local[1], got);
	}
	turn(loop);
	collect(local[1], got);
	code = ws.close_code;
	ws_close(&ws);
	posts_close(&c);
	link_close(&c.link);
	endpoint_close(&far);
	loop_remove_task(loop, &c.task);
	buf_free(&c.service.report.line);
	close(local[1]);
	close(remote[1]);
	return code;
}

static void
check_lines(struct slice text)
{
	const char *p = text.p, *end = text.n > 0 ? p + text.n : p, *newline;
	struct msg m;

	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		expect(newline && newline - p <= (ptrdiff_t)options.limit + 200 && msg_scan(slice_between(p, newline), &m, NULL) != MSG_NOISE);
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const int signals[] = {0};
	static struct loop *loop;
	struct buf whole = {0}, bytes = {0};
	struct slice in = slice((const char *)data + 1, size - 1);

	if (!loop)
		loop = loop_new(signals, caught, NULL);
	if (size == 0)
		return 0;
	expect(run(loop, *data % KINDS, in, size, &whole) == run(loop, *data % KINDS, in, 1, &bytes));
	check_lines(buf_slice(&whole));
	expect(slice_eq(buf_slice(&whole), buf_slice(&bytes)));
	buf_free(&whole);
	buf_free(&bytes);
	return 0;
}
