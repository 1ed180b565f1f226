#include "link.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "lib/proc.h"
#include "relay.h"

mode_t
link_type(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

short
link_hangup_events(int fd)
{
	return link_type(fd) == S_IFSOCK ? POLLRDHUP : 0;
}

static bool
poll_shows(int fd, short events, short wanted)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) == 1 && (p.revents & wanted);
}

bool
link_has_ended(const struct link *l)
{
	return l->ended || (l->rd >= 0 &&
		poll_shows(l->rd, link_hangup_events(l->rd), POLLHUP | POLLRDHUP | POLLERR));
}

bool
link_has_no_reader(const struct link *l)
{
	if (l->relay && l->relay->over)
		return true;
	if (l->relay && !l->reader)
		return false;
	if (l->reader)
		return l->reader->life >= LIFE_ENDED;
	return l->wr < 0 || poll_shows(l->wr, 0, POLLERR | POLLHUP);
}

int
link_unread(const struct link *l)
{
	int fd = l->rd >= 0 ? l->rd : l->wr, n = 0;
	unsigned long question = FIONREAD;

	if (fd < 0)
		return 0;
	if (l->rd < 0 && link_type(fd) == S_IFSOCK)
		question = SIOCOUTQ;
	return ioctl(fd, question, &n) < 0 ? 0 : n;
}

/* The last byte of what tee finds in a pipe; -1: none. */
static int
last_byte(int from, int scratch[2])
{
	char bytes[4096];
	int size = fcntl(from, F_GETPIPE_SZ), last = -1;
	ssize_t n, r;

	/* A smaller one might not take it all. */
	if (size < 0 || fcntl(scratch[1], F_SETPIPE_SZ, size) < 0)
		return -1;
	for (n = tee(from, scratch[1], (size_t)size, SPLICE_F_NONBLOCK); n > 0; n -= r) {
		r = read(scratch[0], bytes, (size_t)n < sizeof(bytes) ? (size_t)n : sizeof(bytes));
		if (r <= 0)
			return -1;
		last = (unsigned char)bytes[r - 1];
	}
	return last;
}

enum link_tail
link_tail(const struct link *l)
{
	char path[64];
	int from = l->rd, scratch[2], last;

	if (link_type(l->rd >= 0 ? l->rd : l->wr) != S_IFIFO || proc_pipe(scratch) < 0)
		return LINK_UNSEEN;
	if (l->rd < 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", l->wr);
		from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	last = last_byte(from, scratch);
	close(scratch[0]);
	close(scratch[1]);
	if (l->rd < 0 && from >= 0)
		close(from);
	return last < 0 ? LINK_UNSEEN : last == '\n' ? LINK_WHOLE : LINK_TORN;
}
