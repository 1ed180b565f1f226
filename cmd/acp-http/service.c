/* What a server and a client share: the loop, signals, and lines on standard error that never block. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "cmd/acp-http/http.h"
#include "lib/base/text.h"
#include "lib/run/proc.h"

enum { LAST_WORDS_MS = 1000 }; /* how long the end waits for a slow reader of standard error */

/* --- standard error --- */

void
report(struct service *s, const char *who, const char *format, ...)
{
	SCOPED struct buf text = {0}, line = {0};
	va_list args;

	va_start(args, format);
	if (s->log.out.full || buf_vprintf(&text, format, args) < 0 ||
		buf_printf(&line, "%s: %s%s", tool_name, who ? who : "", who ? ": " : "") < 0 ||
		text_plain(&line, buf_slice(&text)) < 0 || endpoint_put_line(&s->log, NULL, buf_slice(&line), false) < 0)
		s->discarded++;
	va_end(args);
}

static void
log_event(void *arg, enum endpoint_event event)
{
	struct service *s = arg;
	uint64_t n = s->discarded;

	(void)event;
	if (n == 0 || s->log.out.full)
		return;
	s->discarded = 0;
	report(s, NULL, "%" PRIu64 " lines were left out here", n);
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
	int err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	s->loop = loop_new(signals, caught, s);
	s->log = (struct endpoint){.event = log_event, .arg = s};
	return !s->loop || endpoint_open(&s->log, s->loop, -1, err, 0) < 0 ? -1 : 0;
}

void
service_close(struct service *s)
{
	if (!s->loop)
		return;
	log_event(s, ENDPOINT_WROTE);
	endpoint_flush(&s->log, LAST_WORDS_MS, INT_MAX);
	endpoint_close(&s->log);
	loop_free(s->loop);
}
