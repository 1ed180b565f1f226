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

const char attach_nothing[] = "nothing is shared (start an agent with acp-share -- AGENT)";
static const char silent[] = "acp-share does not respond";
static const char nothing[] = "no stream is shared: put \"acp-share --\" before the agent's command";

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

/* What has come of the response's line, and the descriptor with it, or -1; *whole: all, the newline off. NULL, or what is wrong. */
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
send_question(int fd, struct slice question)
{
	/* It is the first that is sent, and short: there is room for it. */
	ssize_t n = socket_send(fd, question, -1);

	return n == (ssize_t)question.n ? NULL : n < 0 ? strerror(errno) : silent;
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
	const char *wrong = send_question(fd, slice_of("{\"want\":\"list\"}\n"));
	uint64_t deadline = loop_clock() + timeout;
	bool whole = false;
	int passed = -1;

	while (!wrong && !whole) {
		wrong = receive_some(fd, response, &passed, &whole);
		if (!wrong && !whole && !wait_for(fd, deadline))
			wrong = silent;
	}
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

/* The only one in the directory where chains are found; the caller's to free. NULL, and *why. */
static char *
find_only(const char *hop, uint64_t deadline, char **why)
{
	char *directory = rendezvous_directory(), **paths = NULL, *path;
	const char *wrong, *which;

	if (!directory)
		return NULL;
	if (rendezvous_check(directory, false, &wrong) == 0)
		paths = directory_paths(directory);
	else if (errno == ENOENT)
		refuse(why, NULL, nothing);
	else
		refuse(why, directory, wrong);
	which = paths ? only_one(paths, hop, deadline, why) : NULL;
	path = which ? strdup(which) : NULL;
	directory_free(paths);
	free(directory);
	return path;
}

/* --- watching and joining --- */

static int
put_question(enum attach_want want, const char *hop, struct buf *to)
{
	bool number = hop && json_scan(slice_of(hop), 1, NULL, 0, NULL, NULL) == JSON_NUMBER;
	int r = buf_printf(to, "{\"want\":\"%s\"", attach_words[want]);

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
attach_begin(struct attaching *a, const char *path, enum attach_want want, const char *hop, char **why)
{
	SCOPED struct buf question = {0};
	const char *wrong = NULL;

	*why = NULL;
	*a = (struct attaching){.fd = -1, .passed = -1, .name = strdup(path)};
	if (a->name && put_question(want, hop, &question) == 0) {
		a->fd = rendezvous_connect(path);
		if (a->fd >= 0)
			wrong = send_question(a->fd, buf_slice(&question));
		else
			wrong = errno == EPERM ? "a process of another user listens there"
				: errno == ECONNREFUSED ? "nothing is shared there any more" : would_wait() ? silent : strerror(errno);
	}
	if (a->fd >= 0 && !wrong)
		return 0;
	if (wrong)
		refuse(why, path, wrong);
	attach_give_up(a);
	return -1;
}

int
attach_go_on(struct attaching *a, struct attached *to, char **why)
{
	bool whole;
	const char *wrong = receive_some(a->fd, &a->response, &a->passed, &whole);

	*why = NULL;
	if (wrong)
		return refuse(why, a->name, wrong);
	return whole ? read_response(to, a->name, buf_slice(&a->response), &a->passed, why) : 1;
}

void
attach_give_up(struct attaching *a)
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
	while ((r = attach_go_on(&a, to, why)) == 1 && wait_for(a.fd, deadline))
		;
	if (r == 1)
		refuse(why, a.name, silent);
	attach_give_up(&a);
	return r == 0 ? 0 : -1;
}
