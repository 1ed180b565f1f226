/* Histograms of tokens and durations, one for each combination of attributes. */
#include "cmd/acp-export/trace.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BOUNDS = 14, COMBINATIONS = 1000 };

struct histogram {
	UT_hash_handle hh;
	uint64_t count, buckets[BOUNDS + 1];
	double sum, least, most;
	char attributes[];
};

/* The upper bounds of the buckets are those that the conventions name. */
static const struct {
	const char *name, *unit;
	double bounds[BOUNDS];
} kinds[METRICS] = {
	[METRIC_TOKENS] = {"gen_ai.client.token.usage", "{token}",
		{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}},
	[METRIC_DURATION] = {"gen_ai.client.operation.duration", "s",
		{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}},
};

/* The one with these attributes, which may be new. NULL: out of memory. */
static struct histogram *
find(struct metrics *m, enum metric kind, struct slice attributes)
{
	struct histogram *h;

	HASH_FIND(hh, m->of[kind], attributes.p, (unsigned)attributes.n, h);
	if (!h && HASH_COUNT(m->of[kind]) >= COMBINATIONS) {
		attributes = slice_of("{\"key\":\"otel.metric.overflow\",\"value\":{\"boolValue\":true}}");
		HASH_FIND(hh, m->of[kind], attributes.p, (unsigned)attributes.n, h);
	}
	if (h || !(h = calloc(1, sizeof(*h) + attributes.n)))
		return h;
	memcpy(h->attributes, attributes.p, attributes.n);
	HASH_ADD(hh, m->of[kind], attributes, (unsigned)attributes.n, h);
	if (h->hh.tbl)
		return h;
	free(h);
	return NULL;
}

int
metrics_add(struct metrics *m, enum metric kind, struct slice attributes, double value)
{
	struct histogram *h = find(m, kind, attributes);
	size_t i = 0;

	if (!h)
		return -1;
	while (i < BOUNDS && value > kinds[kind].bounds[i])
		i++;
	h->buckets[i]++;
	h->least = h->count == 0 || value < h->least ? value : h->least;
	h->most = value > h->most ? value : h->most;
	h->sum += value;
	h->count++;
	return 0;
}

static int
put_point(const struct histogram *h, enum metric kind, uint64_t begin, uint64_t end, struct buf *to)
{
	int r = -(buf_add_string(to, "{\"attributes\":[") || buf_add(to, h->attributes, h->hh.keylen));

	r |= buf_printf(to, "],\"startTimeUnixNano\":\"%" PRIu64 "000\",\"timeUnixNano\":\"%" PRIu64 "000\",\"count\":\"%" PRIu64
		"\",\"sum\":%.17g,\"min\":%.17g,\"max\":%.17g,\"bucketCounts\":[", begin, end, h->count, h->sum, h->least, h->most);
	for (size_t i = 0; i <= BOUNDS; i++)
		r |= buf_printf(to, "%s\"%" PRIu64 "\"", i ? "," : "", h->buckets[i]);
	r |= buf_add_string(to, "],\"explicitBounds\":[");
	for (size_t i = 0; i < BOUNDS; i++)
		r |= buf_printf(to, "%s%.10g", i ? "," : "", kinds[kind].bounds[i]);
	return r | buf_add_string(to, "]}");
}

int
metrics_put(const struct metrics *m, uint64_t begin, uint64_t end, struct buf *to)
{
	const char *comma = "";
	int r = 0;

	for (enum metric kind = 0; kind < METRICS; kind++) {
		if (!m->of[kind])
			continue;
		/* 2: cumulative. */
		r |= buf_printf(to, "%s{\"name\":\"%s\",\"unit\":\"%s\",\"histogram\":{\"aggregationTemporality\":2,\"dataPoints\":[", comma,
			kinds[kind].name, kinds[kind].unit);
		for (const struct histogram *h = m->of[kind]; h; h = h->hh.next)
			r |= -(put_point(h, kind, begin, end, to) || (h->hh.next && buf_add(to, ",", 1) < 0));
		r |= buf_add_string(to, "]}}");
		comma = ",";
	}
	return -(r != 0);
}

void
metrics_free(struct metrics *m)
{
	struct histogram *h, *next;

	for (enum metric kind = 0; kind < METRICS; kind++)
		HASH_ITER(hh, m->of[kind], h, next) {
			HASH_DEL(m->of[kind], h);
			free(h);
		}
}
