/* --list: writes a line for each recording. */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/acp-tap/tap.h"
#include "lib/base/calendar.h"
#include "lib/base/people.h"
#include "lib/usage/usage.h"

/* The recording that is being read. */
struct entry {
	const char *file;   /* NULL: no recording is being read */
	double began, started; /* s since 1970, from its first and from its last header; 0: not known */
	bool timed;
	uint64_t t, turns, open; /* t: of the last record, us; open: the number of requests without a response */
	struct buf agent, title;
	struct usage *usage;
};

struct list {
	const struct options *options;
	struct watch *watch;
	struct usage_words words;
	struct entry entry;
	bool headed;        /* the names of the columns were written */
};

/* The figures of a line. */
struct figures {
	struct buf cost; /* plain text; empty: not known */
	uint64_t tokens, duration, size;
	bool counted, sized; /* tokens, the size are known */
};

enum { TITLE_LEAST = 12, WIDE = 100 }; /* cells; a line of WIDE cells has room for the year and for longer names */

/* --- usage --- */

static int
add_up(const struct entry *e, struct figures *f)
{
	struct usage_figures all = {0};
	struct stat st;
	int r = 0;

	for (const struct usage_session *s = usage_sessions(e->usage); s; s = s->hh.next)
		r |= s->parent ? 0 : usage_figures_family(e->usage, s, &all);
	f->counted = all.own.has;
	f->tokens = usage_clip(usage_total(&all.own));
	for (size_t i = 0; i < all.ncosts; i++)
		r |= -((i && buf_add_string(&f->cost, " + ")) || usage_money_put(e->usage, &all.costs[i], &f->cost));
	usage_figures_free(&all);
	f->duration = e->t + (e->started > e->began ? (uint64_t)((e->started - e->began) * 1e6) : 0);
	f->sized = stat(e->file, &st) == 0 && S_ISREG(st.st_mode);
	f->size = f->sized ? (uint64_t)st.st_size : 0;
	return r;
}

/* --- a line --- */

static int
put_text(struct list *l, const struct entry *e, const struct figures *f, struct buf *to)
{
	unsigned width = pretty_width(l->watch);
	bool wide = width >= WIDE;
	char date[20] = "-", text[PEOPLE_FIGURE];
	const char *slash = e->agent.n ? memrchr(e->agent.p, '/', e->agent.n) : NULL;
	/* The end of a package's name says more than its beginning. */
	struct slice agent = slash ? slice_between(slash + 1, e->agent.p + e->agent.n) : buf_slice(&e->agent);
	time_t seconds = (time_t)e->began;
	struct cells c;
	struct tm tm;

	if (e->began > 0 && localtime_r(&seconds, &tm))
		strftime(date, sizeof(date), wide ? "%Y-%m-%d %H:%M" : "%m-%d %H:%M", &tm);
	cells_begin(&c, to, strcmp(nl_langinfo(CODESET), "UTF-8") == 0, cli_wants_color(l->options->color, log_fd(l->watch->out.log)));
	cells_open(&c, wide ? 16 : 11);
	cells_ascii(&c, date);
	cells_close(&c);
	cells_open(&c, wide ? 16 : 12);
	cells_text(&c, agent.n ? agent : slice_of("-"));
	cells_close(&c);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)e->turns);
	cells_right(&c, 5, STYLE_PLAIN, text);
	cells_right(&c, 7, STYLE_PLAIN, e->timed ? people_duration(text, f->duration) : "-");
	cells_right(&c, 6, STYLE_PLAIN, f->counted ? people_count(text, f->tokens) : "-");
	cells_right(&c, 10, STYLE_PLAIN, f->cost.n ? f->cost.p : "-");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)e->open);
	cells_right(&c, 4, e->open ? STYLE_RED : STYLE_PLAIN, text);
	cells_right(&c, 5, STYLE_PLAIN, f->sized ? people_bytes(text, f->size) : "-");
	cells_open(&c, width > c.used + TITLE_LEAST ? width - c.used : TITLE_LEAST);
	cells_text(&c, buf_slice(&e->title));
	return cells_end(&c);
}

/* Writes a line for programs, with each value in JSON, texts without quotes. */
static int
put_row(const struct list *l, const struct entry *e, const struct figures *f, struct buf *to)
{
	enum { DATE, AGENT, TITLE, TURNS, DURATION, TOKENS, COST, OPEN, SIZE, NAME, VALUES };
	static const char *const names[VALUES] = {"date", "agent", "title", "turns", "duration_s", "tokens", "cost", "open", "size",
		"file"};
	bool json = l->options->format == FORMAT_JSON;
	const struct slice texts[VALUES] = {[AGENT] = buf_slice(&e->agent), [TITLE] = buf_slice(&e->title), [COST] = buf_slice(&f->cost),
		[NAME] = slice_of(e->file)};
	const struct { bool known; uint64_t n; } numbers[VALUES] = {[TURNS] = {true, e->turns}, [TOKENS] = {f->counted, f->tokens},
		[OPEN] = {true, e->open}, [SIZE] = {f->sized, f->size}};
	int r = json ? buf_add(to, "{", 1) : 0;

	for (int i = 0; i < VALUES; i++) {
		r |= i ? buf_add(to, json ? "," : "\t", 1) : 0;
		r |= json ? buf_printf(to, "\"%s\":", names[i]) : 0;
		if (texts[i].n)
			r |= json ? json_quote(texts[i], to) : text_plain(to, texts[i]);
		else if (i == DATE && e->began > 0)
			r |= -((json && buf_add(to, "\"", 1)) || calendar_put_date(to, e->began) || (json && buf_add(to, "\"", 1)));
		else if (i == DURATION && e->timed)
			r |= buf_printf(to, "%llu.%06llu", (unsigned long long)(f->duration / 1000000), (unsigned long long)(f->duration % 1000000));
		else if (numbers[i].known)
			r |= buf_printf(to, "%llu", (unsigned long long)numbers[i].n);
		else
			r |= json ? buf_add_string(to, "null") : 0;
	}
	return r | buf_add_string(to, json ? "}\n" : "\n");
}

