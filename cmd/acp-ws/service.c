/*
 * libwebsockets' loop, with ours in it. Debian builds it without the callbacks for another's loop; but an epoll descriptor can be
 * polled like any other, so its loop waits for ours as for one more connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "cmd/acp-ws/ws.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"

enum {
	BUFFER = 64 * 1024,       /* bytes that one read brings */
	HEADERS = 16 * 1024,      /* bytes of a handshake: a token and cookies are in it */
	HANDSHAKE_S = 10,         /* how long a handshake may take */
	LAST_WORDS_MS = 1000,     /* for a slow reader of standard error */
	LONGEST_WRITE = 1 << 30,
};

/* --- standard error --- */

static void
say_text(struct service *s, const char *who, struct slice text)
{
	SCOPED struct buf line = {0};

	if (s->log.out.full || buf_printf(&line, "%s: %s%s", tool_name, who ? who : "", who ? ": " : "") < 0 ||
		text_plain(&line, text) < 0 || endpoint_put_line(&s->log, NULL, buf_slice(&line), false) < 0)
		s->discarded++;
}

void
report(struct service *s, const char *who, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0)
		say_text(s, who, buf_slice(&text));
	else
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
	s->over = true;
}

/* --- the loops --- */

/* A timer of ours is due. Timers run before the wait: without this libwebsockets would go on to wait for its next one. */
static void
woken(lws_sorted_usec_list_t *wake)
{
	lws_cancel_service(lws_container_of(wake, struct service, wake)->lws);
}

int
service_run(struct service *s)
{
	int wait_ms;

	while (!s->over) {
		if (loop_turn(s->loop, &wait_ms) < 0)
			return -1;
		if (s->over)
			break;
		lws_sul_schedule(s->lws, 0, &s->wake, woken,
			wait_ms < 0 ? LWS_SET_TIMER_USEC_CANCEL : (lws_usec_t)wait_ms * 1000 + 1);
		if (lws_service(s->lws, 0) < 0)
			return -1;
	}
	return 0;
}

struct service *
service_of(struct lws *wsi)
{
	return lws_context_user(lws_get_context(wsi));
}

static int
open_lws(struct service *s, lws_callback_function *callback, const char *ca)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN,
		.protocols = s->protocols,
		.pt_serv_buf_size = BUFFER,
		.max_http_header_data = HEADERS,
		.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
		.client_ssl_ca_filepath = ca,
		.timeout_secs = HANDSHAKE_S,
		.user = s,
	};
	int fd;

	s->protocols[0] = (struct lws_protocols){
		.name = "acp", .callback = callback, .rx_buffer_size = BUFFER, .tx_packet_size = LONGEST_WRITE};
	s->lws = lws_create_context(&info);
	if (!s->lws)
		return -1;
	fd = fcntl(loop_descriptor(s->loop), F_DUPFD_CLOEXEC, 10);
	if (fd < 0)
		return -1;
	return lws_adopt_descriptor_vhost(lws_get_vhost_by_name(s->lws, "default"), LWS_ADOPT_RAW_FILE_DESC,
		(lws_sock_file_fd_type){.filefd = fd}, "acp", NULL) ? 0 : -1;
}

static void
lws_report(int level, const char *line)
{
	(void)level;
	cli_warn(tool_name, "libwebsockets: %s", line);
}

int
service_open(struct service *s, lws_callback_function *callback, const char *ca)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, 0};
	int err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	lws_set_log_level(s->options->verbose ? LLL_ERR | LLL_WARN : 0, lws_report);
	s->loop = loop_new(signals, caught, s);
	s->log = (struct endpoint){.event = log_event, .arg = s};
	if (!s->loop || endpoint_open(&s->log, s->loop, -1, err, 0) < 0)
		return -1;
	errno = ENOMEM; /* libwebsockets does not say why */
	return open_lws(s, callback, ca);
}

void
service_close(struct service *s)
{
	if (s->lws)
		lws_context_destroy(s->lws);
	if (!s->loop)
		return;
	log_event(s, ENDPOINT_WROTE);
	endpoint_write_rest(&s->log, LAST_WORDS_MS, INT_MAX);
	endpoint_close(&s->log);
	loop_free(s->loop);
}
