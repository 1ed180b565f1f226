/* bytes: what fails leaves the buffer as it was; the last owner frees a block. */
#include "lib/base/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

static void
test_slices(void)
{
	static const char text[] = "abc";
	char room[SLICE_DIGITS];

	CHECK(slice_eq(slice(NULL, 0), slice("", 0)));
	CHECK(slice_eq(slice(text, 2), slice("ab", 2)));
	CHECK(!slice_eq(slice(text, 2), slice("ac", 2)));
	CHECK(!slice_eq(slice(text, 2), slice(text, 3)));
	CHECK(slice_is(slice_of("abc"), "abc") && !slice_is(slice_of("abc"), "ab"));
	CHECK(slice_between(text + 1, text + 3).n == 2);
	CHECK(slice_is(slice_digits(0, room), "0") && slice_is(slice_digits(1050, room), "1050"));
	CHECK(slice_is(slice_digits(UINT64_MAX, room), "18446744073709551615"));
}

static void
test_growth(void)
{
	struct buf b = {0};
	size_t i;

	for (i = 0; i < 100000; i++)
		if (buf_add(&b, "0123456789", 10) < 0)
			break;
	CHECK(i == 100000 && b.n == 1000000 && b.cap >= b.n && b.cap < 2 * b.n);
	for (i = 0; i < b.n && b.p[i] == (char)('0' + i % 10); i++)
		;
	CHECK(i == b.n);
	buf_free(&b);
	CHECK(!b.p && b.n == 0 && b.cap == 0);
}

static void
test_adding(void)
{
	struct buf b = {0};

	CHECK(buf_add(&b, NULL, 0) == 0 && !b.p);
	CHECK(buf_add_slice(&b, slice_of("one ")) == 0 && buf_add_string(&b, "two ") == 0);
	CHECK(buf_printf(&b, "%s%05d", "three", 42) == 0);
	CHECK_STR(buf_string(&b), "one two three00042");
	CHECK(b.n == 18);
	CHECK(buf_printf(&b, "%*s", 5000, "x") == 0 && b.n == 5018 && b.p[5017] == 'x');
	buf_free(&b);
	CHECK_STR(buf_string(&b), "");
	CHECK(b.n == 0);
	buf_free(&b);
}

static void
test_out_of_memory(void)
{
	struct buf b = {0};

	CHECK(buf_add_string(&b, "kept") == 0);
	errno = 0;
	CHECK(buf_reserve(&b, SIZE_MAX) == -1 && errno == ENOMEM);
	errno = 0;
	CHECK_STR(buf_string(&b), "kept");
	buf_free(&b);
	errno = 0;
	CHECK(!block_new(SIZE_MAX) && errno == ENOMEM);
}

static void
test_blocks(void)
{
	struct block *b = block_new(10);

	CHECK(b && b->owners == 1 && b->cap == 10);
	memcpy(b->data, "0123456789", 10);
	CHECK(block_hold(b) == b && b->owners == 2);
	block_drop(b);
	CHECK(b->owners == 1 && memcmp(b->data, "0123456789", 10) == 0);
	block_drop(b);
	block_drop(NULL);
}

static void
test_reading(void)
{
	SCOPED struct buf b = {0};
	int p[2];

	CHECK(pipe(p) == 0 && write(p[1], "12345", 5) == 5 && close(p[1]) == 0);
	CHECK(buf_add_string(&b, "> ") == 0 && buf_read_all(&b, p[0], 5) == 0);
	CHECK_STR(buf_string(&b), "> 12345");
	close(p[0]);
	CHECK(pipe(p) == 0 && write(p[1], "12345", 5) == 5 && close(p[1]) == 0);
	CHECK(buf_read_all(&b, p[0], 4) == -1 && errno == EFBIG && b.n == 7);
	close(p[0]);
	CHECK(buf_read_all(&b, -1, 4) == -1 && errno == EBADF && b.n == 7);
}

int
main(void)
{
	test_slices();
	test_growth();
	test_adding();
	test_out_of_memory();
	test_blocks();
	test_reading();
	return check_done();
}
