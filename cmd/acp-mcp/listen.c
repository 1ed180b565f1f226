#include "cmd/acp-mcp/listen.h"

#include "cmd/acp-mcp/meta.h"
#include "cmd/acp-mcp/names.h"

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
	return json_type(object) == JSON_OBJECT && json_type(json_get(object, member)) == JSON_TRUE;
}

int
listen_put_lists(struct slice capabilities, struct slice asked, struct buf *to)
{
	const char *comma = "";
	size_t i;
	int r = 0;

	for (i = 0; i < NLISTS; i++) {
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
	size_t i;

	for (i = 0; i < NLISTS; i++)
		if (json_string_is(method, lists[i].tells))
			return true;
	return json_string_is(method, updated);
}

static bool
has_uri(struct slice uris, struct slice uri)
{
	struct json_iter i = {.in = uris};
	struct slice key, one;

	while (json_type(uris) == JSON_ARRAY && json_next(&i, &key, &one))
		if (json_type(one) == JSON_STRING && json_string_eq(one, uri))
			return true;
	return false;
}

bool
listen_wants(struct slice filter, struct slice method, struct slice params)
{
	struct slice uri = mcp_string(params, mcp_uri);
	size_t i;

	if (json_type(filter) != JSON_OBJECT)
		return false;
	for (i = 0; i < NLISTS; i++)
		if (json_string_is(method, lists[i].tells))
			return is_true(filter, lists[i].asks);
	return json_string_is(method, updated) && uri.p && has_uri(json_get(filter, mcp_uris), uri);
}

int
listen_put_uris(struct slice uris, struct slice uri, bool with, struct buf *to)
{
	struct json_iter i = {.in = uris};
	struct slice key, one;
	int r = buf_add(to, "[", 1);

	if (with)
		r |= buf_add_slice(to, uri);
	while (json_type(uris) == JSON_ARRAY && json_next(&i, &key, &one)) {
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
	struct slice meta = mcp_object(params, mcp_meta);

	return meta.p ? json_get(meta, mcp_key_subscription) : meta;
}

int
listen_rename(struct slice *value, struct slice id, struct buf *room)
{
	struct slice old = listen_name(*value);
	int r;

	if (!old.p)
		return 0;
	r = buf_add_slice(room, slice_between(value->p, old.p));
	r |= buf_add_slice(room, id);
	r |= buf_add_slice(room, slice_between(old.p + old.n, value->p + value->n));
	*value = buf_slice(room);
	return r;
}

int
listen_put_params(struct slice params, struct slice id, struct buf *to)
{
	struct buf member = {0};
	int r;

	if (listen_name(params).p) {
		r = listen_rename(&params, id, &member);
		r |= buf_add_slice(to, params);
		buf_free(&member);
		return r;
	}
	r = buf_printf(&member, "\"%s\":%.*s", mcp_key_subscription, (int)id.n, id.p);
	r |= meta_put(params, buf_slice(&member), to);
	buf_free(&member);
	return r;
}
