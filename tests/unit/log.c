/* log: whole records only, and nothing that happens to the log stops its user. */
#include "lib/run/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char path[8192], contents[8 * 1024 * 1024];

static const char *
in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", check_folder(), name);
	return path;
}

static const char *
read_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, contents, sizeof(contents) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return NULL;
	contents[n] = '\0';
	return contents;
}

static void
write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int
begin(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	(*(int *)arg)++;
	if (resumed)
		return buf_printf(to, "lost %d: %s\n", (int)lost, why);
	return buf_add_string(to, "header\n");
}

static int begun;
static char *why;

static struct log *
open_log(const char *name, bool append)
{
	struct log_spec spec = {.path = name, .append = append, .begin = begin, .arg = &begun};
	struct log *l = log_open(&spec, &why);

	CHECK(l != NULL);
	if (!l)
		exit(check_done() || 1);
	return l;
}

static void
add(struct log *l, const char *text)
{
	log_add(l, slice_of(text));
}

static void
test_truncates_or_appends(void)
{
	const char *name = in_dir("file");
	struct stat st;
	struct log *l;

	l = open_log(name, false);
	add(l, "one\n");
	CHECK(buf_add_string(log_buf(l), "two") == 0 && buf_add_string(log_buf(l), "\n") == 0);
	log_end_record(l);
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(name), "header\none\ntwo\n");
	CHECK(stat(name, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(log_waiting(l) == -1);
	add(l, "three\n");
	CHECK(log_close(l, 0) == 0);
	CHECK_STR(read_file(name), "header\none\ntwo\nthree\n");

	l = open_log(name, true);
	CHECK(log_close(l, 0) == 0);
	CHECK_STR(read_file(name), "header\none\ntwo\nthree\nheader\n");
	write_file(name, "old\nto");
	CHECK(log_close(open_log(name, true), 0) == 0);
	CHECK_STR(read_file(name), "old\nto\nheader\n");
	CHECK(log_close(open_log(name, false), 0) == 0);
	CHECK_STR(read_file(name), "header\n");
}

static void
test_one_write_for_all(void)
{
	const char *name = in_dir("fifo-one");
	struct log *l;
	char text[64];
	int fd;

	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	l = open_log(name, false);
	add(l, "a\n");
	add(l, "b\n");
	CHECK(log_flush(l) == 0);
	CHECK(read(fd, text, sizeof(text)) == 11 && memcmp(text, "header\na\nb\n", 11) == 0);
	CHECK(log_close(l, 0) == 0);
	close(fd);
}

static void
test_what_is_not_marked_is_discarded(void)
{
	const char *name = in_dir("marks");
	struct log *l = open_log(name, false);
	char want[128];

	CHECK(buf_add_string(log_buf(l), "half") == 0);
	add(l, "whole\n");
	CHECK(buf_add_string(log_buf(l), "half") == 0);
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(name), "header\nwhole\n");
	log_end_record(l); /* nothing: it could not be built */
	CHECK(log_lost(l) == 1);
	CHECK(log_flush(l) == -1 && errno == ENOMEM);
	add(l, "next\n");
	CHECK(log_flush(l) == 0);
	CHECK(log_close(l, 0) == -1 && errno == ENOMEM);
	snprintf(want, sizeof(want), "header\nwhole\nlost 1: %s\nnext\n", strerror(ENOMEM)); /* each libc has its own words */
	CHECK_STR(read_file(name), want);
}

/* It cannot be opened: why it says so is all but the directory. */
static void
refused(struct log_spec spec, const char *want)
{
	CHECK(log_open(&spec, &why) == NULL);
	CHECK_STR(why ? strrchr(why, '/') + 1 : "", want);
	free(why);
}

static void
test_one_writer(void)
{
	const char *name = in_dir("locked");
	struct log *l = open_log(name, false);

	add(l, "one\n");
	CHECK(log_flush(l) == 0);
	refused((struct log_spec){.path = name, .append = true}, "locked: it is already being written");
	refused((struct log_spec){.path = name}, "locked: it is already being written");
	CHECK(log_close(l, 0) == 0);
	CHECK_STR(read_file(name), "header\none\n");
	CHECK(log_close(open_log(name, true), 0) == 0);
	refused((struct log_spec){.path = "/nonexistent/file"}, "file: No such file or directory");
}

