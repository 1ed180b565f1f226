#include "cmd/acp-tap/tap.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>

#include "lib/base/base64.h"

static const char terminal_chunk[] = "terminal_output_chunk"; /* its data is in base64 */

enum { TAIL = 1024 }; /* bytes before the last chunk of a text in which a hit may begin */

struct grep {
	const char *literal; /* of ASCII only; NULL: regex has the pattern */
	regex_t regex;
	struct buf text, plain; /* the searched text; a string without its escapes */
	struct buf source, tail; /* of the last chunks: side, session, terminal and kind; the end of their text */
};

/* --- the pattern --- */

/* Makes a regular expression of a literal, because letters beyond ASCII have cases, too. The caller frees it; NULL out of memory. */
static char *
escaped(const char *literal)
{
	char *text = malloc(2 * strlen(literal) + 1), *to = text;

	for (; text && *literal; literal++) {
		if (strchr("\\^$.[]|()*+?{}", *literal))
			*to++ = '\\';
		*to++ = *literal;
	}
	if (text)
		*to = '\0';
	return text;
}

static int
compile(struct grep *g, const char *pattern, char **why)
{
	char message[128];
	regmatch_t match;
	int error = regcomp(&g->regex, pattern, REG_EXTENDED | REG_ICASE | REG_NEWLINE);

	if (error) {
		regerror(error, &g->regex, message, sizeof(message));
		*why = strdup(message);
		return -1;
	}
	/* A pattern like \< matches the empty text at each word, so that a long text would be searched from each word on. */
	if (regexec(&g->regex, "", 0, NULL, 0) != 0 &&
		(regexec(&g->regex, "a", 1, &match, 0) != 0 || match.rm_eo > match.rm_so))
		return 0;
	*why = strdup("it matches the empty text");
	regfree(&g->regex);
	return -1;
}

struct grep *
grep_new(const char *pattern, bool regex, char **why)
{
	struct grep *g = calloc(1, sizeof(*g));
	char *made = NULL;
	const char *p = pattern;

	*why = NULL;
	if (!g)
		return NULL;
	while (*p && isascii((unsigned char)*p))
		p++;
	if (!regex && *pattern && !*p) {
		g->literal = pattern;
		return g;
	}
	if (!regex)
		made = escaped(pattern);
	if ((!regex && !made) || compile(g, made ? made : pattern, why) < 0) {
		free(g);
		g = NULL;
	}
	free(made);
	return g;
}

void
grep_free(struct grep *g)
{
	if (!g)
		return;
	if (!g->literal)
		regfree(&g->regex);
	buf_free(&g->text);
	buf_free(&g->plain);
	buf_free(&g->source);
	buf_free(&g->tail);
	free(g);
}

/* --- the search --- */

/* Finds the first hit in g->text that ends after `after`. */
static bool
search(struct grep *g, size_t after, struct grep_hit *hit)
{
	const char *text = buf_string(&g->text), *p = text, *found;
	regmatch_t match;

	if (!text)
		return false;
	/* For strcasestr and regexec a text ends at its first NUL. */
	for (size_t i = 0; i < g->text.n; i++)
		if (g->text.p[i] == '\0')
			g->text.p[i] = ' ';
	for (; *p; p = text + hit->from + 1) {
		if (g->literal && (found = strcasestr(p, g->literal)))
			match = (regmatch_t){.rm_so = (regoff_t)(found - p), .rm_eo = (regoff_t)(found - p + (ptrdiff_t)strlen(g->literal))};
		else if (g->literal || regexec(&g->regex, p, 1, &match, p > text && p[-1] != '\n' ? REG_NOTBOL : 0) != 0)
			return false;
		hit->text = buf_slice(&g->text);
		hit->from = (size_t)(p - text + match.rm_so);
		hit->to = (size_t)(p - text + match.rm_eo);
		if (hit->to > after && hit->to > hit->from)
			return true;
		/* musl's regexec finds nothing in a text whose beginning is within a character. */
		while ((text[hit->from + 1] & 0xc0) == 0x80)
			hit->from++;
	}
	return false;
}

bool
grep_text(struct grep *g, struct slice text, struct grep_hit *hit)
{
	g->text.n = 0;
	return buf_add_slice(&g->text, text) == 0 && search(g, 0, hit);
}

