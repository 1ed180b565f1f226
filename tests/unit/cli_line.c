/* cli_line: values of a table's options. What is refused, and how, is tested with the tools: option_rules.bats, frame_options.bats. */
#include "lib/base/cli_line.h"

#include <stdlib.h>

#include "tests/unit/check.h"

struct part {
	uint64_t count;
	const char *text;
};

struct all {
	bool flag;
	int fold;
	enum { RED = 3, GREEN } color;
	unsigned redact;
	const char *text, **texts;
	size_t bytes;
	uint64_t time;
	struct part part, *behind;
	char first;
};

static void
take_first(const struct cli_argument *t)
{
	*(char *)t->at = *t->argument;
}

static const struct cli_option part_options[] = {
	{"count", 'c', CLI_COUNT(struct part, count), .least = 2, .most = 5},
	{"text", 0, CLI_TEXT(struct part, text)},
	{0},
};

static const struct cli_option behind_options[] = {{"behind", 0, CLI_TEXT(struct part, text)}, {0}};

static const struct cli_option options[] = {
	{"flag", 'f', CLI_FLAG(struct all, flag)},
	{"fold", 0, CLI_SET(struct all, fold, 7)},
	{"mark", 0, CLI_MARK},
	{"color", 0, CLI_WORD(struct all, color, "red", "green"), .value = RED},
	{"redact", 0, CLI_OPTIONAL_WORD(struct all, redact, "text")},
	{"text", 't', CLI_TEXT(struct all, text)},
	{"texts", 0, CLI_TEXTS(struct all, texts)},
	{"bytes", 0, CLI_BYTES(struct all, bytes)},
	{"time", 0, CLI_DURATION(struct all, time)},
	{"first", 0, CLI_PARSE_AT(take_first, char, struct all, first)},
	{CLI_ROWS(struct all, part, part_options)},
	{CLI_ROWS_BEHIND(struct all, behind, behind_options)},
	{0},
};

static const struct cli_tool tool = {"x", "help\n", options};

/* Reads words, of which NULL is the last. */
#define READ(a, line, ...) read_words(a, line, (char *[]){(char *)"x", __VA_ARGS__, NULL})

static void
read_words(struct all *a, struct cli_line *line, char **words)
{
	int n = 0;

	while (words[n])
		n++;
	cli_read(&tool, n, words, a, line);
}

static void
test_values(void)
{
	static char words[][16] = {"-fc3", "--fold", "--color=green", "--redact", "-t", "-", "--texts", "a", "--texts=b", "--bytes", "2K",
		"--time", "2ms", "--first", "word", "--behind", "y", "rest"};
	struct part behind = {0};
	struct all a = {.behind = &behind};
	struct cli_line line;

	READ(&a, &line, words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9], words[10],
		words[11], words[12], words[13], words[14], words[15], words[16], words[17]);
	CHECK(a.flag && a.part.count == 3 && a.fold == 7 && a.color == GREEN && a.redact == 1);
	CHECK_STR(a.text, "-");
	CHECK_STR(a.texts[0], "a");
	CHECK_STR(a.texts[1], "b");
	CHECK(!a.texts[2] && a.bytes == 2048 && a.time == 2000 && a.first == 'w');
	CHECK_STR(behind.text, "y");
	CHECK(!a.part.text && !line.dashes);
	CHECK_STR(line.words[0], "rest");
	free(a.texts);
}

static void
test_what_is_given(void)
{
	static char mark[] = "--mark", redact[] = "--redact=text", text[] = "--text", dashes[] = "--";
	struct part behind = {0};
	struct all a = {.behind = &behind, .color = RED};
	struct cli_line line;

	READ(&a, &line, mark, redact, text, dashes);
	CHECK(a.redact == 2 && !line.dashes && !line.words[0]);
	CHECK(cli_has(&line, "--mark") && cli_has(&line, "--redact text") && !cli_has(&line, "--flag") && !cli_has(&line, "--help"));
	/* A word may be the default. */
	CHECK(cli_has(&line, "--color red") && !cli_has(&line, "--color") && !cli_has(&line, "--color green"));
	cli_note(&line, true, "a fact");
	cli_note(&line, false, "none");
	CHECK(cli_has(&line, "a fact") && !cli_has(&line, "none"));
	/* Again, another line. */
	READ(&a, &line, dashes, mark);
	CHECK(line.dashes && !cli_has(&line, "--mark") && !cli_has(&line, "a fact"));
	CHECK_STR(line.words[0], "--mark");
}

int
main(void)
{
	test_values();
	test_what_is_given();
	return check_done();
}
