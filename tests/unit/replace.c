/* replace: a file's new contents take its place whole, and two processes do not replace one file. */
#include "lib/run/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char *why;

static void
write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
	close(fd);
}

static const char *
read_file(const char *name)
{
	static char text[64];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return fd < 0 ? "(none)" : text;
}

static mode_t
mode_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void
put(struct replace *r, const char *text)
{
	CHECK(replace_begin(r, 0644) == 0);
	CHECK(write(r->fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void
test_keeps_mode_link_and_the_old_file(void)
{
	struct replace r;

	write_file("file", "old", 0640);
	CHECK(symlink("file", "link") == 0);
	CHECK(replace_open(&r, "link", NULL, &why) == 0);
	put(&r, "new");
	CHECK_STR(read_file("file"), "old");
	CHECK(replace_end(&r, true) == 0);
	replace_close(&r);
	CHECK_STR(read_file("file"), "new");
	CHECK_STR(read_file("file~"), "old");
	CHECK_STR(read_file("link"), "new");
	CHECK(mode_of("file") == 0640 && mode_of("file~") == 0640);
}

static void
test_a_copy_that_is_given_up_is_removed(void)
{
	struct replace r;
	char copy[4096];

	CHECK(replace_open(&r, "file", NULL, &why) == 0);
	put(&r, "lost");
	snprintf(copy, sizeof(copy), "%s", r.copy);
	CHECK_STR(read_file(copy), "lost");
	replace_close(&r);
	CHECK(access(copy, F_OK) < 0);
	CHECK_STR(read_file("file"), "new");
}

static void
test_again_and_again_under_one_lock(void)
{
	struct replace r, second;

	umask(022);
	CHECK(replace_open(&r, "fresh", NULL, &why) == 0);
	CHECK(replace_open(&second, "fresh", NULL, &why) == 0);
	put(&r, "one");
	CHECK(replace_end(&r, false) == 0);
	CHECK(mode_of("fresh") == 0644);
	/* It was there first, but has replaced nothing. */
	CHECK(replace_begin(&second, 0644) == -1 && errno == EWOULDBLOCK);
	replace_close(&second);
	put(&r, "two");
	CHECK(replace_end(&r, false) == 0);
	CHECK(replace_open(&second, "fresh", NULL, &why) == -1);
	CHECK_STR(why, "fresh: it is already being written");
	free(why);
	replace_close(&r);
	CHECK_STR(read_file("fresh"), "two");
	CHECK(access("fresh~", F_OK) < 0);
	CHECK(replace_open(&second, "fresh", NULL, &why) == 0);
	replace_close(&second);
}

static void
test_what_is_refused(void)
{
	char *const inputs[] = {(char[]){"link"}, NULL};
	int fd = open("removed", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct replace r;
	char path[64];

	CHECK(replace_open(&r, "file", inputs, &why) == -1);
	CHECK_STR(why, "file: it is also an input");
	free(why);
	CHECK(replace_open(&r, "/dev/null", NULL, &why) == -1);
	CHECK_STR(why, "/dev/null: it is not a regular file");
	free(why);
	/* A link to what has no name any more: the link stays. */
	if (access("/proc/self/fd", F_OK) == 0) {
		CHECK(fd >= 0 && unlink("removed") == 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		CHECK(symlink(path, "open") == 0 && replace_open(&r, "open", NULL, &why) == -1);
		CHECK_STR(why, "open: it is not a regular file");
		free(why);
	}
	close(fd);
	CHECK(replace_open(&r, "nowhere/file", NULL, &why) == 0 && replace_begin(&r, 0600) == -1 && errno == ENOENT);
	replace_close(&r);
}

int
main(void)
{
	CHECK(chdir(check_folder()) == 0);
	test_keeps_mode_link_and_the_old_file();
	test_a_copy_that_is_given_up_is_removed();
	test_again_and_again_under_one_lock();
	test_what_is_refused();
	return check_done();
}
