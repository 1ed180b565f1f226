/*
 * check: what the unit tests share. A test is one file with a main that ends in
 * `return check_done();`.
 */
#ifndef CHECK_H
#define CHECK_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is what is tested the form for any system (PORTABLE=1)? */
#ifdef MISSING_H
enum { CHECK_PORTABLE = 1 };
#else
enum { CHECK_PORTABLE = 0 };
#endif

static size_t check_passed;
static size_t check_failed;

/* Counts; tells the first hundred failures on stderr. Returns ok. */
static inline bool
check_that(bool ok, const char *file, int line, const char *text)
{
	if (ok) {
		check_passed++;
		return true;
	}
	if (++check_failed <= 100)
		fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
	return false;
}

/* The same for two texts, which a failure shows. */
static inline bool
check_same(const char *is, const char *want, const char *file, int line, const char *text)
{
	bool ok = is && want ? strcmp(is, want) == 0 : is == want;

	if (!check_that(ok, file, line, text) && check_failed <= 100)
		fprintf(stderr, "\tis:   %s\n\twant: %s\n", is ? is : "(nothing)",
			want ? want : "(nothing)");
	return ok;
}

#define CHECK(ok) check_that((ok), __FILE__, __LINE__, #ok)
#define CHECK_STR(is, want) check_same((is), (want), __FILE__, __LINE__, #is)

/* How many cases: quick in `make test`, full in `make test-all`. */
static inline int
check_sample(int quick, int full)
{
	return getenv("ACP_TEST_FULL") ? full : quick;
}

static char check_path[4096];

/* A folder below TMPDIR for the test's files; check_done removes it. */
static inline const char *
check_folder(void)
{
	const char *above = getenv("TMPDIR");

	if (!check_path[0]) {
		snprintf(check_path, sizeof(check_path), "%s/acp-unit-XXXXXX", above && above[0] ? above : "/tmp");
		if (!mkdtemp(check_path)) {
			perror(check_path);
			exit(1);
		}
	}
	return check_path;
}

static inline int
check_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

/* The last line and the exit status of a test. */
static inline int
check_done(void)
{
	if (check_path[0])
		CHECK(nftw(check_path, check_remove, 8, FTW_DEPTH | FTW_PHYS) == 0);
	printf("%zu passed, %zu failed\n", check_passed, check_failed);
	return check_failed != 0;
}

#endif
