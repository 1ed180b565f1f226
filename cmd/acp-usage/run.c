/* What drives the tool: a stream, recordings, or summaries to be added up. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/usage/entry.h"

enum { QUIET_US = 2000000 }; /* a turn is complete when it has been quiet so long */

/* --- the order of recordings --- */

/* When the first recording in a file began; 0: not known. */
static double
started_at(const char *name)
{
	struct recording *lines = recording_of_lines(NULL);
	struct record r = {0};
	char text[4096], *end;
	struct stat st;
	ssize_t n = -1;
	/* The writer of a FIFO must not lose its reader. */
	int fd = lines && stat(name, &st) == 0 && S_ISREG(st.st_mode) ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		n = pread(fd, text, sizeof(text), 0);
		close(fd);
	}
	end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	if (!end || recording_line(lines, slice_between(text, end), 1, &r) != 0 || r.kind != RECORD_HEADER)
		r.started = 0;
	recording_close(lines);
	return r.started;
}

struct operand {
	char *name;
	double started;
	size_t number;
};

static int
by_time(const void *a, const void *b)
{
	const struct operand *x = a, *y = b;

	if (x->started < y->started || x->started > y->started)
		return x->started < y->started ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Rows need what crosses from one recording to the next. Those that do not say when they began come first. */
static void
sort_files(char **files)
{
	struct operand *all;
	size_t n = 0, i;

	while (files[n])
		n++;
	all = n > 1 ? calloc(n, sizeof(*all)) : NULL;
	if (n > 1 && !all)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	for (i = 0; all && i < n; i++)
		all[i] = (struct operand){files[i], started_at(files[i]), i};
	if (all)
		qsort(all, n, sizeof(*all), by_time);
	for (i = 0; all && i < n; i++)
		files[i] = all[i].name;
	free(all);
}

/* --- streams and recordings --- */

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct tool *t = w->state;

	if (start->same)
		return 0;
	t->started = start->started;
	t->enveloped = false;
	if (t->meter)
		meter_draw(t->meter, t);
	return usage_begin(t->usage, start->started);
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct tool *t = w->state;

	(void)seen;
	t->timed = w->timed;
	fill_flush(t);
	t->enveloped |= m->msg.what == ACP_PROXY_SUCCESSOR;
	if (!t->enveloped && !usage_may_matter(&t->words, m->msg.text))
		return 0;
	return usage_see(t->usage, m, t->options->fill ? fill_message : NULL, t);
}

static int
event(struct watch *w, const struct record *r)
{
	return r->kind == RECORD_RESTART ? usage_restart(((struct tool *)w->state)->usage) : 0;
}

/* What ends now is of this recording. */
static int
end(struct watch *w, bool cut)
{
	(void)cut;
	return usage_end(((struct tool *)w->state)->usage);
}

/* Judges what has been quiet, writes metrics, and comes back when there is more to do. */
static uint64_t
tick(struct watch *w, uint64_t now, bool quiet)
{
	struct tool *t = w->state;
	uint64_t since = quiet ? UINT64_MAX : now > QUIET_US ? now - QUIET_US : 0, next;

	fill_flush(t);
	if (usage_quiet(t->usage, since, &next) < 0)
		tool_fail(t, "out of memory");
	alerts_check(t);
	if (t->prom.wanted)
		prom_write(t, false);
	if (next > 0)
		return (next + QUIET_US > now ? next + QUIET_US : now) + 1;
	return t->prom.wanted ? now + QUIET_US / 2 : 0;
}

static void
redraw(struct watch *w, int signal)
{
	struct tool *t = w->state;

	(void)signal;
	if (t->meter)
		meter_draw(t->meter, t);
}

static void
aside(struct watch *w, bool over)
{
	struct tool *t = w->state;

	if (t->meter && over)
		meter_draw(t->meter, t);
	else if (t->meter)
		meter_hide(t->meter);
}

static const char *
find(struct watch *w, const char *from, const char *end)
{
	const struct tool *t = w->state;

	return t->enveloped ? from : usage_find(&t->words, from, end);
}

