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
