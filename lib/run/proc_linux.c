/* The functions of proc that differ between systems, for Linux. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/run/proc_parts.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

void
proc_die_with_parent(int signal)
{
	prctl(PR_SET_PDEATHSIG, signal);
}

bool
proc_close_range(bool at_exec)
{
#ifdef SYS_close_range
	return syscall(SYS_close_range, 3u, ~0u, at_exec ? CLOSE_RANGE_CLOEXEC : 0u) == 0;
#else
	(void)at_exec;
	return false;
#endif
}

/* Reads the state and the group of a process, which is a directory of /proc. A process that has ended has the state Z or X. */
static char
state_of(const char *process, long *group)
{
	char path[300], stat[512], *p, state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X';
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	stat[n < 0 ? 0 : n] = '\0';
	/* PID (NAME) STATE PARENT GROUP: the name may have a ')', too. */
	p = strrchr(stat, ')');
	return p && sscanf(p, ") %c %*d %ld", &state, group) == 2 ? state : 'X';
}

bool
proc_group_lives(pid_t group)
{
	struct dirent *entry;
	bool lives = false;
	long its_group;
	DIR *dir;

	if (group <= 1 || (kill(-group, 0) < 0 && errno != EPERM))
		return false;
	dir = opendir("/proc");
	if (!dir)
		return true;
	while (!lives && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			lives = !strchr("ZX", state_of(entry->d_name, &its_group)) && its_group == group;
	closedir(dir);
	return lives;
}

bool
proc_is_awake(pid_t pid)
{
	char process[32];
	long group;

	snprintf(process, sizeof(process), "%ld", (long)pid);
	return pid > 0 && !strchr("ZXSI", state_of(process, &group));
}

char *
proc_self(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	return n < 0 ? NULL : strndup(path, (size_t)n);
}
