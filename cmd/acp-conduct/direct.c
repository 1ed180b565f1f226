#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/acp/msg.h"
#include "lib/run/io.h"
#include "lib/run/system.h"
#include "life.h"

enum {
	PAUSE = 100 * 1000,           /* us: a writer that is within a line, and can run, goes on before that */
	PAUSE_MOST = 5 * 1000 * 1000, /* us: for a writer that is ready to run, or stopped */
	PAUSE_STEP = 10 * 1000,
};

static const char *const direction_names[] = {"down", "up"};

/* --- the state of a link --- */

static mode_t
type_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

static short
hangup_events(int fd)
{
	return type_of(fd) == S_IFSOCK ? system_hangup : 0;
}

static bool
poll_shows(int fd, short events, short wanted)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) == 1 && (p.revents & wanted);
}

/* Asks the descriptor, too, because a component may have seen the end before our loop has. */
static bool
has_ended(const struct link *l)
{
	return l->ended || (l->rd >= 0 && poll_shows(l->rd, hangup_events(l->rd), POLLHUP | system_hangup | POLLERR));
}

static bool
has_no_reader(const struct link *l)
{
	if (l->reader)
		return l->reader->life >= LIFE_ENDED;
	return l->wr < 0 || poll_shows(l->wr, 0, POLLERR | POLLHUP);
}

/* The number of bytes that wait in the link; 0 also where the system does not tell. */
static int
unread(const struct link *l)
{
	int n = 0;

	if (l->rd < 0)
		return l->wr < 0 ? 0 : system_unread(l->wr);
	return ioctl(l->rd, FIONREAD, &n) < 0 ? 0 : n;
}

