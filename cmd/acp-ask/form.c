/* Forms: their fields, one after the other, from a person or a file. */
#include <stdlib.h>

#include "cmd/acp-ask/ask.h"

struct form {
	struct slice message, required;
	struct json_iter fields;
	struct slice name, schema; /* of the field that is asked for; p NULL: all are filled in */
	struct buf content;
	bool shown;
};

/* --- values --- */

/* What a field, or an item of a list, can be chosen from: p NULL where it is anything. */
static struct slice
choices_of(struct slice schema)
{
	static const char *const members[] = {"enum", "oneOf", "anyOf"};
	struct slice items = json_get(schema, "items"), list = {0};

	if (json_type(items) == JSON_OBJECT)
		schema = items;
	for (size_t i = 0; i < 3 && json_type(list) != JSON_ARRAY; i++)
		list = json_get(schema, members[i]);
	return json_type(list) == JSON_ARRAY ? list : slice(NULL, 0);
}

/* The next choice: its value, which is itself or the constant of one that has a title. */
static bool
next_choice(struct json_iter *it, struct slice *value, struct slice *title)
{
	if (!next_item(it, value))
		return false;
	*title = json_get_string(*value, "title");
	if (json_type(*value) == JSON_OBJECT)
		*value = json_get(*value, "const");
	if (!title->p)
		*title = *value;
	return true;
}

/* The choice of this value (JSON), or of this number; p NULL: there is none. Where there are no choices it is the value. */
static struct slice
choose(struct slice choices, struct slice wanted, uint64_t number)
{
	struct json_iter it = {.in = choices};
	struct slice value, title;

	for (uint64_t i = 1; choices.p && next_choice(&it, &value, &title); i++)
		if (i == number || json_string_eq(value, wanted))
			return value;
	return choices.p ? slice(NULL, 0) : wanted;
}

static bool
is_valid(struct slice schema, struct slice value)
{
	struct slice type = json_get(schema, "type"), choices = choices_of(schema), item;
	struct json_iter it = {.in = value};
	SCOPED struct buf number = {0};
	bool integer = true, valid = true;

	switch (json_type(value)) {
	case JSON_STRING:
		return json_string_is(type, "string") && choose(choices, value, 0).p;
	case JSON_TRUE:
	case JSON_FALSE:
		return json_string_is(type, "boolean");
	case JSON_NUMBER:
		need(json_number_key(value, &number, &integer));
		return json_string_is(type, "number") || (json_string_is(type, "integer") && integer);
	case JSON_ARRAY:
		while (valid && next_item(&it, &item))
			valid = json_type(item) == JSON_STRING && choose(choices, item, 0).p;
		return valid && json_string_is(type, "array");
	default:
		return false;
	}
}

/* Appends a text that was typed, or the choice that it names. False: there is none. */
static bool
put_choice(struct slice choices, struct slice typed, struct buf *to)
{
	SCOPED struct buf quoted = {0};
	const char *p = typed.p, *end = p + typed.n;
	struct slice choice;
	uint64_t n = 0;

	if (!bytes_number(&p, end, 9, &n) || p != end)
		n = 0;
	put_quoted(&quoted, typed);
	choice = choose(choices, buf_slice(&quoted), n);
	put_slice(to, choice);
	return choice.p;
}

/* Appends the value that was typed, as JSON. False: it is none of this schema. */
static bool
put_typed(struct slice schema, struct slice typed, struct buf *to)
{
	struct slice type = json_get(schema, "type"), choices = choices_of(schema), word;
	const char *p = typed.p, *end = typed.p + typed.n, *comma;
	bool valid = true;

	if (json_string_is(type, "boolean")) {
		put(to, strchr("yYtT1", *p) ? "true" : "false");
		return strchr("yYtT1nNfF0", *p);
	}
	if (json_string_is(type, "string"))
		return put_choice(choices, typed, to);
	if (!json_string_is(type, "array")) {
		put_slice(to, typed);
		return json_scan(typed, 1, NULL, 0, NULL, NULL) == JSON_NUMBER && is_valid(schema, typed);
	}
	for (put(to, "["); valid && p < end; p = word.p + word.n + 1) {
		comma = memchr(p, ',', (size_t)(end - p));
		word = slice_between(p, comma ? comma : end);
		while (word.n && byte_is_space(*word.p))
			word.p++, word.n--;
		put_slice(to, slice(",", p > typed.p));
		valid = put_choice(choices, word, to);
	}
	put(to, "]");
	return valid;
}

