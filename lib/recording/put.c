/* Writes records. */
#include "lib/recording/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "lib/base/base64.h"
#include "lib/base/calendar.h"
#include "lib/run/proc.h"

/* AROUND: bytes of a record without its message. SECOND: us. */
enum { AROUND = 128, SECOND = 1000000 };

static char *
put_number(char *p, uint64_t n)
{
	char room[SLICE_DIGITS];
	struct slice digits = slice_digits(n, room);

	memcpy(p, digits.p, digits.n);
	return p + digits.n;
}

char *
recording_put_time(char *p, uint64_t us)
{
	uint64_t part = us % SECOND;

	p = put_number(p, us / SECOND);
	*p = '.';
	for (int i = 6; i > 0; i--) {
		p[i] = (char)('0' + part % 10);
		part /= 10;
	}
	return p + 7;
}

/* Appends the beginning of all records but the header. Without printf, because acp-tap spends its time here. */
static int
begin(struct buf *b, uint64_t t, int at, size_t more)
{
	char *p;

	if (more > SIZE_MAX / 2 || buf_reserve(b, AROUND + more) < 0)
		return -1;
	p = stpcpy(b->p + b->n, "{\"t\":");
	p = recording_put_time(p, t);
	if (at >= 0) {
		p = stpcpy(p, ",\"at\":");
		p = put_number(p, (uint64_t)at);
	}
	b->n = (size_t)(p - b->p);
	return 0;
}

static const char *const from_members[] = {",\"from\":\"unknown\"", ",\"from\":\"client\"", ",\"from\":\"agent\""};

static int
put_message(struct buf *b, uint64_t t, int at, enum acp_side from, const char *name, struct slice text)
{
	char *p;

	if (begin(b, t, at, text.n) < 0)
		return -1;
	p = stpcpy(b->p + b->n, from_members[from]);
	p = stpcpy(p, name);
	if (text.n)
		memcpy(p, text.p, text.n);
	p = stpcpy(p + text.n, "}\n");
	b->n = (size_t)(p - b->p);
	return 0;
}

int
recording_put_message(struct buf *b, uint64_t t, int at, enum acp_side from, struct slice text)
{
	return put_message(b, t, at, from, ",\"msg\":", text);
}

int
recording_put_response(struct buf *b, uint64_t t, int at, enum acp_side from, struct slice text)
{
	return put_message(b, t, at, from, ",\"to\":\"guest\",\"msg\":", text);
}

int
recording_put_by(struct buf *b, uint64_t t, int at, enum acp_side from, uint64_t guest, struct slice text)
{
	char name[64];

	snprintf(name, sizeof(name), ",\"by\":\"guest.%" PRIu64 "\",\"msg\":", guest);
	return put_message(b, t, at, from, name, text);
}

/* Ends a record, or removes it if it could not be built. */
static int
finish(struct buf *b, size_t start, bool built)
{
	if (built && buf_add_string(b, "}\n") == 0)
		return 0;
	b->n = start;
	return -1;
}

/* Appends a member: a string, or base64 if the text is not UTF-8; then the member's name ends in 64. */
static bool
put_bytes(struct buf *b, const char *name, struct slice text)
{
	if (json_utf8(text))
		return buf_printf(b, ",\"%s\":", name) == 0 && json_quote(text, b) == 0;
	return buf_printf(b, ",\"%s64\":\"", name) == 0 && base64_encode(text, b) == 0 && buf_add(b, "\"", 1) == 0;
}

static bool
put_status(struct buf *b, int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *name = number ? proc_signal_name(number) : NULL;

	if (name)
		return buf_printf(b, ",\"signal\":\"%s\"", name) == 0;
	return buf_printf(b, number ? ",\"signal\":\"%d\"" : ",\"status\":%d", number ? number : WEXITSTATUS(status)) == 0;
}

static bool
put_event(struct buf *b, const struct record *r)
{
	static const char *const names[] = {[RECORD_EXIT] = "exit", [RECORD_EOF] = "eof", [RECORD_LOST] = "lost",
		[RECORD_RESTART] = "restart", [RECORD_OTHER] = "rotated", [RECORD_ERROR] = "error"};
	bool ok = buf_printf(b, ",\"event\":\"%s\"", names[r->kind]) == 0;

	if (r->kind == RECORD_EXIT && r->signal.p)
		return ok && buf_add_string(b, ",\"signal\":\"") == 0 && buf_add_slice(b, r->signal) == 0 && buf_add(b, "\"", 1) == 0;
	if (r->kind == RECORD_EXIT)
		return ok && put_status(b, r->status);
	if (r->kind == RECORD_EOF || (r->kind == RECORD_LOST && r->from != ACP_UNKNOWN))
		ok = ok && buf_add_string(b, from_members[r->from]) == 0;
	if (r->kind == RECORD_EOF && r->torn)
		ok = ok && buf_add_string(b, ",\"torn\":true") == 0;
	if (r->kind == RECORD_LOST)
		ok = ok && buf_printf(b, ",\"count\":%" PRIu64, r->count) == 0;
	/* A loss always has a reason, which may be empty. */
	if (r->text.p || r->kind == RECORD_LOST)
		ok = ok && buf_add_string(b, ",\"why\":") == 0 && json_quote(r->text, b) == 0;
	return ok;
}

int
recording_put(struct buf *b, int at, const struct record *r)
{
	size_t start = b->n;
	bool ok = begin(b, r->t, at, 0) == 0;

	if (r->kind == RECORD_NOISE || r->kind == RECORD_STDERR)
		ok = ok && buf_add_string(b, from_members[r->from]) == 0 &&
			put_bytes(b, r->kind == RECORD_NOISE ? "noise" : "stderr", r->text);
	else
		ok = ok && put_event(b, r);
	return finish(b, start, ok);
}

/* --- the header --- */

static bool
put_strings(struct buf *b, const char *name, char *const *strings)
{
	bool ok;

	if (!strings)
		return true;
	ok = buf_printf(b, ",\"%s\":[", name) == 0;
	for (size_t i = 0; ok && strings[i]; i++)
		ok = (i == 0 || buf_add(b, ",", 1) == 0) && json_quote(slice_of(strings[i]), b) == 0;
	return ok && buf_add(b, "]", 1) == 0;
}

int
recording_put_header(struct buf *b, double started, const char *by, char *const *command, char *const *hops)
{
	size_t start = b->n;
	bool ok = buf_add_string(b, "{\"acp-recording\":1") == 0;

	if (started > 0)
		ok = ok && buf_add_string(b, ",\"started\":\"") == 0 && calendar_put_date(b, started) == 0 && buf_add(b, "\"", 1) == 0;
	return finish(b, start, ok && buf_add_string(b, ",\"by\":") == 0 && json_quote(slice_of(by), b) == 0 &&
		put_strings(b, "command", command) && put_strings(b, "hops", hops));
}

int
recording_header_add(struct buf *b, const char *name)
{
	size_t end = b->n > 0 ? b->n - 1 : 0;
	const char *newline = memrchr(b->p, '\n', end), *begin = newline ? newline + 1 : b->p;

	if (json_get(slice_between(begin, b->p + end), name).p)
		return 0;
	end = (size_t)((const char *)memrchr(b->p, '}', end) - b->p);
	if (buf_reserve(b, strlen(name) + sizeof(",\"\":true}\n")) < 0)
		return -1;
	b->n = end;
	return buf_printf(b, ",\"%s\":true}\n", name);
}
