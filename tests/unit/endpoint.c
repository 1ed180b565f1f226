/* endpoint: all lines arrive and all that is queued is written, whatever the peer is and whatever it does. */
#include "lib/run/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/unit/check.h"

enum { LIMIT = 64 * 1024 * 1024, LONG = 100 * 1000 * 1000 };

static struct loop *loop;
static struct endpoint e;
static int theirs_in, theirs_out; /* the peer's ends: what it reads, what it writes; -1: closed */
static struct buf heard;          /* "line|line|", and an event that ends something in capitals */
static size_t lines, line_bytes;
static int refuse;                /* so many lines are not taken */
static bool pause_after_line, close_at_line;
static enum endpoint_event awaited;
static bool seen;

static bool
line(void *arg, enum input_got got, const struct line *l)
{
	CHECK(arg == &loop);
	if (refuse > 0) {
		refuse--;
		return false;
	}
	lines += got != INPUT_PIECE || l->last;
	line_bytes += l->text.n;
	if (l->text.n < 100) {
		buf_add_slice(&heard, l->text);
		buf_add_string(&heard, got == INPUT_TORN ? "~" : "|");
	}
	if (pause_after_line)
		endpoint_pause(&e, true);
	if (close_at_line)
		endpoint_close(&e);
	return true;
}

static void
event(void *arg, enum endpoint_event what)
{
	CHECK(arg == &loop);
	if (what == ENDPOINT_ENDED)
		buf_add_string(&heard, "ENDED");
	if (what == ENDPOINT_CLOSED)
		buf_add_string(&heard, "CLOSED");
	if (what == ENDPOINT_HUNG_UP)
		buf_add_string(&heard, "HUNG_UP ");
	if (what != awaited)
		return;
	seen = true;
	loop_stop(loop);
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

/* Runs until this happens; for at most 60 s. */
static bool
await(enum endpoint_event what)
{
	struct loop_timer t = {.expired = stop};

	awaited = what;
	seen = false;
	loop_add_timer(loop, &t, 60 * 1000 * 1000);
	CHECK(loop_run(loop) == 0);
	loop_remove_timer(loop, &t);
	awaited = (enum endpoint_event)-1;
	return seen;
}

/* All that happens by itself now. */
static void
settle(void)
{
	struct loop_timer t = {.expired = stop};
	int i;

	awaited = (enum endpoint_event)-1;
	for (i = 0; i < 8; i++) {
		loop_add_timer(loop, &t, 0);
		CHECK(loop_run(loop) == 0);
	}
}

static bool
heard_is(const char *text)
{
	bool same = check_same(buf_string(&heard), text, __FILE__, __LINE__, "heard");

	heard.n = 0;
	return same;
}

/* --- peers --- */

static void
open_with(int in, int out)
{
	heard.n = lines = line_bytes = 0;
	refuse = 0;
	pause_after_line = close_at_line = false;
	e = (struct endpoint){.line = line, .event = event, .arg = &loop};
	CHECK(endpoint_open(&e, loop, in, out, LIMIT) == 0);
}

static void
begin_pipes(void)
{
	int down[2], up[2];

	CHECK(pipe(down) == 0 && pipe(up) == 0);
	theirs_in = down[0];
	theirs_out = up[1];
	open_with(up[0], down[1]);
}

static void
begin_socket(void)
{
	int s[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	theirs_in = theirs_out = s[1];
	open_with(s[0], s[0]);
}

static void
begin_terminal(void)
{
	struct termios t;
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0 && tcgetattr(slave, &t) == 0);
	cfmakeraw(&t);
	CHECK(tcsetattr(slave, TCSANOW, &t) == 0);
	theirs_in = theirs_out = master;
	open_with(slave, slave);
}

static void
leave(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	if (fd == &theirs_in && theirs_out == theirs_in)
		theirs_out = -1;
	if (fd == &theirs_out && theirs_in == theirs_out)
		theirs_in = -1;
	*fd = -1;
}

static void
finish(void)
{
	endpoint_close(&e);
	endpoint_close(&e);
	leave(&theirs_in);
	leave(&theirs_out);
}

static void
they_write(const char *text)
{
	CHECK(write(theirs_out, text, strlen(text)) == (ssize_t)strlen(text));
}

static void
they_read(const char *text)
{
	char got[256];
	size_t n = 0;
	ssize_t r = 1;

	while (n < strlen(text) && r > 0) {
		r = read(theirs_in, got + n, strlen(text) - n);
		n += r > 0 ? (size_t)r : 0;
	}
	got[n] = '\0';
	CHECK_STR(got, text);
}

static bool
they_see_the_end(void)
{
	char c;

	return read(theirs_in, &c, 1) == 0;
}

/* A process that does this with the peer's ends and leaves. */
static pid_t
peer_process(void (*does)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		/* Not endpoint_close: the two processes share an epoll. */
		close(e.in.io.fd);
		close(e.out.io.fd);
		does();
		_exit(0);
	}
	return pid;
}

