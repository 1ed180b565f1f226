#include "lib/attach.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/loop.h"
#include "lib/rendezvous.h"
#include "lib/socket.h"

enum {
	PATIENCE = 5 * 1000 * 1000, /* us that a conductor has to answer */
	ANSWER_MOST = 1024 * 1024,  /* bytes: what is longer is no conductor's */
};

static const char auto_word[] = "auto";

/* --- one line each way --- */

/* False: not before the deadline. */
static bool
wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};
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

/* NULL, or what is wrong. */
static const char *
send_line(int fd, struct slice line, uint64_t deadline)
{
	ssize_t n;

	while (line.n > 0) {
		n = socket_send(fd, line, -1);
		if (n > 0)
			line = slice(line.p + n, line.n - (size_t)n);
		else if (n == 0 || !would_wait())
			return strerror(errno);
		else if (!wait_for(fd, POLLOUT, deadline))
			return "the conductor does not answer";
	}
	return NULL;
}

/* The answer's line, its newline off, and the descriptor that came with it, or -1. NULL, or what is wrong. */
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
			return "it hung up without an answer: a chain can be joined by its own user only";
		else if (!would_wait())
			return strerror(errno);
		else if (!wait_for(fd, POLLIN, deadline))
			return "the conductor does not answer";
		if (!newline && line->n > ANSWER_MOST)
			return "no conductor: its answer has no end";
	}
	line->n = (size_t)(newline - line->p);
	return NULL;
}

static const char *
ask(int fd, struct slice question, struct buf *answer, int *passed, uint64_t deadline)
{
	const char *wrong = send_line(fd, question, deadline);

	*passed = -1;
	if (!wrong)
		wrong = receive_line(fd, answer, passed, deadline);
	if (wrong && *passed >= 0) {
		close(*passed);
		*passed = -1;
	}
	return wrong;
}

/* --- which chain --- */

static int
say(char **why, const char *subject, const char *wrong)
{
	struct buf text = {0};

	buf_free(&(struct buf){.p = *why});
	*why = buf_printf(&text, "%s%s%s", subject ? subject : "", subject ? ": " : "", wrong) == 0 ? buf_string(&text) : NULL;
	if (!*why)
		buf_free(&text);
	return -1;
}

/* "acp-tap, acp-usage, agent" */
static int
put_components(struct slice list, struct buf *to)
{
	struct json_iter it = {.in = list};
	struct slice key, component, name;
	const char *between = ": ";
	int r = 0;

	while (r == 0 && list.p && json_type(list) == JSON_ARRAY && json_next(&it, &key, &component)) {
		name = json_type(component) == JSON_OBJECT ? json_get(component, "name") : slice(NULL, 0);
		if (!name.p || json_type(name) != JSON_STRING)
			continue;
		r = -(buf_add_string(to, between) || json_unescape(name, to));
		between = ", ";
	}
	return r;
}

/* One of several chains: its line. 0, or -1 out of memory. */
static int
describe(const char *path, int fd, uint64_t deadline, struct buf *to)
{
	static const char *const keys[] = {"pid", "components"};
	struct buf answer = {0};
	struct json_error error;
	struct slice v[2];
	int passed, r;

	r = -(buf_add_string(to, "\n") || buf_add_string(to, path));
	if (r < 0 || ask(fd, slice_of("{\"want\":\"list\"}\n"), &answer, &passed, deadline) ||
		json_scan(buf_slice(&answer), JSON_DEPTH, keys, 2, v, &error) != JSON_OBJECT)
		r = r < 0 ? r : buf_add_string(to, ": does not answer");
	else if (v[0].p && json_type(v[0]) == JSON_NUMBER)
		r = -(buf_add_string(to, ": pid ") || buf_add_slice(to, v[0]) || put_components(v[1], to));
	if (passed >= 0)
		close(passed);
	buf_free(&answer);
	return r;
}

/* They are all there; which one is for the user to say. */
static int
say_several(char *const *paths, const int *fds, size_t n, uint64_t deadline, char **why)
{
	struct buf text = {0};
	int r = buf_printf(&text, "several chains run, one of these it has to be:");
	size_t i;

	for (i = 0; r == 0 && i < n; i++)
		if (fds[i] >= 0)
			r = describe(paths[i], fds[i], deadline, &text);
	if (r == 0)
		say(why, NULL, buf_string(&text) ? text.p : "out of memory");
	buf_free(&text);
	return -1;
}

