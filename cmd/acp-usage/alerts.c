/* Levels and limits: reports each that a session reaches, and runs the command of --exec. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/people.h"
#include "lib/run/proc.h"

enum { REARM = 5 /* percentage points below a level from which it can be reported again */ };

/* Bits, in usage_session.tool_flags for limits that the session has reached, in tool.compared for limits that had a figure. */
enum { REACHED_LEVEL = 1, REACHED_COST = 2, REACHED_TOKENS = 4, DUE = 8 /* the session is in tool.due */ };

static const char *const advice[] = {"", "", "Context filling up", "Start new session or summarize",
	"Next prompt may fail - handoff recommended"};

/* --- commands --- */

/* Sets the variables of the command, in the child. 0, or -1 out of memory. */
static int
set_variables(struct tool *t, const struct usage_session *s)
{
	const struct {
		const char *name;
		bool known;
		uint64_t n;
	} figures[] = {{"ACP_USED", s->has_used, s->used}, {"ACP_SIZE", s->size, s->size},
		{"ACP_PERCENT", s->size, (uint64_t)usage_percent(s->used, s->size)}, {"ACP_REMAINING", s->size, tokens_left(s)}};
	const struct usage_cost *c = usage_costs(s);
	SCOPED struct buf text = {0};
	struct usage_money total;
	char digits[24];
	int r = setenv("ACP_SESSION", s->id, 1) | setenv("ACP_LEVEL", level_names[tool_level(t->options, s)], 1);

	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (figures[i].known && snprintf(digits, sizeof(digits), "%llu", (unsigned long long)figures[i].n) > 0)
			r |= setenv(figures[i].name, digits, 1);
	if (c && usage_cost_total(s, c->currency, &total))
		r |= -(decimal_put(total.amount, 0, &text) || !buf_string(&text) || setenv("ACP_COST", text.p, 1)
			|| setenv("ACP_CURRENCY", usage_name(t->usage, c->currency).p, 1));
	return r;
}

