#include "lib/base/base64.h"

#include <errno.h>
#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int
base64_encode(struct slice bytes, struct buf *to)
{
	const unsigned char *p = (const unsigned char *)bytes.p;
	size_t left = bytes.n;
	char *o;

	if (left > SIZE_MAX / 4) {
		errno = ENOMEM;
		return -1;
	}
	if (buf_reserve(to, (left + 2) / 3 * 4) < 0)
		return -1;
	o = to->p + to->n;
	for (; left >= 3; left -= 3, p += 3) {
		*o++ = digits[p[0] >> 2];
		*o++ = digits[(p[0] & 3) << 4 | p[1] >> 4];
		*o++ = digits[(p[1] & 15) << 2 | p[2] >> 6];
		*o++ = digits[p[2] & 63];
	}
	if (left > 0) {
		unsigned second = left > 1 ? p[1] : 0;

		*o++ = digits[p[0] >> 2];
		*o++ = digits[(p[0] & 3u) << 4 | second >> 4];
		*o++ = left > 1 ? digits[(second & 15) << 2] : '=';
		*o++ = '=';
	}
	to->n += (bytes.n + 2) / 3 * 4;
	return 0;
}

int
base64_decode(struct slice text, struct buf *to)
{
	size_t n = text.n, i, start = to->n;
	unsigned bits = 0;
	uint32_t word = 0;
	const char *digit;

	while (n > 0 && text.n - n < 2 && text.p[n - 1] == '=')
		n--;
	if (n % 4 == 1 || (n < text.n && text.n % 4 != 0))
		return 1;
	if (buf_reserve(to, n / 4 * 3 + 3) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		digit = memchr(digits, text.p[i], 64);
		if (!digit) {
			to->n = start;
			return 1;
		}
		word = word << 6 | (uint32_t)(digit - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			to->p[to->n++] = (char)(word >> bits & 0xff);
		}
	}
	return 0;
}
