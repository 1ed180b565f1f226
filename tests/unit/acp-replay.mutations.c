/*
 * mutations: in a recording any one value is changed: the comparison finds it at `exact`, and a changed
 * type at `shape`. Some values of each fixture at a time; MUTATIONS=all takes all of them, SEED=N the
 * same ones again.
 */
#include "cmd/acp-replay/diff.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "lib/recording.h"
#include "tests/unit/check.h"

enum { LIMIT = 1024 * 1024, SOME = 150 };

static const char *const fixtures[] = {
	"tests/fixtures/bash-tool.jsonl",
	"tests/fixtures/write-with-permission.jsonl",
	"tests/fixtures/two-sessions-and-cancel.jsonl",
	"tests/fixtures/four-turns-per-model-usage.jsonl",
};

static uint64_t seed;

static uint64_t
random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* --- a recording in memory --- */

struct line {
	enum acp_side from;
	uint64_t number;
	struct buf text;
};

struct lines {
	struct line at[512];
	size_t n;
};

static bool
read_lines(struct lines *ls, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct recording *rec = fd < 0 ? NULL : recording_open(fd, LIMIT, NULL);
	struct record r;

	if (!rec)
		return false;
	while (recording_next(rec, &r) == 0 && r.kind != RECORD_END && ls->n < sizeof(ls->at) / sizeof(*ls->at)) {
		if (r.kind != RECORD_MESSAGE)
			continue;
		ls->at[ls->n] = (struct line){.from = r.from, .number = r.number};
		if (buf_add_slice(&ls->at[ls->n++].text, r.msg.text) < 0)
			return false;
	}
	recording_close(rec);
	return ls->n > 0;
}

static void
free_lines(struct lines *ls)
{
	for (size_t i = 0; i < ls->n; i++)
		buf_free(&ls->at[i].text);
	ls->n = 0;
}

/* --- comparing --- */

static int
ignore_turn(void *arg, const struct diff_turn *t)
{
	(void)arg;
	(void)t;
	return 0;
}

static void
put(struct diff *d, enum diff_side side, const struct line *l, struct slice text)
{
	struct json_error error;
	struct msg m;

	if (msg_scan(text, &m, &error) == MSG_NOISE)
		CHECK(diff_noise(d, side, l->from, text, l->number) == 0);
	else
		CHECK(diff_message(d, side, l->from, &m, l->number) == 0);
}

/* How many differences there are between the recording and itself with another line in the place of one. */
static uint64_t
differences(const struct lines *ls, enum match match, const struct line *changed, struct slice instead)
{
	struct ids *ids = ids_new(false);
	struct diff_spec spec = {.match = match, .ids = ids, .turn = ignore_turn};
	struct diff *d = diff_new(&spec);
	uint64_t n;

	CHECK(ids && d);
	for (const struct line *l = ls->at; l < ls->at + ls->n; l++) {
		put(d, DIFF_RECORDED, l, buf_slice(&l->text));
		put(d, DIFF_LIVE, l, l == changed ? instead : buf_slice(&l->text));
	}
	CHECK(diff_end(d, DIFF_RECORDED) == 0 && diff_end(d, DIFF_LIVE) == 0);
	n = diff_count(d);
	diff_free(d);
	ids_free(ids);
	return n;
}

/* --- values --- */

struct value {
	const struct line *line;
	struct slice text;
	bool id, folder;
};

struct values {
	struct value *at;
	size_t n, cap;
};

static void
add_value(struct values *vs, struct value v)
{
	if (vs->n == vs->cap) {
		vs->cap = vs->cap ? 2 * vs->cap : 1024;
		vs->at = realloc(vs->at, vs->cap * sizeof(*vs->at));
		if (!vs->at)
			abort();
	}
	vs->at[vs->n++] = v;
}

/* Every value, containers too; ids and folders stand for others and may be any. */
static void
walk(struct values *vs, const struct line *l, const struct msg *m, struct slice value, const struct acp_member *member)
{
	struct json_iter it = {.in = value};
	struct slice key, v;

	add_value(vs, (struct value){l, value, member && member->id, member && member->cwd});
	if (json_type(value) != JSON_OBJECT && json_type(value) != JSON_ARRAY)
		return;
	while (json_next(&it, &key, &v))
		if (v.p != m->id.p)
			walk(vs, l, m, v, key.p ? acp_member(key, m->what) : NULL);
}