/* Runs the command, in a child's child, for which the tool need not wait. */
_Noreturn static void
become(struct tool *t, const struct usage_session *s)
{
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
	if (set_variables(t, s) == 0)
		execl("/bin/sh", "sh", "-c", t->options->exec, (char *)NULL);
	cli_warn(tool_name, "--exec: %s", strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

static void
run(struct tool *t, const struct usage_session *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			become(t, s);
		_exit(pid < 0 ? EXIT_FAILED : 0);
	}
	if (pid < 0)
		watch_say(t->watch, "--exec: %s", strerror(errno));
	else
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

/* --- lines --- */

/* Reports a line about a session. exec: --exec applies to such lines. */
__attribute__((format(printf, 4, 5))) static void
say(struct tool *t, const struct usage_session *s, bool exec, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list ap;

	va_start(ap, format);
	if (put_session(&text, t, s) == 0 && buf_add_string(&text, ": ") == 0 && buf_vprintf(&text, format, ap) == 0 && buf_string(&text))
		watch_say(t->watch, "%s", text.p);
	va_end(ap);
	if (exec && t->options->exec)
		run(t, s);
}

static void
see_level(struct tool *t, struct usage_session *s)
{
	const struct options *o = t->options;
	enum level l = tool_level(o, s);
	char left[PEOPLE_FIGURE];
	unsigned percent;

	if (l == LEVEL_UNKNOWN)
		return;
	if (l > s->alert_level && l >= LEVEL_YELLOW) {
		s->alert_level = (uint8_t)l;
		say(t, s, true, "%d%%, %s tokens left: %s", usage_percent(s->used, s->size), people_count(left, tokens_left(s)), advice[l]);
	}
	while (s->alert_level >= LEVEL_YELLOW) {
		percent = o->warn[s->alert_level - LEVEL_YELLOW];
		/* Nothing falls below a level of 0. */
		if (percent == 0 || usage_reaches(s->used, s->size, percent > REARM ? percent - REARM : 0, false))
			break;
		s->alert_level--;
	}
}

/* Marks a limit as reached by a session, also for the exit status. False if it was marked before. */
static bool
reaches(struct tool *t, struct usage_session *s, uint16_t limit)
{
	if (s->tool_flags & limit)
		return false;
	s->tool_flags |= limit;
	t->status = EXIT_NEGATIVE;
	return true;
}

static void
say_money(struct tool *t, const struct usage_session *s, bool exec, const char *what, const struct money *m)
{
	SCOPED struct buf amount = {0};

	if (decimal_put(m->amount, 0, &amount) == 0 && buf_string(&amount))
		say(t, s, exec, "%s %s %s is reached", what, amount.p, m->currency);
}

static void
see_cost(struct tool *t, struct usage_session *s, const struct usage_figures *f)
{
	const struct options *o = t->options;
	const struct usage_money *cost;

	for (size_t i = 0; i < o->warn_cost.n; i++) {
		cost = usage_figures_cost(t->usage, f, o->warn_cost.at[i].currency);
		if (s->costs_reached & 1u << i || !cost || decimal_compare(cost->most, o->warn_cost.at[i].amount) < 0)
			continue;
		s->costs_reached |= (uint16_t)(1u << i);
		say_money(t, s, true, "the cost of", &o->warn_cost.at[i]);
	}
	for (size_t i = 0; i < o->max_cost.n; i++) {
		if (!(cost = usage_figures_cost(t->usage, f, o->max_cost.at[i].currency)))
			continue;
		t->compared |= REACHED_COST;
		if (decimal_compare(cost->most, o->max_cost.at[i].amount) >= 0 && reaches(t, s, REACHED_COST))
			say_money(t, s, false, "--max-cost", &o->max_cost.at[i]);
	}
}

static void
see_tokens(struct tool *t, struct usage_session *s, const struct usage_figures *f)
{
	if (!t->options->has_max_tokens || !(f->billed.has & 1u << USAGE_TOTAL))
		return;
	t->compared |= REACHED_TOKENS;
	if (f->billed.n[USAGE_TOTAL] >= (decimal_units)t->options->max_tokens && reaches(t, s, REACHED_TOKENS))
		say(t, s, false, "--max-tokens %llu is reached", (unsigned long long)t->options->max_tokens);
}

void
alerts_see(struct tool *t, struct usage_session *s)
{
	const struct options *o = t->options;
	enum level l = tool_level(o, s);
	struct usage_session **more;

	if (t->watch->stream || o->warned || o->exec)
		see_level(t, s);
	t->compared |= l != LEVEL_UNKNOWN ? REACHED_LEVEL : 0u;
	if (o->fail_at && l >= o->fail_at && reaches(t, s, REACHED_LEVEL))
		say(t, s, false, "--fail-at %s is reached: %d%%", level_names[o->fail_at], usage_percent(s->used, s->size));
	if (s->tool_flags & DUE || (!o->warn_cost.n && !o->max_cost.n && !o->has_max_tokens))
		return;
	if ((t->ndue & (t->ndue - 1)) == 0) {
		more = realloc(t->due, 2 * (t->ndue + 1) * sizeof(*more));
		if (!more) {
			tool_fail(t, "out of memory");
			return;
		}
		t->due = more;
	}
	t->due[t->ndue++] = s;
	s->tool_flags |= DUE;
}

void
alerts_check(struct tool *t)
{
	struct usage_figures f = {0};
	struct usage_session *s, *up;

	for (size_t i = 0; i < t->ndue; i++) {
		/* The figures of sub-agents count with those of the session that the user began or selected. */
		for (s = t->due[i], s->tool_flags &= (uint16_t)~DUE; (up = tool_parent(t, s));)
			s = up;
		if (usage_figures_family(t->usage, s, &f) < 0)
			tool_fail(t, "out of memory");
		see_cost(t, s, &f);
		see_tokens(t, s, &f);
		usage_figures_free(&f);
	}
	t->ndue = 0;
}

static void
say_unchecked(struct tool *t, const char *option, const char *missing)
{
	watch_say(t->watch, "--%s was not checked: no %s reported", option, missing);
	if (!t->watch->stream && t->status == 0)
		t->status = EXIT_USAGE;
}

void
alerts_end(struct tool *t)
{
	const struct options *o = t->options;

	if (o->max_cost.n && !(t->compared & REACHED_COST))
		say_unchecked(t, "max-cost", "cost in its currency was");
	if (o->has_max_tokens && !(t->compared & REACHED_TOKENS))
		say_unchecked(t, "max-tokens", "tokens of a turn were");
	if (o->fail_at && !(t->compared & REACHED_LEVEL))
		say_unchecked(t, "fail-at", "context with its size was");
}
