/* Forms: their fields, one after the other, from a person or a file. */
#include "cmd/acp-ask/form.h"

#include <stdlib.h>

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

/* The value of a choice: itself, or the constant of one that has a title. */
static struct slice
value_of(struct slice choice)
{
	return json_type(choice) == JSON_OBJECT ? json_get(choice, "const") : choice;
}

static bool
is_choice(struct slice choices, struct slice value)
{
	struct json_iter it = {.in = choices};
	struct slice key, choice;
	bool found = !choices.p;

	while (!found && json_next(&it, &key, &choice))
		found = json_string_eq(value_of(choice), value);
	return found;
}

static bool
is_valid(struct slice schema, struct slice value)
{
	struct slice type = json_get(schema, "type"), choices = choices_of(schema), key, item;
	struct json_iter it = {.in = value};
	SCOPED struct buf number = {0};
	bool integer = true, valid = true;

	switch (json_type(value)) {
	case JSON_STRING:
		return json_string_is(type, "string") && is_choice(choices, value);
	case JSON_TRUE:
	case JSON_FALSE:
		return json_string_is(type, "boolean");
	case JSON_NUMBER:
		need(json_number_key(value, &number, &integer));
		return json_string_is(type, "number") || (json_string_is(type, "integer") && integer);
	case JSON_ARRAY:
		while (valid && json_next(&it, &key, &item))
			valid = json_type(item) == JSON_STRING && is_choice(choices, item);
		return valid && json_string_is(type, "array");
	default:
		return false;
	}
}

/* Appends the choice of this number, or of this value. False: there is none. */
static bool
put_choice(struct slice choices, struct slice typed, struct buf *to)
{
	struct json_iter it = {.in = choices};
	SCOPED struct buf quoted = {0};
	struct slice key, choice, found = {0};
	const char *p = typed.p;
	uint64_t n = 0, i = 0;

	if (!bytes_number(&p, typed.p + typed.n, 9, &n) || p != typed.p + typed.n)
		n = 0;
	need(json_quote(typed, &quoted));
	while (json_next(&it, &key, &choice))
		if (++i == n || json_string_eq(value_of(choice), buf_slice(&quoted)))
			found = value_of(choice);
	need(found.p ? buf_add_slice(to, found) : 0);
	return found.p;
}

/* Appends the value that was typed, as JSON. False: it is none of this schema. */
static bool
put_typed(struct slice schema, struct slice typed, struct buf *to)
{
	struct slice type = json_get(schema, "type"), choices = choices_of(schema), word;
	const char *p = typed.p, *end = typed.p + typed.n;
	size_t n = 0;
	bool valid = true;

	if (json_string_is(type, "boolean")) {
		bool yes = typed.n && strchr("yYtT1", *typed.p), no = typed.n && strchr("nNfF0", *typed.p);

		need(buf_add_string(to, yes ? "true" : "false"));
		return yes || no;
	}
	if (json_string_is(type, "array")) {
		need(buf_add(to, "[", 1));
		for (; valid && p < end; p = word.p + word.n + 1) {
			const char *comma = memchr(p, ',', (size_t)(end - p));

			word = slice_between(p, comma ? comma : end);
			while (word.n && byte_is_space(*word.p))
				word.p++, word.n--;
			need(n++ ? buf_add(to, ",", 1) : 0);
			valid = choices.p ? put_choice(choices, word, to) : (need(json_quote(word, to)), true);
		}
		need(buf_add(to, "]", 1));
		return valid;
	}
	if (json_string_is(type, "string"))
		return choices.p ? put_choice(choices, typed, to) : (need(json_quote(typed, to)), true);
	need(buf_add_slice(to, typed));
	return json_scan(typed, 1, NULL, 0, NULL, NULL) == JSON_NUMBER && is_valid(schema, typed);
}

/* --- fields --- */

static bool
is_required(const struct form *f)
{
	struct json_iter it = {.in = f->required};
	struct slice key, name;

	while (json_type(f->required) == JSON_ARRAY && json_next(&it, &key, &name))
		if (json_string_eq(name, f->name))
			return true;
	return false;
}

static void
put_value(struct form *f, struct slice value)
{
	need(f->content.n ? buf_add(&f->content, ",", 1) : 0);
	need(buf_add_slice(&f->content, f->name));
	need(buf_add(&f->content, ":", 1));
	need(buf_add_slice(&f->content, value));
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
	need(buf_printf(result, "{\"action\":\"accept\",\"content\":{%.*s}}", (int)f->content.n, f->content.p ? f->content.p : ""));
}

bool
form_fill(struct form *f, struct slice values, struct buf *result)
{
	SCOPED struct buf name = {0};
	struct slice value;

	for (; f->name.p; next_field(f)) {
		name.n = 0;
		need(json_unescape(f->name, &name));
		need(buf_string(&name) ? 0 : -1);
		value = json_get(values, name.p);
		if (value.p && is_valid(f->schema, value)) {
			put_value(f, value);
		} else if (value.p || is_required(f)) {
			need(buf_add_string(result, "{\"action\":\"cancel\"}"));
			return false;
		}
	}
	put_accepted(f, result);
	return true;
}

/* --- a person --- */

void
form_show(struct form *f, struct ask *a)
{
	struct slice choices = choices_of(f->schema), key, choice, text;
	struct json_iter it = {.in = choices};
	SCOPED struct buf room = {0};
	unsigned n = 0;

	if (!f->shown) {
		text = json_text(f->message, &room);
		show_note(a, "form: %.*s", (int)text.n, text.p ? text.p : "");
		f->shown = true;
	}
	text = json_get_string(f->schema, "title");
	text = json_text(text.p ? text : f->name, &room);
	show_note(a, "%.*s%s", (int)text.n, text.p ? text.p : "", is_required(f) ? "" : " (optional)");
	text = json_text(json_get(f->schema, "description"), &room);
	if (text.n)
		show_note(a, "  %.*s", (int)text.n, text.p);
	while (choices.p && json_next(&it, &key, &choice)) {
		text = json_get_string(choice, "title");
		text = json_text(text.p ? text : value_of(choice), &room);
		show_note(a, "  %u) %.*s", ++n, (int)text.n, text.p ? text.p : "");
	}
	text = json_get(f->schema, "default");
	room.n = 0;
	need(buf_printf(&room, "%s%s%.*s%s: ", choices.p ? "number" : "value", text.p ? " [" : "", (int)text.n, text.p ? text.p : "",
		text.p ? "]" : ""));
	need(buf_string(&room) ? 0 : -1);
	show_prompt(a, room.p);
}

bool
form_read(struct form *f, struct slice typed, bool ended, struct buf *result)
{
	struct slice standard = json_get(f->schema, "default");
	SCOPED struct buf value = {0};

	if (ended) {
		need(buf_add_string(result, "{\"action\":\"decline\"}"));
		return true;
	}
	while (typed.n && byte_is_space(typed.p[typed.n - 1]))
		typed.n--;
	if (typed.n && !put_typed(f->schema, typed, &value))
		return false;
	if (!typed.n && standard.p && is_valid(f->schema, standard))
		need(buf_add_slice(&value, standard));
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
