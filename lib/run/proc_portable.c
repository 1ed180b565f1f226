/* The functions of proc that differ between systems, for systems other than Linux. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/proc_parts.h"

/* POSIX has no such signal. A child sees its pipes end, and a guardian ends the children that do not leave. */
void
proc_die_with_parent(int signal)
{
	(void)signal;
}

bool
proc_close_range(bool at_exec)
{
	(void)at_exec;
	return false;
}

/* Does ps list a process of the group that is no zombie? True where ps fails. */
static bool
is_listed(pid_t group)
{
	FILE *ps = popen("exec ps -A -o pgid= -o stat=", "r");
	bool found = false;
	char state;
	long its_group;

	if (!ps)
		return true;
	while (fscanf(ps, "%ld %c%*[^\n]", &its_group, &state) >= 2)
		found = found || (its_group == group && state != 'Z');
	return pclose(ps) != 0 || found;
}

/* Where the leader is a zombie that we have not reaped, kill succeeds even for an otherwise empty group: then ps decides. */
bool
proc_group_lives(pid_t group)
{
	siginfo_t info = {.si_pid = 0};

	if (group <= 1 || kill(-group, 0) < 0)
		return false;
	if (waitid(P_PID, (id_t)group, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return true;
	return is_listed(group);
}

bool
proc_is_awake(pid_t pid)
{
	(void)pid;
	return false;
}

/* The dynamic linker knows the file that this function was loaded from. */
char *
proc_self(void)
{
	char *(*here)(void) = proc_self;
	char *path, *self;
	Dl_info info;
	void *address;

	memcpy(&address, &here, sizeof(address));
	if (!dladdr(address, &info) || !info.dli_fname)
		return NULL;
	path = strchr(info.dli_fname, '/') ? strdup(info.dli_fname) : cli_in_path(info.dli_fname);
	self = path ? realpath(path, NULL) : NULL;
	free(path);
	return self;
}