/* --- what is read --- */

static void
check_both_ways(void)
{
	they_write("one\ntw");
	CHECK(await(ENDPOINT_READ) && heard_is("one|"));
	they_write("o\r\n\nthree\n");
	CHECK(await(ENDPOINT_READ) && heard_is("two\r||three|"));
	CHECK(endpoint_put_line(&e, NULL, slice_of("hello"), false) == 0 && endpoint_put(&e, NULL, slice_of("you\n")) == 0);
	CHECK(e.out.queued == 10);
	CHECK(await(ENDPOINT_WROTE) && e.out.queued == 0 && e.out.written == 10);
	they_read("hello\nyou\n");
}

static void
test_peers_of_all_kinds(void)
{
	void (*const begins[])(void) = {begin_pipes, begin_socket, begin_terminal};
	size_t i;

	for (i = 0; i < 3; i++) {
		begins[i]();
		check_both_ways();
		leave(&theirs_out);
		CHECK(await(ENDPOINT_ENDED) && e.in.error == 0 && !endpoint_can_read(&e));
		finish();
	}
}

static void
test_files(void)
{
	char path[4200], text[32] = "";
	int in, out;

	snprintf(path, sizeof(path), "%s/file", check_folder());
	in = open(path, O_RDWR | O_CREAT, 0600);
	out = open(path, O_WRONLY | O_APPEND);
	CHECK(in >= 0 && out >= 0 && write(in, "one\ntwo\nlast", 12) == 12 && lseek(in, 0, SEEK_SET) == 0);
	theirs_in = theirs_out = -1;
	open_with(in, out);
	CHECK(await(ENDPOINT_ENDED) && e.torn && heard_is("one|two|last~ENDED"));
	CHECK(endpoint_put(&e, NULL, slice_of("\nmore")) == 0);
	endpoint_finish(&e);
	CHECK(await(ENDPOINT_CLOSED) && e.out.error == 0);
	in = open(path, O_RDONLY);
	CHECK(read(in, text, sizeof(text) - 1) == 17);
	CHECK_STR(text, "one\ntwo\nlast\nmore");
	close(in);
	finish();
}

static void
test_half_lines(void)
{
	begin_pipes();
	they_write("{\"a\"");
	CHECK(await(ENDPOINT_READ) && heard_is(""));
	they_write(":1}");
	CHECK(await(ENDPOINT_READ) && heard_is("") && !e.torn);
	leave(&theirs_out);
	CHECK(await(ENDPOINT_ENDED) && heard_is("{\"a\":1}~ENDED") && e.torn);
	finish();
}

static void
write_long_line(void)
{
	char text[10000];
	size_t n = 0;
	ssize_t r;

	memset(text, 'x', sizeof(text));
	while (n < LONG && (r = write(theirs_out, text, sizeof(text))) > 0)
		n += (size_t)r;
	if (write(theirs_out, "\nend\n", 5) < 0)
		_exit(1);
}

static void
test_line_of_100_MB(void)
{
	pid_t pid;

	begin_pipes();
	pid = peer_process(write_long_line);
	leave(&theirs_out);
	CHECK(await(ENDPOINT_ENDED) && lines == 2);
	CHECK(line_bytes == LONG + 1 + 3 && e.in.lines == 2);
	CHECK(waitpid(pid, NULL, 0) == pid);
	finish();
	begin_pipes();
	e.in.limit = LONG;
	pid = peer_process(write_long_line);
	leave(&theirs_out);
	CHECK(await(ENDPOINT_ENDED) && heard_is("end|ENDED") && lines == 2 && line_bytes == LONG + 3);
	CHECK(waitpid(pid, NULL, 0) == pid);
	finish();
}

