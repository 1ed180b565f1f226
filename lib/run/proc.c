#include "lib/run/proc_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/base/cli.h"
#include "lib/run/io.h"

enum { PIPE_LOWEST = 8 }; /* above the descriptors 6 and 7 of a link */

/* --- starting --- */

/* In the child: the program gets our environment with what spec changes in it. */
static int
set_environment(const struct proc_spec *spec)
{
	char pid[3 * sizeof(pid_t) + 1];

	unsetenv("PROTO");
	unsetenv("ACP_RESTARTED");
	for (char *const *variable = spec->variables; variable && *variable; variable++)
		if (putenv(*variable) != 0)
			return -1;
	if (spec->ucspi && setenv("PROTO", "ACP", 1) < 0)
		return -1;
	snprintf(pid, sizeof(pid), "%ld", (long)spec->first_pid);
	return spec->first_pid ? setenv("ACP_RESTARTED", pid, 1) : 0;
}

/* Copies a descriptor to a number that is at least `lowest`, and above every target, so that dup2 does not overwrite it. */
static int
raise_above(const struct proc_spec *spec, int fd, int lowest)
{
	for (size_t i = 0; i < spec->nfds; i++)
		if (spec->fds[i].number >= lowest)
			lowest = spec->fds[i].number + 1;
	return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

/* Sources and targets may overlap: all sources move above all targets first. */
static int
set_descriptors(const struct proc_spec *spec)
{
	const struct proc_fd *fds = spec->fds;
	size_t n = spec->nfds;
	int moved[PROC_FDS];

	for (size_t i = 0; i < n; i++) {
		moved[i] = raise_above(spec, fds[i].ours, 3);
		if (moved[i] < 0)
			return -1;
	}
	if (proc_close_others(true) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (dup2(moved[i], fds[i].number) < 0)
			return -1;
	return 0;
}

void
proc_reset_signals(void)
{
	sigset_t none;

	/* signal() fails for the few that the C library reserves: these stay as they are. */
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child writes it to the pipe `report` if it cannot run the program. */
struct failure {
	int error;
	enum proc_stage stage;
};

char *
proc_beside(const char *name)
{
	char *self = proc_self(), *path = self ? bytes_printf("%.*s/%s", (int)(strrchr(self, '/') - self), self, name) : NULL;

	free(self);
	return path;
}

/* Looks for a program named acp-... beside ours first (rule 10). */
static void
execute(char *const *argv)
{
	char *beside = strncmp(argv[0], "acp-", 4) == 0 && !strchr(argv[0], '/') ? proc_beside(argv[0]) : NULL;

	if (beside)
		execv(beside, argv);
	free(beside);
	execvp(argv[0], argv);
}

static _Noreturn void
run_child(const struct proc_spec *spec, int report, pid_t parent)
{
	struct failure f = {0, PROC_FORK};
	int raised = raise_above(spec, report, PIPE_LOWEST);

	if (raised >= 0) {
		report = raised;
		setpgid(0, 0);
		if (spec->death_signal)
			proc_die_with_parent(spec->death_signal);
		if (spec->death_signal && getppid() != parent)
			_exit(128 + spec->death_signal);
		if (spec->guardian)
			proc_guardian_add(spec->guardian, getpid());
		if ((spec->directory == 0 || fchdir(spec->directory) == 0) && set_descriptors(spec) == 0 && set_environment(spec) == 0) {
			proc_reset_signals();
			f.stage = PROC_EXEC;
			execute(spec->argv);
		}
	}
	f.error = errno;
	if (write(report, &f, sizeof(f)) < 0)
		_exit(125);
	_exit(f.error == ENOENT ? 127 : 126);
}

/* 0 where the exec succeeded, which closes the pipe without a report; -1 with *f filled in. */
static int
read_report(int fd, struct failure *f)
{
	ssize_t r;

	do
		r = read(fd, f, sizeof(*f));
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	if (r != (ssize_t)sizeof(*f))
		*f = (struct failure){r < 0 ? errno : EPIPE, PROC_FORK};
	return -1;
}

void
proc_reap(pid_t pid)
{
	/* A child that was not started has no positive id, and with -1 waitpid would wait for any child. */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

pid_t
proc_start(const struct proc_spec *spec, enum proc_stage *stage)
{
	struct failure f = {0, PROC_FORK};
	pid_t parent = getpid(), pid = -1;
	int report[2];

	if (stage)
		*stage = PROC_FORK;
	if (proc_pipe(report) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_child(spec, report[1], parent);
	f.error = errno;
	close(report[1]);
	if (pid > 0) {
		/* The child does it, too: whichever is first, the group exists for both. */
		setpgid(pid, pid);
		if (read_report(report[0], &f) < 0) {
			if (spec->guardian)
				proc_guardian_remove(spec->guardian, pid);
			proc_reap(pid);
			pid = -1;
		}
	}
	close(report[0]);
	if (stage)
		*stage = f.stage;
	errno = f.error;
	return pid;
}

/* --- ending --- */

void
proc_signal(pid_t group, int signal)
{
	if (group > 1)
		kill(-group, signal);
}

int
proc_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *
proc_signal_name(int signal)
{
	static const struct {
		int signal;
		const char *name;
	} names[] = {{SIGHUP, "HUP"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
		{SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"}, {SIGFPE, "FPE"},
		{SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
		{SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGCHLD, "CHLD"},
		{SIGCONT, "CONT"}, {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"},
		{SIGTTOU, "TTOU"}, {SIGURG, "URG"}, {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"},
		{SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGIO, "IO"},
		{SIGSYS, "SYS"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].signal == signal)
			return names[i].name;
	return NULL;
}

const char *
proc_describe(int status, char *buf, size_t size)
{
	const char *name = WIFSIGNALED(status) ? proc_signal_name(WTERMSIG(status)) : NULL;

	if (status == PROC_SIGNAL_UNKNOWN)
		snprintf(buf, size, "unknown signal");
	else if (name)
		snprintf(buf, size, "signal %s", name);
	else if (WIFSIGNALED(status))
		snprintf(buf, size, "signal %d", WTERMSIG(status));
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(status));
	return buf;
}

bool
proc_may_return(struct proc_deaths *d, const struct cli_rate *limit, uint64_t now)
{
	uint64_t *oldest;

	if (!d->times && limit->n > 0)
		d->times = calloc(limit->n, sizeof(*d->times));
	if (!d->times)
		return false;
	oldest = &d->times[d->n % limit->n];
	if (d->n >= limit->n && now - *oldest < limit->window)
		return false;
	*oldest = now;
	d->n++;
	return true;
}

/* --- commands --- */

static const char blanks[] = " \t";

/* Whether a command needs a shell. */
enum needs {
	NEEDS_NOTHING, /* it needs none: proc_words splits it */
	NEEDS_WORDS,   /* to expand the words of one simple command: exec can precede it */
	NEEDS_MORE,    /* for several commands, or syntax before which exec cannot stand */
};

/* What the unquoted character at p in the word needs. */
static enum needs
needs_of(const char *word, const char *p)
{
	switch (*p) {
	case '|': case ';': case '(': case ')': case '`': case '\n':
		return NEEDS_MORE;
	case '&':
		return p > word && (p[-1] == '<' || p[-1] == '>') ? NEEDS_WORDS : NEEDS_MORE;
	case '$':
		return p[1] == '(' ? NEEDS_MORE : NEEDS_WORDS;
	case '#':
		return p == word ? NEEDS_MORE : NEEDS_NOTHING;
	case '~':
		return p == word ? NEEDS_WORDS : NEEDS_NOTHING;
	default:
		return strchr("<>*?[{", *p) ? NEEDS_WORDS : NEEDS_NOTHING;
	}
}

static void
raise_needs(enum needs *to, enum needs n)
{
	if (*to < n)
		*to = n;
}

/* Copies the text between the quote at p and the closing one. Returns the closing quote, or NULL if there is none. */
static const char *
copy_quoted(const char *p, char **to, enum needs *needs)
{
	char quote = *p;

	for (p++; *p && *p != quote; p++) {
		if (quote == '"' && *p == '\\' && p[1] && strchr("$`\"\\", p[1]))
			p++;
		else if (quote == '"' && (*p == '$' || *p == '`'))
			raise_needs(needs, needs_of(NULL, p));
		*(*to)++ = *p;
	}
	return *p ? p : NULL;
}

/* Copies a word without its quotes, and ends the copy with NUL. Returns the end of the word in the command. */
static const char *
copy_word(const char *word, char **to, enum needs *needs)
{
	const char *p = word, *end;

	for (; *p && !strchr(blanks, *p); p++) {
		if (*p == '\'' || *p == '"') {
			end = copy_quoted(p, to, needs);
			if (!end) {
				raise_needs(needs, NEEDS_MORE);
				return p + strlen(p);
			}
			p = end;
			continue;
		}
		if (*p != '\\')
			raise_needs(needs, needs_of(word, p));
		else if (p[1] == '\0' || p[1] == '\n')
			raise_needs(needs, NEEDS_MORE);
		else
			p++;
		*(*to)++ = *p;
	}
	*(*to)++ = '\0';
	return p;
}

/* Is the word a built-in command or reserved word of the shell, which exec cannot run? */
static bool
is_builtin(const char *word)
{
	static const char *const names[] = {"!", "{", ".", ":", "alias", "bg", "cd", "command", "eval", "exec", "exit", "export", "fg",
		"getopts", "hash", "jobs", "read", "readonly", "return", "set", "shift", "times", "trap", "type", "ulimit",
		"umask", "unalias", "unset", "wait"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(word, names[i]) == 0)
			return true;
	return false;
}

/* The words that run the command by a shell, with exec inserted before `program` (in the command; NULL: no exec). */
static char **
shell_words(const char *command, const char *program)
{
	static const char exec[] = "exec ";
	size_t before = program ? (size_t)(program - command) : 0, size = strlen(command) + 1;
	char **words = malloc(4 * sizeof(*words) + size + sizeof(exec));
	char *copy;

	if (!words)
		return NULL;
	copy = (char *)(words + 4);
	snprintf(copy, size + sizeof(exec), "%.*s%s%s", (int)before, command, program ? exec : "", command + before);
	words[0] = "/bin/sh";
	words[1] = "-c";
	words[2] = copy;
	words[3] = NULL;
	return words;
}

char **
proc_words(const char *command)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t size = strlen(command) + 1, n = 0, name_length;
	char **words = malloc((size / 2 + 2) * sizeof(*words) + size + 1), *to;
	const char *p, *first = NULL, *name = NULL;
	enum needs needs = NEEDS_NOTHING;

	if (!words)
		return NULL;
	to = (char *)(words + size / 2 + 2);
	for (p = command + strspn(command, blanks); *p && needs < NEEDS_MORE; p += strspn(p, blanks)) {
		words[n++] = to;
		name_length = strspn(p, letters);
		if (!first && name_length > 0 && p[name_length] == '=') { /* an assignment */
			raise_needs(&needs, NEEDS_WORDS);
		} else if (!first) {
			first = p;
			name = to;
		}
		p = copy_word(p, &to, &needs);
	}
	words[n] = NULL;
	if (n > 0 && needs == NEEDS_NOTHING && strcmp(words[0], "!") != 0) {
		if (n > 1 && strcmp(words[0], "exec") == 0)
			memmove(words, words + 1, n * sizeof(*words));
		return words;
	}
	if (n > 0 && (needs == NEEDS_MORE || !name || is_builtin(name)))
		first = NULL;
	free(words);
	if (n > 0)
		return shell_words(command, first);
	errno = EINVAL;
	return NULL;
}

/* --- descriptors --- */

static void
close_fd(int fd, bool at_exec)
{
	if (at_exec)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	else
		close(fd);
}

/*
 * Closes the descriptors that /dev/fd lists. False where the list is incomplete: a FreeBSD without fdescfs lists 0, 1 and 2 only, and not
 * the descriptor of the listing itself.
 */
static bool
close_listed(bool at_exec)
{
	DIR *dir = opendir("/dev/fd");
	struct dirent *entry;
	bool complete = false;
	int fd;

	while (dir && (entry = readdir(dir))) {
		fd = atoi(entry->d_name);
		if (fd == dirfd(dir))
			complete = true;
		else if (fd > 2)
			close_fd(fd, at_exec);
	}
	if (dir)
		closedir(dir);
	return complete;
}

int
proc_close_others(bool at_exec)
{
	long n = proc_close_range(at_exec) || close_listed(at_exec) ? 0 : sysconf(_SC_OPEN_MAX);

	for (int fd = 3; fd < n; fd++)
		close_fd(fd, at_exec);
	return n < 0 ? -1 : 0;
}

int
proc_close(int fd)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

int
proc_raise(int fd)
{
	int high;

	if (fd < 0)
		return -1;
	if (fd >= PIPE_LOWEST)
		return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, PIPE_LOWEST);
	close(fd);
	return high;
}

int
proc_pipe(int fds[2])
{
	if (pipe(fds) < 0)
		return -1;
	fds[0] = proc_raise(fds[0]);
	if (fds[0] < 0)
		return proc_close(fds[1]);
	fds[1] = proc_raise(fds[1]);
	return fds[1] < 0 ? proc_close(fds[0]) : 0;
}

int
proc_pipes(size_t n, int theirs[], int ours[])
{
	int p[2], error;

	for (size_t i = 0; i < n; i++) {
		if (proc_pipe(p) < 0) {
			error = errno;
			while (i-- > 0) {
				close(theirs[i]);
				close(ours[i]);
			}
			errno = error;
			return -1;
		}
		theirs[i] = i == 0 ? p[0] : p[1];
		ours[i] = i == 0 ? p[1] : p[0];
	}
	return 0;
}

pid_t
proc_start_piped(const struct proc_spec *spec, size_t n, int ours[], enum proc_stage *stage)
{
	struct proc_spec piped = *spec;
	struct proc_fd fds[3];
	int theirs[3];
	pid_t pid;

	if (proc_pipes(n, theirs, ours) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		fds[i] = (struct proc_fd){theirs[i], (int)i};
	piped.fds = fds;
	piped.nfds = n;
	pid = proc_start(&piped, stage);
	if (pid > 0 && spec->unread)
		*spec->unread = io_copy_end((int[]){theirs[0], ours[0]});
	for (size_t i = 0; i < n; i++) {
		proc_close(theirs[i]);
		if (pid < 0)
			proc_close(ours[i]);
	}
	return pid;
}

int
proc_open_stdio(void)
{
	/* open returns the lowest free number: in ascending order that is the closed one. */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			return -1;
	return 0;
}

int
proc_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, PIPE_LOWEST);
}

int
proc_move_high(int fd)
{
	int own = proc_raise(fd);

	return own < 0 || proc_open_stdio() == 0 ? own : proc_close(own);
}
