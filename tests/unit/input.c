/* input: lines, however they arrive; blocks that others hold stay what they were. */
#include "lib/run/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/run/loop.h"
#include "tests/unit/check.h"

enum { NO_LIMIT = 64 * 1024 * 1024 };

static struct input in;
static struct line line;
static int feed; /* the pipe's other end */

static void
begin(size_t limit)
{
	int p[2];

	CHECK(pipe(p) == 0);
	feed = p[1];
	CHECK(input_open(&in, p[0], limit) == 0);
}

static void
finish(void)
{
	if (feed >= 0)
		close(feed);
	input_close(&in);
	CHECK(input_fill(&in) == 0);
}

/* Hands bytes over and reads them, if they fit into the pipe. */
static void
give(const char *bytes, size_t n)
{
	CHECK(write(feed, bytes, n) == (ssize_t)n);
	CHECK(input_fill(&in) > 0);
}

static void
end_of_input(void)
{
	close(feed);
	feed = -1;
	while (input_fill(&in) > 0)
		;
	CHECK(in.ended);
}

static bool
got_line(const char *text)
{
	return input_line(&in, &line) == INPUT_LINE && slice_is(line.text, text);
}

static bool
got_nothing(void)
{
	return input_line(&in, &line) == INPUT_NOTHING;
}

static void
test_lines(void)
{
	begin(NO_LIMIT);
	CHECK(got_nothing());
	CHECK(input_fill(&in) == -1 && errno == EAGAIN && !in.ended);
	give("one\n\ntwo\r\n\r\nthr", 15);
	CHECK(got_line("one") && line.number == 1);
	CHECK(line.text.p[line.text.n] == '\n');
	CHECK(got_line("") && line.number == 2);
	CHECK(got_line("two\r"));
	CHECK(got_line("\r"));
	CHECK(got_nothing() && got_nothing());
	give("ee\nlast", 7);
	CHECK(got_line("three") && line.number == 5);
	CHECK(got_nothing());
	end_of_input();
	CHECK(input_line(&in, &line) == INPUT_TORN && slice_is(line.text, "last") && line.number == 6);
	CHECK(input_line(&in, &line) == INPUT_END);
	CHECK(input_line(&in, &line) == INPUT_END);
	finish();
}

static void
test_nothing_at_all(void)
{
	begin(NO_LIMIT);
	end_of_input();
	CHECK(input_line(&in, &line) == INPUT_END);
	finish();
}

static void
test_one_byte_a_read(void)
{
	static const char text[] = "{\"a\":1}\r\n\nx\n";
	char all[64] = "";
	size_t i;

	begin(NO_LIMIT);
	for (i = 0; i < sizeof(text) - 1; i++) {
		give(text + i, 1);
		while (input_line(&in, &line) == INPUT_LINE) {
			strncat(all, line.text.p, line.text.n);
			strcat(all, "|");
		}
	}
	CHECK_STR(all, "{\"a\":1}\r||x|");
	CHECK(in.block->cap == INPUT_BLOCK);
	finish();
}

/* Many lines lie in one block, and nothing is copied. */
static void
test_many_lines_a_read(void)
{
	char text[4000];
	const char *at;
	size_t i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = i % 4 == 3 ? '\n' : 'x';
	begin(NO_LIMIT);
	give(text, sizeof(text));
	at = in.block->data;
	for (i = 0; i < 1000 && got_line("xxx"); i++, at += 4)
		if (line.text.p != at || line.block != in.block)
			break;
	CHECK(i == 1000 && got_nothing());
	finish();
}

/* Forks a child that writes n bytes of c, and a newline where one is wanted. */
static pid_t
feeder(char c, size_t n, bool newline)
{
	char bytes[5000];
	pid_t pid = fork();

	if (pid != 0) {
		CHECK(pid > 0);
		close(feed);
		feed = -1;
		return pid;
	}
	memset(bytes, c, sizeof(bytes));
	while (n > 0) {
		size_t some = n < sizeof(bytes) ? n : sizeof(bytes);

		if (write(feed, bytes, some) != (ssize_t)some)
			_exit(1);
		n -= some;
	}
	_exit(newline && write(feed, "\n", 1) != 1);
}