/* --- fields --- */

static bool
is_required(const struct form *f)
{
	struct json_iter it = {.in = f->required};
	struct slice name;

	while (next_item(&it, &name))
		if (json_string_eq(name, f->name))
			return true;
	return false;
}

static void
put_value(struct form *f, struct slice value)
{
	put_slice(&f->content, slice(",", f->content.n > 0));
	put_slice(&f->content, f->name);
	put(&f->content, ":");
	put_slice(&f->content, value);
}

static void
next_field(struct form *f)
{
	if (!json_next(&f->fields, &f->name, &f->schema))
		f->name = f->schema = slice(NULL, 0);
}

struct form *
form_new(struct slice params)
{
	struct slice mode = json_get(params, "mode"), schema = json_get(params, "requestedSchema");
	struct slice properties = json_get(schema, "properties");
	struct form *f;

	if ((mode.p && !json_string_is(mode, "form")) || json_type(properties) != JSON_OBJECT)
		return NULL;
	f = calloc(1, sizeof(*f));
	need(f ? 0 : -1);
	f->message = json_get_string(params, "message");
	f->required = json_get(schema, "required");
	f->fields = (struct json_iter){.in = properties};
	next_field(f);
	return f;
}

void
form_free(struct form *f)
{
	if (f)
		buf_free(&f->content);
	free(f);
}

static void
put_accepted(const struct form *f, struct buf *result)
{
	put(result, "{\"action\":\"accept\",\"content\":{");
	put_slice(result, buf_slice(&f->content));
	put(result, "}}");
}

bool
form_fill(struct form *f, struct slice values, struct buf *result)
{
	SCOPED struct buf name = {0};
	struct slice value;

	for (; f->name.p; next_field(f)) {
		value = json_get(values, plain_of(f->name, &name));
		if (value.p && is_valid(f->schema, value))
			put_value(f, value);
		else if (value.p || is_required(f))
			return false;
	}
	put_accepted(f, result);
	return true;
}

/* --- a person --- */

void
form_show(struct form *f, struct ask *a)
{
	struct slice choices = choices_of(f->schema), value, title = json_get_string(f->schema, "title");
	struct json_iter it = {.in = choices};
	SCOPED struct buf room = {0};
	unsigned n = 0;

	if (!f->shown)
		show_note(a, "form: %s", plain_of(f->message, &room));
	f->shown = true;
	show_note(a, "%s%s", plain_of(title.p ? title : f->name, &room), is_required(f) ? "" : " (optional)");
	if (*plain_of(json_get(f->schema, "description"), &room))
		show_note(a, "  %s", room.p);
	while (next_choice(&it, &value, &title))
		show_note(a, "  %u) %s", ++n, plain_of(title, &room));
	value = json_get(f->schema, "default");
	room.n = 0;
	put(&room, "%s%s%.*s%s: ", choices.p ? "number" : "value", value.p ? " [" : "", (int)value.n,
		value.p ? value.p : "", value.p ? "]" : "");
	show_prompt(a, buf_slice(&room));
}

bool
form_read(struct form *f, struct slice typed, bool ended, struct buf *result)
{
	struct slice standard = json_get(f->schema, "default");
	SCOPED struct buf value = {0};

	if (ended) {
		put(result, "{\"action\":\"decline\"}");
		return true;
	}
	while (typed.n && byte_is_space(typed.p[typed.n - 1]))
		typed.n--;
	if (typed.n && !put_typed(f->schema, typed, &value))
		return false;
	if (!typed.n && standard.p && is_valid(f->schema, standard))
		put_slice(&value, standard);
	if (!value.n && is_required(f))
		return false;
	if (value.n)
		put_value(f, buf_slice(&value));
	next_field(f);
	if (f->name.p)
		return false;
	put_accepted(f, result);
	return true;
}
