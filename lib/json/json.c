#include "lib/json/json.h"

#include "lib/json/json_set.h"

#if defined(__x86_64__)

static bool
has_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
}

static bool
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("pclmul");
}

static bool
has_sse4(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
}

#endif

static bool
everywhere(void)
{
	return true;
}

const struct json_set json_sets[] = {
#if defined(__x86_64__)
	{"avx512", has_avx512, json_scan_avx512},
	{"avx2", has_avx2, json_scan_avx2},
	{"sse4", has_sse4, json_scan_sse4},
#elif defined(__aarch64__)
	{"neon", everywhere, json_scan_neon},
#endif
	{"portable", everywhere, NULL},
};

const struct json_set *
json_set_here(void)
{
	const struct json_set *set = json_sets;

	while (!set->here())
		set++;
	return set;
}

static void
clear(const struct json_want *want)
{
	for (size_t i = 0; i < want->keys->n; i++)
		want->values[i] = (struct slice){0};
}

enum json_type
json_members_by(const struct json_set *set, struct slice text, unsigned depth, const struct json_keys *keys,
	struct slice *values, struct json_error *error)
{
	const struct json_want want = {keys, values};
	enum json_type type;

	if (text.n == 0)
		text.p = "";
	if (depth > JSON_DEPTH_MOST)
		depth = JSON_DEPTH_MOST;
	clear(&want);
	if (set->scan) {
		type = set->scan(text, depth, &want);
		if (type != JSON_NONE)
			return type;
		clear(&want);
	}
	return json_plain(text, depth, &want, error);
}

enum json_type
json_members(struct slice text, unsigned depth, const struct json_keys *keys, struct slice *values,
	struct json_error *error)
{
	return json_members_by(json_set_here(), text, depth, keys, values, error);
}

enum json_type
json_scan(struct slice text, unsigned depth, const char *const *keys, size_t nkeys,
	struct slice *values, struct json_error *error)
{
	struct json_keys copies = {.n = nkeys};

	for (size_t i = 0; i < nkeys; i++)
		for (size_t at = 0; keys[i][at] != '\0'; at++)
			copies.name[i][at] = keys[i][at];
	return json_members(text, depth, &copies, values, error);
}
