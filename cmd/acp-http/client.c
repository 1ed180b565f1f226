/* What the files of a client share. */
#include <errno.h>

#include "cmd/acp-http/client.h"

void
client_over(struct client *c, const char *why, ...)
{
	va_list args;

	if (c->over)
		return;
	c->over = true;
	c->in_order = !why;
	if (why) {
		va_start(args, why);
		vsnprintf(c->why, sizeof(c->why), why, args);
		va_end(args);
	}
	link_down(&c->link, why ? c->why : "the connection was closed");
	loop_add_task(c->service.loop, &c->task);
}

void
client_cookie(struct client *c, const char *value)
{
	const char *path = c->options->cookies;
	int r = value ? cookies_set(&c->cookies, value) : path && c->new_cookies ? cookies_write(&c->cookies, path) : 0;

	c->new_cookies = value;
	if (r < 0)
		report(&c->service, NULL, "--cookies %s: %s", path ? path : "", strerror(errno));
}