/* --- when it is read --- */

static void
test_paused(void)
{
	begin_pipes();
	endpoint_pause(&e, true);
	they_write("one\ntwo\nthree\n");
	settle();
	CHECK(heard_is(""));
	pause_after_line = true;
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_READ) && heard_is("one|"));
	settle();
	CHECK(heard_is(""));
	/* The rest has been read already: no poll would report it. */
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_READ) && heard_is("two|"));
	leave(&theirs_out);
	pause_after_line = false;
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_ENDED) && heard_is("three|ENDED"));
	finish();
}

static void
test_a_line_that_is_not_taken_comes_again(void)
{
	begin_pipes();
	they_write("one\ntwo\n");
	refuse = 2;
	CHECK(await(ENDPOINT_READ) && heard_is("") && e.paused);
	leave(&theirs_out);
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_READ) && heard_is("") && e.paused && refuse == 0);
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_ENDED) && heard_is("one|two|ENDED"));
	finish();
}

static void
test_hang_up_with_data_unread(void)
{
	void (*const begins[])(void) = {begin_pipes, begin_socket};
	size_t i;

	for (i = 0; i < 2; i++) {
		begins[i]();
		endpoint_pause(&e, true);
		they_write("last words\nand hal");
		leave(&theirs_out);
		CHECK(await(ENDPOINT_HUNG_UP));
		settle();
		/* Once. The socket's other direction is closed with it. */
		CHECK(heard_is(i == 0 ? "HUNG_UP " : "HUNG_UP CLOSED"));
		endpoint_pause(&e, false);
		CHECK(await(ENDPOINT_ENDED) && heard_is("last words|and hal~ENDED"));
		finish();
	}
}

/* A peer that shuts down only what it writes can still be written to. */
static void
test_half_closed_socket(void)
{
	begin_socket();
	endpoint_pause(&e, true);
	they_write("question\n");
	CHECK(shutdown(theirs_out, SHUT_WR) == 0);
	/* Only Linux shows it before all is read. */
	CHECK(CHECK_PORTABLE || (await(ENDPOINT_HUNG_UP) && heard_is("HUNG_UP ")));
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_ENDED) && heard_is("question|ENDED"));
	CHECK(endpoint_put_line(&e, NULL, slice_of("reply"), false) == 0);
	CHECK(await(ENDPOINT_WROTE));
	they_read("reply\n");
	endpoint_finish(&e);
	CHECK(await(ENDPOINT_CLOSED) && they_see_the_end());
	finish();
}

/* --- as if it had left --- */

/* Lines that leave little room at the end of a block make short reads; none is lost for it. */
static void
test_drained_by_bytes(void)
{
	char *text = malloc(33001);
	size_t n = 0;

	begin_pipes();
	CHECK(fcntl(theirs_out, F_SETPIPE_SZ, 1024 * 1024) >= 0 && fcntl(theirs_out, F_SETFL, O_NONBLOCK) == 0);
	memset(text, 'x', 33000);
	text[33000] = '\n';
	while (write(theirs_out, text, 33001) == 33001)
		n++;
	CHECK(n > 20);
	endpoint_pause(&e, true);
	endpoint_drain(&e);
	settle();
	CHECK(lines == 0);
	endpoint_pause(&e, false);
	CHECK(await(ENDPOINT_ENDED) && lines >= n && line_bytes >= n * 33000);
	CHECK(write(theirs_out, text, 33001) < 0);
	free(text);
	finish();
}

static void
test_drained_with_half_a_line(void)
{
	begin_pipes();
	they_write("one\nand a hal");
	endpoint_drain(&e);
	CHECK(await(ENDPOINT_ENDED) && heard_is("one|and a hal~ENDED") && e.torn);
	finish();
	begin_socket();
	endpoint_drain(&e);
	CHECK(await(ENDPOINT_ENDED) && heard_is("ENDED"));
	finish();
}

static void
write_for_ever(void)
{
	while (write(theirs_out, "on and on\n", 10) > 0)
		;
}

