#include "cmd/acp-fault/report.h"

#include <inttypes.h>

static int
put(struct buf *to, const struct subject *s, const struct rule *r, enum fault fault, const char *details, va_list args)
{
	if (buf_printf(to, "{\"t\":%" PRIu64 ".%06" PRIu64 ",\"from\":\"%s\",\"%s\":%" PRIu64, s->t / 1000000, s->t % 1000000,
		acp_side_name(s->from), s->no_message ? "after" : "n", s->n) < 0)
		return -1;
	if (s->method.p && (buf_add_string(to, ",\"method\":") < 0 || buf_add_slice(to, s->method) < 0))
		return -1;
	if (s->id.p && (buf_add_string(to, ",\"id\":") < 0 || buf_add_slice(to, s->id) < 0))
		return -1;
	if (r->line && buf_printf(to, ",\"plan\":%u", r->line) < 0)
		return -1;
	if (buf_printf(to, ",\"fault\":\"%s\"", fault_kind(fault)->name) < 0 || buf_vprintf(to, details, args) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

void
report_vadd(struct log *l, const struct subject *s, const struct rule *r, enum fault fault, const char *details, va_list args)
{
	if (!l)
		return;
	if (put(log_buf(l), s, r, fault, details, args) == 0)
		log_mark(l);
	else
		log_add(l, slice(NULL, 0));
}

void
report_add(struct log *l, const struct subject *s, const struct rule *r, enum fault fault, const char *details, ...)
{
	va_list args;

	va_start(args, details);
	report_vadd(l, s, r, fault, details, args);
	va_end(args);
}