static void
test_an_input_is_no_output(void)
{
	char name[4096], other[4096];
	char *inputs[] = {name, NULL};
	int saved = dup(STDIN_FILENO), fd;

	snprintf(name, sizeof(name), "%s", in_dir("input"));
	snprintf(other, sizeof(other), "%s", in_dir("other"));
	write_file(name, "kept\n");
	CHECK(link(name, other) == 0);
	refused((struct log_spec){.path = other, .inputs = inputs}, "other: it is also an input");
	refused((struct log_spec){.path = name, .append = true, .inputs = inputs}, "input: it is also an input");
	fd = open(name, O_RDONLY);
	CHECK(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	refused((struct log_spec){.path = other}, "other: it is also an input");
	dup2(saved, STDIN_FILENO);
	CHECK_STR(read_file(name), "kept\n");
	CHECK(log_close(open_log(other, false), 0) == 0);
	close(saved);
	close(fd);
}

static void
test_name_is_expanded(void)
{
	char want[4096], year[32];
	struct log_spec spec = {.append = false};
	time_t now = time(NULL);
	struct tm tm;
	struct log *l;

	CHECK(localtime_r(&now, &tm) && strftime(year, sizeof(year), "%Y", &tm));
	spec.path = in_dir("x%%p-%p-%Y%%");
	snprintf(want, sizeof(want), "%s/x%%p-%ld-%s%%", check_folder(), (long)getpid(), year);
	l = log_open(&spec, &why);
	CHECK(l != NULL);
	CHECK_STR(log_name(l), want);
	CHECK(l && log_close(l, 0) == 0);
	CHECK(access(want, F_OK) == 0);
}

static void
test_reopen(void)
{
	const char *name = in_dir("rotate");
	char moved[4096];
	struct log *l = open_log(name, true);

	snprintf(moved, sizeof(moved), "%s.1", name);
	add(l, "one\n");
	CHECK(log_reopen(l, &why) == 0); /* still the same file: nothing to do */
	add(l, "two\n");
	CHECK(rename(name, moved) == 0);
	CHECK(log_reopen(l, &why) == 0);
	add(l, "three\n");
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(moved), "header\none\ntwo\n");
	CHECK_STR(read_file(name), "header\nthree\n");
	CHECK(unlink(name) == 0 && mkdir(name, 0700) == 0);
	CHECK(log_reopen(l, &why) == -1);
	CHECK_STR(strrchr(why, ':'), ": Is a directory");
	free(why);
	add(l, "four\n");
	CHECK(rmdir(name) == 0 && log_reopen(l, &why) == 0);
	CHECK(log_close(l, 0) == 0);
	CHECK_STR(read_file(name), "header\n");
}

static void
test_reopen_of_a_truncated_log_keeps_what_is_there(void)
{
	const char *name = in_dir("rotate-truncated");
	struct log *l = open_log(name, false);

	add(l, "one\n");
	CHECK(log_reopen(l, &why) == 0);
	add(l, "two\n");
	CHECK(log_close(l, 0) == 0);
	CHECK_STR(read_file(name), "header\none\ntwo\n");
}

static void
limit_files(rlim_t most)
{
	struct rlimit r;

	CHECK(getrlimit(RLIMIT_FSIZE, &r) == 0);
	r.rlim_cur = most;
	CHECK(setrlimit(RLIMIT_FSIZE, &r) == 0);
}

static void
test_full_disk(void)
{
	const char *name = in_dir("full");
	struct log *l = open_log(name, false);

	limit_files(20);
	add(l, "0123456789\n");
	add(l, "abcdefghij\n"); /* has room in part */
	add(l, "x\n");          /* would have room, but order is order */
	CHECK(log_flush(l) == -1 && errno == EFBIG);
	CHECK(log_lost(l) == 2);
	CHECK_STR(log_why(l), "File too large");
	CHECK_STR(read_file(name), "header\n0123456789\n");
	add(l, "y\n");
	CHECK(log_flush(l) == 0); /* it is said once */
	CHECK(log_lost(l) == 3);
	CHECK_STR(read_file(name), "header\n0123456789\n");
	limit_files(RLIM_INFINITY);
	add(l, "z\n");
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(name), "header\n0123456789\nlost 3: File too large\nz\n");
	CHECK(log_close(l, 0) == -1 && errno == EFBIG);
}

static void
test_header_without_room_is_written_later(void)
{
	const char *name = in_dir("full-header");
	struct log *l = open_log(name, false);

	limit_files(3);
	add(l, "a\n");
	CHECK(log_flush(l) == -1);
	CHECK(log_lost(l) == 1);
	CHECK_STR(read_file(name), "");
	limit_files(RLIM_INFINITY);
	add(l, "b\n");
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(name), "header\nlost 1: File too large\nb\n");
	CHECK(log_close(l, 0) == -1);
}

