/* output: all that is queued arrives, in order, however little is taken at a time. */
#include "lib/run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

static struct output out;
static int reader;
static char taken[8 * 1024 * 1024];
static size_t ntaken;

static void
begin(void)
{
	int p[2];

	CHECK(pipe(p) == 0);
	reader = p[0];
	CHECK(fcntl(reader, F_SETFL, O_NONBLOCK) == 0);
	CHECK(output_open(&out, p[1]) == 0);
	ntaken = 0;
}

static void
finish(void)
{
	output_close(&out);
	close(reader);
}

/* Reads up to most bytes, as far as there is room; false when nothing was there. */
static bool
take(size_t most)
{
	size_t room = sizeof(taken) - ntaken;
	ssize_t r = read(reader, taken + ntaken, most < room ? most : room);

	if (r <= 0)
		return false;
	ntaken += (size_t)r;
	return true;
}

/* Reads, at most so many bytes at a time, and writes in turn until all is out. */
static void
take_all(size_t at_once)
{
	int waits;

	do {
		waits = output_flush(&out);
		while (take(at_once) && at_once > 1)
			;
	} while (waits == 1);
	CHECK(waits == 0 && out.n == 0 && out.queued == 0);
	while (take(sizeof(taken) - ntaken))
		;
}

static bool
queue(const char *text)
{
	return output_copy(&out, slice_of(text)) == 0;
}

static void
test_copies_merge(void)
{
	size_t i;

	begin();
	for (i = 0; i < 400; i++)
		CHECK(queue("0123456789"));
	CHECK(out.n == 1 && out.queued == 4000);
	for (i = 0; i < 400; i++)
		CHECK(queue("0123456789"));
	CHECK(out.n == 2);
	CHECK(queue("") && out.n == 2);
	take_all(sizeof(taken));
	CHECK(ntaken == 8000 && memcmp(taken + 7990, "0123456789", 10) == 0);
	CHECK(out.written == 8000);
	finish();
}

/* Neighbours in one block are one part; the block lives until it is written. */
static void
test_held(void)
{
	struct block *b = block_new(100);

	begin();
	memcpy(b->data, "one\ntwo\nthree\n", 14);
	CHECK(output_hold(&out, b, slice(b->data, 4)) == 0);
	CHECK(output_hold(&out, b, slice(b->data + 4, 4)) == 0);
	CHECK(out.n == 1 && b->owners == 2);
	CHECK(output_hold(&out, b, slice(b->data, 4)) == 0);
	CHECK(out.n == 2 && b->owners == 3);
	CHECK(queue("copy\n"));
	CHECK(output_hold(&out, b, slice(b->data + 8, 6)) == 0);
	CHECK(out.n == 4 && b->owners == 4);
	take_all(sizeof(taken));
	CHECK(b->owners == 1);
	CHECK(slice_is(slice(taken, ntaken), "one\ntwo\none\ncopy\nthree\n"));
	block_drop(b);
	finish();
}

/* A copy never grows into a block that others may still fill. */
static void
test_copy_leaves_held_blocks_alone(void)
{
	struct block *b = block_new(4096);

	begin();
	memset(b->data, '-', 4096);
	memcpy(b->data, "held", 4);
	CHECK(output_hold(&out, b, slice(b->data, 4)) == 0);
	CHECK(queue("copy"));
	CHECK(memcmp(b->data, "held----", 8) == 0);
	take_all(sizeof(taken));
	CHECK(slice_is(slice(taken, ntaken), "heldcopy"));
	block_drop(b);
	finish();
}

/* More parts than one writev takes, the ring turning over many times, one byte read at a time. */
static void
test_many_parts(size_t at_once, size_t rounds)
{
	struct block *b = block_new(256);
	char want[20000];
	size_t i, round, n = 0;

	for (i = 0; i < 256; i++)
		b->data[i] = (char)i;
	begin();
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 150; i++) {
			size_t from = (i * 37 + round) % 200, len = 1 + i % 5;

			CHECK(output_hold(&out, b, slice(b->data + from, len)) == 0);
			memcpy(want + n, b->data + from, len);
			n += len;
		}
		CHECK(out.n == 150);
		take_all(at_once);
	}
	CHECK(ntaken == n && memcmp(taken, want, n) == 0);
	CHECK(b->owners == 1);
	block_drop(b);
	finish();
}