/* The only one of these that somebody listens at. *which is its path. */
static int
only_one(char *const *paths, uint64_t deadline, const char **which, char **why)
{
	size_t n, i, found = 0, last = 0;
	int *fds, fd = -1;

	for (n = 0; paths[n]; n++)
		;
	fds = calloc(n + 1, sizeof(*fds));
	if (!fds)
		return -1;
	for (i = 0; i < n; i++) {
		fds[i] = rendezvous_connect(paths[i]);
		if (fds[i] >= 0) {
			found++;
			last = i;
		}
	}
	if (found == 0) {
		say(why, NULL, "no chain runs (acp-conduct --control)");
	} else if (found > 1) {
		say_several(paths, fds, n, deadline, why);
	} else {
		fd = fds[last];
		fds[last] = -1;
		*which = paths[last];
	}
	for (i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
	return fd;
}

/* The same in the directory where chains are found. */
static int
connect_auto(uint64_t deadline, char **name, char **why)
{
	char *directory = rendezvous_directory(), **paths = NULL;
	const char *wrong, *which;
	int fd = -1;

	if (!directory)
		return -1;
	if (rendezvous_check(directory, false, &wrong) == 0)
		paths = rendezvous_paths(directory);
	else if (errno == ENOENT)
		say(why, NULL, "no chain runs (acp-conduct --control)");
	else
		say(why, directory, wrong);
	if (paths)
		fd = only_one(paths, deadline, &which, why);
	if (fd >= 0 && !(*name = strdup(which))) {
		close(fd);
		fd = -1;
	}
	rendezvous_free(paths);
	free(directory);
	return fd;
}

static int
connect_to(const char *path, char **name, char **why)
{
	int fd = socket_try(path);

	if (fd >= 0) {
		*name = strdup(path);
		return fd;
	}
	if (errno == ECONNREFUSED)
		return say(why, path, "no chain runs there any more");
	return say(why, path, would_wait() ? "the conductor does not answer" : strerror(errno));
}

/* --- watching and joining --- */

static int
put_question(enum attach_want want, const char *hop, struct buf *to)
{
	struct json_error error;
	bool number = hop && json_scan(slice_of(hop), 1, NULL, 0, NULL, &error) == JSON_NUMBER;
	int r = buf_printf(to, "{\"want\":\"%s\"", want == ATTACH_JOIN ? "join" : "watch");

	if (r == 0 && hop)
		r = -(buf_add_string(to, ",\"hop\":") || (number ? buf_add_string(to, hop) : json_quote(slice_of(hop), to)));
	return r == 0 ? buf_add_string(to, "}\n") : r;
}

/* What the conductor says; passed is -1 afterwards where it was taken. */
static int
read_answer(struct attached *a, const char *name, struct slice answer, int *passed, char **why)
{
	static const char *const keys[] = {"error", "hop"};
	struct json_error error;
	struct buf text = {0};
	struct slice v[2];

	if (json_scan(answer, JSON_DEPTH, keys, 2, v, &error) != JSON_OBJECT)
		return say(why, name, "no conductor: its answer is not a JSON object");
	if (v[0].p && json_type(v[0]) == JSON_STRING) {
		if (json_unescape(v[0], &text) == 0 && buf_string(&text))
			say(why, NULL, text.p);
		buf_free(&text);
		return -1;
	}
	if (*passed < 0)
		return say(why, name, "the conductor's answer came without a descriptor");
	*a = (struct attached){.fd = *passed};
	if (v[1].p && json_type(v[1]) == JSON_NUMBER)
		json_u64(v[1], &a->hop);
	*passed = -1;
	return 0;
}

int
attach_open(struct attached *a, const char *where, enum attach_want want, const char *hop, char **why)
{
	uint64_t deadline = loop_clock() + PATIENCE;
	struct buf question = {0}, answer = {0};
	char *name = NULL;
	const char *wrong;
	int fd, passed = -1, r = -1;

	*why = NULL;
	if (strcmp(where, auto_word) == 0)
		fd = connect_auto(deadline, &name, why);
	else
		fd = connect_to(where, &name, why);
	if (fd >= 0 && name && put_question(want, hop, &question) == 0) {
		wrong = ask(fd, buf_slice(&question), &answer, &passed, deadline);
		r = wrong ? say(why, name, wrong) : read_answer(a, name, buf_slice(&answer), &passed, why);
	}
	if (passed >= 0)
		close(passed);
	if (fd >= 0)
		close(fd);
	free(name);
	buf_free(&question);
	buf_free(&answer);
	return r;
}
