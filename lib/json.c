#include "lib/json.h"

#include <stdatomic.h>

#include "lib/json_set.h"

static bool
everywhere(void)
{
	return true;
}

static const struct json_set json_set_portable = {"portable", everywhere, NULL};

static const struct json_set *const sets[] = {
#ifdef __x86_64__
	&json_set_avx512,
	&json_set_avx2,
	&json_set_sse2,
#endif
#ifdef __aarch64__
	&json_set_neon,
#endif
	&json_set_portable,
};

/*
 * The one thing that changes in here: which set serves. Every thread that finds it empty works out
 * the same answer, no input has a part in that, and only json_use puts another one in.
 */
static _Atomic(const struct json_set *) chosen;

const struct json_set *
json_set(const char *name)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (strcmp(sets[i]->name, name) == 0)
			return sets[i]->here() ? sets[i] : NULL;
	return NULL;
}

static const struct json_set *
choose(void)
{
	size_t i = 0;

	while (!sets[i]->here())
		i++;
	atomic_store_explicit(&chosen, sets[i], memory_order_relaxed);
	return sets[i];
}

static inline const struct json_set *
serving(void)
{
	const struct json_set *set = atomic_load_explicit(&chosen, memory_order_relaxed);

	return set ? set : choose();
}

const char *
json_instructions(void)
{
	return serving()->name;
}

int
json_use(const char *instructions)
{
	const struct json_set *set = json_set(instructions);

	if (!set)
		return -1;
	atomic_store_explicit(&chosen, set, memory_order_relaxed);
	return 0;
}

static void
clear(const struct json_want *want)
{
	for (size_t i = 0; i < want->keys->n; i++)
		want->values[i] = (struct slice){0};
}

enum json_type
json_members(struct slice text, unsigned depth, const struct json_keys *keys, struct slice *values,
	struct json_error *error)
{
	const struct json_want want = {keys, values};
	const struct json_set *set = serving();
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
json_scan(struct slice text, unsigned depth, const char *const *keys, size_t nkeys,
	struct slice *values, struct json_error *error)
{
	struct json_keys copies = {.n = nkeys};

	for (size_t i = 0; i < nkeys; i++)
		for (size_t at = 0; keys[i][at] != '\0'; at++)
			copies.name[i][at] = keys[i][at];
	return json_members(text, depth, &copies, values, error);
}
