/* What MCP 2026-07-28 has added to params and results. */
#include "cmd/acp-mcp/mcp.h"

/* Appends a text with another value in the place of `old`. */
static int
put_replaced(struct slice text, struct slice old, struct slice with, struct buf *to)
{
	struct splice splice = {old.p, old.p + old.n, with};

	return splice_write(text, &splice, 1, to);
}

/* Appends an object, with these members before its own. */
static int
put_inside(struct buf *to, struct slice object, struct slice members)
{
	int r = buf_add(to, "{", 1);

	r |= buf_add_slice(to, members);
	if (!json_is_empty(object))
		r |= buf_add(to, ",", 1);
	return r | buf_add_slice(to, slice(object.p + 1, object.n - 1));
}

int
meta_put(struct slice params, struct slice members, struct buf *to)
{
	struct slice object = json_type(params) == JSON_OBJECT ? params : slice_of("{}"), meta = mcp_object(params, mcp_meta);
	SCOPED struct buf with = {0};
	int r;

	if (meta.p) {
		r = put_inside(&with, meta, members);
		r |= put_replaced(params, meta, buf_slice(&with), to);
	} else {
		r = buf_printf(&with, "\"%s\":{%.*s}", mcp_meta, (int)members.n, members.p);
		r |= put_inside(to, object, buf_slice(&with));
	}
	return r;
}

/* Removes the members of these names: if there are any, the object becomes a copy in room. Other values stay as they are. */
static int
strip(struct slice *object, const char *const *names, struct buf *room)
{
	struct json_iter i = {.in = json_type(*object) == JSON_OBJECT ? *object : slice(NULL, 0)};
	struct slice key, value;
	bool any = false;
	int r = buf_add(room, "{", 1);

	while (json_next(&i, &key, &value)) {
		if (json_string_in(key, names)) {
			any = true;
			continue;
		}
		if (room->n > 1)
			r |= buf_add(room, ",", 1);
		r |= buf_add_slice(room, slice_between(key.p, value.p + value.n));
	}
	r |= buf_add(room, "}", 1);
	if (any)
		*object = buf_slice(room);
	return r;
}

int
meta_strip_envelope(struct slice *params, struct buf *room)
{
	static const char *const envelope[] = {mcp_key_version, mcp_key_capabilities, mcp_key_client, mcp_key_level, NULL};
	struct slice old = mcp_object(*params, mcp_meta), meta = old;
	SCOPED struct buf with = {0};
	int r = strip(&meta, envelope, &with);

	if (meta.p == old.p)
		return r;
	r |= put_replaced(*params, old, meta, room);
	*params = buf_slice(room);
	return r;
}

int
meta_strip_result(struct slice *result, struct buf *room)
{
	static const char *const newer[] = {"resultType", "ttlMs", "cacheScope", NULL};

	return strip(result, newer, room);
}

/* --- subscriptions --- */

static const struct {
	const char *capability, *asks, *tells;
} lists[] = {
	{"tools", "toolsListChanged", "notifications/tools/list_changed"},
	{"prompts", "promptsListChanged", "notifications/prompts/list_changed"},
	{"resources", "resourcesListChanged", "notifications/resources/list_changed"},
};
static const char updated[] = "notifications/resources/updated";
enum { NLISTS = sizeof(lists) / sizeof(lists[0]) };

static bool
is_true(struct slice object, const char *member)
{
	return json_type(json_get(object, member)) == JSON_TRUE;
}

int
listen_put_lists(struct slice capabilities, struct slice asked, struct buf *to)
{
	const char *comma = "";
	int r = 0;

	for (size_t i = 0; i < NLISTS; i++) {
		if (!is_true(mcp_object(capabilities, lists[i].capability), "listChanged") || (asked.p && !is_true(asked, lists[i].asks)))
			continue;
		r |= buf_printf(to, "%s\"%s\":true", comma, lists[i].asks);
		comma = ",";
	}
	return r;
}

bool
listen_brings(struct slice method)
{
	for (size_t i = 0; i < NLISTS; i++)
		if (json_string_is(method, lists[i].tells))
			return true;
	return json_string_is(method, updated);
}

bool
listen_wants(struct slice filter, struct slice method, struct slice params)
{
	struct json_iter uris = {.in = json_get(filter, mcp_uris)};
	struct slice one;

	for (size_t i = 0; i < NLISTS; i++)
		if (json_string_is(method, lists[i].tells))
			return is_true(filter, lists[i].asks);
	while (json_string_is(method, updated) && json_item(&uris, &one))
		if (json_string_eq(one, json_get(params, mcp_uri)))
			return true;
	return false;
}

int
listen_put_uris(struct slice uris, struct slice uri, bool with, struct buf *to)
{
	struct json_iter i = {.in = uris};
	struct slice one;
	int r = buf_add(to, "[", 1);

	if (with)
		r |= buf_add_slice(to, uri);
	while (json_item(&i, &one)) {
		if (json_string_eq(one, uri))
			continue;
		if (to->p[to->n - 1] != '[')
			r |= buf_add(to, ",", 1);
		r |= buf_add_slice(to, one);
	}
	return r | buf_add(to, "]", 1);
}

struct slice
listen_name(struct slice params)
{
	return json_get(json_get(params, mcp_meta), mcp_key_subscription);
}

int
listen_rename(struct slice *value, struct slice id, struct buf *room)
{
	struct slice old = listen_name(*value);
	int r;

	if (!old.p)
		return 0;
	r = put_replaced(*value, old, id, room);
	*value = buf_slice(room);
	return r;
}

int
listen_put_params(struct slice params, struct slice id, struct buf *to)
{
	SCOPED struct buf member = {0};
	int r;

	if (listen_name(params).p)
		return listen_rename(&params, id, to);
	r = buf_printf(&member, "\"%s\":%.*s", mcp_key_subscription, (int)id.n, id.p);
	r |= meta_put(params, buf_slice(&member), to);
	return r;
}
