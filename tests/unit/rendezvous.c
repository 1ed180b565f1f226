/* rendezvous: a directory that can be trusted, and in it only what listens. */
#include "lib/attach/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/run/directory.h"
#include "tests/unit/check.h"

static const char *home;

static bool
is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* A name in the directory of chains. */
static const char *
inside(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/acp/%s", home, name);
	return path;
}

static void
where(void)
{
	char *directory, want[64];

	setenv("XDG_RUNTIME_DIR", "/run/somewhere", 1);
	directory = rendezvous_directory();
	CHECK_STR(directory, "/run/somewhere/acp");
	free(directory);
	unsetenv("XDG_RUNTIME_DIR");
	directory = rendezvous_directory();
	snprintf(want, sizeof(want), "/tmp/acp-%lu", (unsigned long)geteuid());
	CHECK_STR(directory, want);
	free(directory);
}

static void
trust(void)
{
	const char *why;
	struct stat st;

	CHECK(rendezvous_check("acp", false, &why) < 0 && errno == ENOENT && why);
	CHECK(rendezvous_check("acp", true, &why) == 0);
	CHECK(stat("acp", &st) == 0 && (st.st_mode & 07777) == 0700);
	CHECK(rendezvous_check("acp", true, &why) == 0 && rendezvous_check("acp", false, &why) == 0);
	CHECK(chmod("acp", 0750) == 0 && rendezvous_check("acp", true, &why) < 0 && strstr(why, "open to others"));
	CHECK(chmod("acp", 0700) == 0);
	/* Where a link leads is not looked at. */
	CHECK(symlink("acp", "link") == 0 && rendezvous_check("link", true, &why) < 0);
	CHECK_STR(why, "not a directory");
	CHECK(rendezvous_check("no/such", true, &why) < 0 && errno == ENOENT);
	if (geteuid() == 0 && chown("acp", 65534, 65534) == 0) {
		CHECK(rendezvous_check("acp", true, &why) < 0);
		CHECK_STR(why, "another user's");
		CHECK(chown("acp", 0, 0) == 0);
	}
}

static void
listening(void)
{
	int fd = rendezvous_listen("acp/7"), other, file;
	char text[200] = "";
	struct stat st;

	CHECK(fd >= 0 && stat("acp/7", &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0600);
	CHECK(st.st_nlink == 1);
	CHECK(rendezvous_listen("acp/7") < 0 && errno == EADDRINUSE);
	other = rendezvous_connect("acp/7");
	CHECK(other >= 0 && fcntl(other, F_GETFL) & O_NONBLOCK);
	close(other);
	/* Nobody listens any more: the next one takes its place. */
	close(fd);
	CHECK(is_there("acp/7"));
	fd = rendezvous_listen("acp/7");
	CHECK(fd >= 0);
	close(fd);
	CHECK(rendezvous_connect(inside("7")) < 0 && errno == ECONNREFUSED && !is_there("acp/7"));
	CHECK(rendezvous_connect(inside("7")) < 0 && errno == ENOENT);
	/* A file stays. */
	file = open("acp/file", O_CREAT | O_WRONLY, 0600);
	close(file);
	CHECK(rendezvous_listen("acp/file") < 0 && errno == EEXIST && is_there("acp/file"));
	CHECK(rendezvous_connect("acp/file") < 0 && is_there("acp/file"));
	CHECK(rendezvous_listen("no/such") < 0 && errno == ENOENT);
	memset(text, 'x', sizeof(text) - 1);
	CHECK(rendezvous_listen(text) < 0 && errno == ENAMETOOLONG && !is_there(text));
	unlink("acp/file");
}

/* Who listens at a socket that this process has just made is this process; how often it was not. */
static int
listen_often(void)
{
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof(peer);
	int i, fd, found, bad = 0;

	for (i = 0; i < 400; i++) {
		fd = rendezvous_listen("acp/7");
		if (fd < 0)
			continue;
		found = rendezvous_connect("acp/7");
		bad += found < 0 ? errno == ECONNREFUSED || errno == ENOENT :
			getsockopt(found, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.pid != getpid();
		close(found);
		close(fd);
	}
	return bad;
}

/* Several that find the same stale socket: none takes away what another has put there. */
static void
at_once(void)
{
	pid_t others[4];
	int i, status;

	for (i = 0; i < 4; i++)
		if ((others[i] = fork()) == 0)
			_exit(listen_often() > 0);
	for (i = 0; i < 4; i++)
		CHECK(waitpid(others[i], &status, 0) == others[i] && status == 0);
	unlink("acp/7");
}

/* While another holds the directory's lock, nobody removes a stale socket: its owner may be about to listen. */
static void
locked(void)
{
	int fd = rendezvous_listen("acp/7"), lock = open("acp", O_RDONLY | O_DIRECTORY), status;
	pid_t pids[2];

	close(fd);
	CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
	for (int i = 0; i < 2; i++)
		if ((pids[i] = fork()) == 0)
			_exit(i ? rendezvous_listen("acp/7") < 0 : (rendezvous_connect(inside("7")), 0));
	/* Time for a process that does not wait for the lock; one that waits needs none. */
	for (int i = 0; i < 50 && is_there("acp/7"); i++)
		usleep(5000);
	CHECK(is_there("acp/7") && waitpid(-1, &status, WNOHANG) == 0);
	CHECK(flock(lock, LOCK_UN) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
	close(lock);
	unlink("acp/7");
}

static void
links(void)
{
	char target[4200], near[4200];
	int fd = rendezvous_listen("far"), other;

	snprintf(target, sizeof(target), "%s/far", home);
	CHECK(fd >= 0 && rendezvous_link(target, "acp/8") == 0);
	/* It listens there itself now, so that one is not to be found twice. */
	CHECK(rendezvous_link(target, "acp/9") == 0 && !is_there("acp/8"));
	other = rendezvous_connect("acp/9");
	CHECK(other >= 0);
	close(other);
	other = rendezvous_listen("near");
	snprintf(near, sizeof(near), "%s/near", home);
	CHECK(other >= 0 && rendezvous_link(near, "acp/9") < 0 && errno == EADDRINUSE);
	close(other);
	unlink("near");
	close(fd);
	CHECK(rendezvous_link(target, "acp/9") == 0);
	CHECK(rendezvous_connect(inside("9")) < 0 && errno == ECONNREFUSED && !is_there("acp/9") && is_there("far"));
	/* One that leads nowhere. */
	CHECK(unlink("far") == 0 && symlink(target, "acp/9") == 0);
	CHECK(rendezvous_connect(inside("9")) < 0 && errno == ENOENT && !is_there("acp/9"));
}

static void
paths(void)
{
	int fds[3] = {rendezvous_listen("acp/10"), rendezvous_listen("acp/9"), rendezvous_listen("acp/.hidden")}, i;
	char **all = directory_paths("acp");

	CHECK(all);
	if (all) {
		CHECK_STR(all[0], "acp/9");
		CHECK_STR(all[1], "acp/10");
		CHECK(!all[2]);
	}
	directory_free(all);
	CHECK(!directory_paths("no such"));
	for (i = 0; i < 3; i++)
		close(fds[i]);
	unlink("acp/9");
	unlink("acp/10");
	unlink("acp/.hidden");
}

int
main(void)
{
	home = check_folder();
	CHECK(chdir(home) == 0);
	where();
	CHECK(setenv("XDG_RUNTIME_DIR", home, 1) == 0);
	trust();
	listening();
	at_once();
	locked();
	links();
	paths();
	CHECK(unlink("link") == 0 && rmdir("acp") == 0 && chdir("/") == 0);
	return check_done();
}
