/* The transports of plain messages: a pipe, a link, and standard input before its first message shows what it is. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

enum {
	LINK_IN = 6, /* the descriptor from which a link (UCSPI) reads the agent's side, ... */
	LINK_OUT,    /* ... and the one to which it writes */
	PEEK = 4096,
};

/* --- a pipe: one direction, or both, joined by somebody --- */

const struct transport transport_pipe = {
	.input = "standard input",
	.output = "standard output",
	.gives = FILTER_EDITS,
	.lacks = "a one-way pipe is not enough: this needs both directions",
	.one_way = true,
	.lossy = true,
	.open = stdio_open,
	.line = plain_line,
	.message = plain_message,
	.put = plain_put,
};

/* --- a link: the agent's side is on two more descriptors (UCSPI) --- */

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

bool
link_is_offered(void)
{
	const char *proto = getenv("PROTO");

	return is_open(LINK_IN) && is_open(LINK_OUT) && proto && strcmp(proto, "ACP") == 0;
}

/* Waits for the first message. Is it from a conductor, to a proxy? A conductor writes it at once, so that it comes whole. */
static bool
first_is_proxy(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char text[PEEK];
	const char *p = text, *end;
	struct msg m;
	ssize_t n;

	while (poll(&input, 1, -1) < 0 && errno == EINTR)
		;
	n = io_peek(STDIN_FILENO, text, sizeof(text));
	for (; n > 0 && p < text + n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(text + n - p));
		if (!end)
			end = text + n;
		if (msg_scan(slice_between(p, end), &m, NULL) != MSG_NOISE)
			return m.what == ACP_PROXY_INITIALIZE;
	}
	return false;
}

bool
frame_is_wired(void)
{
	struct stat st;

	if (link_is_offered())
		return true;
	if (fstat(STDIN_FILENO, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	return first_is_proxy();
}

static int
open_link(struct frame *f)
{
	int status;

	if (!is_open(LINK_IN) || !is_open(LINK_OUT)) {
		frame_warn(f, "descriptors %d and %d are not open: no link", LINK_IN, LINK_OUT);
		return EXIT_USAGE;
	}
	status = stdio_open(f);
	if (status || far_open(f, proc_move_high(LINK_IN), proc_move_high(LINK_OUT)) == 0)
		return status;
	frame_warn(f, "descriptors %d and %d: %s", LINK_IN, LINK_OUT, strerror(errno));
	return EXIT_FAILED;
}

const struct transport transport_link = {
	.input = "client",
	.output = "the client",
	.gives = FILTER_EDITS | FILTER_SENDS,
	.open = open_link,
	.line = plain_line,
	.message = plain_message,
	.put = plain_put,
};

/* --- undecided: the first message shows whether this is a proxy chain --- */

static int
decide(struct frame *f, const struct transport *t)
{
	int r = 0;

	f->transport = t;
	if (frame_begin(f) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < f->nearly; i++)
		r = t->line(&f->near, f->early[i].got, &f->early[i].line);
	return r;
}

static int
undecided_line(struct side *s, enum input_got got, const struct line *line)
{
	struct frame *f = s->frame;
	struct msg m = {0};
	bool proxy;

	if (got != INPUT_PIECE && msg_scan(line->text, &m, NULL) == MSG_NOISE && f->nearly < EARLY_MOST) {
		f->early[f->nearly++] = (struct early){*line, got};
		block_hold(line->block);
		return 0;
	}
	proxy = m.what == ACP_PROXY_INITIALIZE && m.kind == MSG_REQUEST;
	if (decide(f, proxy ? &transport_proxy : &transport_pipe) < 0)
		return -1;
	return f->failed ? 0 : f->transport->line(s, got, line);
}

static int
begin_as_pipe(struct frame *f)
{
	int r = decide(f, &transport_pipe);

	if (r < 0)
		frame_abort(f, "out of memory");
	return r;
}

const struct transport transport_undecided = {
	.input = "standard input",
	.output = "standard output",
	.gives = FILTER_EDITS | FILTER_SENDS,
	.open = stdio_open,
	.begin = begin_as_pipe,
	.line = undecided_line,
	.put = plain_put,
};
