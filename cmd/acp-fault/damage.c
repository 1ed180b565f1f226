#include "cmd/acp-fault/damage.h"

size_t
damage_byte(const struct chance *c, char *text, size_t n, unsigned char *was)
{
	size_t at = chance_below(c, FAULT_CORRUPT, 1, n);
	unsigned char is;

	*was = (unsigned char)text[at];
	is = (unsigned char)(*was + 1 + chance_below(c, FAULT_CORRUPT, 2, 255));
	while (is == '\n' || is == *was)
		is++;
	text[at] = (char)is;
	return at;
}

size_t
damage_cut(const struct chance *c, size_t n)
{
	return n > 1 ? 1 + chance_below(c, FAULT_TRUNCATE, 1, n - 1) : n;
}

struct slice
damage_noise(const struct chance *c)
{
	static const char *const lines[] = {
		"",
		"42",
		"acp-fault: this line is no message",
		"[1/3] migrating settings ...",
		"\033[32mready\033[0m",
		"(node:1) Warning: something is deprecated",
		"{\"level\":\"info\",\"text\":\"started\"}",
	};

	return slice_of(lines[chance_below(c, FAULT_NOISE, 1, sizeof(lines) / sizeof(lines[0]))]);
}
