#include "lib/acp/msg.h"

#include <stdio.h>

/* The members of a JSON-RPC message, in the order of the enum. */
enum { ID, METHOD, PARAMS, RESULT, ERROR, JSONRPC, MEMBERS };
static const struct json_keys names = {MEMBERS, {"id", "method", "params", "result", "error", "jsonrpc"}};

static enum msg_kind
noise(struct msg *m, struct json_error *error, struct slice text, struct slice at, const char *what)
{
	m->kind = MSG_NOISE;
	error->at = at.p && at.p >= text.p ? (size_t)(at.p - text.p) + 1 : 1;
	error->what = what;
	return MSG_NOISE;
}

static struct slice
trim(struct slice s)
{
	for (; s.n > 0 && byte_is_space(s.p[0]); s.n--)
		s.p++;
	while (s.n > 0 && byte_is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Is the number whole? Most are digits only. */
static bool
is_integer(struct slice number)
{
	SCOPED struct buf key = {0};
	bool integer = true;

	for (size_t i = number.p[0] == '-'; i < number.n; i++) {
		if (number.p[i] < '0' || number.p[i] > '9') {
			integer = json_number_key(number, &key, &integer) == 0 && integer;
			break;
		}
	}
	return integer;
}

static bool
is_id(struct slice v)
{
	switch (json_type(v)) {
	case JSON_STRING:
	case JSON_NULL:
		return true;
	case JSON_NUMBER:
		return is_integer(v);
	default:
		return false;
	}
}

static const char not_id[] = "expected a string, an integer or null as id";

/* Finds the kind of message by its members (JSON-RPC 2.0, sections 4 and 5). */
static enum msg_kind
classify(struct msg *m, struct slice line, const struct slice *v, struct json_error *error)
{
	m->id = v[ID];
	m->method = v[METHOD];
	m->params = v[PARAMS];
	m->result = v[RESULT];
	m->error = v[ERROR];
	if (v[JSONRPC].p && !json_string_is(v[JSONRPC], "2.0"))
		return noise(m, error, line, v[JSONRPC], "expected \"2.0\" as jsonrpc");
	if (m->id.p && !is_id(m->id))
		return noise(m, error, line, m->id, not_id);
	if (m->method.p) {
		if (json_type(m->method) != JSON_STRING)
			return noise(m, error, line, m->method, "expected a string as method");
		if (m->result.p || m->error.p)
			return noise(m, error, line, m->method, "method beside result or error");
		m->what = acp_method(m->method);
		return m->kind = m->id.p ? MSG_REQUEST : MSG_NOTIFICATION;
	}
	if (!m->result.p && !m->error.p)
		return noise(m, error, line, m->text, "neither method, result nor error");
	if (m->result.p && m->error.p)
		return noise(m, error, line, m->error, "result beside error");
	if (!m->id.p)
		return noise(m, error, line, m->text, "a response without an id");
	return m->kind = MSG_RESPONSE;
}

enum msg_kind
msg_scan(struct slice line, struct msg *m, struct json_error *error)
{
	struct slice v[MEMBERS];
	struct json_error unread;
	enum json_type type;

	if (!error)
		error = &unread;
	*m = (struct msg){.kind = MSG_NOISE};
	*error = (struct json_error){1, "expected an object"};
	type = json_members(line, JSON_DEPTH, &names, v, error);
	if (type == JSON_NONE)
		return MSG_NOISE;
	m->text = trim(line);
	if (type == JSON_OBJECT)
		return classify(m, line, v, error);
	return noise(m, error, line, m->text, type == JSON_ARRAY ? "an array: ACP has no batches" : "expected an object");
}

/* Is this value a valid id, and whole, because more of its object follows it? */
static bool
is_whole_id(struct slice v, const char *end)
{
	static const struct json_keys none = {0};
	const char *next = v.p + v.n;

	while (next < end && byte_is_space(*next))
		next++;
	return next < end && (*next == ',' || *next == '}') && json_members(v, 1, &none, NULL, NULL) != JSON_NONE && is_id(v);
}

enum msg_kind
msg_guess_kind(struct slice line, struct slice *id)
{
	struct slice text = trim(line), key, value, v[MEMBERS], whole = {NULL, 0};
	struct json_iter it = {.in = text};
	unsigned ids = 0, methods = 0, results = 0, params = 0;
	bool null, method;

	*id = slice_of("null");
	if (text.n == 0 || *text.p != '{')
		return json_members(line, JSON_DEPTH, &names, v, NULL) == JSON_ARRAY ? MSG_REQUEST : MSG_NOISE;
	while (json_next(&it, &key, &value)) {
		null = slice_is(value, "null");
		method = slice_is(key, "\"method\"");
		methods += method && !null;
		results += slice_is(key, "\"result\"") || slice_is(key, "\"error\"");
		params += (method && null) || slice_is(key, "\"params\"");
		if (!slice_is(key, "\"id\""))
			continue;
		ids++;
		if (is_whole_id(value, text.p + text.n))
			whole = value;
	}
	if (ids == 1 && whole.p)
		*id = whole;
	/* JavaScript leaves an undefined result out. Others spell the members that a response does not use: "method":null. */
	if (ids > 0 && methods == 0 && (results > 0 || (params == 0 && text.p[text.n - 1] == '}')))
		return ids == 1 && whole.p ? MSG_RESPONSE : MSG_NOISE;
	if (ids > 0)
		return MSG_REQUEST;
	/* A line without an id and with its end is a notification. */
	if (methods > 0)
		return text.p[text.n - 1] == '}' ? MSG_NOTIFICATION : MSG_REQUEST;
	return MSG_NOISE;
}

bool
msg_null_id(const struct msg *m)
{
	return m->id.p && m->id.p[0] == 'n';
}

int
msg_id_key(struct slice id, struct buf *to)
{
	bool integer;

	switch (json_type(id)) {
	case JSON_STRING:
		return buf_add(to, "s", 1) < 0 ? -1 : json_unescape(id, to);
	case JSON_NUMBER:
		return buf_add(to, "n", 1) < 0 ? -1 : json_number_key(id, to, &integer);
	default:
		return buf_add(to, "0", 1);
	}
}

/* Has this id only one spelling? */
static bool
is_plain(struct slice id)
{
	if (json_type(id) == JSON_STRING)
		return !memchr(id.p, '\\', id.n);
	for (size_t i = 0; i < id.n; i++)
		if (!byte_is_digit(id.p[i]))
			return false;
	return true;
}

bool
msg_same_id(struct slice a, struct slice b)
{
	SCOPED struct buf x = {0}, y = {0};
	bool same = a.p && slice_eq(a, b);

	if (!same && a.p && json_type(a) == json_type(b) && !(is_plain(a) && is_plain(b)))
		same = msg_id_key(a, &x) == 0 && msg_id_key(b, &y) == 0 && slice_eq(buf_slice(&x), buf_slice(&y));
	return same;
}

struct slice
msg_session(const struct msg *m)
{
	return json_get_string(m->method.p ? m->params : m->result, acp_session_id);
}

struct slice
msg_update_kind(const struct msg *m)
{
	return m->what == ACP_SESSION_UPDATE ? acp_kind_of_update(m->params) : slice(NULL, 0);
}

/* --- splices --- */

static void
splice_add(struct splices *s, const char *from, const char *to, struct slice with)
{
	size_t i = s->n++;

	for (; i > 0 && s->at[i - 1].from > from; i--)
		s->at[i] = s->at[i - 1];
	s->at[i] = (struct splice){from, to, with};
}

void
splice_value(struct splices *s, struct slice value, struct slice with)
{
	splice_add(s, value.p, value.p + value.n, with);
}

int
splice_write(struct slice line, const struct splice *s, size_t n, struct buf *to)
{
	const char *at = line.p;
	size_t i, before = to->n;

	for (i = 0; i < n; i++) {
		if (buf_add_slice(to, slice_between(at, s[i].from)) < 0 || buf_add_slice(to, s[i].with) < 0)
			goto fail;
		at = s[i].to;
	}
	if (buf_add_slice(to, slice_between(at, line.p + line.n)) == 0)
		return 0;
fail:
	to->n = before;
	return -1;
}

static size_t
add_part(struct iovec *parts, size_t n, struct slice s)
{
	if (s.n == 0)
		return n;
	parts[n] = (struct iovec){(void *)s.p, s.n};
	return n + 1;
}

size_t
splice_parts(struct slice line, const struct splice *s, size_t n, struct iovec *parts)
{
	const char *at = line.p;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		k = add_part(parts, k, slice_between(at, s[i].from));
		k = add_part(parts, k, s[i].with);
		at = s[i].to;
	}
	return add_part(parts, k, slice_between(at, line.p + line.n));
}

/* The place of a value after the splices, some of which may lie in it. */
static struct slice
moved(struct slice value, struct slice line, const struct splice *s, size_t n, const char *made)
{
	ptrdiff_t shift = 0, before = 0, inside = 0;

	if (!value.p)
		return value;
	for (size_t i = 0; i < n; i++) {
		if (s[i].with.p == value.p)
			return slice(made + (s[i].from - line.p) + shift, value.n);
		shift += (ptrdiff_t)s[i].with.n - (s[i].to - s[i].from);
		if (s[i].to <= value.p)
			before = shift;
		if (s[i].from < value.p + value.n)
			inside = shift;
	}
	return slice(made + (value.p - line.p) + before, value.n + (size_t)(inside - before));
}

void
msg_moved(struct slice line, const struct splice *s, size_t n, const char *made, struct msg *m)
{
	m->id = moved(m->id, line, s, n, made);
	m->method = moved(m->method, line, s, n, made);
	m->params = moved(m->params, line, s, n, made);
	m->result = moved(m->result, line, s, n, made);
	m->error = moved(m->error, line, s, n, made);
	m->text.p = made + (m->text.p - line.p);
	for (size_t i = 0; i < n; i++)
		m->text.n += s[i].with.n - (size_t)(s[i].to - s[i].from);
}

/* --- envelopes --- */

int
msg_open_envelope(const struct msg *e, struct msg *inner, struct slice *peer, const char **why)
{
	static const struct json_keys keys = {3, {"method", "params", "peer"}};
	struct slice v[3];

	*why = NULL;
	/* The text is valid JSON, and a scan is faster than a walk. It fails only if a member occurs twice. */
	if (json_type(e->params) != JSON_OBJECT)
		*why = "an envelope without params";
	else if (json_members(e->params, JSON_DEPTH, &keys, v, NULL) == JSON_NONE)
		*why = "an envelope with a member twice";
	else if (json_type(v[0]) != JSON_STRING)
		*why = "an envelope without a method";
	else if (v[2].p && !peer)
		*why = "an envelope for a peer: there is only one successor";
	else if (v[2].p && json_type(v[2]) != JSON_STRING)
		*why = "an envelope for a peer whose name is not a string";
	if (*why)
		return -1;
	if (peer)
		*peer = v[2];
	*inner = (struct msg){.kind = e->id.p ? MSG_REQUEST : MSG_NOTIFICATION, .what = acp_method(v[0]), .text = e->text, .id = e->id,
		.method = v[0], .params = v[1], .shape = e->shape};
	return 0;
}

/* A member of this value, with its name, which has no quote in it, and with one of the commas beside it. */
static struct slice
whole_member(struct slice value)
{
	const char *from = value.p - 1, *to = value.p + value.n;

	while (*from != ':')
		from--;
	while (*from != '"')
		from--;
	do
		from--;
	while (*from != '"');
	while (byte_is_space(from[-1]))
		from--;
	if (from[-1] == ',')
		return slice_between(from - 1, to);
	while (byte_is_space(*to))
		to++;
	return slice_between(from, *to == ',' ? to + 1 : to);
}

void
msg_unwrap(const struct msg *e, const struct msg *inner, struct splices *s)
{
	const char *from = inner->params.p, *to = from + inner->params.n;

	splice_value(s, e->method, inner->method);
	if (from) {
		splice_value(s, slice_between(e->params.p, from), slice(NULL, 0));
		splice_value(s, slice_between(to, e->params.p + e->params.n), slice(NULL, 0));
	} else {
		splice_value(s, whole_member(e->params), slice(NULL, 0));
	}
}

int
msg_wrap(const struct msg *m, enum acp_dialect dialect, const char *peer, struct splices *s, struct buf *with)
{
	struct slice name;
	const char *end = m->method.p + m->method.n;
	size_t start = with->n;

	/* `with` gets "proxy/successor" and {"method":M,"params": ; the closing brackets replace the end of params. */
	if (buf_reserve(with, 96 + m->method.n + (peer ? strlen(peer) : 0)) < 0 || buf_add(with, "\"", 1) < 0 ||
		buf_add_string(with, acp_name(ACP_PROXY_SUCCESSOR, dialect)) < 0 || buf_add(with, "\"", 1) < 0)
		return -1;
	name = slice(NULL, with->n - start);
	if (buf_add_string(with, m->params.p ? "{" : ",\"params\":{") < 0 || (peer && buf_printf(with, "\"peer\":\"%s\",", peer) < 0) ||
		buf_add_string(with, "\"method\":") < 0 || buf_add_slice(with, m->method) < 0 || buf_add_string(with, m->params.p ? ",\"params\":" : "}") < 0)
		return -1;
	name.p = with->p + start;
	if (!m->params.p) {
		splice_value(s, m->method, slice(name.p, with->n - start));
		return 0;
	}
	splice_add(s, m->method.p, end, name);
	splice_add(s, m->params.p, m->params.p, slice(name.p + name.n, with->n - start - name.n));
	splice_add(s, m->params.p + m->params.n, m->params.p + m->params.n, slice_of("}"));
	return 0;
}

/* --- making messages --- */

static int
make(struct buf *b, struct slice id, const char *member, struct slice value, struct slice more)
{
	size_t before = b->n;

	if (buf_add_string(b, "{\"jsonrpc\":\"2.0\"") == 0 && json_add_member(b, "id", id) == 0 && json_add_member(b, member, value) == 0
		&& json_add_member(b, "params", more) == 0 && buf_add(b, "}", 1) == 0)
		return 0;
	b->n = before;
	return -1;
}

int
msg_make_request(struct buf *b, struct slice id, const char *method, struct slice params)
{
	SCOPED struct buf name = {0};

	return json_quote(slice_of(method), &name) < 0 ? -1 : make(b, id, "method", buf_slice(&name), params);
}

int
msg_make_notification(struct buf *b, const char *method, struct slice params)
{
	return msg_make_request(b, slice(NULL, 0), method, params);
}

int
msg_make_result(struct buf *b, struct slice id, struct slice result)
{
	return make(b, id, "result", result, slice(NULL, 0));
}

int
msg_make_failure(struct buf *b, struct slice id, struct slice error)
{
	return make(b, id, "error", error, slice(NULL, 0));
}

int
msg_make_error(struct buf *b, struct slice id, int code, const char *message, struct slice data)
{
	SCOPED struct buf e = {0};
	int r = -1;

	if (buf_printf(&e, "{\"code\":%d,\"message\":", code) == 0 && json_quote(slice_of(message), &e) == 0 &&
		json_add_member(&e, "data", data) == 0 && buf_add(&e, "}", 1) == 0)
		r = msg_make_failure(b, id, buf_slice(&e));
	return r;
}

int
msg_put_reason(struct buf *to, const char *component, const char *status, struct slice tail)
{
	return json_format(to, "{\"component\":%j,\"status\":%j,\"stderr\":%j}", slice_of(component), slice_of(status), tail);
}
