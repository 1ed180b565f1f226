/* rendezvous: a directory that can be trusted, and in it only what listens. */
#include "lib/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char home[] = "/tmp/rendezvous-XXXXXX";

static bool
is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
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
	CHECK(rendezvous_connect("acp/7") < 0 && errno == ECONNREFUSED && !is_there("acp/7"));
	CHECK(rendezvous_connect("acp/7") < 0 && errno == ECONNREFUSED);
	/* A file stays. */
	file = open("acp/file", O_CREAT | O_WRONLY, 0600);
	close(file);
	CHECK(rendezvous_listen("acp/file") < 0 && errno == EEXIST && is_there("acp/file"));
	CHECK(rendezvous_connect("acp/file") < 0 && is_there("acp/file"));
	CHECK(rendezvous_listen("no/such") < 0 && errno == ENOENT);
	unlink("acp/file");
}

static void
links(void)
{
	char target[128];
	int fd = rendezvous_listen("far"), other;

	snprintf(target, sizeof(target), "%s/far", home);
	CHECK(fd >= 0 && rendezvous_link(target, "acp/9") == 0);
	CHECK(rendezvous_link(target, "acp/9") < 0 && errno == EADDRINUSE);
	other = rendezvous_connect("acp/9");
	CHECK(other >= 0);
	close(other);
	close(fd);
	CHECK(rendezvous_link(target, "acp/9") == 0);
	CHECK(rendezvous_connect("acp/9") < 0 && errno == ECONNREFUSED && !is_there("acp/9") && is_there("far"));
	/* One that leads nowhere. */
	CHECK(unlink("far") == 0 && symlink(target, "acp/9") == 0);
	CHECK(rendezvous_connect("acp/9") < 0 && errno == ECONNREFUSED && !is_there("acp/9"));
}

static void
paths(void)
{
	int fds[3] = {rendezvous_listen("acp/10"), rendezvous_listen("acp/9"), rendezvous_listen("acp/.hidden")}, i;
	char **all = rendezvous_paths("acp");

	CHECK(all);
	if (all) {
		CHECK_STR(all[0], "acp/9");
		CHECK_STR(all[1], "acp/10");
		CHECK(!all[2]);
	}
	rendezvous_free(all);
	CHECK(!rendezvous_paths("no such"));
	for (i = 0; i < 3; i++)
		close(fds[i]);
	unlink("acp/9");
	unlink("acp/10");
	unlink("acp/.hidden");
}

int
main(void)
{
	CHECK(mkdtemp(home) && chdir(home) == 0);
	where();
	trust();
	listening();
	links();
	paths();
	CHECK(unlink("link") == 0 && rmdir("acp") == 0 && chdir("/") == 0 && rmdir(home) == 0);
	return check_done();
}
