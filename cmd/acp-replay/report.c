#include "cmd/acp-replay/report_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITE_AT = 64 * 1024, PROMPT_MOST = 72 };

int
report_read_format(const char *text, enum report_format *format)
{
	static const char *const names[] = {"text", "json", "junit"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*format = (enum report_format)i;
			return 0;
		}
	}
	return -1;
}

static int
nameless_file(void)
{
	FILE *f = tmpfile();
	int fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 8) : -1;

	if (f)
		fclose(f);
	return fd;
}

struct report *
report_new(const struct report_spec *spec)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->spec = *spec;
	r->cases = -1;
	if (spec->format != REPORT_JUNIT || (r->cases = nameless_file()) >= 0)
		return r;
	free(r);
	return NULL;
}

void
report_free(struct report *r)
{
	if (!r)
		return;
	if (r->cases >= 0)
		close(r->cases);
	buf_free(&r->out);
	free(r);
}

int
report_write(struct report *r, int fd)
{
	size_t at = 0;
	ssize_t n;

	while (at < r->out.n) {
		n = write(fd, r->out.p + at, r->out.n - at);
		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	r->out.n = 0;
	return 0;
}

int
report_turn(struct report *r, const struct diff_turn *t)
{
	static int (*const put[])(struct report *, const struct diff_turn *) = {report_text_turn, report_json_turn,
		report_junit_turn};

	r->turns++;
	r->differing += t->nfound > 0;
	r->messages += t->messages;
	r->differences += t->nfound;
	if (put[r->spec.format](r, t) < 0)
		return -1;
	return r->out.n < WRITE_AT ? 0 : report_write(r, r->cases >= 0 ? r->cases : r->spec.fd);
}

int
report_end(struct report *r)
{
	static int (*const end[])(struct report *) = {report_text_end, report_json_end, report_junit_end};

	return end[r->spec.format](r) < 0 ? -1 : report_write(r, r->spec.fd);
}

/* --- what the formats share --- */

/* U+0080 to U+009F are control characters too, and JSON text may have them, and DEL, as they are. */
static bool
is_control(const char *p, const char *end)
{
	return *p == 0x7f || (*p == '\xc2' && end - p > 1 && (unsigned char)p[1] < 0xa0);
}

int
report_put_json(struct buf *to, struct slice json)
{
	const char *p = json.p, *end = json.p + json.n, *from = p;

	for (; p < end; p++) {
		if (!is_control(p, end) && *p != '\n' && *p != '\r' && *p != '\t')
			continue;
		if (buf_add_slice(to, slice_between(from, p)) < 0)
			return -1;
		if (*p == '\xc2')
			p++;
		/* Between the parts of a JSON text there may be white space: one line will do. */
		if ((unsigned char)*p < 0x20 ? buf_add(to, " ", 1) < 0 : buf_printf(to, "\\u%04x", (unsigned)(unsigned char)*p) < 0)
			return -1;
		from = p + 1;
	}
	return buf_add_slice(to, slice_between(from, end));
}

int
report_put_plain(struct buf *to, struct slice text)
{
	struct buf quoted = {0};
	int r = -1;

	if (json_quote(text, &quoted) == 0)
		r = report_put_json(to, slice(quoted.p + 1, quoted.n - 2));
	buf_free(&quoted);
	return r;
}

/* So much of a text, by characters that are whole. */
static size_t
cut(struct slice text, size_t most)
{
	if (text.n <= most)
		return text.n;
	while (most > 0 && ((unsigned char)text.p[most] & 0xc0) == 0x80)
		most--;
	return most;
}

static int
put_prompt(struct buf *to, struct slice string)
{
	struct slice inside = slice(string.p + 1, string.n - 2);
	size_t n = cut(inside, PROMPT_MOST);

	if (buf_add_string(to, ": ") < 0 || report_put_json(to, slice(inside.p, n)) < 0)
		return -1;
	return n < inside.n ? buf_add_string(to, "…") : 0;
}

int
report_put_title(struct buf *to, const struct diff_turn *t)
{
	if (!t->session.p)
		return t->number ? buf_printf(to, "no session, after %" PRIu64 " prompt%s", t->number, t->number == 1 ? "" : "s")
			: buf_add_string(to, "no session");
	if (buf_add_string(to, "session ") < 0 || report_put_json(to, slice(t->session.p + 1, t->session.n - 2)) < 0)
		return -1;
	if (t->number ? buf_printf(to, ", turn %" PRIu64, t->number) < 0 : buf_add_string(to, ", before its first turn") < 0)
		return -1;
	return t->prompt.p ? put_prompt(to, t->prompt) : 0;
}