static int
put_head(const struct list *l, struct buf *to)
{
	bool wide = pretty_width(l->watch) >= WIDE;

	if (l->options->format == FORMAT_TSV)
		return buf_add_string(to, "date\tagent\ttitle\tturns\tduration_s\ttokens\tcost\topen\tsize\tfile\n");
	if (l->options->format == FORMAT_JSON)
		return 0;
	return buf_printf(to, "%-*s %-*s %5s %7s %6s %10s %4s %5s %s\n", wide ? 16 : 11, "date", wide ? 16 : 12, "agent", "turns", "time",
		"tokens", "cost", "open", "size", "title");
}

/* Writes the line of a recording at its end. 0, or -1 out of memory. */
static int
finish_entry(struct list *l)
{
	struct entry *e = &l->entry;
	struct figures f = {0};
	struct buf *to = out_buf(&l->watch->out);
	size_t before = to->n;
	int r = 0;

	if (e->file) {
		r = usage_end(e->usage);
		r |= add_up(e, &f) | (f.cost.n && !buf_string(&f.cost) ? -1 : 0) | (l->headed ? 0 : put_head(l, to));
		r |= l->options->format == FORMAT_TSV || l->options->format == FORMAT_JSON ? put_row(l, e, &f, to) : put_text(l, e, &f, to);
		out_commit(&l->watch->out, before, r);
		l->headed = true;
	}
	buf_free(&f.cost);
	buf_free(&e->agent);
	buf_free(&e->title);
	usage_free(e->usage);
	*e = (struct entry){0};
	return r;
}

/* --- reading --- */

static int
keep(struct buf *to, struct slice string)
{
	return to->n || json_type(string) != JSON_STRING ? 0 : json_unescape(string, to);
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	static const struct usage_spec spec = {0};
	struct list *l = w->state;
	struct entry *e = &l->entry;

	if (e->file != start->name) {
		if (finish_entry(l))
			return -1;
		*e = (struct entry){.file = start->name, .began = start->started, .usage = usage_new(&spec)};
	}
	e->started = start->started;
	e->t = 0;
	return !e->usage || (!start->same && usage_begin(e->usage, start->started) < 0) ? -1 : 0;
}

static void
happened(struct watch *w, const struct session_event *event)
{
	struct entry *e = &((struct list *)w->state)->entry;

	if (!e->usage)
		return;
	usage_happened(e->usage, event);
	e->turns += event->kind == SESSION_TURN_BEGAN;
	e->open += event->kind == SESSION_RESPONDED && event->unanswered && !event->request->copy;
}

/* Keeps the last title of a session, or else the first prompt. */
static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct entry *e = &((struct list *)w->state)->entry;
	struct slice title = json_path(m->msg.params, "update.title");
	int r = usage_may_matter(&((struct list *)w->state)->words, m->msg.text) ? usage_message(e->usage, seen) : 0;

	e->t = w->t;
	e->timed |= w->timed;
	if (m->msg.kind == MSG_RESPONSE && m->request && m->request->what == ACP_INITIALIZE) {
		r |= keep(&e->agent, json_path(m->msg.result, "agentInfo.name"));
		r |= keep(&e->agent, json_path(m->msg.result, "info.name")); /* in version 2 */
	}
	if (json_string_is(msg_update_kind(&m->msg), "session_info_update") && json_type(title) == JSON_STRING) {
		e->title.n = 0;
		r |= keep(&e->title, title);
	}
	if (m->msg.what == ACP_SESSION_PROMPT)
		r |= keep(&e->title, acp_prompt_text(m->msg.params));
	return r ? -1 : 0;
}

static int
event(struct watch *w, const struct record *r)
{
	struct entry *e = &((struct list *)w->state)->entry;

	e->t = r->t > e->t ? r->t : e->t;
	return r->kind == RECORD_RESTART && e->usage ? usage_restart(e->usage) : 0;
}

static int
finish(struct watch *w, int status)
{
	struct list *l = w->state;

	w->failed |= finish_entry(l) != 0;
	return status;
}

int
list_run(const struct options *o)
{
	struct list l = {.options = o};
	struct watch w = {.name = tap_name, .state = &l, .frame = &o->frame, .counts_events = true, .begin = begin, .happened = happened,
		.message = message, .event = event, .finish = finish};

	l.watch = &w;
	usage_words(&l.words);
	return watch_run(&w);
}