static void
find_values(struct values *vs, const struct lines *ls)
{
	struct json_error error;
	struct msg m;

	for (size_t i = 0; i < ls->n; i++)
		if (msg_scan(buf_slice(&ls->at[i].text), &m, &error) != MSG_NOISE)
			walk(vs, &ls->at[i], &m, m.text, NULL);
}

/* Another value of the same type. */
static const char *
another(struct slice value)
{
	switch (json_type(value)) {
	case JSON_STRING:
		return slice_is(value, "\"changed\"") ? "\"other\"" : "\"changed\"";
	case JSON_NUMBER:
		return slice_is(value, "4711") ? "4712" : "4711";
	case JSON_TRUE:
		return "false";
	case JSON_FALSE:
		return "true";
	case JSON_OBJECT:
		return "{\"changed\":1}";
	case JSON_ARRAY:
		return "[\"changed\"]";
	default:
		return NULL;
	}
}

static const char *
another_type(struct slice value)
{
	return json_type(value) == JSON_STRING ? "17" : "\"changed\"";
}

static void
try(const struct lines *ls, const struct value *v, enum match match, const char *with, const char *path)
{
	struct slice whole = buf_slice(&v->line->text);
	struct splice change = {v->text.p, v->text.p + v->text.n, slice_of(with)};
	struct buf changed = {0};
	bool found;

	CHECK(splice_write(whole, &change, 1, &changed) == 0);
	found = differences(ls, match, v->line, buf_slice(&changed)) > 0;
	if (!CHECK(found))
		fprintf(stderr, "\t%s:%" PRIu64 ": byte %zu: %.*s became %s\n", path, v->line->number,
			(size_t)(v->text.p - whole.p), (int)(v->text.n < 60 ? v->text.n : 60), v->text.p, with);
	buf_free(&changed);
}

static void
test_values(const struct lines *ls, const char *path, bool all)
{
	struct values vs = {0};
	const struct value *v;
	const char *with;

	find_values(&vs, ls);
	CHECK(vs.n > 100);
	for (size_t i = 0; i < vs.n; i++) {
		v = &vs.at[i];
		/* Not one after the other: by chance. */
		if (!all && random_number() % vs.n >= SOME)
			continue;
		with = another(v->text);
		if (with && !v->id && !v->folder)
			try(ls, v, MATCH_EXACT, with, path);
		try(ls, v, MATCH_SHAPE, another_type(v->text), path);
	}
	free(vs.at);
}

/* --- messages --- */

/* One that is missing, or too much, is one difference or two: texts may come together that were apart. */
static void
test_messages(const struct lines *ls, const char *path, bool all)
{
	static const char unlike_any[] = "{\"method\":\"_unlike/any\",\"params\":{}}";
	uint64_t n;

	for (size_t i = 0; i < ls->n; i++) {
		if (!all && random_number() % ls->n >= SOME)
			continue;
		n = differences(ls, MATCH_PARAMS, &ls->at[i], slice_of(unlike_any));
		if (!CHECK(n >= 1 && n <= 4))
			fprintf(stderr, "\t%s:%" PRIu64 ": %" PRIu64 " differences\n", path, ls->at[i].number, n);
	}
}

int
main(void)
{
	const char *given = getenv("SEED"), *how = getenv("MUTATIONS");
	bool all = how && strcmp(how, "all") == 0;
	static struct lines ls;

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u;
	seed |= 1;
	printf("SEED=%" PRIu64 "\n", seed);
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++) {
		if (!CHECK(read_lines(&ls, fixtures[i])))
			continue;
		for (int m = MATCH_METHOD; m <= MATCH_EXACT; m++)
			CHECK(differences(&ls, (enum match)m, NULL, slice(NULL, 0)) == 0);
		test_values(&ls, fixtures[i], all);
		test_messages(&ls, fixtures[i], all);
		free_lines(&ls);
	}
	return check_done();
}