/* Appends a copy of the bytes that wait in the link. 0; -1: some may be missing (the reader took them, or the system does not tell). */
static int
peek(const struct link *l, struct buf *to)
{
	int n = unread(l), fd;
	ssize_t r;

	if (n == 0)
		return l->rd >= 0 || type_of(l->wr) == S_IFIFO ? 0 : -1;
	if (buf_reserve(to, (size_t)n) < 0)
		return -1;
	fd = l->rd >= 0 ? l->rd : system_reopen(l->wr, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	r = fd < 0 ? -1 : io_peek(fd, to->p, (size_t)n);
	if (fd != l->rd)
		proc_close(fd);
	to->n = r < 0 ? 0 : (size_t)r;
	return r < n ? -1 : 0;
}

/* --- ends --- */

/* Closes our copy of an end, and stops watching it. In the place of 0, 1 or 2 it opens /dev/null, so that no other file gets the number. */
static void
close_end(struct link *l, int *copy)
{
	int fd = *copy;

	/* First, because epoll goes on watching a closed descriptor whose description another process holds. */
	if (l->watch.fd == fd)
		loop_remove_fd(l->chain->loop, &l->watch);
	if (fd >= 0 && fd <= 2)
		fd = proc_move_high(fd);
	proc_close(fd);
	*copy = -1;
}

/*
 * The writer has gone: from now on the reader alone decides when its own output in this direction ends. The client's own descriptor
 * stays open until the component that writes to it has gone, because it shows whether the client reads.
 */
static void
end_link(struct link *l)
{
	struct chain *ch = l->chain;
	struct link *next = l->reader ? l->reader->out[l->dir] : NULL;

	l->ended = true;
	loop_remove_fd(ch->loop, &l->watch);
	if (next && next != ch->direct->client[ACP_UP])
		close_end(next, &next->wr);
	end_begin(ch);
}

static bool drop_half(struct link *);

static void
on_hangup(void *arg, short revents)
{
	struct link *l = arg;

	(void)revents;
	if (!l->half)
		end_link(l);
	else if (drop_half(l))
		life_event(l->reader, EVENT_SETTLED);
	end_follow(l->chain);
}

/* The client does not read any more. The component that writes to it notices, and decides alone what it does then. */
static void
on_unread(void *arg, short revents)
{
	struct link *l = arg, *in = l->chain->direct->client[ACP_DOWN];
	struct component *c = l->writer;

	(void)revents;
	loop_remove_fd(l->chain->loop, &l->watch);
	if (c->in[ACP_UP])
		close_end(c->in[ACP_UP], &c->in[ACP_UP]->rd);
	if (in->reader->out[ACP_DOWN])
		close_end(in->reader->out[ACP_DOWN], &in->reader->out[ACP_DOWN]->wr);
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (c->in[dir])
			loop_remove_fd(l->chain->loop, &c->in[dir]->watch);
	end_begin(l->chain);
}

static void
watch(struct link *l)
{
	struct chain *ch = l->chain;
	bool writes = l == ch->direct->client[ACP_UP];
	int fd = writes ? l->wr : l->rd;
	mode_t type;

	if (fd < 0 || l->watch.added || l->ended || (l->reader && l->reader->life == LIFE_DYING))
		return;
	type = type_of(fd);
	/* A file never hangs up, so it counts as ended from the start. */
	if (type != S_IFIFO && (type != S_IFSOCK || writes)) {
		if (!writes)
			end_link(l);
		return;
	}
	l->watch = (struct loop_fd){.fd = fd, .events = writes ? 0 : hangup_events(fd), .ready = writes ? on_unread : on_hangup, .arg = l};
	loop_add_fd(ch->loop, &l->watch);
}

/* --- processes --- */

/* Opens /dev/null where there is no descriptor: to read it is at its end, to write it discards. 0, or -1 with errno. */
static int
open_null(int *fd, int flags)
{
	if (*fd < 0)
		*fd = open("/dev/null", flags | O_CLOEXEC);
	return *fd < 0 ? -1 : 0;
}

/* A later process gets the same pipes. A direction that has ended has ended for it, too. */
static ssize_t
open_pipes(struct component *c, struct proc_fd *to)
{
	const struct link *in = c->in[ACP_DOWN] ? c->in[ACP_DOWN] : c->in[ACP_UP];
	const struct link *out = c->out[ACP_UP] ? c->out[ACP_UP] : c->out[ACP_DOWN];
	ssize_t n = 0;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if ((c->in[dir] && open_null(&c->in[dir]->rd, O_RDONLY) < 0) || (c->out[dir] && open_null(&c->out[dir]->wr, O_WRONLY) < 0))
			return -1;
	to[n++] = (struct proc_fd){in->rd, STDIN_FILENO};
	to[n++] = (struct proc_fd){out->wr, STDOUT_FILENO};
	if (c->kind == KIND_FILTER) {
		to[n++] = (struct proc_fd){c->in[ACP_UP]->rd, 6};
		to[n++] = (struct proc_fd){c->out[ACP_DOWN]->wr, 7};
	}
	return n;
}

static void
started(struct component *c)
{
	struct direct *d = c->chain->direct;

	/* Nothing follows the agent, so its reader must see the end of file when it dies or closes stdout. */
	if (c->kind == KIND_AGENT && c->out[ACP_UP] != d->client[ACP_UP])
		close_end(c->out[ACP_UP], &c->out[ACP_UP]->wr);
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (c->in[dir] && c->in[dir]->ended && c->out[dir] && c->out[dir] != d->client[ACP_UP])
			close_end(c->out[dir], &c->out[dir]->wr);
	/* A link is watched for its end once both of its sides have a process. */
	for (size_t i = 0; i < d->n; i++)
		if ((!d->links[i].writer || d->links[i].writer->life != LIFE_NONE) && (!d->links[i].reader || d->links[i].reader->life != LIFE_NONE))
			watch(&d->links[i]);
}

static bool
may_end(const struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if ((c->in[dir] && has_ended(c->in[dir])) || (c->out[dir] && has_no_reader(c->out[dir])))
			return true;
	return false;
}

/* --- a dead process, and its half lines --- */

/* Does the text begin with { and a member that messages have? Other texts that begin with { are the rest of a line. */
static bool
begins_message(struct slice text)
{
	static const char *const members[] = {"\"jsonrpc\"", "\"id\"", "\"method\"", "\"params\"", "\"result\"", "\"error\""};
	const char *end = text.p + text.n;

	if (text.n == 0 || *text.p++ != '{')
		return false;
	while (text.p < end && byte_is_space(*text.p))
		text.p++;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if ((size_t)(end - text.p) >= strlen(members[i]) && memcmp(text.p, members[i], strlen(members[i])) == 0)
			return true;
	return false;
}

/*
 * Is the first line of the pipe whole? The rest of a cut line is no JSON: cut between two strings it lacks a bracket, cut within a
 * string it has an odd number of quotes. Where the line has no newline yet, its beginning decides.
 */
static bool
begins_line(struct slice text)
{
	const char *newline = memchr(text.p, '\n', text.n);
	static const struct json_keys keys = {0};

	if (!newline)
		return begins_message(text);
	return json_members(slice_between(text.p, newline), JSON_DEPTH, &keys, NULL, NULL) != JSON_NONE;
}

/*
 * Discards the rest of a line whose beginning the dead reader has read, so that the next process does not get it. False: a part of the
 * rest has not come yet.
 */
static bool
drop_half(struct link *l)
{
	SCOPED struct buf bytes = {0};
	const char *newline;
	ssize_t taken;

	peek(l, &bytes);
	if (!l->half && bytes.n > 0) {
		l->half = !begins_line(buf_slice(&bytes));
		l->dropped = 0;
		l->empty_since = 0;
	}
	if (bytes.n == 0 && has_ended(l))
		l->half = false;
	if (!l->half || bytes.n == 0)
		return !l->half;
	newline = memchr(bytes.p, '\n', bytes.n);
	/* This does not wait: the peek has seen the bytes, and nobody else reads. */
	taken = read(l->rd, bytes.p, newline ? (size_t)(newline + 1 - bytes.p) : bytes.n);
	l->dropped += taken > 0 ? (uint64_t)taken : 0;
	if (!newline)
		return false;
	report_line(&l->chain->report, "%s: %s: dropped the rest of a line that it had partly read before it died (%" PRIu64 " bytes)",
		l->reader->name, direction_names[l->dir], l->dropped);
	l->half = false;
	loop_remove_fd(l->chain->loop, &l->watch);
	return true;
}

static void
read_rest(struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->in[dir]) {
			loop_remove_fd(c->chain->loop, &c->in[dir]->watch);
			c->in[dir]->empty_since = 0;
		}
		if (c->out[dir])
			c->out[dir]->may_be_cut = true;
	}
}

