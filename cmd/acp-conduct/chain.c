#include "chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"

struct component *
chain_agent(struct chain *ch)
{
	return ch->has_agent ? &ch->components[ch->n - 1] : NULL;
}

size_t
chain_index(const struct component *c)
{
	return (size_t)(c - c->chain->components);
}

const char *
chain_kind(enum kind kind)
{
	static const char *const names[] = {"filter", "down filter", "up filter", "proxy", "agent", "peer"};

	return names[kind];
}

/* --- components --- */

static struct component *
add(struct chain *ch, size_t at, enum kind kind)
{
	struct component *c = realloc(ch->components, (ch->total + 1) * sizeof(*c));

	if (!c)
		return NULL;
	ch->components = c;
	c += at;
	memmove(c + 1, c, (ch->total - at) * sizeof(*c));
	*c = (struct component){.kind = kind, .owner = ch->n - 1};
	ch->total++;
	ch->has_proxies = ch->has_proxies || kind == KIND_PROXY;
	if (kind == KIND_PEER)
		return c;
	ch->n++;
	for (size_t i = ch->n; i < ch->total; i++)
		ch->components[i].owner += ch->components[i].owner >= at;
	return c;
}

struct component *
chain_add(struct chain *ch, enum kind kind, const char *command, char *const *argv)
{
	char **words = command ? proc_words(command) : NULL;
	struct component *c = words || !command ? add(ch, kind == KIND_PEER ? ch->total : ch->n, kind) : NULL;

	if (c)
		c->command = (struct command){.text = command, .words = words, .argv = words ? words : argv};
	else
		free(words);
	return c;
}

int
chain_insert(struct chain *ch, size_t at, const char *const *words)
{
	struct component *c = add(ch, at, KIND_FILTER);
	size_t n, bytes = 0;
	char **own, *to;

	/* One allocation, as proc_words makes it. */
	for (n = 0; words[n]; n++)
		bytes += strlen(words[n]) + 1;
	own = c ? malloc((n + 1) * sizeof(*own) + bytes) : NULL;
	if (!own)
		return -1;
	to = (char *)(own + n + 1);
	for (n = 0; words[n]; n++) {
		own[n] = to;
		to = stpcpy(to, words[n]) + 1;
	}
	own[n] = NULL;
	c->on_crash = CRASH_BYPASS;
	c->command = (struct command){.words = own, .argv = own};
	return 0;
}

/* Goes through the words of a command: those of argv, or those of a shell's text up to its first operator. */
struct words {
	char *const *argv;
	const char *text; /* NULL: argv has the words */
};

/* Returns the next word; n is 0 after the last. */
static struct slice
next_word(struct words *w)
{
	const char *word;

	if (!w->text)
		return *w->argv ? slice_of(*w->argv++) : slice(NULL, 0);
	word = w->text + strspn(w->text, " \t\n(");
	w->text = word + strcspn(word, " \t\n;|&<>()");
	return slice_between(word, w->text);
}

static struct slice
last_part(struct slice path)
{
	size_t n;

	for (n = path.n; n > 0 && path.p[n - 1] != '/'; n--)
		;
	return slice(path.p + n, path.n - n);
}

/* Is the program an interpreter? A component is then named by its script. */
static bool
is_interpreter(struct slice name)
{
	static const char *const names[] = {"sh", "bash", "dash", "zsh", "perl", "ruby", "node", "python"};
	size_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		n = strlen(names[i]);
		/* python3, python3.12, ... */
		if (name.n >= n && memcmp(name.p, names[i], n) == 0 && strspn(name.p + n, "0123456789.") >= name.n - n)
			return true;
	}
	return false;
}

/* The base name of the script that an interpreter runs, or of the interpreter if it runs none. */
static struct slice
script_name(struct slice interpreter, struct words *w)
{
	struct slice word;

	while ((word = next_word(w)).n > 0) {
		if (word.p[0] != '-')
			return last_part(word);
		if (slice_is(word, "-") || slice_is(word, "-c") || slice_is(word, "-e") || slice_is(word, "-m"))
			break;
	}
	return interpreter;
}

/* The base name of the program or script; in a shell's command, of the first word that names one. */
static struct slice
base_name(const struct component *c)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
	struct words w = {.argv = c->command.argv};
	struct slice word, name;
	bool env = false;

	if (c->kind >= KIND_AGENT)
		return slice_of(c->peer ? c->peer : "agent");
	if (strcmp(c->command.argv[0], "/bin/sh") == 0 && c->command.argv[1] && strcmp(c->command.argv[1], "-c") == 0 && c->command.argv[2])
		w.text = c->command.argv[2];
	do {
		word = next_word(&w);
		name = last_part(word);
		env = env || slice_is(name, "env");
	} while (word.n > 0 && (memchr(word.p, '=', word.n) || slice_is(word, "exec") || slice_is(name, "env") ||
		(env && word.p[0] == '-')));
	if (is_interpreter(name))
		name = script_name(name, &w);
	return name.n > 0 && strspn(name.p, plain) >= name.n ? name : slice_of("sh");
}

bool
chain_runs(const struct component *c, const char *program)
{
	return slice_is(base_name(c), program);
}

static int
name_component(struct chain *ch, struct component *c)
{
	struct slice base = base_name(c);
	unsigned same = 1;

	/* The agent chooses its name first. */
	if (c->kind < KIND_AGENT && slice_is(base, "agent"))
		same++;
	for (size_t i = 0; &ch->components[i] != c; i++)
		if (slice_eq(base_name(&ch->components[i]), base))
			same++;
	free(c->name);
	c->name = malloc(base.n + 16);
	if (!c->name)
		return -1;
	memcpy(c->name, base.p, base.n);
	c->name[base.n] = '\0';
	if (same > 1 && c->kind != KIND_AGENT)
		snprintf(c->name + base.n, 16, ".%u", same);
	return 0;
}

int
chain_name(struct chain *ch)
{
	for (size_t i = 0; i < ch->total; i++) {
		ch->components[i].chain = ch;
		if (name_component(ch, &ch->components[i]) < 0)
			return -1;
	}
	return 0;
}

void
chain_free(struct chain *ch)
{
	for (size_t i = 0; i < ch->total; i++) {
		free(ch->components[i].name);
		free(ch->components[i].peer);
		free(ch->components[i].command.words);
		free(ch->components[i].deaths.counted.times);
		buf_free(&ch->components[i].process.errors.tail);
	}
	free(ch->components);
}
