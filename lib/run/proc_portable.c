/* What proc asks of any system. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/proc_parts.h"

/* Its pipes end, and a guardian ends the others. */
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

/* Has ps a member of the group that is no zombie? */
static bool
is_listed(pid_t group)
{
	FILE *ps = popen("exec ps -A -o pgid= -o stat=", "r");
	bool found = false;
	char state;
	long of;

	if (!ps)
		return true;
	while (fscanf(ps, "%ld %c%*[^\n]", &of, &state) >= 2)
		found = found || (of == group && state != 'Z');
	return pclose(ps) != 0 || found;
}

/* A zombie that we have to reap hides whether there are others: then ps is asked. Init reaps the other zombies soon. */
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

/* What is the program called that has this function? */
char *
proc_self(void)
{
	char *(*here)(void) = proc_self;
	char *path, *self;
	Dl_info info;
	void *at;

	memcpy(&at, &here, sizeof(at));
	if (!dladdr(at, &info) || !info.dli_fname)
		return NULL;
	path = strchr(info.dli_fname, '/') ? strdup(info.dli_fname) : cli_in_path(info.dli_fname);
	self = path ? realpath(path, NULL) : NULL;
	free(path);
	return self;
}
