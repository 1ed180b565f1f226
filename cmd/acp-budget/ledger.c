/* The ledger: a file to which all processes that share it append what their sessions use. Limits over periods count its entries. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"
#include "lib/run/directory.h"
#include "lib/usage/entry.h"

enum { WAIT = 5 }; /* seconds, for the lock */

/* What has been spent in one scope in the current periods. */
struct account {
	struct account *next;
	struct buf scope;                /* a project, an agent, a key; empty: --scope user, or entries without such a name */
	struct decimal sums[MONEY_MOST]; /* one for each limit */
};

struct ledger {
	char *path;
	int fd;                    /* -1: not open */
	struct stat file;          /* the device and the inode of fd: the path may get another file */
	off_t read;                /* up to where the lines of the file are in the sums; -1: the sums must be made again */
	uint64_t lines;            /* how many were read */
	int32_t first[MONEY_MOST]; /* for each limit, the first day of the period of its sums */
	struct account *accounts;
	struct buf unwritten;      /* entries that must still be written */
	bool counted;              /* the unwritten entries are in the sums */
	struct buf why;            /* what is wrong with the ledger now; empty: nothing */
	bool damaged, reported;    /* some line is damaged; some trouble was reported */
	bool stuck;                /* the last wait for the lock was in vain */
};

char *
ledger_path(const char *name)
{
	return strcmp(name, "auto") == 0 ? directory_state("ledger", true) : strdup(name);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct ledger *
ledger_new(const struct options *o)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l || !(l->path = ledger_path(o->ledger))) {
		free(l);
		return NULL;
	}
	l->fd = -1;
	l->read = -1;
	return l;
}

void
ledger_free(struct ledger *l)
{
	struct account *a, *next;

	if (!l)
		return;
	LL_FOREACH_SAFE(l->accounts, a, next) {
		buf_free(&a->scope);
		free(a);
	}
	if (l->fd >= 0)
		close(l->fd);
	buf_free(&l->unwritten);
	buf_free(&l->why);
	free(l->path);
	free(l);
}

/* --- its lines --- */

/* Notes what is wrong with the ledger. Reports only the first trouble of a process. */
__attribute__((format(printf, 2, 3))) static void
report_trouble(struct tool *t, const char *format, ...)
{
	struct ledger *l = t->ledger;
	va_list args;

	l->why.n = 0;
	va_start(args, format);
	if (buf_printf(&l->why, "the ledger %s: ", l->path) || buf_vprintf(&l->why, format, args) || !buf_string(&l->why))
		l->why.n = 0;
	va_end(args);
	if (!l->reported && l->why.n)
		frame_warn(t->frame, "%s", l->why.p);
	l->reported = true;
}

/* Returns whether an entry counts in the scope of an account. */
static bool
counts_in(const struct options *o, const struct usage_entry *e, const struct account *a)
{
	struct slice in = o->scope == SCOPE_PROJECT ? e->project : o->scope == SCOPE_AGENT ? e->agent : e->scope;

	return o->scope == SCOPE_USER || (in.p ? json_string_is_slice(in, buf_slice(&a->scope)) : a->scope.n == 0);
}

/* Returns what an entry has in the unit of a limit: the most that its cost in that currency can be, or its tokens. */
static struct decimal
amount_of(const struct usage_entry *e, const struct money *m)
{
	struct json_iter it = {.in = e->costs};
	struct decimal sum = {e->tokens.n[USAGE_TOTAL]}, amount, most;
	struct slice currency;

	if (is_tokens(m))
		return sum;
	for (sum.units = 0; e->costs.p && usage_entry_cost(&it, &currency, &amount, &most);)
		if (json_string_is(currency, m->currency))
			decimal_add(sum, most, &sum);
	return sum;
}

/* Adds the entry in a line to the sums. Reports a line that cannot be read. */
static void
add_line(void *tool, struct slice line)
{
	struct tool *t = tool;
	struct ledger *l = t->ledger;
	const struct money_list *limits = &t->options->limits;
	struct usage_entry e;
	struct account *a;
	const char *why;

	l->lines++;
	if (slice_is_blank(line))
		return;
	if (!usage_entry_read(line, &e, &why)) {
		report_trouble(t, "line %llu is damaged (%s), and not counted", (unsigned long long)l->lines, why);
		l->damaged = true;
		return;
	}
	LL_FOREACH(l->accounts, a)
		for (size_t i = 0; i < limits->n && counts_in(t->options, &e, a); i++)
			if (calendar_first(limits->at[i].period, calendar_day(e.time)) == l->first[i])
				decimal_add(a->sums[i], amount_of(&e, &limits->at[i]), &a->sums[i]);
}

