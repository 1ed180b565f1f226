#include "cmd/acp-mcp/meta.h"

#include "cmd/acp-mcp/names.h"

/* Members at the beginning of an object, and the object's own behind them. */
static int
put_inside(struct buf *to, struct slice object, struct slice members)
{
	struct json_iter i = {.in = object};
	struct slice key, value;
	int r = buf_add(to, "{", 1);

	r |= buf_add_slice(to, members);
	if (json_next(&i, &key, &value))
		r |= buf_add(to, ",", 1);
	return r | buf_add_slice(to, slice(object.p + 1, object.n - 1));
}

int
meta_put(struct slice params, struct slice members, struct buf *to)
{
	struct slice object = json_type(params) == JSON_OBJECT ? params : slice_of("{}"), meta = mcp_object(params, mcp_meta);
	struct buf with = {0};
	int r;

	if (meta.p) {
		r = buf_add_slice(to, slice_between(params.p, meta.p));
		r |= put_inside(to, meta, members);
		return r | buf_add_slice(to, slice_between(meta.p + meta.n, params.p + params.n));
	}
	r = buf_printf(&with, "\"%s\":{%.*s}", mcp_meta, (int)members.n, members.p);
	r |= put_inside(to, object, buf_slice(&with));
	buf_free(&with);
	return r;
}

static bool
is_one_of(struct slice name, const char *const *names)
{
	while (*names && !json_string_is(name, *names))
		names++;
	return *names != NULL;
}

/* Appends an object without the members of these names. */
static int
put_without(struct slice object, const char *const *names, struct buf *to)
{
	struct json_iter i = {.in = object};
	struct slice key, value;
	const char *comma = "";
	int r = buf_add(to, "{", 1);

	while (json_next(&i, &key, &value)) {
		if (is_one_of(key, names))
			continue;
		r |= buf_add_string(to, comma);
		r |= buf_add_slice(to, slice_between(key.p, value.p + value.n));
		comma = ",";
	}
	return r | buf_add(to, "}", 1);
}

static bool
has_any(struct slice object, const char *const *names)
{
	while (*names && !json_get(object, *names).p)
		names++;
	return *names != NULL;
}

int
meta_strip_envelope(struct slice *params, struct buf *room)
{
	static const char *const envelope[] = {mcp_key_version, mcp_key_capabilities, mcp_key_client, mcp_key_level, NULL};
	struct slice meta = mcp_object(*params, mcp_meta);
	int r;

	if (!meta.p || !has_any(meta, envelope))
		return 0;
	r = buf_add_slice(room, slice_between(params->p, meta.p));
	r |= put_without(meta, envelope, room);
	r |= buf_add_slice(room, slice_between(meta.p + meta.n, params->p + params->n));
	*params = buf_slice(room);
	return r;
}

int
meta_strip_result(struct slice *result, struct buf *room)
{
	static const char *const newer[] = {"resultType", "ttlMs", "cacheScope", NULL};
	int r;

	if (json_type(*result) != JSON_OBJECT || !has_any(*result, newer))
		return 0;
	r = put_without(*result, newer, room);
	*result = buf_slice(room);
	return r;
}