static void
test_what_was_lost_is_told_at_the_end_at_last(void)
{
	const char *name = in_dir("full-end");
	struct log *l = open_log(name, false);

	CHECK(log_flush(l) == 0);
	limit_files(7);
	add(l, "a\n");
	CHECK(log_flush(l) == -1);
	limit_files(RLIM_INFINITY);
	CHECK(log_close(l, 0) == -1);
	CHECK_STR(read_file(name), "header\nlost 1: File too large\n");
}

static void
test_half_a_record_is_ended_where_it_can_not_be_cut(void)
{
	const char *name = in_dir("uncut");
	struct log *l;
	int saved = dup(STDERR_FILENO), fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct log_spec spec = {.begin = begin, .arg = &begun};

	/* Standard error is a file that is not ours to cut. */
	CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
	l = log_open(&spec, &why);
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK(l != NULL);
	limit_files(10);
	add(l, "abcdefghij\n");
	CHECK(log_flush(l) == -1 && errno == EFBIG);
	limit_files(RLIM_INFINITY);
	CHECK_STR(read_file(name), "header\nabc");
	add(l, "k\n");
	CHECK(log_flush(l) == 0);
	CHECK_STR(read_file(name), "header\nabc\nlost 1: File too large\nk\n");
	CHECK(log_close(l, 0) == -1);
}

static void
test_dev_full(void)
{
	struct log *l = open_log("/dev/full", false);

	add(l, "a\n");
	CHECK(log_flush(l) == -1 && errno == ENOSPC);
	add(l, "b\n");
	CHECK(log_flush(l) == 0);
	CHECK(log_lost(l) == 2);
	CHECK_STR(log_why(l), "No space left on device");
	CHECK(log_close(l, 0) == -1 && errno == ENOSPC);
	l = open_log("/dev/full", false);
	CHECK(log_close(l, 0) == -1 && errno == ENOSPC); /* not even the header */
	l = open_log("/dev/null", false);
	add(l, "a\n");
	CHECK(log_flush(l) == 0 && log_waiting(l) == -1);
	CHECK(log_close(l, 0) == 0);
}

static size_t
read_all(int fd, char *to, size_t cap)
{
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, to + n, cap - n)) > 0)
		n += (size_t)r;
	return n;
}

/* A record of n bytes, its number in front. */
static void
add_big(struct log *l, size_t n, int number)
{
	char *p = malloc(n);

	CHECK(p != NULL);
	if (!p)
		return;
	memset(p, '.', n);
	p[0] = (char)('0' + number);
	p[n - 1] = '\n';
	log_add(l, slice(p, n));
	free(p);
}

static void
test_slow_reader(void)
{
	const char *name = in_dir("slow");
	static char text[8 * 1024 * 1024];
	struct log *l;
	size_t n, big = 400 * 1024, i = 0;
	int fd;

	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	l = open_log(name, false);
	CHECK(fcntl(fd, F_GETPIPE_SZ) < (int)big);
	add_big(l, big, 0);
	CHECK(log_flush(l) == 0); /* the pipe is full, in the middle of a record */
	CHECK(log_waiting(l) >= 0);
	add_big(l, big, 1);
	CHECK(log_flush(l) == 0);
	add_big(l, big, 2);
	add_big(l, big, 3);
	CHECK(log_flush(l) == -1 && errno == EAGAIN);
	CHECK(log_lost(l) == 2);
	add_big(l, big, 4);
	CHECK(log_flush(l) == 0);
	CHECK(log_lost(l) == 3);
	n = 0;
	while (log_waiting(l) >= 0) {
		n += read_all(fd, text + n, sizeof(text) - n);
		CHECK(log_flush(l) == 0);
	}
	add(l, "end\n");
	CHECK(log_flush(l) == 0);
	n += read_all(fd, text + n, sizeof(text) - n);
	CHECK(memcmp(text, "header\n", 7) == 0);
	for (i = 7; i + big <= n && text[i] != 'l'; i += big) {
		CHECK(text[i] == (char)('0' + (i - 7) / big));
		CHECK(text[i + big - 1] == '\n');
	}
	text[n] = '\0';
	CHECK(i == 7 + 2 * big);
	CHECK_STR(text + i, "lost 3: its reader is too slow\nend\n");
	CHECK(log_close(l, 0) == -1 && errno == EAGAIN);
	close(fd);
}

