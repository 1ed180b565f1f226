/* HTTP/1.1 as a server: one request after the other, read strictly (RFC 9112). */
#include <stdlib.h>

#include "cmd/acp-http/server.h"

enum { CHUNK = 16 * 1024, PIPELINED = 64 * 1024 };

/* Reads, and changes, "GET /acp HTTP/1.1"; the target may be a whole URL, as it is in a request to a proxy. 0, or a status. */
static unsigned
read_request_line(struct exchange *x, char *method)
{
	char *target = method + strspn(method, header_name_bytes), *version;
	size_t scheme;
	unsigned status;

	if (target == method || *target != ' ')
		return 400;
	*target++ = '\0';
	scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
	if (scheme)
		target += scheme + strcspn(target + scheme, "/ ");
	version = target + strcspn(target, " \t");
	if (*target != '/' || *version != ' ')
		return 400;
	*version++ = '\0';
	if (strcmp(version, "HTTP/1.1") != 0)
		return strlen(version) == 8 && strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
	status = exchange_add(x, ":method", slice_of(method));
	return status ? status : exchange_add(x, ":path", slice_of(target));
}

/* Reads, and changes, "Name: value". 0, or a status. */
static unsigned
read_header(struct exchange *x, char *name)
{
	size_t n = strspn(name, header_name_bytes), nvalue;
	const char *value = name + n + 1;

	if (n == 0 || name[n] != ':')
		return 400;
	name[n] = '\0';
	for (char *p = name; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p | 32 : *p);
	value += strspn(value, " \t");
	nvalue = strlen(value);
	while (nvalue > 0 && strchr(" \t", value[nvalue - 1]))
		nvalue--;
	if (strcmp(name, "connection") == 0 && strcasestr(value, "close"))
		x->channel->last = true;
	return exchange_add(x, name, slice(value, nvalue));
}

/* Does a head consist of printable bytes, blanks and tabs, in lines that end with CR LF? */
static bool
head_is_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == 0x7f || (p[i] == '\r' && p[i + 1] != '\n') || (p[i] == '\n' && (i == 0 || p[i - 1] != '\r')) ||
			((unsigned char)p[i] < ' ' && !strchr("\t\r\n", p[i])) || p[i] == '\0')
			return false;
	return true;
}

/* Reads, and changes, a whole head; n 0: the head is too long. 0, or the status of a refusal. */
static unsigned
read_head(struct exchange *x, char *head, size_t n)
{
	char *line, *save = NULL, *after;
	const char *length;
	unsigned status = 0;

	if (n == 0 || n > HEADERS)
		return 431;
	if (!head_is_text(head, n))
		return 400;
	head[n - 1] = '\0';
	for (line = strtok_r(head, "\r\n", &save); line && status == 0; line = strtok_r(NULL, "\r\n", &save))
		status = (line == head ? read_request_line : read_header)(x, line);
	if (status || !exchange_header(x, "host"))
		return status ? status : 400;
	if (exchange_header(x, "transfer-encoding"))
		return 411;
	length = exchange_header(x, "content-length");
	if (!length)
		return 0;
	if (!byte_is_digit(*length) || strlen(length) > 18)
		return 400;
	x->body_left = strtoull(length, &after, 10);
	return *after ? 400 : 0;
}

static void
consume(struct channel *ch, size_t n)
{
	ch->in.n -= n;
	memmove(ch->in.p, ch->in.p + n, ch->in.n);
}

static bool
begin_request(struct channel *ch)
{
	const struct buf *in = &ch->in;
	/* n: the length of the first head and its empty line; 0: the end has not come. Lines with LF alone are refused later. */
	const char *end = memmem(in->p, in->n, "\n\r\n", 3), *bare = memmem(in->p, in->n, "\n\n", 2);
	size_t n = bare && (!end || bare < end) ? (size_t)(bare + 2 - in->p) : end ? (size_t)(end + 3 - in->p) : 0;
	struct exchange *x;
	unsigned status;
	const char *value;

	if (n == 0 && ch->in.n <= HEADERS)
		return false;
	x = exchange_new(ch, 0);
	if (!x) {
		endpoint_abort(&ch->far);
		return false;
	}
	status = read_head(x, ch->in.p, n);
	consume(ch, status ? ch->in.n : n);
	ch->last = ch->last || status;
	x->complete = status;
	if (status)
		exchange_refuse(x, status, status == 411 ? "a body requires Content-Length" : status == 431 ? "the headers are too long"
			: status == 505 ? "this is not HTTP/1.1 or HTTP/2" : "this request is not valid");
	serve_head(x);
	value = exchange_header(x, "expect");
	if (!x->responded && x->body_left > 0 && value && strcasecmp(value, "100-continue") == 0)
		channel_put(ch, slice_of("HTTP/1.1 100 Continue\r\n\r\n"));
	return true;
}

void
h1_receive(struct channel *ch)
{
	struct exchange *x;
	size_t n;

	while (ch->kind == CHANNEL_H1 && !ch->far.finishing && endpoint_can_read(&ch->far)) {
		if (!ch->exchanges && (ch->in.n == 0 || !begin_request(ch)))
			break;
		x = ch->exchanges;
		n = ch->in.n < x->body_left ? ch->in.n : (size_t)x->body_left;
		if (x->complete || (n == 0 && x->body_left > 0))
			break;
		exchange_body(x, slice(ch->in.p, n));
		consume(ch, n);
		x->body_left -= n;
		if (x->body_left == 0)
			serve_request(x);
	}
	/* A client that sends many requests before their responses has to wait. */
	endpoint_pause(&ch->far, ch->kind == CHANNEL_H1 && ch->in.n > PIPELINED);
}

void
h1_respond(struct exchange *x, unsigned status, const char *const *headers, const char *type, size_t length)
{
	struct channel *ch = x->channel;
	SCOPED struct buf text = {0};
	int r = buf_printf(&text, "HTTP/1.1 %u \r\n", status); /* without a phrase, as in HTTP/2 */

	/* The rest of the request's body is not read: no other request can follow. */
	ch->last = ch->last || x->body_left > 0;
	for (; headers && *headers; headers += 2)
		r |= buf_printf(&text, "%s: %s\r\n", headers[0], headers[1]);
	if (type)
		r |= buf_printf(&text, "content-type: %s\r\n", type);
	r |= x->streams ? buf_add_string(&text, "transfer-encoding: chunked\r\n") : buf_printf(&text, "content-length: %zu\r\n", length);
	r |= buf_printf(&text, "%s\r\n", ch->last ? "connection: close\r\n" : "");
	if (r == 0)
		channel_put(ch, buf_slice(&text));
	else
		endpoint_abort(&ch->far);
}

void
h1_send(struct channel *ch)
{
	struct exchange *x = ch->exchanges;
	char room[CHUNK], head[32];
	bool end = false;
	size_t n;

	while (x && x->responded && !end && ch->far.out.queued < QUEUE_LOW) {
		n = exchange_read(x, room, sizeof(room), &end);
		if (n == 0)
			break;
		if (x->streams)
			channel_put(ch, slice(head, (size_t)snprintf(head, sizeof(head), "%zx\r\n", n)));
		channel_put(ch, slice(room, n));
		if (x->streams)
			channel_put(ch, slice_of("\r\n"));
	}
	if (!end)
		return;
	if (x->streams)
		channel_put(ch, slice_of("0\r\n\r\n"));
	exchange_free(x);
	if (ch->last)
		endpoint_finish(&ch->far);
	else
		h1_receive(ch);
}
