#include "cmd/acp-tap/show.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/people.h"
#include "lib/json/json.h"
#include "lib/usage/usage.h"

/* --- values --- */

struct slice
show_find(struct slice object, const char *paths)
{
	char path[128];
	struct slice v = object;
	size_t n;

	if (*paths == '\0')
		return v;
	for (;; paths += n + 1) {
		n = strcspn(paths, "|");
		snprintf(path, sizeof(path), "%.*s", (int)n, paths);
		v = json_path(object, path);
		if (v.p && json_type(v) != JSON_NULL)
			return v;
		if (!paths[n])
			return slice(NULL, 0);
	}
}

void
show_value(struct cells *c, struct slice v)
{
	cells_value(c, v);
}

/* A value that says something: {}, [] and null do not. */
void
show_raw(struct cells *c, struct slice v)
{
	if (v.n > 2 && json_type(v) != JSON_NULL)
		cells_value(c, v);
}

void
show_size(struct cells *c, struct slice v)
{
	char text[PEOPLE_FIGURE];

	if (json_type(v) == JSON_STRING)
		cells_ascii(c, people_bytes(text, v.n - 2));
}

static size_t
count_of(struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	size_t n = 0;

	if (json_type(v) != JSON_ARRAY)
		return 0;
	while (json_next(&it, &key, &value))
		n++;
	return n;
}

static void
show_count(struct cells *c, struct slice v, const char *noun)
{
	size_t n = count_of(v);

	cells_printf(c, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

void
show_pair(struct cells *c, struct slice first, const char *between, struct slice second)
{
	cells_value(c, first);
	if (second.p) {
		cells_ascii(c, between);
		cells_value(c, second);
	}
}

/* In another style. */
static void
show_styled(struct cells *c, enum style style, struct slice v)
{
	enum style before = c->style;

	cells_style(c, style);
	cells_value(c, v);
	cells_style(c, before);
}

void
show_peer(struct cells *c, struct slice v)
{
	show_pair(c, show_find(v, "title|name"), " ", show_find(v, "version"));
}

void
show_servers(struct cells *c, struct slice v)
{
	if (count_of(v))
		show_count(c, v, "MCP server");
}

void
show_each(struct cells *c, struct slice v, const char *separator, void (*show)(struct cells *, struct slice))
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	unsigned before = c->used;

	if (json_type(v) != JSON_ARRAY) {
		show(c, v);
		return;
	}
	while (!c->cut && json_next(&it, &key, &value)) {
		if (c->used > before)
			cells_ascii(c, separator);
		before = c->used;
		show(c, value);
	}
}

void
show_list(struct cells *c, struct slice v, const char *noun, void (*show)(struct cells *, struct slice))
{
	show_count(c, v, noun);
	if (count_of(v)) {
		cells_ascii(c, ": ");
		show_each(c, v, ", ", show);
	}
}

void
show_name(struct cells *c, struct slice v)
{
	cells_value(c, json_type(v) == JSON_OBJECT ? show_find(v, "name|optionId|id|title|sessionId|uri") : v);
}

void
show_arguments(struct cells *c, struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	const char *separator = "";

	if (json_type(v) != JSON_OBJECT) {
		cells_value(c, v);
		return;
	}
	for (; !c->cut && json_next(&it, &key, &value); separator = ", ") {
		cells_ascii(c, separator);
		show_pair(c, key, "=", value);
	}
}

void
show_setting(struct cells *c, struct slice v)
{
	show_pair(c, show_find(v, "id|configId"), "=", show_find(v, "currentValue|value"));
}

/* --- content --- */

/* A text, or the type of other content: [image image/png]. The contents of a resource have no type. */
void
show_block(struct cells *c, struct slice v)
{
	struct slice type = show_find(v, "type"), what;

	what = json_type(v) == JSON_OBJECT ? show_find(v, "text") : v;
	if (json_type(v) != JSON_OBJECT || ((!type.p || json_string_is(type, "text")) && json_type(what) == JSON_STRING)) {
		cells_value(c, what);
		return;
	}
	cells_ascii(c, "[");
	show_pair(c, type, type.p ? " " : "", show_find(v, "uri|resource.uri|mimeType|name"));
	cells_ascii(c, "]");
}

/* What a tool shows: content, a diff, a terminal. */
void
show_tool_content(struct cells *c, struct slice v)
{
	struct slice type = show_find(v, "type"), content = show_find(v, "content");

	if (json_string_is(type, "diff")) {
		cells_ascii(c, "diff ");
		cells_value(c, show_find(v, "path"));
	} else if (json_string_is(type, "terminal")) {
		cells_ascii(c, "terminal ");
		cells_value(c, show_find(v, "terminalId"));
	} else {
		show_block(c, content.p ? content : v);
	}
}

void
show_tool_result(struct cells *c, struct slice v)
{
	struct slice content = show_find(v, "content");

	if (json_type(show_find(v, "isError")) == JSON_TRUE)
		show_styled(c, STYLE_RED, slice_of("error: "));
	if (content.n > 2)
		show_each(c, content, " ", show_block);
	else
		show_raw(c, show_find(v, "structuredContent"));
}

void
show_turn(struct cells *c, struct slice v)
{
	cells_value(c, show_find(v, "role"));
	cells_ascii(c, ": ");
	show_each(c, show_find(v, "content"), " ", show_block);
}

void
show_status(struct cells *c, struct slice v)
{
	static const struct {
		const char *status;
		enum style style;
	} styles[] = {{"completed", STYLE_GREEN}, {"failed", STYLE_RED}, {"in_progress", STYLE_YELLOW}, {"", STYLE_DIM}};
	size_t i = 0;

	while (*styles[i].status && !json_string_is(v, styles[i].status))
		i++;
	show_styled(c, styles[i].style, v);
}

/* Later updates of a tool call often have its id only. */
void
show_tool(struct cells *c, struct slice v)
{
	struct slice title = show_find(v, "title");

	if (title.p)
		cells_value(c, title);
	else
		show_styled(c, STYLE_DIM, show_find(v, "toolCallId"));
}

/* How far a plan is, and what is being done. */
void
show_plan(struct cells *c, struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, entry, doing = {0};
	size_t n = 0, done = 0;

	if (json_type(v) != JSON_ARRAY)
		return;
	for (; json_next(&it, &key, &entry); n++) {
		done += json_string_is(show_find(entry, "status"), "completed");
		if (!doing.p && json_string_is(show_find(entry, "status"), "in_progress"))
			doing = show_find(entry, "content");
	}
	cells_printf(c, "%zu of %zu done", done, n);
	show_pair(c, slice(NULL, 0), "  ", doing);
}

/* --- usage --- */

static enum style
style_of_fill(uint64_t used, uint64_t size)
{
	if (usage_reaches(used, size, 95, false))
		return STYLE_RED;
	return usage_reaches(used, size, 90, true) ? STYLE_ORANGE : usage_reaches(used, size, 75, true) ? STYLE_YELLOW : STYLE_PLAIN;
}

/* Amounts come as binary floats in full: people are shown four decimals at most. */
static void
show_cost(struct cells *c, struct slice cost)
{
	struct slice amount = show_find(cost, "amount"), currency = show_find(cost, "currency");
	char text[64];
	size_t n;

	if (json_type(amount) != JSON_NUMBER)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)amount.n, amount.p);
	snprintf(text, sizeof(text), "%.4f", strtod(text, NULL));
	n = strlen(text);
	while (n > 3 && text[n - 1] == '0' && text[n - 3] != '.')
		text[--n] = '\0';
	cells_ascii(c, "  ");
	show_pair(c, slice_of(text), " ", currency);
}

