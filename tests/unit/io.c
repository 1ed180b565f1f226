/* io: nothing ever waits, and the flags of an inherited description stay what they are. */
#include "lib/run/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char room[1024 * 1024];

static ssize_t
write_text(struct io *io, const char *text)
{
	struct iovec part = {(void *)text, strlen(text)};

	return io_writev(io, &part, 1);
}

static bool
would_wait(ssize_t r)
{
	return r < 0 && errno == EAGAIN;
}

/* Writes until it would have to wait; how much that was. */
static size_t
fill(struct io *io)
{
	struct iovec parts[2] = {{room, 3000}, {room, 5000}};
	size_t all = 0;
	ssize_t r;

	while ((r = io_writev(io, parts, 2)) > 0)
		all += (size_t)r;
	CHECK(would_wait(r));
	return all;
}

/* Descriptors of one description share their flags: the one kept here is the neighbour's. */
static void
test_pipe(void)
{
	const enum io_kind kind = CHECK_PORTABLE ? IO_POLLED : IO_PIPE;
	struct io in, out;
	int p[2], theirs[2];
	char c[4];

	CHECK(pipe(p) == 0);
	theirs[0] = dup(p[0]);
	theirs[1] = dup(p[1]);
	CHECK(io_open(&in, p[0], false) == 0 && in.kind == kind);
	CHECK(io_open(&out, p[1], true) == 0 && out.kind == kind);
	CHECK(would_wait(io_read(&in, c, sizeof(c))));
	CHECK(write_text(&out, "abcdef") == 6);
	CHECK(io_read(&in, c, sizeof(c)) == 4 && memcmp(c, "abcd", 4) == 0);
	CHECK(io_read(&in, c, sizeof(c)) == 2 && memcmp(c, "ef", 2) == 0);
	CHECK(fill(&out) >= PIPE_BUF);
	CHECK(!(fcntl(theirs[0], F_GETFL) & O_NONBLOCK));
	CHECK(!(fcntl(theirs[1], F_GETFL) & O_NONBLOCK));
	CHECK(fcntl(in.fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(out.fd, F_GETFD) & FD_CLOEXEC);
	close(theirs[1]);
	io_close(&out, false);
	while (io_read(&in, room, sizeof(room)) > 0)
		;
	CHECK(io_read(&in, c, sizeof(c)) == 0);
	io_close(&in, false);
	CHECK(in.kind == IO_CLOSED && in.fd == -1);
	io_close(&in, false);
	close(theirs[0]);
}

/* The reader has gone: the first write tells, also where a fifo can not be opened anew. */
static void
test_pipe_without_a_reader(void)
{
	char path[4200];
	struct io out;
	int p[2];

	CHECK(pipe(p) == 0);
	close(p[0]);
	CHECK(io_open(&out, p[1], true) == 0);
	CHECK(write_text(&out, "x") == -1 && errno == EPIPE);
	io_close(&out, false);

	snprintf(path, sizeof(path), "%s/fifo", check_folder());
	CHECK(mkfifo(path, 0600) == 0);
	p[0] = open(path, O_RDONLY | O_NONBLOCK);
	p[1] = open(path, O_WRONLY);
	close(p[0]);
	CHECK(io_open(&out, p[1], true) == 0 && out.kind == IO_POLLED);
	CHECK(write_text(&out, "x") == -1 && errno == EPIPE);
	io_close(&out, false);
}

/* What a pipe is when it may not be opened anew: asked only when poll says so. */
static void
test_polled_pipe(void)
{
	struct io in, out;
	int p[2], theirs;
	char c[4];

	CHECK(pipe(p) == 0);
	theirs = dup(p[0]);
	in = (struct io){.fd = p[0], .kind = IO_POLLED};
	out = (struct io){.fd = p[1], .kind = IO_POLLED, .writing = true};
	CHECK(would_wait(io_read(&in, c, sizeof(c))));
	CHECK(write_text(&out, "ab") == 2 && io_read(&in, c, sizeof(c)) == 2);
	CHECK(fill(&out) >= PIPE_BUF);
	CHECK(!(fcntl(theirs, F_GETFL) & O_NONBLOCK));
	io_close(&out, false);
	while (io_read(&in, room, sizeof(room)) > 0)
		;
	CHECK(io_read(&in, c, sizeof(c)) == 0);
	io_close(&in, false);
	close(theirs);
}

/* Where the owner of a pipe is another, /proc does not open it: a real fallback, and it works. */
static void
test_pipe_of_another_user(void)
{
	struct io in;
	int p[2];
	char c;

	CHECK(pipe(p) == 0);
	if (geteuid() != 0 || fchown(p[0], 1, 1) < 0 || fchmod(p[0], 0) < 0 || seteuid(65534) < 0) {
		close(p[0]);
		close(p[1]);
		return;
	}
	CHECK(io_open(&in, p[0], false) == 0 && in.kind == IO_POLLED);
	CHECK(seteuid(0) == 0);
	CHECK(would_wait(io_read(&in, &c, 1)));
	CHECK(write(p[1], "x", 1) == 1 && io_read(&in, &c, 1) == 1 && c == 'x');
	close(p[1]);
	CHECK(io_read(&in, &c, 1) == 0);
	io_close(&in, false);
}

static void
test_sockets(void)
{
	struct io in, out;
	int a[2], theirs[2];
	char c[4];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
	theirs[0] = dup(a[0]);
	theirs[1] = dup(a[1]);
	CHECK(io_open(&in, a[0], false) == 0 && in.kind == IO_SOCKET);
	CHECK(io_open(&out, a[1], true) == 0 && out.kind == IO_SOCKET);
	CHECK(would_wait(io_read(&in, c, sizeof(c))));
	CHECK(write_text(&out, "ab") == 2 && io_read(&in, c, sizeof(c)) == 2);
	CHECK(fill(&out) > 0);
	CHECK(!(fcntl(theirs[0], F_GETFL) & O_NONBLOCK) && !(fcntl(theirs[1], F_GETFL) & O_NONBLOCK));
	/* Closed but still open elsewhere: only a shutdown ends the other side's input. */
	io_close(&out, true);
	while (io_read(&in, room, sizeof(room)) > 0)
		;
	CHECK(io_read(&in, c, sizeof(c)) == 0);
	io_close(&in, false);
	close(theirs[0]);
	close(theirs[1]);
}

/* A Unix socket that is closed with unread bytes resets the other end. */
static void
test_reset_is_the_end(void)
{
	struct io in, out;
	int a[2];
	char c;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
	CHECK(write(a[0], "unread", 6) == 6);
	close(a[1]);
	CHECK(io_open(&in, a[0], false) == 0);
	CHECK(io_read(&in, &c, 1) == 0);
	io_close(&in, false);

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
	close(a[1]);
	CHECK(io_open(&out, a[0], true) == 0);
	/* SIGPIPE has its default here: MSG_NOSIGNAL keeps it away. */
	CHECK(write_text(&out, "x") == -1 && errno == EPIPE);
	io_close(&out, false);
}

static void
test_file(void)
{
	char path[4200];
	int fd;
	struct io io;
	char c[8];

	snprintf(path, sizeof(path), "%s/file", check_folder());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK(io_open(&io, dup(fd), true) == 0 && io.kind == IO_FILE);
	CHECK(write_text(&io, "abc") == 3);
	io_close(&io, false);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(io_open(&io, fd, false) == 0 && io.kind == IO_FILE);
	CHECK(io_read(&io, c, sizeof(c)) == 3 && io_read(&io, c, sizeof(c)) == 0);
	io_close(&io, false);
	CHECK(io_open(&io, open("/dev/full", O_WRONLY), true) == 0);
	CHECK(write_text(&io, "x") == -1 && errno == ENOSPC);
	io_close(&io, false);
}

static void
test_terminal(void)
{
	struct io in, out;
	int master, slave, theirs;
	struct termios before, after;
	char c[8];

	CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	theirs = dup(slave);
	CHECK(tcgetattr(theirs, &before) == 0);
	CHECK(io_open(&in, slave, false) == 0 && in.kind == IO_POLLED);
	CHECK(io_open(&out, dup(theirs), true) == 0 && out.kind == IO_POLLED);
	CHECK(would_wait(io_read(&in, c, sizeof(c))));
	CHECK(write(master, "ab\n", 3) == 3 && io_read(&in, c, sizeof(c)) == 3);
	CHECK(write_text(&out, "xyz") == 3);
	CHECK(!(fcntl(theirs, F_GETFL) & O_NONBLOCK));
	CHECK(tcgetattr(theirs, &after) == 0 && before.c_lflag == after.c_lflag && before.c_iflag == after.c_iflag);
	close(master);
	CHECK(io_read(&in, c, sizeof(c)) == 0);
	io_close(&in, false);
	io_close(&out, false);
	close(theirs);
}

static void
test_what_is_not_open(void)
{
	struct io io;
	char c;

	CHECK(io_open(&io, -1, false) == -1 && errno == EBADF && io.kind == IO_CLOSED && io.fd == -1);
	io_close(&io, false);
	CHECK(io_open(&io, open("/", O_RDONLY), false) == 0);
	CHECK(io_read(&io, &c, 1) == -1 && errno == EISDIR);
	io_close(&io, false);
}

static void
test_same_socket(void)
{
	int a[2], p[2], again;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 && pipe(p) == 0);
	again = dup(a[0]);
	CHECK(io_same_socket(a[0], again));
	CHECK(!io_same_socket(a[0], a[1]));
	CHECK(!io_same_socket(p[0], p[1]) && !io_same_socket(a[0], -1));
	close(again);
	close(a[0]);
	close(a[1]);
	close(p[0]);
	close(p[1]);
}

static void
test_peek(void)
{
	int ends[2][2];
	char c[4];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[0]) == 0 && pipe(ends[1]) == 0);
	for (int i = 0; i <= !CHECK_PORTABLE; i++) {
		CHECK(would_wait(io_peek(ends[i][0], c, sizeof(c))));
		CHECK(write(ends[i][1], "ab", 2) == 2);
		CHECK(io_peek(ends[i][0], c, 1) == 1 && c[0] == 'a');
		CHECK(io_peek(ends[i][0], c, sizeof(c)) == 2 && memcmp(c, "ab", 2) == 0);
		close(ends[i][1]);
		CHECK(read(ends[i][0], c, sizeof(c)) == 2);
		CHECK(io_peek(ends[i][0], c, sizeof(c)) == 0);
		close(ends[i][0]);
	}
}

int
main(void)
{
	test_sockets();
	test_reset_is_the_end();
	signal(SIGPIPE, SIG_IGN);
	test_pipe();
	test_pipe_without_a_reader();
	test_polled_pipe();
	test_pipe_of_another_user();
	test_file();
	test_terminal();
	test_what_is_not_open();
	test_same_socket();
	test_peek();
	return check_done();
}
