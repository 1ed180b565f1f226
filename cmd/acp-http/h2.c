/* HTTP/2 as a server, by libnghttp2. */
#include "cmd/acp-http/server.h"

enum {
	STREAMS = 1000,          /* at a time: event streams, and POSTs */
	WINDOW = 256 * 1024,     /* bytes of a body that a client may send before they are read */
	NOISE_MOST = 2000,       /* frames that bring nothing, and are not forgiven */
	NOISE_SECOND = 100,      /* frames that are forgiven in a second */
};

static struct exchange *
exchange_of(struct channel *ch, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(ch->h2, stream);
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct exchange *x;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	x = exchange_new(user, frame->hd.stream_id);
	if (!x)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, x);
	return 0;
}

/* Keeps a header. libnghttp2 has checked its name and value, and that headers of HTTP itself come only once. */
static int
on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t nname, const uint8_t *value,
	size_t nvalue, uint8_t flags, void *user)
{
	struct exchange *x = exchange_of(user, frame->hd.stream_id);
	struct slice n = slice((const char *)name, nname);
	unsigned status;

	(void)session;
	(void)flags;
	if (!x || x->headed || x->responded || slice_is(n, ":authority") || slice_is(n, ":scheme"))
		return 0;
	status = exchange_add(x, n.p, slice((const char *)value, nvalue)); /* libnghttp2 puts a NUL after a name */
	if (status)
		exchange_refuse(x, status, status == 400 ? "a header is repeated" : "the headers are too long");
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *user)
{
	struct exchange *x = exchange_of(user, stream);

	(void)session;
	(void)flags;
	if (x)
		exchange_body(x, slice((const char *)data, n));
	return 0;
}

/* Does a frame cost work or a response, and bring nothing? */
static bool
is_noise(const nghttp2_frame *f)
{
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
		return false;
	case NGHTTP2_DATA:
		return f->hd.length <= f->data.padlen && !(f->hd.flags & NGHTTP2_FLAG_END_STREAM);
	case NGHTTP2_WINDOW_UPDATE:
		return f->window_update.window_size_increment < 16;
	default:
		return true;
	}
}

/* Counts a frame that brings nothing. True: there were too many, and the channel ends. */
static bool
count_noise(struct channel *ch)
{
	if (++ch->noise <= NOISE_MOST)
		return false;
	if (ch->noise == NOISE_MOST + 1)
		report(&ch->server->service, NULL, "a client sends HTTP/2 frames that bring nothing: closing the connection");
	nghttp2_session_terminate_session(ch->h2, NGHTTP2_ENHANCE_YOUR_CALM);
	return true;
}

/* Counts a stream that the client makes acp-http reset: this costs as much as a stream that the client resets. */
static int
on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	(void)session;
	if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
		count_noise(user);
	return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct channel *ch = user;
	struct exchange *x = exchange_of(ch, frame->hd.stream_id);

	(void)session;
	if (is_noise(frame) && count_noise(ch))
		return 0;
	if (!x || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (!x->headed)
		serve_head(x);
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && !x->complete)
		serve_request(x);
	return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
	struct exchange *x = exchange_of(user, stream);

	(void)session;
	(void)error;
	if (x)
		exchange_free(x);
	return 0;
}

static ssize_t
read_data(nghttp2_session *session, int32_t stream, uint8_t *to, size_t n, uint32_t *flags, nghttp2_data_source *source, void *user)
{
	bool end = false;
	size_t taken = exchange_read(source->ptr, (char *)to, n, &end);

	(void)session;
	(void)stream;
	(void)user;
	if (end)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return taken == 0 && !end ? NGHTTP2_ERR_DEFERRED : (ssize_t)taken;
}

int
h2_open(struct channel *ch)
{
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS},
	};
	nghttp2_session_callbacks *calls = NULL;
	int r = nghttp2_session_callbacks_new(&calls);

	if (r == 0) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
		nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
		nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
		nghttp2_session_callbacks_set_on_frame_send_callback(calls, on_frame_sent);
		nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_stream_close);
		r = nghttp2_session_server_new(&ch->h2, calls, ch);
	}
	nghttp2_session_callbacks_del(calls);
	ch->forgiven = loop_now(ch->server->service.loop);
	if (r == 0)
		r = nghttp2_submit_settings(ch->h2, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(*settings));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(ch->h2, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW);
	return r == 0 ? 0 : -1;
}

void
h2_receive(struct channel *ch, struct slice bytes)
{
	uint64_t now = loop_now(ch->server->service.loop), forgive = (now - ch->forgiven) / 1000000 * NOISE_SECOND;
	ssize_t n;

	if (forgive > 0) {
		ch->forgiven = now;
		ch->noise -= ch->noise > forgive ? (unsigned)forgive : ch->noise;
	}
	n = nghttp2_session_mem_recv(ch->h2, (const uint8_t *)bytes.p, bytes.n);
	if (n == NGHTTP2_ERR_NOMEM || n == NGHTTP2_ERR_CALLBACK_FAILURE || n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
		report_verbose(&ch->server->service, NULL, "HTTP/2: %s: closing the connection", nghttp2_strerror((int)n));
		endpoint_abort(&ch->far);
		return;
	}
	channel_wake(ch);
}

void
h2_send(struct channel *ch)
{
	const uint8_t *p;
	struct exchange *x;
	ssize_t n = 1;

	if (!ch->h2 || ch->far.finishing)
		return;
	DL_FOREACH (ch->exchanges, x)
		if (x->streams)
			nghttp2_session_resume_data(ch->h2, x->stream);
	while (ch->far.out.queued < QUEUE_LOW && (n = nghttp2_session_mem_send(ch->h2, &p)) > 0)
		channel_put(ch, slice((const char *)p, (size_t)n));
	if (n < 0)
		endpoint_abort(&ch->far);
	else if (n == 0 && !nghttp2_session_want_read(ch->h2) && !nghttp2_session_want_write(ch->h2))
		endpoint_finish(&ch->far);
	/* A client that does not read what it makes acp-http send is not read. */
	endpoint_pause(&ch->far, ch->far.out.queued >= QUEUE_LOW && nghttp2_session_get_outbound_queue_size(ch->h2) > STREAMS);
}

static nghttp2_nv
pair(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(size_t)name, (uint8_t *)(size_t)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

void
h2_respond(struct exchange *x, unsigned status, const char *const *headers, const char *type, size_t length)
{
	nghttp2_data_provider body = {.source.ptr = x, .read_callback = read_data};
	char number[16], digits[24];
	nghttp2_nv nv[8];
	size_t n = 0;

	snprintf(number, sizeof(number), "%u", status);
	snprintf(digits, sizeof(digits), "%zu", length);
	nv[n++] = pair(":status", number);
	for (; headers && *headers; headers += 2)
		nv[n++] = pair(headers[0], headers[1]);
	if (type)
		nv[n++] = pair("content-type", type);
	if (!x->streams)
		nv[n++] = pair("content-length", digits);
	if (nghttp2_submit_response(x->channel->h2, x->stream, nv, n, x->streams || length > 0 ? &body : NULL) < 0)
		endpoint_abort(&x->channel->far);
}