static enum input_got
next(void)
{
	enum input_got got;
	struct pollfd p = {.events = POLLIN};

	while ((got = input_line(&in, &line)) == INPUT_NOTHING) {
		p.fd = in.io.fd;
		if (input_fill(&in) < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
	}
	return got;
}

/* A line of exactly the limit is a line; its block is not kept, nor was it ever much larger. */
static void
test_limit(size_t limit)
{
	pid_t pid;

	begin(limit);
	pid = feeder('a', limit, true);
	CHECK(next() == INPUT_LINE && line.text.n == limit && line.text.p[limit - 1] == 'a');
	CHECK(line.block->cap <= limit + INPUT_BLOCK);
	CHECK(next() == INPUT_END);
	CHECK(waitpid(pid, NULL, 0) == pid);
	finish();
}

/* One byte more, and it comes in pieces: all of it, the block no larger. */
static void
test_beyond_limit(size_t limit, size_t more, bool newline)
{
	size_t all = 0, most = 0, pieces = 0;
	enum input_got got;
	pid_t pid;

	begin(limit);
	pid = feeder('a', limit + more, newline);
	while ((got = next()) == INPUT_PIECE) {
		CHECK(line.first == (pieces == 0) && line.number == 1);
		pieces++;
		all += line.text.n;
		if (line.block->cap > most)
			most = line.block->cap;
		if (line.last)
			break;
	}
	CHECK(got == INPUT_PIECE && line.last);
	CHECK(all == limit + more + newline);
	if (newline)
		CHECK(line.text.n > 0 && line.text.p[line.text.n - 1] == '\n');
	CHECK(most <= limit + INPUT_BLOCK);
	CHECK(next() == INPUT_END);
	CHECK(waitpid(pid, NULL, 0) == pid);
	finish();
}

/* Behind a long line, the next is one again, and counts as the second. */
static void
test_after_a_long_line(void)
{
	begin(4);
	give("aaaaa\nbbbb\nccccc", 16);
	CHECK(input_line(&in, &line) == INPUT_PIECE && line.first && line.last && slice_is(line.text, "aaaaa\n"));
	CHECK(got_line("bbbb") && line.number == 2);
	CHECK(input_line(&in, &line) == INPUT_PIECE && line.first && !line.last && slice_is(line.text, "ccccc"));
	CHECK(got_nothing());
	give("c\nd\n", 4);
	CHECK(input_line(&in, &line) == INPUT_PIECE && !line.first && line.last && slice_is(line.text, "c\n"));
	CHECK(got_line("d") && line.number == 4);
	give("eeeeee", 6);
	CHECK(input_line(&in, &line) == INPUT_PIECE && line.first && !line.last);
	end_of_input();
	CHECK(input_line(&in, &line) == INPUT_PIECE && line.last && line.text.n == 0);
	CHECK(input_line(&in, &line) == INPUT_END);
	finish();
}

static void
test_held_blocks_stay(void)
{
	char text[3000];
	struct line kept[2000];
	size_t i, j;

	begin(NO_LIMIT);
	for (i = 0; i < 2000; i++) {
		memset(text, 'a' + (char)(i % 26), sizeof(text));
		text[i % 2999] = '\n';
		text[2999] = '\n';
		give(text, sizeof(text));
		CHECK(input_line(&in, &kept[i]) == INPUT_LINE);
		block_hold(kept[i].block);
		CHECK(input_line(&in, &line) == INPUT_LINE && got_nothing());
	}
	for (i = 0; i < 2000; i++) {
		for (j = 0; j < kept[i].text.n && kept[i].text.p[j] == (char)('a' + i % 26); j++)
			;
		if (!CHECK(j == i % 2999 && j == kept[i].text.n))
			break;
	}
	for (i = 0; i < 2000; i++)
		block_drop(kept[i].block);
	finish();
}

/* Nobody holds it: the same block serves for ever. */
static void
test_block_is_used_again(void)
{
	struct block *first;
	size_t i;

	begin(NO_LIMIT);
	give("x\n", 2);
	first = in.block;
	for (i = 0; i < 100000 && got_line("x"); i++)
		give("x\n", 2);
	CHECK(i == 100000 && in.block == first);
	finish();
}

static void
test_read_error(void)
{
	CHECK(input_open(&in, open("/", O_RDONLY), 100) == 0);
	CHECK(input_fill(&in) == -1 && in.error == EISDIR && in.ended);
	CHECK(input_line(&in, &line) == INPUT_END);
	feed = -1;
	finish();
	CHECK(input_open(&in, -1, 100) == -1 && errno == EBADF);
}

int
main(void)
{
	static const size_t limits[] = {1, 100, INPUT_BLOCK - 1, INPUT_BLOCK, INPUT_BLOCK + 1, 3 * INPUT_BLOCK + 7, 5000000};
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	test_lines();
	test_nothing_at_all();
	test_one_byte_a_read();
	test_many_lines_a_read();
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		test_limit(limits[i]);
		test_beyond_limit(limits[i], 1, true);
		test_beyond_limit(limits[i], 1, false);
		test_beyond_limit(limits[i], 1000000, true);
	}
	test_after_a_long_line();
	test_held_blocks_stay();
	test_block_is_used_again();
	test_read_error();
	return check_done();
}