/* Calls fn for each of these whole lines. */
static void
each_line(struct slice text, void (*fn)(void *arg, struct slice line), void *arg)
{
	const char *end;

	for (const char *p = text.p; p < text.p + text.n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(text.p + text.n - p));
		fn(arg, slice_between(p, end));
	}
}

/* Calls fn for each whole line after `from`. Returns where they end, or -1 with errno. */
static off_t
read_lines(const struct ledger *l, off_t from, void (*fn)(void *arg, struct slice line), void *arg)
{
	enum { BLOCK = 256 * 1024 };
	SCOPED struct buf text = {0};
	const char *end;
	ssize_t n;

	for (;;) {
		if (buf_reserve(&text, BLOCK) < 0)
			return -1;
		n = pread(l->fd, text.p + text.n, BLOCK, from + (off_t)text.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : from;
		text.n += (size_t)n;
		end = memrchr(text.p, '\n', text.n);
		if (!end)
			continue;
		each_line(slice_between(text.p, end + 1), fn, arg);
		from += end + 1 - text.p;
		text.n -= (size_t)(end + 1 - text.p);
		memmove(text.p, end + 1, text.n);
	}
}

/* --- the file --- */

/* Checks that a file is a ledger or empty: no other file must be changed. 0, or -1 with errno. */
static int
check_kind(int fd, struct stat *st)
{
	static const char begins[] = "{\"acp-ledger\":";
	char text[sizeof(begins) - 1];
	ssize_t n;

	if (fstat(fd, st) < 0)
		return -1;
	errno = EINVAL;
	if (!S_ISREG(st->st_mode))
		return -1;
	n = pread(fd, text, sizeof(text), 0);
	return n < 0 || memcmp(text, begins, (size_t)n) != 0 ? -1 : 0;
}

/* Opens the file that has the path now, if that is another file than before. 0, or -1, which it has reported. */
static int
open_file(struct tool *t, struct ledger *l)
{
	struct stat st;

	if (l->fd >= 0 && stat(l->path, &st) == 0 && st.st_dev == l->file.st_dev && st.st_ino == l->file.st_ino)
		return 0;
	if (l->fd >= 0)
		close(l->fd);
	/* The damage of the old file is not that of the new one. */
	l->damaged = false;
	l->why.n = 0;
	l->read = -1;
	l->fd = open(l->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (l->fd >= 0 && check_kind(l->fd, &l->file) == 0)
		return 0;
	report_trouble(t, "%s", l->fd >= 0 && errno == EINVAL ? "it is another file, and no ledger" : strerror(errno));
	if (l->fd >= 0)
		close(l->fd);
	return l->fd = -1;
}

static void
end_wait(int signal)
{
	(void)signal;
}

/*
 * Waits for the lock, at most WAIT seconds, in the kernel's queue, where each process gets its turn: a process that only tried
 * again and again might never find the lock free. After a wait in vain, only a caller that is patient waits. 0, or -1.
 */
static int
lock(struct ledger *l, int how, bool patient)
{
	/* The signal repeats, since the first one may come before the wait. */
	const struct itimerval limit = {.it_value.tv_sec = WAIT, .it_interval.tv_usec = 100000}, none = {0};
	int r = flock(l->fd, how | LOCK_NB);
	sigset_t set;

	if (r < 0 && errno == EWOULDBLOCK && (patient || !l->stuck)) {
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		sigaction(SIGALRM, &(struct sigaction){.sa_handler = end_wait}, NULL);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		setitimer(ITIMER_REAL, &limit, NULL);
		r = flock(l->fd, how);
		setitimer(ITIMER_REAL, &none, NULL);
	}
	/* On a file system without locks the ledger is used without a lock. */
	l->stuck = r < 0 && (errno == EWOULDBLOCK || errno == EINTR);
	return l->stuck ? -1 : 0;
}

/* Cuts off the part of a line that a killed process has left; adds the newline if only that is missing. 0, or -1 with errno. */
static int
cut_torn(int fd)
{
	SCOPED struct buf tail = {0};
	struct usage_entry e;
	const char *why, *end = NULL;
	struct stat st;
	off_t from;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -1;
	for (from = st.st_size; from > 0 && !end;) {
		size_t more = from < 4096 ? (size_t)from : 4096;

		if (buf_reserve(&tail, more) < 0)
			return -1;
		memmove(tail.p + more, tail.p, tail.n);
		n = pread(fd, tail.p, more, from - (off_t)more);
		if (n != (ssize_t)more)
			return -1;
		tail.n += more;
		from -= (off_t)more;
		end = memrchr(tail.p, '\n', more);
		if (end && end == tail.p + tail.n - 1)
			return 0;
	}
	if (tail.n == 0)
		return 0;
	from += end ? end + 1 - tail.p : 0;
	end = end ? end + 1 : tail.p;
	if (usage_entry_read(slice_between(end, tail.p + tail.n), &e, &why))
		return write(fd, "\n", 1) == 1 ? 0 : -1;
	return ftruncate(fd, from);
}

/* Appends the unwritten entries. An entry that is not written whole is cut off again. 0, or -1 with errno. */
static int
append(struct ledger *l)
{
	const char *end;
	ssize_t n;
	int error;

	n = cut_torn(l->fd) < 0 ? -1 : write(l->fd, l->unwritten.p, l->unwritten.n);
	error = errno;
	if (n > 0 && (size_t)n < l->unwritten.n) {
		cut_torn(l->fd);
		error = ENOSPC;
	}
	errno = error;
	end = n > 0 ? memrchr(l->unwritten.p, '\n', (size_t)n) : NULL;
	if (!end)
		return -1;
	l->unwritten.n -= (size_t)(end + 1 - l->unwritten.p);
	memmove(l->unwritten.p, end + 1, l->unwritten.n);
	return l->unwritten.n ? -1 : 0;
}

/* --- for limits --- */

static void
begin_sums(struct tool *t, struct ledger *l)
{
	struct account *a;

	LL_FOREACH(l->accounts, a)
		memset(a->sums, 0, sizeof(a->sums));
	l->damaged = false;
	each_line(buf_slice(&l->unwritten), add_line, t);
	l->counted = l->unwritten.n > 0;
	l->read = 0;
	l->lines = 0;
}

/*
 * Writes the unwritten entries, and reads what all processes have appended: under the lock, as another process may cut off a part
 * of a line. The sums are made again for a new period, for another file, and if an entry could not be written. patient: waits for
 * the lock even if an earlier wait was in vain, or if there is nothing to read or write.
 */
static void
refresh(struct tool *t, bool patient)
{
	const struct money_list *limits = &t->options->limits;
	int32_t day = calendar_day(now()), first;
	struct ledger *l = t->ledger;
	bool locked, unchanged;
	struct stat st = {0};
	size_t before;
	off_t end;

	for (size_t i = 0; i < limits->n; i++) {
		first = calendar_first(limits->at[i].period, day);
		l->read = first == l->first[i] ? l->read : -1;
		l->first[i] = first;
	}
	l->why.n = l->damaged ? l->why.n : 0;
	if (open_file(t, l) < 0) {
		begin_sums(t, l);
		return;
	}
	unchanged = fstat(l->fd, &st) == 0 && st.st_size == l->read && !l->unwritten.n;
	if (unchanged && !patient)
		return;
	/* The file was replaced in its place: the damage is gone, unless it is read again. */
	if (st.st_size < l->read) {
		l->damaged = false;
		l->why.n = 0;
	}
	/* Even to read, the lock is exclusive: many shared locks at once would keep writers waiting. */
	locked = lock(l, unchanged ? LOCK_SH : LOCK_EX, patient) == 0;
	if (!locked)
		report_trouble(t, "another process keeps it locked");
	if (locked && unchanged) {
		flock(l->fd, LOCK_UN);
		return;
	}
	if (locked && (before = l->unwritten.n) > 0) {
		if (append(l) < 0)
			report_trouble(t, "%s", strerror(errno));
		/* Entries that are still unwritten must be in the sums. Entries written now will be read, and must not count twice. */
		if (l->unwritten.n ? l->unwritten.n != before || !l->counted : l->counted)
			l->read = -1;
	}
	if (st.st_size < l->read || (!locked && l->unwritten.n && !l->counted))
		l->read = -1;
	if (l->read < 0)
		begin_sums(t, l);
	end = read_lines(l, l->read, add_line, t);
	if (end < 0)
		report_trouble(t, "%s", strerror(errno));
	l->read = end; /* -1 after an error: a part of the lines is in the sums, which are made again */
	if (locked)
		flock(l->fd, LOCK_UN);
}

const char *
ledger_trouble(struct tool *t)
{
	refresh(t, t->options->strict);
	return t->ledger->why.n ? t->ledger->why.p : NULL;
}

/* Returns the account of a scope; for a new one, the ledger will be read again. NULL out of memory. */
static struct account *
account_of(struct ledger *l, struct slice scope)
{
	struct account *a;

	LL_FOREACH(l->accounts, a)
		if (slice_eq(scope, buf_slice(&a->scope)))
			return a;
	a = calloc(1, sizeof(*a));
	if (!a || buf_add_slice(&a->scope, scope) < 0) {
		free(a);
		return NULL;
	}
	LL_PREPEND(l->accounts, a);
	l->read = -1;
	return a;
}

struct decimal
ledger_spent(struct tool *t, struct slice scope, size_t limit)
{
	struct account *a = account_of(t->ledger, scope);

	if (tool_check(t, !a))
		return (struct decimal){0};
	refresh(t, false);
	return a->sums[limit];
}

/* --- for sessions --- */

void
ledger_add(struct tool *t, struct usage_entry *e)
{
	struct ledger *l = t->ledger;

	e->time = now();
	l->read = l->unwritten.n ? -1 : l->read;
	if (!tool_check(t, usage_entry_put(&l->unwritten, e)))
		refresh(t, false);
}

/* What search_line looks for: the last cost in this currency that the agent has reported of this session. */
struct search {
	struct slice session, agent, currency;
	struct decimal *found;
	bool any;
};

static void
search_line(void *arg, struct slice line)
{
	struct search *f = arg;
	struct decimal amount, most;
	struct slice currency;
	struct usage_entry e;
	struct json_iter it;
	const char *why;

	if (!memmem(line.p, line.n, f->session.p, f->session.n) || !usage_entry_read(line, &e, &why)
		|| !json_string_eq(e.session, f->session)
		|| (f->agent.n ? !json_string_is_slice(e.agent, f->agent) : e.agent.p != NULL))
		return;
	it = (struct json_iter){.in = e.wire};
	while (e.wire.p && usage_entry_cost(&it, &currency, &amount, &most)) {
		if (!json_string_is_slice(currency, f->currency))
			continue;
		*f->found = amount;
		f->any = true;
	}
}

bool
ledger_last_cost(struct tool *t, const struct budget_session *s, struct slice currency, struct decimal *amount)
{
	struct search search = {buf_slice(&s->id), usage_agent_name(t->usage, s->usage->agent), currency, amount, false};
	struct ledger *l = t->ledger;

	refresh(t, false);
	if (l->fd < 0 || lock(l, LOCK_SH, false) < 0)
		return false;
	read_lines(l, 0, search_line, &search);
	flock(l->fd, LOCK_UN);
	return search.any;
}

static void
count_turns(void *turns, struct slice line)
{
	struct usage_entry e;
	const char *why;

	*(uint64_t *)turns += usage_entry_read(line, &e, &why) ? e.turns : 0;
}

void
ledger_end(struct tool *t)
{
	struct ledger *l = t->ledger;
	uint64_t turns = 0;

	if (l->unwritten.n)
		refresh(t, true);
	if (!l->unwritten.n)
		return;
	each_line(buf_slice(&l->unwritten), count_turns, &turns);
	frame_warn(t->frame, "%llu turn%s not in the ledger", (unsigned long long)turns, turns == 1 ? " is" : "s are");
	frame_fail(t->frame, EXIT_FAILED);
}
