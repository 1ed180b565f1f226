/* Levels and limits: a line when one is crossed, and a command where one is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/run/proc.h"

enum { REARM = 5 /* points below */ };

/* What has been reached, in usage_session.user. */
enum { REACHED_LEVEL = 1, REACHED_COST = 2, REACHED_TOKENS = 4 };

struct alerts {
	const struct options *options;
	unsigned compared; /* which of the limits some session had a figure for: REACHED_... */
};

struct alerts *
alerts_open(const struct options *o)
{
	struct alerts *a = calloc(1, sizeof(*a));

	if (a)
		a->options = o;
	return a;
}

void
alerts_close(struct alerts *a)
{
	free(a);
}

/* --- commands --- */

static int
add_variable(struct buf *to, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int
add_variable(struct buf *to, const char *name, const char *format, ...)
{
	va_list ap;
	int r;

	if (buf_printf(to, "%s=", name) < 0)
		return -1;
	va_start(ap, format);
	r = buf_vprintf(to, format, ap);
	va_end(ap);
	return r < 0 ? -1 : buf_add(to, "", 1);
}

/* The variables, each with its NUL. */
static int
variables(struct tool *t, const struct usage_session *s, struct buf *to)
{
	const char *level = level_names[tool_level(t->options, s)];
	const struct usage_cost *c = usage_costs(s);
	struct decimal total;
	struct buf amount = {0};
	int r;

	r = -(add_variable(to, "ACP_SESSION", "%s", s->id) || add_variable(to, "ACP_LEVEL", "%s", level));
	if (s->has_used)
		r |= add_variable(to, "ACP_USED", "%llu", (unsigned long long)s->used);
	if (s->has_used && s->has_size)
		r |= -(add_variable(to, "ACP_SIZE", "%llu", (unsigned long long)s->size)
			|| add_variable(to, "ACP_PERCENT", "%d", usage_percent(s->used, s->size))
			|| add_variable(to, "ACP_REMAINING", "%llu", (unsigned long long)(s->size > s->used ? s->size - s->used : 0)));
	if (c && usage_cost_total(s, c->currency, &total)) {
		r |= decimal_put(total, 0, &amount);
		if (r == 0 && buf_string(&amount))
			r |= -(add_variable(to, "ACP_COST", "%s", amount.p)
				|| add_variable(to, "ACP_CURRENCY", "%s", usage_name(t->usage, c->currency).p));
	}
	buf_free(&amount);
	return r;
}

/* In the child's child, which nobody waits for. */
_Noreturn static void
become(const char *command, const struct buf *env)
{
	const char *p;
	sigset_t none;
	int fd = open("/dev/null", O_RDONLY);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (fd >= 0)
		dup2(fd, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	proc_close_others(false);
	unsetenv("PROTO");
	for (p = env->p; p < env->p + env->n; p += strlen(p) + 1)
		putenv((char *)(size_t)p);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(EXIT_NOT_FOUND);
}

static void
run(struct tool *t, const struct usage_session *s)
{
	struct buf env = {0};
	pid_t pid;

	if (variables(t, s, &env) != 0) {
		buf_free(&env);
		tool_warn(t, "--exec: out of memory");
		return;
	}
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			become(t->options->exec, &env);
		_exit(pid < 0 ? EXIT_FAILED : 0);
	}
	if (pid < 0)
		tool_warn(t, "--exec: %s", strerror(errno));
	else
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	buf_free(&env);
}

/* --- lines --- */

static void
alert(struct tool *t, const struct usage_session *s, const char *what)
{
	struct buf id = {0};

	if (put_session(&id, t, s) == 0 && buf_string(&id))
		tool_warn(t, "%s: %s", id.p, what);
	buf_free(&id);
	if (t->options->exec)
		run(t, s);
}

static void
see_level(struct tool *t, struct usage_session *s)
{
	const struct options *o = t->options;
	enum level l = tool_level(o, s);
	unsigned percent;
	struct buf text = {0};

	if (l == LEVEL_UNKNOWN)
		return;
	if (l > s->mark && l >= LEVEL_YELLOW) {
		s->mark = (uint8_t)l;
		if (buf_printf(&text, "%d%%, ", usage_percent(s->used, s->size)) == 0
			&& put_tokens(&text, s->size > s->used ? s->size - s->used : 0) == 0
			&& buf_printf(&text, " tokens left: %s", level_advice[l]) == 0 && buf_string(&text))
			alert(t, s, text.p);
		buf_free(&text);
	}
	while (s->mark >= LEVEL_YELLOW) {
		percent = o->warn[s->mark - LEVEL_YELLOW];
		if (usage_reaches(s->used, s->size, percent > REARM ? percent - REARM : 0, true))
			break;
		s->mark--;
	}
}

/* What the session with its children cost in that currency. False where nothing is known. */
static bool
cost_in(struct tool *t, const struct usage_figures *f, const char *currency, struct decimal *amount)
{
	size_t i;

	for (i = 0; i < f->ncosts; i++) {
		*amount = f->costs[i].amount;
		if (slice_is(usage_name(t->usage, f->costs[i].currency), currency))
			return true;
	}
	return false;
}

static void
say_money(struct tool *t, const struct usage_session *s, const char *what, const struct money *m, bool is_alert)
{
	struct buf text = {0}, id = {0};

	if (buf_printf(&text, "%s ", what) == 0 && decimal_put(m->amount, 0, &text) == 0
		&& buf_printf(&text, " %s is reached", m->currency) == 0 && buf_string(&text)) {
		if (is_alert)
			alert(t, s, text.p);
		else if (put_session(&id, t, s) == 0 && buf_string(&id))
			tool_warn(t, "%s: %s", id.p, text.p);
	}
	buf_free(&text);
	buf_free(&id);
}

static void
see_cost(struct alerts *a, struct tool *t, struct usage_session *s, const struct usage_figures *f)
{
	const struct options *o = a->options;
	struct decimal amount;
	size_t i;

	for (i = 0; i < o->warn_cost.n; i++) {
		if (s->cost_mark & 1u << i || !cost_in(t, f, o->warn_cost.at[i].currency, &amount)
			|| decimal_compare(amount, o->warn_cost.at[i].amount) < 0)
			continue;
		s->cost_mark |= (uint16_t)(1u << i);
		say_money(t, s, "the cost of", &o->warn_cost.at[i], true);
	}
	for (i = 0; i < o->max_cost.n; i++) {
		if (!cost_in(t, f, o->max_cost.at[i].currency, &amount))
			continue;
		a->compared |= REACHED_COST;
		if (s->user & REACHED_COST || decimal_compare(amount, o->max_cost.at[i].amount) < 0)
			continue;
		s->user |= REACHED_COST;
		t->status = EXIT_NEGATIVE;
		say_money(t, s, "--max-cost", &o->max_cost.at[i], false);
	}
}

static void
see_limits(struct alerts *a, struct tool *t, struct usage_session *s, const struct usage_figures *f)
{
	const struct options *o = a->options;
	enum level l = tool_level(o, s);
	struct buf id = {0};

	if (put_session(&id, t, s) < 0 || !buf_string(&id))
		return;
	a->compared |= (l != LEVEL_UNKNOWN ? REACHED_LEVEL : 0u) | (f->billed.has & 1u << USAGE_TOTAL ? REACHED_TOKENS : 0u);
	if (o->fail_at && !(s->user & REACHED_LEVEL) && l >= o->fail_at) {
		s->user |= REACHED_LEVEL;
		t->status = EXIT_NEGATIVE;
		tool_warn(t, "%s: --fail-at %s is reached: %d%%", id.p, level_names[o->fail_at], usage_percent(s->used, s->size));
	}
	if (o->has_max_tokens && !(s->user & REACHED_TOKENS) && f->billed.has & 1u << USAGE_TOTAL
		&& usage_sum(&f->billed, USAGE_TOTAL) >= (decimal_units)o->max_tokens) {
		s->user |= REACHED_TOKENS;
		t->status = EXIT_NEGATIVE;
		tool_warn(t, "%s: --max-tokens %llu is reached", id.p, (unsigned long long)o->max_tokens);
	}
	buf_free(&id);
}

void
alerts_see(struct alerts *a, struct tool *t, struct usage_session *s)
{
	const struct options *o = a->options;
	struct usage_figures f = {0};

	if (t->live || o->warned || o->exec)
		see_level(t, s);
	if (o->fail_at)
		see_limits(a, t, s, &f);
	if (!o->warn_cost.n && !o->max_cost.n && !o->has_max_tokens)
		return;
	/* A child's figures count with those of the session that people know. */
	while (s->parent)
		s = s->parent;
	if (usage_figures_family(t->usage, s, &f) < 0)
		tool_fail(t, "out of memory");
	see_cost(a, t, s, &f);
	see_limits(a, t, s, &f);
	usage_figures_free(&f);
}

static void
say_unchecked(struct tool *t, const char *option, const char *missing)
{
	tool_warn(t, "--%s was not checked: no %s reported", option, missing);
	if (!t->live && t->status == 0)
		t->status = EXIT_USAGE;
}

void
alerts_end(const struct alerts *a, struct tool *t)
{
	const struct options *o = a->options;

	if (o->max_cost.n && !(a->compared & REACHED_COST))
		say_unchecked(t, "max-cost", "cost in its currency was");
	if (o->has_max_tokens && !(a->compared & REACHED_TOKENS))
		say_unchecked(t, "max-tokens", "tokens of a turn were");
	if (o->fail_at && !(a->compared & REACHED_LEVEL))
		say_unchecked(t, "fail-at", "context with its size was");
}
