/* socket: text and descriptors over Unix sockets. */
#include "lib/run/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

/* How many descriptors this process has open. */
static int
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d != NULL);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool
same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool
would_wait(ssize_t r)
{
	return r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static void
test_text_alone(void)
{
	struct buf got = {0};
	int pair[2], fd = -1;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(would_wait(socket_receive(pair[1], &got, &fd)));
	CHECK(socket_send(pair[0], slice_of("one "), -1) == 4);
	CHECK(socket_send(pair[0], slice_of("two"), -1) == 3);
	while (got.n < 7 && socket_receive(pair[1], &got, &fd) > 0)
		;
	CHECK_STR(buf_string(&got), "one two");
	CHECK(fd == -1);
	close(pair[0]);
	CHECK(socket_receive(pair[1], &got, &fd) == 0 && got.n == 7);
	CHECK(socket_send(pair[1], slice_of("x"), -1) == -1 && errno == EPIPE);
	close(pair[1]);
	buf_free(&got);
}

static void
test_descriptor(void)
{
	struct buf got = {0};
	int pair[2], p[2], fd = -1;
	char c;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(p) == 0);
	CHECK(socket_send(pair[0], slice_of("here\n"), p[0]) == 5);
	CHECK(socket_receive(pair[1], &got, &fd) == 5);
	CHECK_STR(buf_string(&got), "here\n");
	CHECK(fd >= 0 && fd != p[0] && same_file(fd, p[0]));
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(write(p[1], "z", 1) == 1 && read(fd, &c, 1) == 1 && c == 'z');
	close(fd);
	close(p[0]);
	close(p[1]);
	close(pair[0]);
	close(pair[1]);
	buf_free(&got);
}

/* Sends so many descriptors with one byte. */
static void
send_many(int to, int fd, size_t n)
{
	union {
		char room[CMSG_SPACE(100 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {(void *)"x", 1};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *c;
	size_t i;

	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	CHECK(sendmsg(to, &m, 0) == 1);
}

/* What nobody asked for does not stay open: with one message, and with a later one. */
static void
test_superfluous(void)
{
	static const size_t many[] = {1, 2, 3, 100};
	struct buf got = {0};
	int pair[2], fd, before;
	size_t i;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		fd = -1;
		before = descriptors();
		send_many(pair[0], pair[0], many[i]);
		CHECK(socket_receive(pair[1], &got, &fd) == 1);
		CHECK(fd >= 0 && same_file(fd, pair[0]));
		CHECK(descriptors() == before + 1);
		send_many(pair[0], pair[0], many[i]);
		before = fd;
		CHECK(socket_receive(pair[1], &got, &fd) == 1 && fd == before);
		close(fd);
	}
	fd = -1;
	before = descriptors();
	send_many(pair[0], pair[0], 2);
	CHECK(socket_receive(pair[1], &got, &fd) == 1);
	send_many(pair[0], pair[0], 2);
	CHECK(socket_receive(pair[1], &got, &fd) == 1);
	CHECK(descriptors() == before + 1);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	buf_free(&got);
}

/* No room in the process for a descriptor. */
static void
test_no_room(void)
{
	struct rlimit limit, none;
	struct buf got = {0};
	int pair[2], fd = -1;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(socket_send(pair[0], slice_of("x"), pair[0]) == 1);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(socket_receive(pair[1], &got, &fd) == -1 && errno == EMFILE && fd == -1);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	close(pair[0]);
	close(pair[1]);
	buf_free(&got);
}

/* A full socket takes what it has room for; the descriptor goes with the first byte. */
static void
test_full(void)
{
	size_t n = 8 * 1024 * 1024, sent = 0;
	struct buf got = {0};
	char *much = malloc(n);
	int pair[2], fd = -1;
	ssize_t r;

	CHECK(much != NULL && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	memset(much, 'm', n);
	r = socket_send(pair[0], slice(much, n), pair[0]);
	CHECK(r > 0 && (size_t)r < n);
	sent = (size_t)r;
	CHECK(would_wait(socket_send(pair[0], slice(much, n), -1)));
	while (sent < n) {
		CHECK(socket_receive(pair[1], &got, &fd) > 0);
		CHECK(fd >= 0);
		r = socket_send(pair[0], slice(much + sent, n - sent), -1);
		sent += r > 0 ? (size_t)r : 0;
	}
	while (socket_receive(pair[1], &got, &fd) > 0)
		;
	CHECK(got.n == n && memcmp(got.p, much, n) == 0);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	buf_free(&got);
	free(much);
}

static void
test_connection(void)
{
	char path[4200], longer[200];
	struct buf got = {0};
	int listener, client, server, fd = -1;
	struct stat st;

	snprintf(path, sizeof(path), "%s/s", check_folder());
	CHECK(socket_connect(path, 0) == -1 && errno == ENOENT);
	listener = socket_listen(path);
	CHECK(listener >= 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(socket_accept(listener) == -1 && errno == EAGAIN);
	client = socket_connect(path, 0);
	server = socket_accept(listener);
	CHECK(client >= 0 && server >= 0);
	CHECK(socket_send(client, slice_of("ask\n"), -1) == 4);
	CHECK(socket_receive(server, &got, &fd) == 4 && fd == -1);
	CHECK(socket_send(server, slice_of("tell\n"), listener) == 5);
	CHECK(socket_receive(client, &got, &fd) == 5 && same_file(fd, listener));
	CHECK_STR(buf_string(&got), "ask\ntell\n");
	close(fd);
	close(client);
	close(server);
	close(listener);
	CHECK(socket_connect(path, 0) == -1 && errno == ECONNREFUSED);
	CHECK(unlink(path) == 0);
	memset(longer, 'l', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	CHECK(socket_listen(longer) == -1 && errno == ENAMETOOLONG);
	buf_free(&got);
}

int
main(void)
{
	test_text_alone();
	test_descriptor();
	test_superfluous();
	test_no_room();
	test_full();
	test_connection();
	return check_done();
}
