/* attach: whatever acp-share responds, the caller gets one descriptor or one reason, and nothing stays open. */
#include "lib/attach/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/run/proc.h"
#include "lib/run/socket.h"
#include "tests/unit/check.h"

static size_t
open_descriptors(void)
{
	DIR *d = opendir("/dev/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Accepts one connection, reads its request, responds and ends. passes: the response brings a descriptor. */
static void
respond(int listener, const char *response, bool passes)
{
	int fd, null = open("/dev/null", O_RDWR);
	char request[200];

	if (fcntl(listener, F_SETFL, 0) < 0 || (fd = accept(listener, NULL, NULL)) < 0)
		_exit(1);
	if (read(fd, request, sizeof(request)) <= 0)
		_exit(2);
	_exit(socket_send(fd, slice_of(response), passes ? null : -1) < 0 && response[0]);
}

static void
one(const char *response, bool passes, const char *want_why, uint64_t want_hop)
{
	size_t before = open_descriptors();
	int listener = socket_listen("share"), status, r;
	struct attached a = {.fd = -1};
	char *why = NULL;
	pid_t pid;

	CHECK(listener >= 0);
	pid = fork();
	if (pid == 0)
		respond(listener, response, passes);
	r = attach_open(&a, "share", ATTACH_WATCH, "5", &why);
	CHECK(r == (want_why ? -1 : 0));
	CHECK_STR(why, want_why);
	if (r == 0)
		CHECK(a.hop == want_hop && fcntl(a.fd, F_GETFD) == FD_CLOEXEC && close(a.fd) == 0);
	free(why);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(listener);
	unlink("share");
	CHECK(open_descriptors() == before);
}

int
main(void)
{
	CHECK(chdir(check_folder()) == 0);
	one("{\"hop\":7}\n", true, NULL, 7);
	one("{}\n", true, NULL, 0);
	one("{\"hop\":7}\n", false, "share: the response of acp-share came without a descriptor", 0);
	one("{\"error\":\"full\"}\n", false, "full", 0);
	one("{\"error\":\"full\"}\n", true, "full", 0);
	one("[]\n", true, "share: not acp-share: its response is not a JSON object", 0);
	one("{\"hop\":7}", true, "share: not acp-share: its response has no end", 0);
	one("", false, "share: it closed the connection without a response: only the user who shares a stream can join it", 0);
	CHECK(chdir("/") == 0);
	return check_done();
}
