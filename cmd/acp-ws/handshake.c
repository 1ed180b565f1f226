/* Decides who may connect: checks the HTTP request, and refuses it with a status. */
#include "cmd/acp-ws/ws.h"

#include <stdlib.h>

/* The value of a header, to be freed; NULL where it is absent, or out of memory. */
static char *
header(struct lws *wsi, enum lws_token_indexes token)
{
	int n = lws_hdr_total_length(wsi, token);
	char *value = n > 0 ? malloc((size_t)n + 1) : NULL;

	if (value && lws_hdr_copy(wsi, value, n + 1, token) < 0) {
		free(value);
		return NULL;
	}
	return value;
}

static bool
header_is(struct lws *wsi, enum lws_token_indexes token, const char *wanted)
{
	char *value = header(wsi, token);
	bool same = value && strcasecmp(value, wanted) == 0;

	free(value);
	return same;
}

static bool
path_is(struct lws *wsi, const char *path)
{
	char *uri = NULL;
	int n = 0;

	return lws_http_get_uri_and_method(wsi, &uri, &n) >= 0 && uri && slice_is(slice(uri, (size_t)n), path);
}

bool
handshake_upgrades(struct lws *wsi)
{
	return lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 && header_is(wsi, WSI_TOKEN_UPGRADE, "websocket") && header_is(wsi, WSI_TOKEN_VERSION, "13") &&
		lws_hdr_total_length(wsi, WSI_TOKEN_KEY) > 0;
}

/* Only browsers send an origin, and they always do. */
static bool
origin_may(struct lws *wsi, const char *const *origins)
{
	char *origin = header(wsi, WSI_TOKEN_ORIGIN);
	bool may = !origin && lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0;

	for (; origin && origins && *origins && !may; origins++)
		may = strcasecmp(origin, *origins) == 0;
	free(origin);
	return may;
}

/* Takes the same time wherever the two differ. */
static bool
token_is(struct lws *wsi, const struct buf *token)
{
	static const char scheme[] = "Bearer ";
	char *value = header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
	size_t before = strlen(scheme);
	bool same = value && strncasecmp(value, scheme, before) == 0 && strlen(value + before) == token->n &&
		lws_timingsafe_bcmp(value + before, token->p, (uint32_t)token->n) == 0;

	free(value);
	return same;
}

unsigned
handshake_check(struct lws *wsi, const struct options *o, const char **why)
{
	unsigned status = 0;

	if (!path_is(wsi, o->path)) {
		status = HTTP_STATUS_NOT_FOUND;
		*why = "nothing is here";
	} else if (!handshake_upgrades(wsi)) {
		status = 426;
		*why = "this is a WebSocket endpoint, version 13";
	} else if (!origin_may(wsi, o->origins)) {
		status = HTTP_STATUS_FORBIDDEN;
		*why = "this origin is not allowed";
	} else if (o->token.p && !token_is(wsi, &o->token)) {
		status = HTTP_STATUS_UNAUTHORIZED;
		*why = "a bearer token is required";
	}
	return status;
}

/* The last is for any other status. */
static const struct response {
	unsigned status;
	const char *phrase, *headers;
} responses[] = {
	{HTTP_STATUS_UNAUTHORIZED, "Unauthorized", "WWW-Authenticate: Bearer\r\n"},
	{HTTP_STATUS_FORBIDDEN, "Forbidden", ""},
	{HTTP_STATUS_NOT_FOUND, "Not Found", ""},
	{426, "Upgrade Required", "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"},
	{HTTP_STATUS_SERVICE_UNAVAILABLE, "Service Unavailable", ""},
	{0, "Internal Server Error", ""},
};

int
handshake_refuse(struct lws *wsi, unsigned status, const char *why)
{
	const struct response *r = responses;
	SCOPED struct buf text = {0};
	size_t before = LWS_PRE;

	while (r->status && r->status != status)
		r++;
	if (buf_reserve(&text, before) < 0)
		return -1;
	text.n = before;
	if (buf_printf(&text, "HTTP/1.1 %u %s\r\n%sContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
			status, r->phrase, r->headers, strlen(why) + 1, why) == 0)
		lws_write(wsi, (unsigned char *)text.p + before, text.n - before, LWS_WRITE_HTTP);
	/* libwebsockets closes the connection after the response is written. */
	return -1;
}
