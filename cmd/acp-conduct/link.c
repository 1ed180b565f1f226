#include "link.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/sockios.h>

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
