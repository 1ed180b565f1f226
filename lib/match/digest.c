#include "lib/match/digest.h"

struct walk {
	const struct digest *d;
	const char *id; /* the JSON-RPC id, which does not count */
	enum acp_method what;
	bool response; /* the message is a response to a request of this method */
	struct buf text;
	bool failed;
};

/* Any odd number with its bits well mixed. */
static const uint64_t factor = 0x9e3779b97f4a7c15u;

static uint64_t
mix(uint64_t h)
{
	h ^= h >> 32;
	h *= factor;
	return h ^ h >> 29;
}

uint64_t
digest_join(uint64_t a, uint64_t b)
{
	return mix(mix(a + factor) ^ b);
}

uint64_t
digest_bytes(struct slice s)
{
	uint64_t h = s.n * factor, eight;

	for (; s.n >= 8; s.p += 8, s.n -= 8) {
		memcpy(&eight, s.p, 8);
		h = mix(h ^ eight);
	}
	eight = 0;
	if (s.n)
		memcpy(&eight, s.p, s.n);
	return mix(h ^ eight);
}

static uint64_t
fail(struct walk *w)
{
	w->failed = true;
	return 0;
}

static uint64_t
plain_text(struct walk *w, struct slice string)
{
	struct slice text = json_exact(string, &w->text);

	return text.p ? digest_bytes(text) : fail(w);
}

static uint64_t
of_string(struct walk *w, struct slice string)
{
	enum ids_place place = w->d->live ? IDS_NEUTRAL_LIVE : IDS_NEUTRAL;
	int r;

	w->text.n = 0;
	r = w->d->ids ? ids_text(w->d->ids, w->d->session, place, string, &w->text) : 0;
	return r < 0 ? fail(w) : r > 0 ? digest_bytes(buf_slice(&w->text)) : plain_text(w, string);
}

static uint64_t of_value(struct walk *, const struct acp_member *, struct slice value, bool foreign);

static uint64_t
of_object(struct walk *w, struct slice object, bool foreign)
{
	static const struct acp_member nothing;
	struct json_iter it = {.in = object};
	const struct acp_member *m;
	uint64_t sum = JSON_OBJECT, one;
	struct slice key, value;

	while (json_next(&it, &key, &value)) {
		if (value.p == w->id)
			continue;
		m = foreign ? &nothing : acp_member(key, w->what, w->response);
		if (w->d->match < MATCH_EXACT && (m->metadata || json_type(value) == JSON_NULL))
			continue;
		one = digest_join(plain_text(w, key), of_value(w, m, value, foreign || m->opaque));
		sum = w->d->match == MATCH_EXACT ? digest_join(sum, one) : sum + one;
	}
	return mix(sum);
}

static uint64_t
of_array(struct walk *w, const struct acp_member *member, struct slice array, bool foreign)
{
	struct json_iter it = {.in = array};
	struct slice key, value;
	uint64_t all = JSON_ARRAY;

	if (w->d->match < MATCH_PARAMS)
		return all;
	while (json_next(&it, &key, &value))
		all = digest_join(all, of_value(w, member && member->cwd ? member : NULL, value, foreign));
	return all;
}

static uint64_t
of_value(struct walk *w, const struct acp_member *member, struct slice value, bool foreign)
{
	enum json_type type = json_type(value);
	bool counts = w->d->match >= MATCH_PARAMS || (member && member->kind), integer;

	if (value.p == w->d->excluded.p)
		return 0;
	if (type == JSON_OBJECT)
		return of_object(w, value, foreign);
	if (type == JSON_ARRAY)
		return of_array(w, member, value, foreign);
	if (w->d->ids && member && member->id && (type == JSON_STRING || type == JSON_NUMBER)) {
		w->failed |= w->d->id && !w->d->id(w->d->arg, member->id, value);
		return (uint64_t)member->id;
	}
	if (w->d->ids && member && member->cwd && ids_is_directory(w->d->ids, value))
		return JSON_STRING;
	if (!counts)
		return type == JSON_FALSE ? JSON_TRUE : type;
	if (type == JSON_STRING)
		return digest_join(JSON_STRING, of_string(w, value));
	if (type != JSON_NUMBER)
		return type;
	w->text.n = 0;
	/* A number whose exponent is out of bounds has no key. */
	return digest_join(JSON_NUMBER, digest_bytes(json_number_key(value, &w->text, &integer) < 0 ? value : buf_slice(&w->text)));
}

static uint64_t
of_part(struct walk *w, struct slice value)
{
	return !value.p || json_type(value) == JSON_NULL ? 0 : of_value(w, NULL, value, false);
}

int
digest_message(const struct digest *d, const struct msg *m, uint64_t *h)
{
	struct walk w = {.d = d, .id = m->id.p, .response = m->kind == MSG_RESPONSE};

	w.what = w.response ? d->what : m->what;
	if (m->kind == MSG_NOISE)
		*h = of_value(&w, NULL, m->text, false);
	else if (d->match == MATCH_METHOD)
		*h = 0;
	else if (d->match == MATCH_EXACT)
		*h = of_object(&w, m->text, false);
	else
		*h = digest_join(digest_join(of_part(&w, m->params), of_part(&w, m->result)), of_part(&w, m->error));
	buf_free(&w.text);
	return w.failed ? -1 : 0;
}
