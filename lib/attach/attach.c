#include "lib/attach/attach.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "lib/run/directory.h"
#include "lib/run/loop.h"
#include "lib/attach/rendezvous.h"
#include "lib/run/proc.h"
#include "lib/run/socket.h"
#include "lib/run/system.h"

enum {
	RESPONSE_TIME = 5 * 1000 * 1000, /* us: how long to wait for a response of acp-share */
	RESPONSE_MOST = 32 * 1024 * 1024, /* bytes: no acp-share has more to list, each byte of 4 MiB escaped */
};

static const char nothing[] = "nothing is shared (acp-share, acp-conduct --control)";

/* --- one line each way --- */

/* False: not before the deadline. */
static bool
wait_for(int fd, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now;
	int r;

	do {
		now = loop_clock();
		if (now >= deadline)
			return false;
		r = poll(&p, 1, (int)((deadline - now) / 1000) + 1);
	} while (r == 0 || (r < 0 && errno == EINTR));
	return true;
}

static bool
would_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* The response's line, its newline off, and the descriptor that came with it, or -1. NULL, or what is wrong. */
static const char *
receive_line(int fd, struct buf *line, int *passed, uint64_t deadline)
{
	const char *newline = NULL;
	ssize_t n;

	while (!newline) {
		n = socket_receive(fd, line, passed);
		if (n > 0)
			newline = memchr(line->p, '\n', line->n);
		else if (n == 0 || errno == ECONNRESET)
			return line->n ? "not acp-share: its response has no end" :
				"it closed the connection without a response: only the user who shares a stream can join it";
		else if (!would_wait())
			return strerror(errno);
		else if (!wait_for(fd, deadline))
			return "acp-share does not respond";
		if (!newline && line->n > RESPONSE_MOST)
			return "not acp-share: its response has no end";
	}
	line->n = (size_t)(newline - line->p);
	return NULL;
}

static const char *
ask(int fd, struct slice question, struct buf *response, int *passed, uint64_t deadline)
{
	const char *wrong;
	ssize_t n;

	*passed = -1;
	/* It is the first that is sent, and short: there is room for it. */
	n = socket_send(fd, question, -1);
	if (n != (ssize_t)question.n)
		return n < 0 ? strerror(errno) : "acp-share does not respond";
	wrong = receive_line(fd, response, passed, deadline);
	if (wrong && *passed >= 0) {
		close(*passed);
		*passed = -1;
	}
	return wrong;
}

/* --- which chain --- */

/* Sets *why. Returns -1. */
static int
refuse(char **why, const char *subject, const char *wrong)
{
	free(*why);
	*why = bytes_printf("%s%s%s", subject ? subject : "", subject ? ": " : "", wrong);
	return -1;
}

const char *
attach_list(int fd, uint64_t timeout, struct buf *response)
{
	int passed;
	const char *wrong = ask(fd, slice_of("{\"want\":\"list\"}\n"), response, &passed, loop_clock() + timeout);

	proc_close(passed);
	return wrong;
}

/* Is a stream shared there, and has it the name, if one is given? Then a line about it is appended; *r: 0, or -1 out of memory. */
static bool
is_shared(const char *path, const char *hop, uint64_t deadline, struct buf *to, int *r)
{
	static const char *const keys[] = {"pid", "client", "agent", "cwd", "name"};
	SCOPED struct buf response = {0};
	int fd = rendezvous_connect(path);
	uint64_t now = loop_clock();
	struct slice v[5] = {{0}};
	const char *wrong;

	if (fd < 0)
		return false;
	wrong = attach_list(fd, deadline > now ? deadline - now : 0, &response);
	close(fd);
	if (!wrong && json_scan(buf_slice(&response), JSON_DEPTH, keys, 5, v, NULL) != JSON_OBJECT)
		wrong = "no acp-share";
	if (hop && (wrong || !json_string_is(v[4], hop)))
		return false;
	*r = buf_printf(to, "\n%s: %s", path, wrong ? wrong : "");
	if (*r == 0 && !wrong && json_type(v[0]) == JSON_NUMBER)
		*r = -(buf_add_string(to, "pid ") || buf_add_slice(to, v[0]));
	for (int i = 1; *r == 0 && !wrong && json_type(v[0]) == JSON_NUMBER && i < 5; i++)
		if (json_type(v[i]) == JSON_STRING)
			*r = -(buf_add_string(to, i == 4 ? ": at " : ": ") || json_unescape(v[i], to));
	return true;
}