/*
 * The link is empty, but the dead reader may have read the beginning of a line that the writer is about to go on with. On a busy machine
 * the writer may wait for a processor. A writer that had a processor for PAUSE and wrote nothing is not within a line.
 */
static bool
may_go_on(struct link *l)
{
	pid_t writer = l->writer ? l->writer->process.pid : 0;
	uint64_t now = loop_clock(), cpu = writer > 0 ? system_cpu_time(writer) : 0, pause;

	if (unread(l) > 0 || has_ended(l))
		return false;
	if (!l->empty_since) {
		l->empty_since = now;
		l->cpu_then = cpu;
	}
	pause = now - l->empty_since;
	return pause < PAUSE ||
		(pause < PAUSE_MOST && !l->chain->end.begun && cpu && cpu - l->cpu_then < PAUSE && proc_is_awake(writer));
}

/*
 * Ends the line that the dead writer may have half written, unless the pipe is full and cannot grow. Where the reader has taken all
 * bytes, nobody can say whether the last line was whole. So a message without effect is written: it ends a cut line, and after a whole
 * one it is a line by itself. (Clients do not accept empty lines.)
 */
static void
end_half_line(struct link *l)
{
	static const char nothing[] = "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"acp-conduct\"}}\n";
	SCOPED struct buf bytes = {0};
	bool is_seen;
	ssize_t r;

	is_seen = peek(l, &bytes) == 0 && bytes.n > 0;
	if (l->wr < 0 || type_of(l->wr) == S_IFREG || (is_seen && bytes.p[bytes.n - 1] == '\n')) {
		l->may_be_cut = false;
		return;
	}
	/* poll promises room for PIPE_BUF bytes; a pipe that is full gets some. */
	if (!poll_shows(l->wr, POLLOUT, POLLOUT) && (system_grow_pipe(l->wr) < 0 || !poll_shows(l->wr, POLLOUT, POLLOUT)))
		return;
	l->may_be_cut = false;
	if (is_seen)
		report_line(&l->chain->report, "%s: %s: wrote an incomplete line before it died; ended the line with a newline",
			l->writer->name, direction_names[l->dir]);
	r = is_seen ? write(l->wr, "\n", 1) : write(l->wr, nothing, sizeof(nothing) - 1);
	if (r < 0)
		report_line(&l->chain->report, "%s: %s: %s", l->writer->name, direction_names[l->dir], strerror(errno));
}

/*
 * Does every pipe that the component reads begin with a whole line? To be called once its process group has gone. First ends the lines
 * that the dead process has half written, because their readers may be dead, too, and be waited for until they have the rest.
 */
static bool
is_settled(struct component *c)
{
	bool settled = true, full = false;
	struct link *l;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS && c->next != NEXT_NONE; dir++)
		if (c->out[dir] && c->out[dir]->may_be_cut) {
			end_half_line(c->out[dir]);
			full |= c->out[dir]->may_be_cut;
		}
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS && c->next != NEXT_NONE; dir++) {
		l = c->in[dir];
		if (!l || l->rd < 0 || type_of(l->rd) == S_IFREG)
			continue;
		if (!l->half && may_go_on(l)) {
			settled = false;
			loop_add_timer(c->chain->loop, &c->process.timer, PAUSE_STEP);
		} else if (!drop_half(l)) {
			settled = false;
			if (l->watch.added)
				continue;
			l->watch = (struct loop_fd){.fd = l->rd, .events = POLLIN, .ready = on_hangup, .arg = l};
			loop_add_fd(c->chain->loop, &l->watch);
		}
	}
	if (!settled && full)
		loop_add_timer(c->chain->loop, &c->process.timer, PAUSE_STEP);
	return settled;
}