/* Is the value of this member a word of the protocol, an id or binary data? */
static bool
is_word(struct slice key)
{
	static const char *const words[] = {"type", "kind", "status", "state", "sessionUpdate", "stopReason", "mimeType", "data", "blob", NULL};

	return json_string_in(key, words) || (key.n > 4 && memcmp(key.p + key.n - 3, "Id\"", 3) == 0);
}

/* Searches the texts in a value. all: it is a tool's own data, without words of the protocol. */
static bool
search_value(struct grep *g, struct slice value, bool all, struct grep_hit *hit)
{
	static const char *const tools[] = {"rawInput", "rawOutput", "arguments", "structuredContent", NULL};
	struct json_iter it = {.in = value};
	enum json_type type = json_type(value);
	struct slice key;

	if (type == JSON_STRING)
		return grep_text(g, json_text(value, &g->plain), hit);
	if (type != JSON_OBJECT && type != JSON_ARRAY)
		return false;
	while (json_next(&it, &key, &value))
		if ((!key.p || all || (!is_word(key) && !json_string_is(key, "_meta"))) &&
			search_value(g, value, all || (key.p && json_string_in(key, tools)), hit))
			return true;
	return false;
}

/* Appends the text of a string to g->text. encoded: the string is in base64. */
static bool
add_text(struct grep *g, struct slice string, bool encoded)
{
	struct slice text = json_text(string, &g->plain);
	size_t i = g->text.n, n;

	if (!encoded)
		return buf_add_slice(&g->text, text) == 0;
	if (base64_decode(text, &g->text) != 0)
		return false;
	/* musl's regexec finds nothing in a text that is not UTF-8. */
	for (; i < g->text.n; i += n ? n : 1) {
		n = text_utf8_length(g->text.p + i, g->text.p + g->text.n);
		if (!n)
			g->text.p[i] = ' ';
	}
	return true;
}

bool
grep_message(struct grep *g, const struct message *m, struct grep_hit *hit)
{
	/* The output of a terminal of version 2. */
	struct slice update = json_get(m->msg.params, acp_update), kind = msg_update_kind(&m->msg);
	struct slice output = json_string_is(kind, "terminal_update") ? json_path(update, "output.data") :
		json_string_is(kind, terminal_chunk) ? json_get(update, "data") : slice(NULL, 0);

	g->text.n = 0;
	return (json_type(output) == JSON_STRING && add_text(g, output, true) && search(g, 0, hit)) ||
		search_value(g, m->msg.params, false, hit) || search_value(g, m->msg.result, false, hit) ||
		search_value(g, m->msg.error, true, hit);
}

/* Does this chunk go on with the text of the chunk before? */
static bool
continues_text(struct grep *g, const struct message *m, struct slice kind)
{
	SCOPED struct buf source = {0};
	struct buf swap = g->source;
	bool same;

	if (buf_printf(&source, "%d ", m->from) < 0 || buf_add_slice(&source, msg_session(&m->msg)) < 0 ||
		buf_add_slice(&source, json_path(m->msg.params, "update.terminalId")) < 0 || buf_add_slice(&source, kind) < 0)
		return false;
	same = slice_eq(buf_slice(&source), buf_slice(&g->source));
	g->source = source;
	source = swap;
	return same;
}

bool
grep_see(struct grep *g, const struct message *m)
{
	struct slice kind = msg_update_kind(&m->msg), chunk = preview_chunk(m, kind);
	bool encoded = json_string_is(kind, terminal_chunk), found;
	struct grep_hit hit;
	size_t before;

	if (encoded)
		chunk = json_path(m->msg.params, "update.data");
	if (json_type(chunk) != JSON_STRING) {
		g->source.n = g->tail.n = 0;
		return grep_message(g, m, &hit);
	}
	if (!continues_text(g, m, kind))
		g->tail.n = 0;
	before = g->text.n = 0;
	if (buf_add_slice(&g->text, buf_slice(&g->tail)) < 0)
		return false;
	before = g->text.n;
	if (!add_text(g, chunk, encoded))
		return false;
	found = search(g, before, &hit);
	g->tail.n = 0;
	buf_add_slice(&g->tail, slice_tail(buf_slice(&g->text), TAIL));
	return found;
}
