/* Reads any bytes as a recording; what is read, written and read again is the same. */
#include "lib/recording/recording.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { LIMIT = 1024 * 1024 };

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static struct recording *
open_bytes(const void *p, size_t n, const char *hop)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct recording *rec;

	expect(fd >= 0 && write(fd, p, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
	rec = recording_open(fd, LIMIT, hop);
	expect(rec != NULL);
	return rec;
}

/* Can the record be written again as it is? */
static bool
is_text(const struct record *r)
{
	return r->kind == RECORD_MESSAGE || r->kind == RECORD_STDERR
		|| (r->kind == RECORD_NOISE && !r->error.what);
}

static void
check_record(const struct record *r)
{
	switch (r->kind) {
	case RECORD_MESSAGE:
		expect(r->msg.kind != MSG_NOISE && !memchr(r->text.p, '\n', r->text.n));
		expect(r->msg.text.p >= r->text.p && r->msg.text.n <= r->text.n);
		break;
	case RECORD_BAD:
		expect(r->error.what && r->error.at >= 1 && r->error.at <= r->raw.n + 1);
		break;
	case RECORD_EXIT:
		expect(r->status >= 0 || r->signal.p);
		break;
	default:
		break;
	}
}

static void
write_again(struct buf *b, const struct record *r)
{
	int e = r->kind == RECORD_MESSAGE ? recording_put_message(b, r->t, -1, r->from, r->text) : recording_put(b, -1, r);

	expect(e == 0);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *hop = size % 3 == 0 ? "agent" : size % 3 == 1 ? "1" : NULL;
	struct recording *first = open_bytes(data, size, hop), *second;
	struct record r, s;
	struct buf b = {0};
	uint64_t number = 0;

	while (recording_next(first, &r) == 0 && r.kind != RECORD_END) {
		expect(r.number >= number); /* an export of one line has them all in it */
		number = r.number;
		check_record(&r);
		if (is_text(&r))
			write_again(&b, &r);
	}
	recording_close(first);
	first = open_bytes(data, size, hop);
	second = open_bytes(b.n ? b.p : "", b.n, NULL);
	while (recording_next(first, &r) == 0 && r.kind != RECORD_END) {
		if (!is_text(&r))
			continue;
		expect(recording_next(second, &s) == 0);
		expect(s.kind == r.kind && s.t == r.t && s.from == r.from && slice_eq(s.text, r.text));
	}
	expect(recording_next(second, &s) == 0 && s.kind == RECORD_END);
	recording_close(first);
	recording_close(second);
	buf_free(&b);
	return 0;
}