static void
recover(struct component *c, struct losses *n)
{
	n->unknown = true;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->out[dir] && c->out[dir]->may_be_cut)
			end_half_line(c->out[dir]);
		if (c->in[dir] && c->out[dir] && c->out[dir]->wr < 0 && unread(c->in[dir]) > 0)
			report_line(&c->chain->report, "%s: %s: %d unread bytes are lost, because the next component in this direction has seen the end",
				c->name, direction_names[dir], unread(c->in[dir]));
	}
}

static void
close_pipes(struct component *c, bool over)
{
	struct direct *d = c->chain->direct;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->in[dir]) {
			loop_remove_fd(c->chain->loop, &c->in[dir]->watch);
			close_end(c->in[dir], &c->in[dir]->rd);
		}
		if (c->out[dir] && (c->out[dir] != d->client[ACP_UP] || over))
			close_end(c->out[dir], &c->out[dir]->wr);
	}
}

/* May a process of its group hold a pipe open? Where a filter writes to the client's own descriptor, the system does not tell. */
static bool
holds_pipes(const struct component *c)
{
	const struct link *out;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		out = c->out[dir];
		if (out && (out->reader ? out->rd >= 0 && !has_ended(out) : c->kind != KIND_AGENT))
			return true;
	}
	return false;
}

/* The agent's output up is what follows its input down. */
static bool
holds_up(const struct component *c)
{
	const struct link *in, *out;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		in = c->in[dir];
		out = c->kind == KIND_AGENT ? c->out[ACP_UP] : c->out[dir];
		if (in && has_ended(in) && !has_ended(out))
			return true;
	}
	return false;
}

/* --- the end --- */

/*
 * Handles that the client has left. The component that reads the client's messages holds the client's descriptor itself; a filter takes
 * its first SIGTERM as the end of its input.
 */
static void
client_left(struct chain *ch)
{
	struct link *l = ch->direct->client[ACP_DOWN];

	if (endpoint_can_read(&ch->direct->relay)) {
		endpoint_drain(&ch->direct->relay);
		endpoint_pause(&ch->direct->relay, false);
	} else if (life_runs(l->reader)) {
		life_dismiss(l->reader);
		end_link(l);
	} else {
		l->ended = true; /* once it is replaced */
	}
	end_begin(ch);
}

static void
fail(struct component *c, const char *what, int status)
{
	(void)what;
	(void)status;
	end_begin(c->chain);
}

/* Ends the down filters when only they remain: no process reads what they write, and the client may keep their input open for ever. */
static bool
proceed(struct chain *ch, bool hurry)
{
	struct component *c;

	(void)hurry;
	for (size_t i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->kind == KIND_DOWN ? c->life == LIFE_NONE : c->life < LIFE_GONE)
			return false;
	}
	for (size_t i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (life_runs(c) && !c->process.asked_to_end && !has_ended(c->in[ACP_DOWN]))
			life_dismiss(c);
	}
	return false;
}

/* The position in stdin counts, too: if that is a file, reading it is progress. */
static uint64_t
progress(const struct chain *ch)
{
	const struct direct *d = ch->direct;
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	uint64_t h = (at < 0 ? 0 : (uint64_t)at) + d->relay.out.written;

	for (size_t i = 0; i < d->n; i++)
		h = h * 1000003 + (uint64_t)unread(&d->links[i]);
	for (size_t i = 0; i < ch->total; i++)
		h = h * 1000003 + (ch->components[i].life >= LIFE_ENDED);
	return h;
}

static bool
is_client_slow(const struct chain *ch)
{
	const struct link *l = ch->direct->client[ACP_UP];
	const struct link *in = ch->direct->client[ACP_DOWN];
	struct stat st;

	if (ch->end.steps == 0 && in->rd == STDIN_FILENO && fstat(in->rd, &st) == 0 && S_ISREG(st.st_mode) &&
		lseek(in->rd, 0, SEEK_CUR) < st.st_size)
		return true;
	return ch->components[ch->n - 1].life >= LIFE_ENDED && unread(l) > 0 && !has_no_reader(l);
}

const struct flow direct_flow = {
	.open_pipes = open_pipes, .started = started, .may_end = may_end, .read_rest = read_rest, .is_settled = is_settled, .recover = recover,
	.close_pipes = close_pipes, .holds_pipes = holds_pipes, .holds_up = holds_up, .client_left = client_left, .fail = fail,
	.proceed = proceed, .progress = progress, .is_client_slow = is_client_slow,
};
