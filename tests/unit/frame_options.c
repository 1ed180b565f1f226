/* frame_options: what all filters' command lines have in common. */
#include "lib/frame/frame_options.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static void
test_arguments(void)
{
	struct frame_options o = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE};
	const char *why = NULL;

	CHECK(frame_option(&o, 'x', "1", &why) == 0 && !why);
	CHECK(frame_option(&o, FRAME_OPTION_MAX_LINE, "2K", &why) == 1 && o.limit == 2048 && !o.of_stream);
	CHECK(frame_option(&o, FRAME_OPTION_GRACE, "2s", &why) == 1 && o.grace == 2000000);
	CHECK_STR(o.of_stream, "--grace");
	CHECK(frame_option(&o, FRAME_OPTION_WAY, "link", &why) == 1 && o.transport);
	CHECK_STR(o.of_stream, "--way");
	CHECK(frame_option(&o, FRAME_OPTION_CLEAN, NULL, &why) == 1 && o.clean);
	CHECK_STR(o.of_stream, "--clean");
}

static void
test_bad_arguments(void)
{
	struct frame_options o = {.limit = 7, .grace = 8};
	const char *why = NULL;

	CHECK(frame_option(&o, FRAME_OPTION_MAX_LINE, "0", &why) == -1 && o.limit == 7);
	CHECK_STR(why, "expected a number of bytes, such as 64M");
	CHECK(frame_option(&o, FRAME_OPTION_GRACE, "soon", &why) == -1 && o.grace == 8);
	CHECK_STR(why, "expected a duration, such as 500ms, 5s or 2m");
	CHECK(frame_option(&o, FRAME_OPTION_WAY, "wrap", &why) == -1 && !o.transport);
	CHECK_STR(why, "expected pipe, link or proxy");
}

/* What is wrong with the words; files: does the tool read any? */
static const char *
wrong(struct frame_options o, char **words, bool dashes, bool files)
{
	static char text[128];
	char **found, *why = NULL;

	text[0] = '\0';
	if (frame_words(&o, words, dashes, files ? &found : NULL, &why) < 0)
		snprintf(text, sizeof(text), "%s", why ? why : "out of memory");
	free(why);
	return text;
}

static void
test_words(void)
{
	static char a[] = "a", b[] = "b", dashes[] = "--";
	char *only_files[] = {a, b, NULL}, *only_command[] = {dashes, a, dashes, NULL}, *nothing[] = {NULL}, **files = NULL;
	struct frame_options o = {0};
	char *why = NULL;

	CHECK(frame_words(&o, nothing, false, &files, &why) == 0 && !files && !o.command);
	CHECK(frame_words(&o, nothing, false, NULL, &why) == 0 && !o.command);
	CHECK(frame_words(&o, only_files, false, &files, &why) == 0 && files == only_files && !o.command);
	CHECK(frame_words(&o, only_files, true, &files, &why) == 0 && !files && o.command == only_files);
	CHECK(frame_words(&o, only_command, false, &files, &why) == 0 && !files && o.command == only_command + 1);
	CHECK(frame_words(&o, only_command, true, &files, &why) == 0 && !files && o.command == only_command);
	CHECK(frame_words(&o, only_command, true, NULL, &why) == 0 && o.command == only_command);
}

static void
test_bad_words(void)
{
	static char a[] = "a", b[] = "b", dashes[] = "--";
	char *one[] = {a, NULL}, *both[] = {a, dashes, b, NULL}, *nothing[] = {NULL}, *no_command[] = {dashes, NULL};
	struct frame_options plain = {0}, way = {0}, clean = {.of_stream = "--clean"};
	const char *why;

	CHECK(frame_option(&way, FRAME_OPTION_WAY, "link", &why) == 1);
	CHECK_STR(wrong(plain, no_command, false, true), "no command after --");
	CHECK_STR(wrong(plain, nothing, true, true), "no command after --");
	CHECK_STR(wrong(plain, nothing, true, false), "no command after --");
	CHECK_STR(wrong(plain, both, false, true), "a: give either recordings or a command");
	CHECK_STR(wrong(plain, one, false, false), "a: a command goes after --");
	CHECK_STR(wrong(plain, both, false, false), "a: a command goes after --");
	CHECK_STR(wrong(way, one, true, false), "--way does not go with a command");
	CHECK_STR(wrong(way, one, true, true), "--way does not go with a command");
	CHECK_STR(wrong(clean, one, false, true), "--clean does not go with recordings");
	CHECK_STR(wrong(clean, one, true, true), "");
	CHECK_STR(wrong(way, nothing, false, true), "");
}

int
main(void)
{
	test_arguments();
	test_bad_arguments();
	test_words();
	test_bad_words();
	return check_done();
}