void
show_usage(struct cells *c, struct slice v)
{
	struct slice cost = show_find(v, "cost");
	char a[PEOPLE_FIGURE], b[PEOPLE_FIGURE];
	uint64_t used, size = 0;
	enum style before = c->style;

	if (!json_u64(show_find(v, "used"), &used)) {
		show_raw(c, v);
		return;
	}
	if (json_u64(show_find(v, "size"), &size) && size > 0) {
		cells_style(c, style_of_fill(used, size));
		cells_printf(c, "%d%%", usage_percent(used, size));
		cells_style(c, before);
		cells_printf(c, "  %s/%s", people_count(a, used), people_count(b, size));
	} else {
		cells_ascii(c, people_count(a, used));
	}
	if (json_type(cost) == JSON_OBJECT)
		show_cost(c, cost);
}

void
show_tokens(struct cells *c, struct slice v)
{
	static const struct {
		const char *path, *name;
	} counts[] = {{"inputTokens|input_tokens", "in"}, {"outputTokens|output_tokens", "out"},
		{"totalTokens|total_tokens", "tokens"}};
	unsigned start = c->used;
	char text[PEOPLE_FIGURE];
	uint64_t n;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (json_u64(show_find(v, counts[i].path), &n))
			cells_printf(c, "%s%s %s", c->used > start ? ", " : "", people_count(text, n), counts[i].name);
}

void
show_stop(struct cells *c, struct slice v)
{
	show_styled(c, json_string_is(v, "end_turn") ? STYLE_GREEN : json_string_is(v, "cancelled") ? STYLE_YELLOW : STYLE_RED, v);
}
