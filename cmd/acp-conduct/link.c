#include "link.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/system.h"
#include "route.h"

/* --- what it shows --- */

mode_t
link_type(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

short
link_hangup_events(int fd)
{
	return link_type(fd) == S_IFSOCK ? system_hangup : 0;
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
	if (l->to)
		return l->ended || l->to->finishing || (!l->to->input_closed && !endpoint_can_write(&l->to->out));
	return l->ended || (l->rd >= 0 && !l->from && poll_shows(l->rd, link_hangup_events(l->rd), POLLHUP | system_hangup | POLLERR));
}

bool
link_has_no_reader(const struct link *l)
{
	if (l->from)
		return l->from->discards;
	if (l->reader)
		return l->reader->life >= LIFE_ENDED;
	return l->wr < 0 || poll_shows(l->wr, 0, POLLERR | POLLHUP);
}

int
link_unread(const struct link *l)
{
	int n = 0;

	if (l->rd < 0)
		return l->wr < 0 ? 0 : system_unread(l->wr);
	return ioctl(l->rd, FIONREAD, &n) < 0 ? 0 : n;
}

int
link_last_unread(const struct link *l)
{
	int from = l->rd, copy[2], last = -1;
	char bytes[64 * 1024];
	ssize_t n;

	if (link_type(from >= 0 ? from : l->wr) != S_IFIFO || proc_pipe(copy) < 0)
		return -1;
	if (l->rd < 0)
		from = system_reopen(l->wr, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = system_copy_pipe(from, copy[1], sizeof(bytes));
	/* All of it? The reader may take some meanwhile. */
	if (n > 0 && n == link_unread(l) && read(copy[0], bytes, sizeof(bytes)) == n)
		last = (unsigned char)bytes[n - 1];
	close(copy[0]);
	close(copy[1]);
	if (l->rd < 0 && from >= 0)
		close(from);
	return last;
}

/* --- made and ended --- */

struct link *
link_new(struct chain *ch, enum acp_direction dir, struct component *writer, struct component *reader)
{
	struct link *l = &ch->links[ch->nlinks++];

	*l = (struct link){.chain = ch, .dir = dir, .rd = -1, .wr = -1, .writer = writer, .reader = reader};
	if (writer)
		writer->out[dir] = l;
	if (reader)
		reader->in[dir] = l;
	return l;
}

struct port *
link_new_port(struct route *r, size_t hop, enum port_kind kind, const char *name, bool carries)
{
	struct port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct port){.route = r, .kind = kind, .name = name, .rest = -1, .hop = hop, .carries = carries, .live = true};
	p->dialect = r->fixed ? r->dialect : ACP_PLAIN;
	p->state = kind == PORT_ABOVE || carries ? PORT_READY : PORT_NEW;
	r->ports[r->n++] = p;
	return p;
}

struct port *
link_port(struct route *r, size_t hop, enum port_kind kind, const char *name, bool carries)
{
	struct port **at = &r->sides[2 * hop + (kind == PORT_BELOW)];

	if (!*at)
		*at = link_new_port(r, hop, kind, name, carries);
	return *at;
}

/* A pipe between a component and the port of a link that has one. 0, or -1 with errno. */
int
link_open(struct link *l)
{
	int ends[2];

	if (proc_pipe(ends) < 0)
		return -1;
	if (l->to) {
		l->rd = ends[0];
		l->ended = false;
		return port_open_out(l->to, ends[1]);
	}
	l->wr = ends[1];
	return port_open_in(l->from, ends[0]);
}

void
link_end(struct link *l)
{
	struct link *next = l->reader ? l->reader->out[l->dir] : NULL;

	l->ended = true;
	loop_remove_fd(l->chain->loop, &l->watch);
	if (next && !next->from && next != l->chain->client[ACP_UP])
		chain_close(next, &next->wr);
}