static int
finish(struct watch *w, int status)
{
	struct tool *t = w->state;
	bool any = w->stream || w->operands.any;

	/* What was read in another order than it happened. Sums of what is damaged would be wrong without saying so. */
	if (!w->stream && usage_sort(t->usage) < 0)
		tool_fail(t, "out of memory");
	alerts_check(t);
	if (t->prom.wanted)
		prom_write(t, true);
	if (t->meter && t->options->summary && !t->options->frame.output)
		meter_hide(t->meter);
	if (t->options->summary && any && !(t->options->merge && status) && summary_put(t) < 0)
		tool_fail(t, "out of memory");
	if (any && !t->options->merge)
		alerts_end(t);
	status = status ? status : t->status;
	return watch_missed(w) && !w->stream && !status ? EXIT_USAGE : status;
}

/* --- summaries --- */

/* The line that ends a summary: are all sessions there that it was written with? */
static int
read_total(struct tool *t, struct slice version, struct slice sessions, const char **why)
{
	uint64_t n;

	*why = "a summary of another version of acp-usage";
	if (json_type(version) != JSON_NUMBER || !json_u64(version, &n) || n != SUMMARY_VERSION)
		return 1;
	*why = "sessions are missing before this total";
	if (json_type(sessions) != JSON_NUMBER || !json_u64(sessions, &n) || n != t->merged)
		return 1;
	t->merged = 0;
	t->watch->operands.found = t->watch->operands.any = true;
	return 0;
}

static int
merge_line(struct watch *w, struct slice line, const char **why)
{
	static const char *const names[] = {"total", "session", "recordings", "acp-usage", "sessions", "acp-ledger"};
	struct tool *t = w->state;
	const struct options *o = t->options;
	struct usage_entry entry;
	const char *what;
	struct slice v[6];
	int r;

	if (w->first)
		t->merged = 0;
	if (!line.p) {
		if (!w->operands.found && !t->merged)
			watch_warn(w, "no summary in it");
		*why = "the summary has no end: its total is missing";
		return t->merged != 0;
	}
	*why = "a line that --summary --format json has not written";
	if (json_scan(line, JSON_DEPTH, names, 6, v, NULL) != JSON_OBJECT || (!v[0].p && !v[2].p && !v[5].p))
		return 1;
	if (v[5].p) {
		t->entries = w->operands.found = w->operands.any = true;
		if (usage_entry_read(line, &entry, &what))
			return usage_entry_add(t->usage, &entry);
		t->damage.n = 0;
		return buf_printf(&t->damage, "a damaged entry of a ledger: %s", what) < 0 || !(*why = buf_string(&t->damage)) ? -1 : 1;
	}
	*why = "a summary does not say when anything was used: --since, --before and --by day, week and month need recordings or a ledger";
	if (o->since > 0 || o->before > 0 || by_period(o->by))
		return 1;
	if (v[0].p)
		return read_total(t, v[3], v[4], why);
	r = usage_get_parts(t->usage, line, &what);
	t->merged++;
	t->damage.n = 0;
	if (r > 0 && (buf_printf(&t->damage, "a damaged summary: %s", what) < 0 || !(*why = buf_string(&t->damage))))
		return -1;
	return r;
}

/* --- all --- */

static int
open_tool(struct tool *t, const struct options *o)
{
	usage_words(&t->words);
	if (!(t->usage = events_open(t)) || (o->prices && !(t->prices = prices_open(o->prices, o->cache_hour))))
		return -1;
	if (o->meter)
		t->meter = meter_open(o);
	return 0;
}

int
tool_run(const struct options *o)
{
	static const int signals[] = {SIGWINCH, 0};
	struct tool t = {.options = o, .prom = {.wanted = o->format == FORMAT_PROM}};
	struct watch w = {.name = tool_name, .state = &t, .frame = &o->frame, .session = o->session, .signals = o->meter ? signals : NULL, .inputs = o->inputs,
		.lost = "messages were lost: figures may be too low from here on", .whole = t.prom.wanted && o->frame.output,
		.needs = o->fill ? FILTER_EDITS | FILTER_SENDS : 0, .begin = begin, .message = message, .event = event,
		.end = end, .tick = tick, .signal = redraw, .aside = aside, .finish = finish, .find = find, .line = o->merge ? merge_line : NULL};
	int status = EXIT_FAILED;

	t.watch = &w;
	if (open_tool(&t, o) < 0)
		cli_warn(tool_name, "out of memory");
	else {
		if (o->frame.files && !o->summary)
			sort_files(o->frame.files);
		status = watch_run(&w);
	}
	meter_close(t.meter);
	free(t.prom.stops);
	free(t.prom.models);
	prices_close(t.prices);
	usage_free(t.usage);
	buf_free(&t.added);
	buf_free(&t.damage);
	free(t.due);
	return status;
}
