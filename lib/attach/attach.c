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

enum {
	RESPONSE_TIME = 5 * 1000 * 1000, /* us: how long to wait for a response of acp-share */
	RESPONSE_MOST = 32 * 1024 * 1024, /* bytes: no acp-share has more to list, each byte of 4 MiB escaped */
};

const char *const attach_words[] = {"watch", "join", "answer"};

const char attach_none_shared[] = "nothing is shared (start an agent with acp-share -- AGENT)";
static const char silent[] = "acp-share does not respond";
static const char nothing[] = "no stream is shared: put \"acp-share --\" before the agent's command";

/* --- one line each way --- */

/* Waits until fd can be read. False: the deadline has come first. */
static bool
wait_for_input(int fd, uint64_t deadline)
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

/*
 * Appends the bytes that have come to `line`, and stores a descriptor that came with them in *passed. *whole: the line is complete, and its
 * newline removed. Returns NULL, or what is wrong.
 */
static const char *
receive_some(int fd, struct buf *line, int *passed, bool *whole)
{
	const char *newline = NULL;
	ssize_t n = 1;

	while (!newline && n > 0 && line->n <= RESPONSE_MOST) {
		n = socket_receive(fd, line, passed);
		newline = n > 0 ? memchr(line->p, '\n', line->n) : NULL;
	}
	*whole = newline != NULL;
	if (newline)
		line->n = (size_t)(newline - line->p);
	else if (n > 0 || (line->n && (n == 0 || errno == ECONNRESET)))
		return "not acp-share: its response has no end";
	else if (n == 0 || errno == ECONNRESET)
		return "it closed the connection without a response: only the user who shares a stream can join it";
	return newline || would_wait() ? NULL : strerror(errno);
}

static const char *
send_request(int fd, struct slice request)
{
	/* The socket's buffer is empty, and has room for the whole request. */
	ssize_t n = socket_send(fd, request, -1);

	return n == (ssize_t)request.n ? NULL : n < 0 ? strerror(errno) : silent;
}

/* --- the only shared stream --- */

/* Sets *why to "SUBJECT: WRONG", or without a subject to "WRONG". Returns -1. */
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
	const char *wrong = send_request(fd, slice_of("{\"want\":\"list\"}\n"));
	uint64_t deadline = loop_clock() + timeout;
	bool whole = false;
	int passed = -1;

	while (!wrong && !whole) {
		wrong = receive_some(fd, response, &passed, &whole);
		if (!wrong && !whole && !wait_for_input(fd, deadline))
			wrong = silent;
	}
	proc_close(passed);
	return wrong;
}

/* Is a stream shared at the path, of the name `hop`, if that is given? If so, appends a line about it. *r: 0, or -1 out of memory. */
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

/* The only path where a stream is shared, of the name `hop`, if that is given. NULL with *why, which lists them if there are several. */
static const char *
choose_only(char *const *paths, const char *hop, uint64_t deadline, char **why)
{
	struct buf text = {0};
	int r = buf_add_string(&text, "several streams are shared; choose one of these:");
	const char *only = NULL;
	size_t n = 0;

	for (; r == 0 && *paths; paths++) {
		if (!is_shared(*paths, hop, deadline, &text, &r))
			continue;
		only = *paths;
		n++;
	}
	if (r == 0 && n == 0)
		refuse(why, hop, hop ? "no stream of that name is shared" : nothing);
	else if (r == 0 && n > 1)
		refuse(why, NULL, buf_string(&text) ? text.p : "out of memory");
	buf_free(&text);
	return r == 0 && n == 1 ? only : NULL;
}

/* The path of the only shared stream of this user; the caller frees it. NULL with *why. */
static char *
find_only(const char *hop, uint64_t deadline, char **why)
{
	char *directory = rendezvous_directory(), **paths = NULL, *path;
	const char *wrong, *only;

	if (!directory)
		return NULL;
	if (rendezvous_check(directory, false, &wrong) == 0)
		paths = directory_paths(directory);
	else if (errno == ENOENT)
		refuse(why, NULL, nothing);
	else
		refuse(why, directory, wrong);
	only = paths ? choose_only(paths, hop, deadline, why) : NULL;
	path = only ? strdup(only) : NULL;
	directory_free(paths);
	free(directory);
	return path;
}

/* --- watching and joining --- */

static int
write_request(enum attach_want want, const char *hop, struct buf *to)
{
	bool number = hop && json_scan(slice_of(hop), 1, NULL, 0, NULL, NULL) == JSON_NUMBER;
	int r = buf_printf(to, "{\"want\":\"%s\"", attach_words[want]);

	if (r == 0 && hop)
		r = -(buf_add_string(to, ",\"hop\":") || (number ? buf_add_string(to, hop) : json_quote(slice_of(hop), to)));
	return r == 0 ? buf_add_string(to, "}\n") : r;
}

/* Fills in *a from the response, and sets *passed, which it takes over, to -1. 0, or -1 with *why. */
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
attach_begin(struct attaching *a, const char *path, enum attach_want want, const char *hop, char **why)
{
	SCOPED struct buf request = {0};
	const char *wrong = NULL;

	*why = NULL;
	*a = (struct attaching){.fd = -1, .passed = -1, .name = strdup(path)};
	if (a->name && write_request(want, hop, &request) == 0) {
		a->fd = rendezvous_connect(path);
		if (a->fd >= 0)
			wrong = send_request(a->fd, buf_slice(&request));
		else
			wrong = errno == EPERM ? "a process of another user listens there"
				: errno == ECONNREFUSED ? "nothing is shared there any more" : would_wait() ? silent : strerror(errno);
	}
	if (a->fd >= 0 && !wrong)
		return 0;
	if (wrong)
		refuse(why, path, wrong);
	attach_close(a);
	return -1;
}

int
attach_continue(struct attaching *a, struct attached *to, char **why)
{
	bool whole;
	const char *wrong = receive_some(a->fd, &a->response, &a->passed, &whole);

	*why = NULL;
	if (wrong)
		return refuse(why, a->name, wrong);
	return whole ? read_response(to, a->name, buf_slice(&a->response), &a->passed, why) : 1;
}

void
attach_close(struct attaching *a)
{
	a->passed = proc_close(a->passed);
	a->fd = proc_close(a->fd);
	free(a->name);
	a->name = NULL;
	buf_free(&a->response);
}

int
attach_open(struct attached *to, const char *where, enum attach_want want, const char *hop, char **why)
{
	uint64_t deadline = loop_clock() + RESPONSE_TIME;
	struct attaching a;
	char *path;
	int r;

	*why = NULL;
	path = strcmp(where, "auto") ? strdup(where) : find_only(hop && strcmp(hop, "0") ? hop : NULL, deadline, why);
	r = path ? attach_begin(&a, path, want, hop, why) : -1;
	free(path);
	if (r < 0)
		return -1;
	while ((r = attach_continue(&a, to, why)) == 1 && wait_for_input(a.fd, deadline))
		;
	if (r == 1)
		refuse(why, a.name, silent);
	attach_close(&a);
	return r == 0 ? 0 : -1;
}
