#include "cmd/acp-stat/hist.h"

#include <stdlib.h>

/* Below EXACT each time has a bucket of its own; from there on each power of two has PARTS buckets. */
enum { PARTS_LOG = 6, PARTS = 1 << PARTS_LOG, EXACT = 2 * PARTS, BUCKETS = EXACT + (64 - PARTS_LOG - 1) * PARTS };

const unsigned hist_percentiles[HIST_PERCENTILES] = {50, 90, 99};

static unsigned
bucket_of(uint64_t us)
{
	unsigned shift;

	if (us < EXACT)
		return (unsigned)us;
	shift = 63u - (unsigned)__builtin_clzll(us) - PARTS_LOG;
	return EXACT + (shift - 1) * PARTS + ((unsigned)(us >> shift) & (PARTS - 1));
}

/* The middle of a bucket. */
static uint64_t
time_of(unsigned bucket)
{
	unsigned shift;

	if (bucket < EXACT)
		return bucket;
	shift = (bucket - EXACT) / PARTS + 1;
	return ((uint64_t)(PARTS + bucket % PARTS) << shift) + (((uint64_t)1 << shift) - 1) / 2;
}

uint64_t
hist_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Makes room for a bucket. */
static int
reach(struct hist *h, unsigned bucket)
{
	unsigned first = h->buckets && h->first < bucket ? h->first : bucket;
	unsigned end = h->buckets && h->first + h->buckets > bucket ? h->first + h->buckets : bucket + 1;
	uint64_t *at;

	if (h->buckets && first == h->first && end == h->first + h->buckets)
		return 0;
	at = calloc(end - first, sizeof(*at));
	if (!at)
		return -1;
	if (h->buckets)
		memcpy(at + (h->first - first), h->at, h->buckets * sizeof(*at));
	free(h->at);
	h->at = at;
	h->first = first;
	h->buckets = end - first;
	return 0;
}

static int
add(struct hist *h, unsigned bucket, uint64_t n)
{
	if (reach(h, bucket) < 0)
		return -1;
	h->at[bucket - h->first] = hist_sum(h->at[bucket - h->first], n);
	return 0;
}

int
hist_add(struct hist *h, uint64_t us)
{
	if (add(h, bucket_of(us), 1) < 0)
		return -1;
	h->min = h->n && h->min < us ? h->min : us;
	h->max = h->n && h->max > us ? h->max : us;
	h->n++;
	h->sum = hist_sum(h->sum, us);
	return 0;
}

int
hist_merge(struct hist *h, const struct hist *more)
{
	for (unsigned i = 0; i < more->buckets; i++)
		if (more->at[i] && add(h, more->first + i, more->at[i]) < 0)
			return -1;
	if (more->n == 0)
		return 0;
	h->min = h->n && h->min < more->min ? h->min : more->min;
	h->max = h->n && h->max > more->max ? h->max : more->max;
	h->n = hist_sum(h->n, more->n);
	h->sum = hist_sum(h->sum, more->sum);
	return 0;
}

uint64_t
hist_percentile(const struct hist *h, unsigned percent)
{
	uint64_t rank = h->n / 100 * percent + (h->n % 100 * percent + 99) / 100, counted = 0, us;
	unsigned i;

	if (h->n == 0 || rank >= h->n)
		return h->max;
	for (i = 0; i < h->buckets - 1 && (counted = hist_sum(counted, h->at[i])) < rank; i++)
		;
	us = time_of(h->first + i);
	return us < h->min ? h->min : us > h->max ? h->max : us;
}

int
hist_put(const struct hist *h, struct buf *to)
{
	const char *comma = "";
	int r = json_format(to, "{\"count\":%u", h->n);

	if (h->n == 0)
		return r | buf_add_string(to, "}");
	r |= json_format(to, ",\"sum_us\":%u,\"min_us\":%u,\"max_us\":%u", h->sum, h->min, h->max);
	for (unsigned i = 0; i < HIST_PERCENTILES; i++)
		r |= json_format(to, ",\"p%u_us\":%u", (uint64_t)hist_percentiles[i], hist_percentile(h, hist_percentiles[i]));
	r |= buf_add_string(to, ",\"buckets\":[");
	for (unsigned i = 0; i < h->buckets; i++) {
		if (h->at[i] == 0)
			continue;
		r |= json_format(to, "%s[%u,%u]", comma, (uint64_t)h->first + i, h->at[i]);
		comma = ",";
	}
	return r | buf_add_string(to, "]}");
}

/* [BUCKET,COUNT] */
static bool
get_pair(struct slice pair, uint64_t *bucket, uint64_t *n)
{
	struct json_iter it = {.in = pair};
	struct slice v[3];

	return json_item(&it, &v[0]) && json_item(&it, &v[1]) && !json_item(&it, &v[2]) && json_type(v[0]) == JSON_NUMBER &&
		json_u64(v[0], bucket) && json_type(v[1]) == JSON_NUMBER && json_u64(v[1], n);
}

int
hist_get(struct hist *h, struct slice object)
{
	static const char *const names[] = {"count", "sum_us", "min_us", "max_us"};
	uint64_t *const to[] = {&h->n, &h->sum, &h->min, &h->max};
	struct json_iter it = {.in = json_get(object, "buckets")};
	uint64_t bucket, n, counted = 0, last = 0;
	struct slice pair, v;

	if (json_type(object) != JSON_OBJECT)
		return 1;
	for (size_t i = 0; i < 4; i++) {
		v = json_get(object, names[i]);
		if ((v.p || i == 0 || h->n) && (json_type(v) != JSON_NUMBER || !json_u64(v, to[i])))
			return 1;
	}
	if (it.in.p && json_type(it.in) != JSON_ARRAY)
		return 1;
	while (json_item(&it, &pair)) {
		if (!get_pair(pair, &bucket, &n) || bucket >= BUCKETS || n == 0 || (counted && bucket <= last))
			return 1;
		if (add(h, (unsigned)bucket, n) < 0)
			return -1;
		counted = hist_sum(counted, n);
		last = bucket;
	}
	/* The counts are the whole, and the ends are in the first and the last bucket. */
	return counted != h->n || (h->n && (h->min > h->max || h->sum < h->max || bucket_of(h->min) != h->first ||
		bucket_of(h->max) != h->first + h->buckets - 1));
}

void
hist_free(struct hist *h)
{
	free(h->at);
	*h = (struct hist){0};
}
