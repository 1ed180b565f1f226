/* The cookies of a server, a line "NAME=VALUE" each, kept in a file from one connection to the next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/acp-http/http.h"
#include "lib/run/replace.h"

/* Bytes of all of them: many servers take no longer header. */
enum { MOST = 8 * 1024 };

int
cookies_read(struct buf *jar, const char *path)
{
	return read_small(path, jar, MOST) < 0 && errno != ENOENT ? -1 : 0;
}

int
cookies_header(const struct buf *jar, struct buf *to)
{
	struct slice left = buf_slice(jar), line;

	while (line_next(&left, &line))
		if (line.n > 0 && ((to->n > 0 && buf_add_string(to, "; ") < 0) || buf_add_slice(to, line) < 0))
			return -1;
	return 0;
}

/* Max-Age counts before Expires (RFC 6265). */
static bool
is_over(const char *attributes)
{
	const char *age = strcasestr(attributes, "max-age="), *expires = strcasestr(attributes, "expires=");
	char date[64];
	time_t when;

	if (age || !expires)
		return age && strtol(age + 8, NULL, 10) <= 0;
	snprintf(date, sizeof(date), "%.*s", (int)strcspn(expires + 8, ";"), expires + 8);
	when = curl_getdate(date, NULL);
	return when != -1 && when <= time(NULL);
}

int
cookies_set(struct buf *jar, const char *header)
{
	const char *name = header + strspn(header, " ");
	size_t n = strcspn(name, ";"), equals = strcspn(name, "=; ");
	struct slice left = buf_slice(jar), line;
	struct buf made = {0};
	int r = 0;

	if (name[equals] != '=' || equals == 0 || memchr(name, '\n', n))
		return 0;
	/* All but the one of this name; the oldest, which are first, have to go where there is no room. */
	while (r == 0 && line_next(&left, &line))
		if ((line.n <= equals || memcmp(line.p, name, equals + 1) != 0) && left.n + line.n + n + made.n + 2 <= MOST)
			r = buf_printf(&made, "%.*s\n", (int)line.n, line.p);
	if (r == 0 && n + 2 <= MOST && !is_over(name + n))
		r = buf_printf(&made, "%.*s\n", (int)n, name);
	if (r == 0) {
		buf_free(jar);
		*jar = made;
	} else {
		buf_free(&made);
	}
	return r;
}

int
cookies_write(const struct buf *jar, const char *path)
{
	struct replace file = {0};
	char *why = NULL;
	int r = replace_open(&file, path, NULL, &why) < 0 ? -1 : replace_with(&file, 0600, buf_slice(jar));

	replace_close(&file);
	free(why);
	return r;
}