/* A full pipe: written in part, the rest waits, full between the marks, and nothing is lost. */
static void
test_marks(size_t at_once)
{
	char text[1000];
	size_t i, n = 0;

	begin();
	for (i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	while (!out.full) {
		CHECK(output_copy(&out, slice(text, sizeof(text))) == 0);
		n += sizeof(text);
	}
	CHECK(out.queued > OUTPUT_HIGH && out.queued <= OUTPUT_HIGH + sizeof(text));
	CHECK(output_flush(&out) == 1);
	CHECK(out.written > 0 && out.written + out.queued == n && out.full);
	while (output_flush(&out) == 1) {
		CHECK(out.full == (out.queued > OUTPUT_LOW));
		take(at_once);
	}
	CHECK(!out.full);
	take_all(sizeof(taken));
	CHECK(ntaken == n);
	for (i = 0; i < n && taken[i] == text[i % sizeof(text)]; i++)
		;
	CHECK(i == n);
	finish();
}

static void
test_torn_and_mended(void)
{
	begin();
	CHECK(!out.torn && output_end_line(&out) == 0 && out.n == 0);
	CHECK(queue("whole\n") && !out.torn && output_end_line(&out) == 0);
	CHECK(queue("half") && out.torn);
	take_all(sizeof(taken));
	CHECK(out.torn);
	CHECK(output_end_line(&out) == 0 && !out.torn);
	CHECK(queue("next\n"));
	take_all(sizeof(taken));
	CHECK(slice_is(slice(taken, ntaken), "whole\nhalf\nnext\n"));
	finish();
}

/* What is taken out is not written. */
static void
test_taken_out(void)
{
	SCOPED struct buf all = {0};
	struct block *b = block_new(10);

	memcpy(b->data, "one\ntwo\n\n", 10);
	begin();
	CHECK(output_take(&out, &all) == 0 && all.n == 0);
	CHECK(output_hold(&out, b, slice(b->data, 4)) == 0 && queue("other\n") && b->owners == 2);
	CHECK(output_take(&out, &all) == 0 && slice_is(buf_slice(&all), "one\nother\n"));
	CHECK(b->owners == 1 && out.n == 0);
	while (!out.full)
		CHECK(queue("more\n"));
	CHECK(output_take(&out, &all) == 0 && !out.full && out.discarded == 0);
	CHECK(out.queued == 0 && output_flush(&out) == 0 && out.written == 0);
	block_drop(b);
	finish();
}

static void
test_reader_gone(void)
{
	struct block *b = block_new(10);

	memcpy(b->data, "0123456789", 10);
	begin();
	CHECK(queue("x\n") && output_hold(&out, b, slice(b->data, 10)) == 0 && b->owners == 2);
	close(reader);
	CHECK(output_flush(&out) == -1 && out.error == EPIPE);
	/* What was queued can be taken; what comes later is discarded. */
	CHECK(out.n == 2 && out.queued == 12 && out.discarded == 0 && b->owners == 2);
	CHECK(queue("more\n") && output_hold(&out, b, slice(b->data, 10)) == 0);
	CHECK(out.n == 2 && out.discarded == 15 && b->owners == 2);
	CHECK(output_flush(&out) == -1 && out.n == 2);
	output_close(&out);
	CHECK(out.discarded == 27 && b->owners == 1);
	block_drop(b);
}

static void
test_full_disk(void)
{
	CHECK(output_open(&out, open("/dev/full", O_WRONLY)) == 0);
	CHECK(queue("x\n") && output_flush(&out) == -1 && out.error == ENOSPC);
	output_close(&out);
	CHECK(queue("after") && out.n == 0 && out.discarded == 7);
	CHECK(output_open(&out, -1) == -1);
}

static void
test_failed_by_its_user(void)
{
	begin();
	CHECK(queue("x\n"));
	output_fail(&out, EPIPE);
	CHECK(out.n == 0 && output_flush(&out) == -1 && !take(1));
	finish();
}

static void
test_closing_lets_go(void)
{
	struct block *b = block_new(10);

	begin();
	b->data[0] = '\n';
	CHECK(output_hold(&out, b, slice(b->data, 1)) == 0 && b->owners == 2);
	output_close(&out);
	CHECK(b->owners == 1);
	block_drop(b);
	close(reader);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_copies_merge();
	test_held();
	test_copy_leaves_held_blocks_alone();
	test_many_parts(sizeof(taken), 30);
	test_many_parts(1, 3);
	test_marks(sizeof(taken));
	test_marks(4096);
	test_torn_and_mended();
	test_taken_out();
	test_reader_gone();
	test_full_disk();
	test_failed_by_its_user();
	test_closing_lets_go();
	return check_done();
}
