/* text: what a stream says is shown, never obeyed. */
#include "lib/base/text.h"

#include "tests/unit/check.h"

static struct buf room;

static const char *
plain_bytes(const char *p, size_t n)
{
	room.n = 0;
	return text_plain(&room, slice(p, n)) == 0 ? buf_string(&room) : NULL;
}

static const char *
plain(const char *text)
{
	return plain_bytes(text, strlen(text));
}

static void
test_list(void)
{
	static const char *const names[] = {"b", "", "ab", "b", ""};
	struct buf list = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK(text_list(&list, slice_of(names[i])) == 0);
	CHECK_STR(list.p, "b, ab");
	buf_free(&list);
}

static void
test_what_stays(void)
{
	CHECK_STR(plain(""), "");
	CHECK_STR(plain("Grüße, 世界 \U0001f468\u200d\U0001f469 \\n \"x\" ~"), "Grüße, 世界 \U0001f468\u200d\U0001f469 \\n \"x\" ~");
	CHECK_STR(plain("a\tb\nc"), "a b c");
	CHECK_STR(plain("\033[1;31mred\033[0m \033[38:5:208mx\033[m"), "red x");
}

static void
test_what_is_named(void)
{
	CHECK_STR(plain("\033]0;title\007"), "^[]0;title^G");
	CHECK_STR(plain("\033[2J\033[1;31"), "^[[2J^[[1;31");
	CHECK_STR(plain("a\rb\x7f\b"), "a^Mb^?^H");
	CHECK_STR(plain_bytes("a\0b", 3), "a^@b");
	CHECK_STR(plain("\xc2\x9b" "2J\xc2\x80\xc2\x9f"), "<U+009B>2J<U+0080><U+009F>");
	CHECK_STR(plain("\u202egnp\u202c \u2066x\u2069 \u200e\u200f\u061c"),
		"<U+202E>gnp<U+202C> <U+2066>x<U+2069> <U+200E><U+200F><U+061C>");
	CHECK_STR(plain("a\u200bb\ufeff\u2060\u3164\u2028\U000e0041"), "a<U+200B>b<U+FEFF><U+2060><U+3164><U+2028><U+E0041>");
}

static void
test_what_is_not_utf8(void)
{
	CHECK_STR(plain("\x9b" "2J \xff"), "<9B>2J <FF>");
	CHECK_STR(plain("\xc0\x9b \xe0\x80\x9b \xed\xa0\x80"), "<C0><9B> <E0><80><9B> <ED><A0><80>");
	CHECK_STR(plain("\xf4\x90\x80\x80 \xf9\x80\x80\x80"), "<F4><90><80><80> <F9><80><80><80>");
	CHECK_STR(plain("\xe2\x82"), "<E2><82>");
	CHECK_STR(plain("\xe2(\xac"), "<E2>(<AC>");
}

/* However a line is filled, it holds printable UTF-8 only, and no half characters. */
static void
test_any_bytes(void)
{
	char all[256 * 2], line[600];
	size_t i, n;
	struct text t;
	int32_t code;

	for (i = 0; i < 256; i++) {
		all[2 * i] = (char)i;
		all[2 * i + 1] = (char)(0x80 | (i & 0x3f));
	}
	for (i = 0; i < sizeof(line); i++) {
		n = text_plain_in(line, i, slice(all, sizeof(all)));
		CHECK(n <= i && n + TEXT_SHOW_SIZE > i);
		for (t = text_of(slice(line, n)); (code = text_next(&t)) >= 0;)
			if (!text_is_safe(code))
				break;
		CHECK(code == -1);
	}
}

static void
test_json_strings(void)
{
	struct text t = text_of_string(slice_of("\"\\u001b\\ud83d\\ude00\\ud800\\n\xc3\xa4\""));

	CHECK(text_next(&t) == 0x1b && text_next(&t) == 0x1f600 && text_next(&t) == 0xfffd);
	CHECK(text_next(&t) == '\n' && text_next(&t) == 0xe4 && text_next(&t) == -1);
	room.n = 0;
	CHECK(text_put(&room, 0x1f600) == 0 && text_put(&room, TEXT_BYTE + 0xff) == 0 && text_put(&room, 'x') == 0);
	CHECK_STR(buf_string(&room), "\xf0\x9f\x98\x80\xffx");
}

int
main(void)
{
	test_list();
	test_what_stays();
	test_what_is_named();
	test_what_is_not_utf8();
	test_any_bytes();
	test_json_strings();
	buf_free(&room);
	return check_done();
}
