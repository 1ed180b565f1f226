#include "lib/run/report.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/run/proc.h"

enum {
	LINE_LIMIT = 64 * 1024, /* bytes: a longer line comes in pieces */
	TAIL = 2048,            /* bytes that are kept of a child's last lines */
};

/* Queues a line with a name, or (name NULL) a text; whole: its line ends with it. A line with a name ends one that is not whole. */
static void
queue(struct report *r, const char *name, struct slice text, bool whole)
{
	r->line.n = 0;
	if (r->out.out.full || (name && (text_plain(&r->line, slice_of(name)) < 0 || buf_add_string(&r->line, ": ") < 0)) ||
		text_plain(&r->line, text) < 0 || (whole && !name && buf_add(&r->line, "\n", 1) < 0) ||
		(name ? endpoint_put_line(&r->out, NULL, buf_slice(&r->line), false)
			: endpoint_put(&r->out, NULL, buf_slice(&r->line))) < 0)
		r->lost++;
}

static void
report_lost(struct report *r)
{
	SCOPED struct buf text = {0};

	if (r->lost == 0 || r->out.out.full)
		return;
	if (buf_printf(&text, "%llu lines of standard error discarded: its reader is too slow", (unsigned long long)r->lost) == 0) {
		r->lost = 0;
		queue(r, r->tool, buf_slice(&text), true);
	}
}

static void
on_output(void *arg, enum endpoint_event event)
{
	if (event == ENDPOINT_WROTE)
		report_lost(arg);
}

int
report_open(struct report *r, const char *tool, struct loop *loop)
{
	int fd = proc_copy(STDERR_FILENO);

	*r = (struct report){.loop = loop, .tool = tool, .out = {.event = on_output, .arg = r}};
	return fd < 0 ? -1 : endpoint_open(&r->out, loop, -1, fd, 0);
}

static int
to_ms(uint64_t us)
{
	return us / 1000 < INT_MAX ? (int)(us / 1000) : INT_MAX;
}

void
report_close(struct report *r, uint64_t idle_us, uint64_t total_us)
{
	if (endpoint_flush(&r->out, to_ms(idle_us), to_ms(total_us))) {
		report_lost(r);
		endpoint_flush(&r->out, to_ms(idle_us), to_ms(total_us));
	}
	endpoint_close(&r->out);
	buf_free(&r->line);
}

void
report_line(struct report *r, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0)
		queue(r, r->tool, buf_slice(&text), true);
	va_end(args);
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct report_source *s = arg;
	struct line plain = *line;
	const char *p = line->text.p, *end = p + line->text.n;
	bool newline = got == INPUT_PIECE && end > p && end[-1] == '\n';

	end -= newline;
	/* The last piece of a long line may be just its newline. */
	if (got == INPUT_PIECE && end == p && s->name)
		return true;
	plain.text = slice_between(p, end);
	/* A line that begins with the child's name needs no other name. */
	if (!s->name || !bytes_skip(&p, end, s->name) || !bytes_skip(&p, end, ": "))
		p = plain.text.p;
	queue(s->report, s->name, slice_between(p, end), s->name || newline || got == INPUT_LINE);
	text_keep_tail(&s->tail, plain.text, TAIL);
	if (s->report->on_line)
		s->report->on_line(s->report->arg, s->name, &plain);
	return true;
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct report_source *s = arg;

	(void)event;
	if (s->changed)
		s->changed(s->arg);
}

int
report_source_open(struct report_source *s, struct report *r, const char *name, int fd)
{
	s->tail.n = 0;
	*s = (struct report_source){.changed = s->changed, .arg = s->arg, .report = r, .name = name, .tail = s->tail,
		.in = {.line = on_line, .event = on_event, .arg = s}};
	return endpoint_open(&s->in, r->loop, fd, -1, LINE_LIMIT);
}
