/* --listen: accepts TCP connections, and makes a channel of each. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/acp-http/server.h"
#include "lib/base/cli.h"

enum {
	RETRY_ACCEPT = 500 * 1000,
	DESCRIPTORS = 32, AGENT = 3, CHANNELS = 8, /* descriptors of the server; of an agent; of a connection's channels */
};

/* --- TLS --- */

/* ALPN: chooses HTTP/2 before HTTP/1.1, whatever the client prefers. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in, unsigned nin, void *arg)
{
	static const unsigned char ours[] = "\2h2\10http/1.1";
	unsigned char *chosen;
	int r = SSL_select_next_proto(&chosen, n, ours, sizeof(ours) - 1, in, nin);

	(void)ssl;
	(void)arg;
	*out = chosen;
	return r == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Reads the certificate and the key, if there are any. 0, or the exit status. */
static int
open_tls(struct server *s)
{
	const struct options *o = s->options;
	const char *wrong = NULL, *why;

	if (!o->cert)
		return 0;
	s->tls = SSL_CTX_new(TLS_server_method());
	if (!s->tls || SSL_CTX_set_min_proto_version(s->tls, TLS1_2_VERSION) != 1)
		wrong = "";
	else if (SSL_CTX_use_certificate_chain_file(s->tls, o->cert) != 1)
		wrong = o->cert;
	else if (SSL_CTX_use_PrivateKey_file(s->tls, o->key ? o->key : o->cert, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(s->tls) != 1)
		wrong = o->key ? o->key : o->cert;
	if (wrong) {
		why = ERR_reason_error_string(ERR_peek_last_error());
		cli_warn(tool_name, "%s: %s", wrong, why ? why : "this is not a PEM file of the right kind");
		return EXIT_USAGE;
	}
	SSL_CTX_set_options(s->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(s->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(s->tls, choose_protocol, NULL);
	return 0;
}

/* --- the listening socket --- */

static void
accept_again(void *arg)
{
	struct server *s = arg;

	loop_set_events(s->service.loop, &s->listener, POLLIN);
}

static void
accept_one(void *arg, short revents)
{
	struct server *s = arg;
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1, idle_s = 60, interval_s = 15, count = 4;

	(void)revents;
	if (fd >= 0) {
		/* Notices a client that has vanished even if no pings are sent; and sends each message without a wait for more. */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		channel_new(s, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* The socket stays ready: is not watched for a while. */
		report(&s->service, NULL, "a connection has to wait: %s", strerror(errno));
		loop_set_events(s->service.loop, &s->listener, LOOP_PAUSED);
		loop_add_timer(s->service.loop, &s->retry, RETRY_ACCEPT);
	}
}

static void
say_where(struct server *s)
{
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "", where[NI_MAXHOST + NI_MAXSERV + 4];
	const char *safe = s->tls ? "s" : "";

	if (getsockname(s->listener.fd, (struct sockaddr *)&at, &size) < 0 ||
		getnameinfo((struct sockaddr *)&at, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(where, sizeof(where), at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	if (s->options->plain)
		report(&s->service, NULL, "listening at tcp://%s", where);
	else
		report(&s->service, NULL, "listening at http%s://%s%s, and ws%s", safe, where, s->options->path, safe);
}

/* Listens at the address of --listen. 0, or the exit status. */
static int
open_listener(struct server *s)
{
	static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	const char *address = s->options->address ? s->options->address : "127.0.0.1";
	struct addrinfo *found;
	int fd = -1, on = 1, error = getaddrinfo(address, s->options->port, &hints, &found);

	if (error) {
		cli_warn(tool_name, "--listen %s:%s: %s", address, s->options->port, gai_strerror(error));
		return EXIT_USAGE;
	}
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
			fd = proc_close(fd);
	}
	freeaddrinfo(found);
	if (fd < 0) {
		cli_warn(tool_name, "--listen %s:%s: %s", address, s->options->port, strerror(errno));
		return EXIT_FAILED;
	}
	s->listener = (struct loop_fd){.fd = fd, .events = POLLIN, .ready = accept_one, .arg = s};
	s->retry = (struct loop_timer){.expired = accept_again, .arg = s};
	loop_add_fd(s->service.loop, &s->listener);
	return 0;
}

/* --- the server --- */

/* Raises the limit of descriptors. Reports too low a limit now, not when the last clients connect. 0, or the exit status. */
static int
check_descriptors(struct server *s)
{
	uint64_t n = s->options->max_connections, least = DESCRIPTORS + (AGENT + 1) * n, most = DESCRIPTORS + (AGENT + CHANNELS) * n;
	struct rlimit limit = {.rlim_cur = most};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most) {
		limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < least) {
		cli_warn(tool_name, "--max-connections %" PRIu64 " needs %" PRIu64 " descriptors, and the limit is %" PRIu64 " (ulimit -n)", n,
			least, (uint64_t)limit.rlim_cur);
		return EXIT_USAGE;
	}
	s->max_channels = (size_t)((limit.rlim_cur < most ? (uint64_t)limit.rlim_cur : most) - DESCRIPTORS - AGENT * n);
	return 0;
}

/* Ends all connections at the first signal, as if the clients had left. */
static void
leave(void *arg)
{
	struct server *s = arg;
	struct conn *c;

	if (!s->conns)
		loop_stop(s->service.loop);
	DL_FOREACH (s->conns, c)
		conn_end(c);
}

static void
close_all(struct server *s)
{
	struct conn *c, *next;

	DL_FOREACH_SAFE (s->conns, c, next) {
		proc_signal(c->child.pid, SIGTERM);
		conn_free(c);
	}
	while (s->channels)
		channel_free(s->channels);
	loop_remove_fd(s->service.loop, &s->listener);
	service_close(&s->service);
	proc_close(s->listener.fd);
	proc_guardian_stop(&s->guardian);
	SSL_CTX_free(s->tls);
}

int
listen_run(const struct options *o)
{
	struct server s = {.options = o, .listener.fd = -1, .guardian.fd = -1};
	int status = check_descriptors(&s);

	s.service = (struct service){.options = o, .leave = leave, .owner = &s};
	if (status == 0)
		status = open_tls(&s);
	if (status == 0 && (proc_guardian_start(&s.guardian) < 0 || service_open(&s.service) < 0))
		status = -1;
	if (status == 0)
		status = open_listener(&s);
	if (status == 0) {
		say_where(&s);
		status = loop_run(s.service.loop);
	}
	if (status < 0) {
		cli_warn(tool_name, "%s", strerror(errno));
		status = EXIT_FAILED;
	}
	close_all(&s);
	return s.service.signal ? 128 + s.service.signal : status;
}