static void
test_drained_while_it_goes_on_writing(void)
{
	pid_t pid;
	int status;

	begin_pipes();
	pid = peer_process(write_for_ever);
	leave(&theirs_out);
	CHECK(await(ENDPOINT_READ) && lines > 0);
	endpoint_drain(&e);
	CHECK(await(ENDPOINT_ENDED) && line_bytes < 3 * 1024 * 1024);
	CHECK(waitpid(pid, &status, 0) == pid);
	finish();
}

/* --- what is written --- */

static void
read_slowly(void)
{
	char text[1000];
	ssize_t r;
	size_t n = 0;

	close(theirs_out);
	while ((r = read(theirs_in, text, sizeof(text))) > 0)
		n += (size_t)r;
	_exit(n == 1000 * 1000 ? 0 : 1);
}

static void
test_a_peer_that_stops_reading(void)
{
	char text[1000];
	int i, status = -1;
	pid_t pid;

	begin_pipes();
	memset(text, 'y', sizeof(text));
	text[999] = '\n';
	for (i = 0; i < 1000; i++)
		CHECK(endpoint_put(&e, NULL, slice(text, sizeof(text))) == 0);
	CHECK(e.out.full);
	settle();
	CHECK(e.out.full && e.out.queued > OUTPUT_HIGH && e.out.queued < 1000 * 1000);
	/* It is still heard. */
	they_write("busy\n");
	CHECK(await(ENDPOINT_READ) && heard_is("busy|"));
	pid = peer_process(read_slowly);
	leave(&theirs_in);
	endpoint_finish(&e);
	CHECK(await(ENDPOINT_CLOSED) && e.out.error == 0 && e.out.written == 1000 * 1000 && e.out.discarded == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	finish();
}

static void
test_a_peer_that_does_not_read_any_more(void)
{
	begin_pipes();
	leave(&theirs_in);
	/* Without anything to write. */
	CHECK(await(ENDPOINT_CLOSED) && e.out.error == EPIPE && !endpoint_can_write(&e));
	CHECK(endpoint_put_line(&e, NULL, slice_of("lost"), false) == 0 && e.out.discarded == 5);
	they_write("alive\n");
	heard.n = 0;
	CHECK(await(ENDPOINT_READ) && heard_is("alive|"));
	finish();
}

static void
test_lines_and_torn_lines(void)
{
	struct block *b = block_new(16);

	begin_pipes();
	memcpy(b->data, "one\ntwo\n", 8);
	CHECK(endpoint_put_line(&e, b, slice(b->data, 3), false) == 0);
	CHECK(endpoint_put_line(&e, b, slice(b->data + 4, 3), true) == 0);
	CHECK(endpoint_put_line(&e, NULL, slice_of("three"), false) == 0);
	CHECK(endpoint_put_line(&e, NULL, slice_of("end"), true) == 0);
	block_drop(b);
	endpoint_finish(&e);
	CHECK(await(ENDPOINT_CLOSED));
	they_read("one\ntwo\nthree\nend");
	CHECK(they_see_the_end());
	finish();
}

static void
test_the_rest_at_the_end(void)
{
	char *text = calloc(1, 300000);
	pid_t pid;

	begin_pipes();
	CHECK(endpoint_put(&e, NULL, slice(text, 300000)) == 0);
	endpoint_flush(&e, 10, 1000);
	CHECK(e.out.queued > 0);
	pid = peer_process(read_slowly);
	leave(&theirs_in);
	endpoint_flush(&e, 60 * 1000, 60 * 1000);
	CHECK(e.out.written == 300000);
	finish();
	CHECK(waitpid(pid, NULL, 0) == pid);
	free(text);
}

/* --- its owner --- */

static void
test_closed_in_its_own_line(void)
{
	begin_pipes();
	they_write("one\ntwo\n");
	close_at_line = true;
	CHECK(await(ENDPOINT_READ) && heard_is("one|"));
	finish();
}

static void
free_it(void *arg, enum endpoint_event what)
{
	struct endpoint *mine = arg;

	(void)what;
	endpoint_close(mine);
	free(mine);
	loop_stop(loop);
}

static void
test_freed_in_its_own_event(void)
{
	struct endpoint *mine = calloc(1, sizeof(*mine));
	int s[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	*mine = (struct endpoint){.event = free_it, .arg = mine};
	CHECK(endpoint_open(mine, loop, s[0], s[0], LIMIT) == 0);
	close(s[1]);
	CHECK(loop_run(loop) == 0);
	settle();
}

static void
test_one_that_cannot_be_opened(void)
{
	int p[2];

	CHECK(pipe(p) == 0 && close(p[1]) == 0);
	e = (struct endpoint){.line = line, .event = event, .arg = &loop};
	CHECK(endpoint_open(&e, loop, p[0], 9999, LIMIT) == -1 && errno == EBADF);
	endpoint_close(&e);
	CHECK(fcntl(p[0], F_GETFD) < 0);
}

/* A layer that changes the case of letters, and reads eight bytes at once and hands them out one by one, as TLS may. */
static char held[8];
static ssize_t nheld, given;

static ssize_t
read_held(void *arg, void *to, size_t n)
{
	ssize_t r = 1;

	CHECK(n > 0);
	if (given == nheld) {
		r = recv(*(int *)arg, held, sizeof(held), MSG_DONTWAIT);
		given = 0;
		nheld = r > 0 ? r : 0;
	}
	if (r <= 0)
		return r;
	*(char *)to = (char)(held[given++] ^ 32);
	return 1;
}

static ssize_t
write_one(void *arg, const void *from, size_t n)
{
	char c = (char)(*(const char *)from ^ 32);

	CHECK(n > 0);
	return send(*(int *)arg, &c, 1, MSG_DONTWAIT);
}

static void
finish_layer(void *arg)
{
	send(*(int *)arg, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
begin_layer(size_t limit)
{
	static struct io_layer layer = {.read = read_held, .write = write_one, .finish = finish_layer};
	static int s[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	theirs_in = theirs_out = s[1];
	layer.arg = &s[0];
	heard.n = lines = line_bytes = 0;
	nheld = given = 0;
	pause_after_line = close_at_line = false;
	e = (struct endpoint){.line = line, .event = event, .arg = &loop, .layer = &layer};
	CHECK(endpoint_open(&e, loop, s[0], s[0], limit) == 0);
}

/* A byte a turn. */
static void
settle_bytes(void)
{
	for (int i = 0; i < 8; i++)
		settle();
}

static void
test_a_layer(void)
{
	char got[16];

	begin_layer(LIMIT);
	they_write("one*two*three");
	settle_bytes();
	CHECK(heard_is("ONE|TWO|"));
	CHECK(endpoint_put_line(&e, NULL, slice("reply", 5), true) == 0);
	endpoint_finish(&e);
	settle_bytes();
	CHECK(heard_is("CLOSED"));
	CHECK(recv(theirs_in, got, sizeof(got), 0) == 6 && memcmp(got, "REPLY!", 6) == 0);
	CHECK(recv(theirs_in, got, sizeof(got), 0) == 0);
	close(theirs_in);
	CHECK(await(ENDPOINT_ENDED) && heard_is("THREE~ENDED"));
	endpoint_close(&e);
}

static void
test_bytes_without_lines(void)
{
	begin_layer(0);
	they_write("ab*cd");
	settle_bytes();
	CHECK(heard_is("A|B|\n|C|D|"));
	endpoint_pause(&e, true);
	they_write("ef");
	settle_bytes();
	endpoint_abort(&e);
	settle_bytes();
	CHECK(heard_is("ENDED"));
	endpoint_close(&e);
	close(theirs_in);
}

int
main(void)
{
	static const int signals[] = {0};

	alarm(300);
	loop = loop_new(signals, NULL, NULL);
	CHECK(loop != NULL);
	test_peers_of_all_kinds();
	test_files();
	test_half_lines();
	test_line_of_100_MB();
	test_paused();
	test_a_line_that_is_not_taken_comes_again();
	test_hang_up_with_data_unread();
	test_half_closed_socket();
	test_drained_by_bytes();
	test_drained_with_half_a_line();
	test_drained_while_it_goes_on_writing();
	test_a_peer_that_stops_reading();
	test_a_peer_that_does_not_read_any_more();
	test_lines_and_torn_lines();
	test_the_rest_at_the_end();
	test_closed_in_its_own_line();
	test_freed_in_its_own_event();
	test_one_that_cannot_be_opened();
	test_a_layer();
	test_bytes_without_lines();
	loop_free(loop);
	buf_free(&heard);
	return check_done();
}
