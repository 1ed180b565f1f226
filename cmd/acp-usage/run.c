/* Runs the tool: reads a stream, recordings, or summaries that it adds up. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/usage/entry.h"

enum { QUIET_US = 2000000 }; /* after this time without a message about its session a turn is complete */

/* --- the order of recordings --- */

enum { HEADER_MOST = 4096 }; /* bytes of a message in its place; recording_open allows a header 64 KiB more */

/* Reads when the first recording in a file began, s since 1970; 0: not known. */
static double
started_at(const char *name)
{
	struct record r = {0};
	struct stat st;
	/* Only regular files: if a FIFO were opened and closed, its writer would lose its reader. */
	int fd = stat(name, &st) == 0 && S_ISREG(st.st_mode) ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	struct recording *in = fd >= 0 ? recording_open(fd, HEADER_MOST, NULL) : NULL;
	double started = in && recording_next(in, &r) == 0 && r.kind == RECORD_HEADER ? r.started : 0;

	recording_close(in);
	return started;
}

/* Sorts recordings by their beginning, as a row may need what an earlier one has reported. Those without a time come first. */
static void
sort_files(char **files)
{
	double *started, at;
	size_t n = 0, i, j;
	char *name;

	while (files[n])
		n++;
	if (!(started = calloc(n + 1, sizeof(*started))))
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	/* Insertion is fast here, as most files are in order: shells sort names. */
	for (i = 0; i < n && n > 1; i++) {
		name = files[i];
		at = started_at(name);
		for (j = i; j > 0 && started[j - 1] > at; j--) {
			started[j] = started[j - 1];
			files[j] = files[j - 1];
		}
		started[j] = at;
		files[j] = name;
	}
	free(started);
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
	meter_draw(t);
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

/* Ends a recording, and the turns that are open in it. */
static int
end(struct watch *w, bool cut)
{
	(void)cut;
	return usage_end(((struct tool *)w->state)->usage);
}

/* Judges turns after a quiet time, checks limits, and writes metrics. Returns when to come back (us), or 0. */
static uint64_t
tick(struct watch *w, uint64_t now, bool quiet)
{
	struct tool *t = w->state;
	uint64_t since = quiet ? UINT64_MAX : now > QUIET_US ? now - QUIET_US : 0, next;

	fill_flush(t);
	if (usage_quiet(t->usage, since, &next) < 0)
		tool_fail(t, "out of memory");
	alerts_check(t);
	if (t->options->format == FORMAT_PROM)
		prom_write(t, false);
	if (next > 0)
		return (next + QUIET_US > now ? next + QUIET_US : now) + 1;
	return t->options->format == FORMAT_PROM ? now + QUIET_US / 2 : 0;
}

static void
redraw(struct watch *w, int signal)
{
	(void)signal;
	meter_draw(w->state);
}

static void
aside(struct watch *w, bool over)
{
	if (over)
		meter_draw(w->state);
	else
		meter_hide(w->state);
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

	if (!w->stream && watch_missed(w))
		return status ? status : EXIT_USAGE;
	/* The recordings may not have been read in the order of their times. */
	if (usage_sort(t->usage) < 0)
		tool_fail(t, "out of memory");
	alerts_check(t);
	if (t->options->format == FORMAT_PROM)
		prom_write(t, true);
	if (t->options->summary && !t->options->frame.output)
		meter_hide(t);
	/* Without the damaged summaries the sum would be wrong, and would not say so. */
	if (t->options->summary && any && !(t->options->merge && status) && summary_put(t) < 0)
		tool_fail(t, "out of memory");
	if (any && !t->options->merge)
		alerts_end(t);
	return status ? status : t->status;
}

/* --- summaries --- */

/* Reads the line that ends a summary, which says how many sessions come before it. 0; 1 with *why. */
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

int
tool_run(const struct options *o)
{
	static const int signals[] = {SIGWINCH, 0};
	struct tool t = {.options = o};
	struct watch w = {.name = tool_name, .state = &t, .frame = &o->frame, .session = o->session,
		.signals = o->meter ? signals : NULL, .inputs = o->inputs,
		.lost = "messages were lost: figures may be too low from here on", .replaces = o->format == FORMAT_PROM && o->frame.output,
		.needs = o->fill ? FILTER_EDITS | FILTER_SENDS : 0, .begin = begin, .message = message, .event = event,
		.end = end, .tick = tick, .signal = redraw, .aside = aside, .finish = finish, .find = find, .line = o->merge ? merge_line : NULL};
	int status;

	t.watch = &w;
	usage_words(&t.words);
	if (!(t.usage = events_open(&t)))
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	t.prices = o->prices ? prices_open(o->prices, o->cache_hour) : NULL;
	t.meter = o->meter ? meter_open(o) : NULL;
	if (o->frame.files && !o->summary)
		sort_files(o->frame.files);
	status = watch_run(&w);
	meter_close(&t);
	free(t.prom.stops);
	free(t.prom.models);
	prices_close(t.prices);
	usage_free(t.usage);
	buf_free(&t.added);
	buf_free(&t.damage);
	free(t.due);
	return status;
}
