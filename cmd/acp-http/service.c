/* What a server and a client share: the loop, signals, and lines on standard error that never block. */
#include <fcntl.h>
#include <signal.h>

#include "cmd/acp-http/http.h"
#include "lib/run/proc.h"

enum { LAST_WORDS = 1000 * 1000 }; /* us that the end waits for a slow reader of standard error */

/* --- standard error --- */

void
report(struct service *s, const char *who, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if ((!who || buf_printf(&text, "%s: ", who) == 0) && buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		report_line(&s->report, "%s", text.p);
	va_end(args);
}

/* --- files --- */

int
read_small(const char *path, struct buf *to, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -1 : buf_read_all(to, fd, most);

	proc_close(fd);
	return r;
}

/* --- signals --- */

static void
caught(void *arg, int signal)
{
	struct service *s = arg;

	if (!s->leaving) {
		s->leaving = true;
		s->leave(s->owner);
		return;
	}
	s->signal = signal;
	loop_stop(s->loop);
}

int
service_open(struct service *s)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, 0};

	s->loop = loop_new(signals, caught, s);
	return !s->loop || report_open(&s->report, tool_name, s->loop) < 0 ? -1 : 0;
}

void
service_close(struct service *s)
{
	if (!s->loop)
		return;
	report_close(&s->report, LAST_WORDS, UINT64_MAX);
	loop_free(s->loop);
}