/* The only one of these that is shared and has the name, if one is given. If there are several, the user has to choose. */
static const char *
only_one(char *const *paths, const char *hop, uint64_t deadline, char **why)
{
	struct buf text = {0};
	int r = buf_add_string(&text, "several streams are shared; choose one of these:");
	const char *which = NULL;
	size_t n = 0;

	for (; r == 0 && *paths; paths++) {
		if (!is_shared(*paths, hop, deadline, &text, &r))
			continue;
		which = *paths;
		n++;
	}
	if (r == 0 && n == 0)
		refuse(why, hop, nothing);
	else if (r == 0 && n > 1)
		refuse(why, NULL, buf_string(&text) ? text.p : "out of memory");
	buf_free(&text);
	return r == 0 && n == 1 ? which : NULL;
}

static int
connect_to(const char *path, char **name, char **why)
{
	int fd = socket_try(path);

	if (fd >= 0 && !system_same_user(fd)) {
		close(fd);
		return refuse(why, path, "a process of another user listens there");
	}
	if (fd >= 0) {
		*name = strdup(path);
		return fd;
	}
	if (errno == ECONNREFUSED)
		return refuse(why, path, "nothing is shared there any more");
	return refuse(why, path, would_wait() ? "acp-share does not respond" : strerror(errno));
}

/* The same for the only one in the directory where chains are found. */
static int
connect_auto(const char *hop, uint64_t deadline, char **name, char **why)
{
	char *directory = rendezvous_directory(), **paths = NULL;
	const char *wrong, *which = NULL;
	int fd = -1;

	if (!directory)
		return -1;
	if (rendezvous_check(directory, false, &wrong) == 0)
		paths = directory_paths(directory);
	else if (errno == ENOENT)
		refuse(why, NULL, nothing);
	else
		refuse(why, directory, wrong);
	if (paths)
		which = only_one(paths, hop, deadline, why);
	if (which)
		fd = connect_to(which, name, why);
	directory_free(paths);
	free(directory);
	return fd;
}

/* --- watching and joining --- */

static int
put_question(enum attach_want want, const char *hop, struct buf *to)
{
	bool number = hop && json_scan(slice_of(hop), 1, NULL, 0, NULL, NULL) == JSON_NUMBER;
	int r = buf_printf(to, "{\"want\":\"%s\"", want == ATTACH_JOIN ? "join" : "watch");

	if (r == 0 && hop)
		r = -(buf_add_string(to, ",\"hop\":") || (number ? buf_add_string(to, hop) : json_quote(slice_of(hop), to)));
	return r == 0 ? buf_add_string(to, "}\n") : r;
}

/* What acp-share says; passed is -1 afterwards if `a` has it. */
static int
read_response(struct attached *a, const char *name, struct slice response, int *passed, char **why)
{
	static const char *const keys[] = {"error", "hop"};
	SCOPED struct buf text = {0};
	struct slice v[2];

	if (json_scan(response, JSON_DEPTH, keys, 2, v, NULL) != JSON_OBJECT)
		return refuse(why, name, "not acp-share: its response is not a JSON object");
	if (json_type(v[0]) == JSON_STRING) {
		if (json_unescape(v[0], &text) == 0 && buf_string(&text))
			refuse(why, NULL, text.p);
		return -1;
	}
	if (*passed < 0)
		return refuse(why, name, "the response of acp-share came without a descriptor");
	*a = (struct attached){.fd = *passed};
	json_u64(v[1], &a->hop);
	*passed = -1;
	return 0;
}

int
attach_open(struct attached *a, const char *where, enum attach_want want, const char *hop, char **why)
{
	uint64_t deadline = loop_clock() + RESPONSE_TIME;
	SCOPED struct buf question = {0}, response = {0};
	char *name = NULL;
	const char *wrong;
	int fd, passed = -1, r = -1;

	*why = NULL;
	if (strcmp(where, "auto") == 0)
		fd = connect_auto(hop && strcmp(hop, "0") != 0 ? hop : NULL, deadline, &name, why);
	else
		fd = connect_to(where, &name, why);
	if (fd >= 0 && name && put_question(want, hop, &question) == 0) {
		wrong = ask(fd, buf_slice(&question), &response, &passed, deadline);
		r = wrong ? refuse(why, name, wrong) : read_response(a, name, buf_slice(&response), &passed, why);
	}
	proc_close(passed);
	proc_close(fd);
	free(name);
	return r;
}