static void
test_a_record_longer_than_the_queue_goes_out_alone(void)
{
	const char *name = in_dir("longer");
	static char text[8 * 1024 * 1024];
	struct log *l;
	size_t n = 0, big = 3 * 1024 * 1024;
	int fd;

	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	l = open_log(name, false);
	add_big(l, big, 0);
	(void)log_flush(l);
	while (log_waiting(l) >= 0) {
		n += read_all(fd, text + n, sizeof(text) - n);
		(void)log_flush(l);
	}
	CHECK(log_close(l, 0) == 0);
	n += read_all(fd, text + n, sizeof(text) - n);
	CHECK(n == big + 7 && text[7] == '0' && text[n - 1] == '\n');
	close(fd);
}

static void
test_reader_that_leaves(void)
{
	const char *name = in_dir("leaves");
	struct log *l;
	int fd;

	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	l = open_log(name, false);
	add(l, "a\n");
	CHECK(log_flush(l) == 0);
	close(fd);
	add(l, "b\n");
	CHECK(log_flush(l) == -1 && errno == EPIPE);
	add(l, "c\n");
	CHECK(log_flush(l) == 0 && log_waiting(l) == -1);
	CHECK(log_lost(l) == 2);
	CHECK(log_close(l, 1000) == -1 && errno == EPIPE);
}

static void
test_fifo_without_a_reader_is_opened_when_one_comes(void)
{
	const char *name = in_dir("late");
	struct log *l;
	char text[64];
	int fd;

	CHECK(mkfifo(name, 0600) == 0);
	l = open_log(name, false);
	add(l, "a\n");
	CHECK(log_flush(l) == 0 && log_waiting(l) == -1);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	add(l, "b\n");
	CHECK(log_flush(l) == 0);
	CHECK(read(fd, text, sizeof(text)) == 11 && memcmp(text, "header\na\nb\n", 11) == 0);
	CHECK(log_close(l, 0) == 0);
	close(fd);
	l = open_log(name, false);
	add(l, "a\n");
	CHECK(log_close(l, 1000) == -1 && errno == EAGAIN);
}

/* The flags of the description that standard error shares with others stay as they are. */
static void
test_stderr_is_never_waited_for(void)
{
	int saved = dup(STDERR_FILENO), fds[2];
	struct log_spec spec = {.begin = NULL};
	struct log *l;

	CHECK(pipe(fds) == 0 && dup2(fds[1], STDERR_FILENO) == STDERR_FILENO);
	close(fds[1]);
	l = log_open(&spec, &why);
	CHECK(l != NULL);
	CHECK((fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK_STR(log_name(l), "standard error");
	add_big(l, 3 * 1024 * 1024, 0);
	add_big(l, 10, 1);
	CHECK(log_flush(l) == -1 && errno == EAGAIN);
	CHECK(log_lost(l) == 1);
	CHECK(log_reopen(l, &why) == 0);
	close(fds[0]);
	CHECK(log_flush(l) == 0);
	CHECK(log_lost(l) == 2);
	CHECK(log_close(l, 0) == -1);
}

static void
test_close_waits_for_a_reader_that_reads(void)
{
	const char *name = in_dir("waits");
	size_t big = 512 * 1024, n = 0;
	struct log *l;
	int fd, status = -1;
	pid_t pid;

	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	l = open_log(name, false);
	add_big(l, big, 0);
	CHECK(log_flush(l) == 0 && log_waiting(l) >= 0);
	pid = fork();
	if (pid == 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		while (n < big + strlen("header\n") && poll(&p, 1, -1) == 1)
			n += read_all(fd, contents + n, sizeof(contents) - n);
		_exit(contents[0] == 'h' && contents[n - 1] == '\n' ? 0 : 1);
	}
	CHECK(log_close(l, 1000 * 1000) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(fd);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	test_truncates_or_appends();
	test_one_write_for_all();
	test_what_is_not_marked_is_discarded();
	test_one_writer();
	test_an_input_is_no_output();
	test_name_is_expanded();
	test_reopen();
	test_reopen_of_a_truncated_log_keeps_what_is_there();
	test_full_disk();
	test_header_without_room_is_written_later();
	test_what_was_lost_is_told_at_the_end_at_last();
	test_half_a_record_is_ended_where_it_can_not_be_cut();
	test_dev_full();
	test_slow_reader();
	test_a_record_longer_than_the_queue_goes_out_alone();
	test_reader_that_leaves();
	test_fifo_without_a_reader_is_opened_when_one_comes();
	test_stderr_is_never_waited_for();
	test_close_waits_for_a_reader_that_reads();
	return check_done();
}
