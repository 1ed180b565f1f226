/*
 * pretty: writes a line for each message, in columns:
 *
 *   time  direction  kind  id  method  size  session  turn  latency and preview
 *
 * With -n a line begins with the number of its record. A bracket beside the session encloses each of its turns.
 */
#include "cmd/acp-tap/tap.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/people.h"
#include "lib/run/proc.h"

enum {
	WIDTH_ELSE = 120,  /* without a terminal */
	WIDTH_LEAST = 60,
	WIDTH_WIDE = 110,  /* from this width on, columns have their full width */
	WIDTH_MOST = 4096,
	NUMBER = 5,        /* the column of -n */
	RUN_TEXT = 8192,   /* bytes of a run's text that are kept */
	MARGIN = 4,        /* before the lines of a message in full */
};

enum { LABEL = 8, LABEL_SHORT = 4 };

/* The short names of a session, and its number: its `data`. */
struct label {
	char text[LABEL + 1], brief[LABEL_SHORT + 1];
	uint64_t number;
};

/* The widths of the columns. */
struct layout {
	unsigned time, id, method, size, session;
};
static const struct layout narrow = {7, 4, 19, 4, LABEL_SHORT}, wide = {8, 6, 26, 5, LABEL};

/* Does a message begin the turn of its session, end it, or come within it? */
enum turn { TURN_NONE, TURN_BEGIN, TURN_WITHIN, TURN_END };

/* The columns of a line, without its preview. */
struct row {
	uint64_t number;          /* of the record; or 0 */
	uint64_t t;
	bool timed;
	enum acp_side from;
	const char *kind;         /* "req", "res", "err", "ntf" or blanks */
	enum style kind_style;
	struct slice id;          /* a JSON value; or p NULL */
	uint64_t count;           /* of a run: the number of chunks, in place of an id */
	struct slice method;      /* a JSON string, or plain text */
	enum style method_style;
	bool sized;
	uint64_t size;
	const struct label *label; /* of its session; or NULL */
	enum turn turn;
};

/* A run: consecutive chunks of the same kind, side and session. */
struct run {
	struct row row;     /* of the first chunk; its slices are in the two buffers */
	struct buf kind;
	struct buf text;    /* the part of the text that is shown: its beginning; until there is a hit, its end */
	size_t before;      /* bytes of `text` that are the text before the run, for redact_plain */
	bool hit;           /* the pattern of --grep is in it, or there is no pattern */
};

struct pretty {
	const struct watch *watch;
	const struct options *options;
	int fold;           /* 1: a run of chunks is one line; 0: each chunk is a line; -1: not decided */
	bool in_place;      /* a run is drawn on the terminal while it grows */
	bool drawn;         /* the run is drawn, without a newline */
	bool utf8;
	struct session_label *labels; /* of all sessions */
	struct buf head;    /* the line for a recording, until a message of it is written */
	const struct label *label; /* of the current message's session */
	const struct session *began, *ended; /* the sessions whose turn the current message began (without a prompt) or ended; or NULL */
	enum turn turn;
	struct run run;     /* row.count is 0 if there is none */
	struct redact *redact; /* for the joined text of a run, because a secret may be in several chunks; or NULL */
	struct redact drawing; /* as redact, for the text that is drawn before the end of a run, whose secrets are not counted */
};

struct pretty *
pretty_new(const struct watch *w, const struct options *o, struct redact *redact)
{
	struct pretty *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->watch = w;
	p->options = o;
	p->fold = o->format == FORMAT_FULL ? 0 : o->frame.files && o->fold < 0 ? 1 : o->fold;
	p->redact = redact;
	p->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	return p;
}

void
pretty_free(struct pretty *p)
{
	if (!p)
		return;
	buf_free(&p->run.kind);
	buf_free(&p->run.text);
	buf_free(&p->head);
	session_labels_free(p->labels);
	redact_free(&p->drawing);
	free(p);
}

/* --- a line --- */

/* Asks each time, because a terminal's width may change. */
unsigned
pretty_width(const struct watch *w)
{
	size_t columns = cli_columns(log_fd(w->out.log));

	if (columns == 0)
		columns = WIDTH_ELSE;
	if (columns > WIDTH_MOST)
		return WIDTH_MOST;
	return columns < WIDTH_LEAST ? WIDTH_LEAST : (unsigned)columns;
}

static void
format_latency(char *to, size_t size, uint64_t us)
{
	double ms = (double)us / 1e3;

	if (ms < 9.95)
		snprintf(to, size, "+%.1fms ", ms);
	else if (ms < 999.5)
		snprintf(to, size, "+%.0fms ", ms);
	else if (ms < 59995)
		snprintf(to, size, "+%.2fs ", ms / 1e3);
	else
		snprintf(to, size, "+%llum%02llus ", (unsigned long long)(us / 60000000),
			(unsigned long long)(us / 1000000 % 60));
}

/* Writes the arrow, the kind, and the id or the number of chunks. */
static void
put_kind(struct cells *c, const struct row *r, const struct layout *l)
{
	static const struct { enum style style; const char *utf8, *ascii; } arrows[] = {[ACP_UNKNOWN] = {STYLE_DIM, "·", "-"},
		[ACP_CLIENT] = {STYLE_CYAN, "→", ">"}, [ACP_AGENT] = {STYLE_GREEN, "←", "<"}};

	cells_open(c, 1);
	cells_style(c, arrows[r->from].style);
	cells_sign(c, arrows[r->from].utf8, arrows[r->from].ascii);
	cells_close(c);
	cells_open(c, 4);
	cells_style(c, r->kind_style);
	cells_ascii(c, r->kind);
	cells_style(c, STYLE_DIM);
	cells_close(c);
	cells_open(c, l->id);
	if (r->count > 1) {
		cells_style(c, STYLE_DIM);
		cells_sign(c, "×", "x");
		cells_printf(c, "%llu", (unsigned long long)r->count);
	} else {
		cells_value(c, r->id);
	}
	cells_close(c);
}

/* Cuts a method at its beginning, and a kind of update at its end: the other part says more. */
static void
put_method(struct cells *c, const struct row *r, unsigned width)
{
	struct slice name = r->method;

	cells_open(c, width);
	cells_style(c, r->method_style);
	if (name.n > width + 2 && memchr(name.p, '/', name.n) && !memchr(name.p, '\\', name.n)) {
		cells_style(c, STYLE_DIM);
		cells_sign(c, "…", "~");
		cells_style(c, r->method_style);
		cells_text(c, slice_tail(slice(name.p, name.n - 1), width - 1));
	} else {
		cells_value(c, name);
	}
	cells_close(c);
}

static void
put_session(struct cells *c, const struct row *r, unsigned width)
{
	static const char *const utf8[] = {" ", "┌", "│", "└"}, *const ascii[] = {" ", ",", "|", "`"};
	static const enum style styles[] = {STYLE_CYAN, STYLE_MAGENTA, STYLE_YELLOW, STYLE_BLUE, STYLE_GREEN, STYLE_ORANGE};
	enum style style = r->label ? styles[(r->label->number - 1) % (sizeof(styles) / sizeof(styles[0]))] : STYLE_PLAIN;

	cells_open(c, width);
	cells_style(c, style);
	if (r->label)
		cells_ascii(c, width < LABEL ? r->label->brief : r->label->text);
	cells_close(c);
	cells_open(c, 1);
	cells_style(c, style);
	if (r->turn != TURN_NONE)
		cells_sign(c, utf8[r->turn], ascii[r->turn]);
	cells_close(c);
}

/* Writes all columns but the last. 0, or -1 out of memory. */
static void
begin_line(struct pretty *p, struct cells *c, struct buf *to, const struct row *r)
{
	unsigned width = pretty_width(p->watch);
	const struct layout *l = width < WIDTH_WIDE ? &narrow : &wide;
	double t = (double)r->t / 1e6;
	char text[32] = "";

	cells_begin(c, to, p->utf8, cli_wants_color(p->options->color, log_fd(p->watch->out.log)));
	c->failed = buf_add_slice(to, buf_slice(&p->head)) < 0;
	p->head.n = 0;
	if (r->number) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)r->number);
		cells_right(c, NUMBER, STYLE_DIM, text);
	}
	*text = '\0';
	/* The seconds take seven characters, with at most three decimals. */
	if (r->timed)
		snprintf(text, sizeof(text), "%.*f", t < 999.9995 ? 3 : t < 9999.995 ? 2 : t < 99999.95 ? 1 : 0, t);
	cells_right(c, l->time, STYLE_DIM, text);
	put_kind(c, r, l);
	put_method(c, r, l->method);
	cells_right(c, l->size, STYLE_DIM, r->sized ? people_bytes(text, r->size) : "");
	put_session(c, r, l->session);
	cells_open(c, width > c->used ? width - c->used : 0);
}

/* Writes the text around a hit, from the text's beginning if that is near. */
static void
put_hit(struct cells *c, const struct grep_hit *hit, enum style style)
{
	unsigned room = c->limit > c->used ? c->limit - c->used : 0;
	struct slice before = slice(hit->text.p, hit->from);

	if (cells_width(slice(hit->text.p, hit->to < 4 * (size_t)room ? hit->to : 4 * (size_t)room)) >= room) {
		before = slice_tail(before, room / 3);
		cells_style(c, STYLE_DIM);
		if (before.n < hit->from)
			cells_sign(c, "…", "~");
	}
	cells_style(c, style);
	cells_text(c, before);
	cells_style(c, STYLE_HIT);
	cells_text(c, slice_between(hit->text.p + hit->from, hit->text.p + hit->to));
	cells_style(c, style);
	cells_text(c, slice_between(hit->text.p + hit->to, hit->text.p + hit->text.n));
}

/* --- runs --- */

/* Writes the line of a run, over the drawn one. 0, or -1 out of memory. */
static int
put_run(struct pretty *p, struct buf *to, struct redact *redact)
{
	struct run *run = &p->run;
	struct slice text = buf_slice(&run->text);
	struct grep_hit hit;
	struct cells c;

	if (p->redact && redact_plain(redact, text, run->before, &text) < 0)
		return -1;
	if (p->drawn && buf_add_string(to, "\r\033[K") < 0)
		return -1;
	run->row.method = buf_slice(&run->kind);
	begin_line(p, &c, to, &run->row);
	if (p->options->grep && grep_text(p->options->grep, text, &hit)) {
		put_hit(&c, &hit, preview_style(run->row.method));
	} else {
		cells_style(&c, preview_style(run->row.method));
		cells_text(&c, text);
	}
	return cells_end(&c);
}

static int
end_run(struct writer *w, struct buf *to)
{
	struct pretty *p = w->pretty;

	if (p->run.row.count == 0)
		return 0;
	if (p->run.hit && put_run(p, to, p->redact) < 0)
		return -1;
	p->run.row.count = 0;
	p->drawn = false;
	return 0;
}

static int
add_to_run(struct run *run, const struct row *r, struct slice chunk, bool hit)
{
	struct text t = text_of_string(chunk);
	struct slice tail = slice_tail(buf_slice(&run->text), RUN_TEXT / 4);
	size_t most = run->hit ? RUN_TEXT : SIZE_MAX;
	int32_t code;

	/* A long text before a hit is not shown. */
	if (!run->hit && run->text.n > RUN_TEXT) {
		memmove(run->text.p, tail.p, tail.n);
		run->text.n = tail.n;
		run->before = 0;
	}
	run->hit |= hit;
	run->row.count++;
	run->row.size += r->size;
	while (run->text.n < most && (code = text_next(&t)) >= 0)
		if (text_put(&run->text, code) < 0)
			return -1;
	return 0;
}

/* Adds a chunk to the run, or begins a run with it. 0, or -1 out of memory. */
static int
join_chunk(struct writer *w, struct buf *to, const struct row *r, struct slice chunk)
{
	struct pretty *p = w->pretty;
	struct run *run = &p->run;

	if (run->row.count > 0 && (run->row.from != r->from || run->row.label != r->label ||
		!slice_eq(buf_slice(&run->kind), r->method)) && end_run(w, to) < 0)
		return -1;
	if (run->row.count == 0) {
		run->row = *r;
		run->row.size = 0;
		run->hit = !p->options->grep;
		run->kind.n = run->text.n = 0;
		run->before = p->redact ? w->before.n : 0;
		if (buf_add_slice(&run->kind, r->method) < 0 || buf_add(&run->text, w->before.p, run->before) < 0)
			return -1;
	}
	if (add_to_run(run, r, chunk, w->hit) < 0)
		return -1;
	if (!p->in_place || !run->hit)
		return 0;
	if (put_run(p, to, &p->drawing) < 0)
		return -1;
	to->n--; /* the newline comes at the end of the run */
	p->drawn = true;
	return 0;
}

/* Is a run of chunks one line? */
static bool
folds(struct pretty *p)
{
	p->in_place = p->fold != 0 && p->watch->stream && isatty(log_fd(p->watch->out.log));
	if (p->fold < 0)
		p->fold = p->in_place;
	return p->fold;
}

/* --- messages and events --- */

static void
watch(struct writer *w, const struct session_message *seen)
{
	struct pretty *p = w->pretty;
	const struct session *s = seen->session;
	const struct msg *m = &seen->message.msg;

	p->label = s ? s->data : NULL;
	p->turn = s && s->turn ? TURN_WITHIN : TURN_NONE;
	if (s && m->kind == MSG_REQUEST && m->what == ACP_SESSION_PROMPT)
		p->turn = TURN_BEGIN;
	else if (s && s == p->ended)
		p->turn = TURN_END;
	else if (s && s == p->began)
		p->turn = TURN_BEGIN;
	p->began = p->ended = NULL;
}

void
pretty_see(struct pretty *p, const struct session_event *e)
{
	struct session *s = e->session;
	struct label *l;

	if (e->kind == SESSION_TURN_ENDED && e->message) {
		p->ended = s;
	} else if (e->kind == SESSION_TURN_BEGAN && !e->turn->prompted) {
		p->began = s;
	} else if (e->kind == SESSION_BEGAN) {
		s->data = l = calloc(1, sizeof(*l));
		if (!l)
			return;
		l->number = s->number;
		session_label(&p->labels, s, l->text, LABEL);
		session_label(&p->labels, s, l->brief, LABEL_SHORT);
	} else if (e->kind == SESSION_FORGOTTEN) {
		p->run.row.label = p->run.row.label == s->data ? NULL : p->run.row.label;
		free(s->data);
		s->data = NULL;
	}
}

static struct row
row_of(const struct writer *w, const struct message *s)
{
	static const char *const names[] = {"", "req", "ntf", "res", ""};
	const struct pretty *p = w->pretty;
	const struct msg *m = &s->msg;
	struct slice kind = msg_update_kind(m);
	struct row r = {.number = w->number, .t = s->t, .timed = w->timed, .from = s->from, .id = m->id,
		.kind = m->error.p ? "err" : names[m->kind],
		.kind_style = m->error.p ? STYLE_RED : m->kind == MSG_NOTIFICATION ? STYLE_DIM : STYLE_PLAIN,
		.sized = true, .size = s->line.n, .label = p->label, .turn = p->turn};

	r.method = kind.p ? kind : message_method(s);
	r.method_style = preview_style(r.method);
	return r;
}

static bool
joins(struct writer *w, const struct message *s)
{
	return folds(w->pretty) && preview_chunk(s, msg_update_kind(&s->msg)).p;
}

static int
put_message(struct writer *w, struct buf *to, const struct message *s)
{
	struct pretty *p = w->pretty;
	struct row r = row_of(w, s);
	struct slice chunk = folds(p) ? preview_chunk(s, r.method) : slice(NULL, 0);
	struct grep_hit hit;
	char latency[48];
	struct cells c;

	if (chunk.p)
		return join_chunk(w, to, &r, chunk);
	if (end_run(w, to) < 0)
		return -1;
	begin_line(p, &c, to, &r);
	if (w->timed && s->msg.kind == MSG_RESPONSE && s->request && s->t >= s->request->t) {
		format_latency(latency, sizeof(latency), s->t - s->request->t);
		cells_style(&c, STYLE_DIM);
		cells_ascii(&c, latency);
		cells_style(&c, STYLE_PLAIN);
	}
	if (p->options->grep && grep_message(p->options->grep, s, &hit))
		put_hit(&c, &hit, STYLE_PLAIN);
	else
		preview_put(&c, s);
	return cells_end(&c);
}

static void
describe_event(struct cells *c, const struct record *e)
{
	char text[64];

	switch (e->kind) {
	case RECORD_EXIT:
		cells_ascii(c, proc_describe(e->status, text, sizeof(text)));
		if (e->status == PROC_SIGNAL_UNKNOWN && e->signal.n) {
			cells_ascii(c, " ");
			cells_text(c, e->signal);
		}
		break;
	case RECORD_EOF:
		cells_ascii(c, e->torn ? "the last line has no newline" : "");
		break;
	case RECORD_LOST:
		cells_printf(c, "%llu: ", (unsigned long long)e->count);
		cells_text(c, e->text);
		break;
	default:
		if (e->text.p)
			cells_text(c, e->text);
	}
}

static int
put_event(struct writer *w, struct buf *to, const struct record *e)
{
	static const struct {
		enum record_kind kind;
		const char *name;
		enum style style;
	} events[] = {{RECORD_NOISE, "noise", STYLE_YELLOW}, {RECORD_STDERR, "stderr", STYLE_DIM},
		{RECORD_EXIT, "exit", STYLE_BOLD}, {RECORD_EOF, "eof", STYLE_DIM}, {RECORD_LOST, "lost", STYLE_RED},
		{RECORD_RESTART, "restart", STYLE_BOLD}, {RECORD_ERROR, "error", STYLE_RED}};
	struct pretty *p = w->pretty;
	struct row r = {.number = w->number, .t = e->t, .timed = w->timed, .from = e->from, .kind = "", .size = e->text.n,
		.sized = e->kind == RECORD_NOISE || e->kind == RECORD_STDERR};
	struct cells c;
	size_t i = 0;

	while (i < sizeof(events) / sizeof(*events) && events[i].kind != e->kind)
		i++;
	if (i == sizeof(events) / sizeof(*events))
		return 0;
	r.method = slice_of(events[i].name);
	r.method_style = events[i].style;
	if (end_run(w, to) < 0)
		return -1;
	begin_line(p, &c, to, &r);
	cells_style(&c, events[i].style);
	describe_event(&c, e);
	return cells_end(&c);
}

int
pretty_close(struct writer *w, struct buf *to, const struct session_turn *turn, uint64_t t)
{
	struct row r = {.t = t, .timed = w->timed, .kind = "", .method = slice_of(""), .label = turn->session->data, .turn = TURN_END};
	char text[PEOPLE_FIGURE];
	struct cells c;

	if (end_run(w, to) < 0)
		return -1;
	begin_line(w->pretty, &c, to, &r);
	cells_style(&c, STYLE_RED);
	cells_ascii(&c, turn->prompted && !turn->accepted ? "no response" : "no end");
	if (w->timed && t >= turn->asked)
		cells_printf(&c, " after %s", people_duration(text, t - turn->asked));
	return cells_end(&c);
}

/* --- between recordings --- */

/* Prepares the line for a recording, if it has a time or several files are shown: name, time, command. 0, or -1 out of memory. */
static int
put_header(struct writer *w, struct buf *to, const struct watch_start *h)
{
	struct json_iter it = {.in = json_get(h->header, "command")};
	const char *blanks = "  ";
	struct pretty *p = w->pretty;
	time_t seconds = (time_t)h->started;
	struct slice word;
	char date[64];
	struct cells c;
	struct tm tm;

	if (end_run(w, to) < 0)
		return -1;
	p->head.n = 0;
	if (!h->name || !(h->started > 0 || p->watch->frame->files[1]))
		return 0;
	cells_begin(&c, &p->head, p->utf8, cli_wants_color(p->options->color, log_fd(p->watch->out.log)));
	cells_open(&c, pretty_width(p->watch));
	cells_style(&c, STYLE_DIM);
	cells_text(&c, slice_of(h->name));
	if (h->started > 0 && localtime_r(&seconds, &tm) && strftime(date, sizeof(date), "  %Y-%m-%d %H:%M:%S", &tm))
		cells_ascii(&c, date);
	for (; !c.cut && json_item(&it, &word); blanks = " ") {
		cells_ascii(&c, blanks);
		cells_value(&c, word);
	}
	return cells_end(&c);
}

/* --- full: messages as indented JSON --- */

static int
put_full(struct writer *w, struct buf *to, const struct message *s)
{
	if (put_message(w, to, s) < 0 || buf_printf(to, "%*s", MARGIN, "") < 0 || json_indent(to, s->msg.text, MARGIN, text_plain) < 0)
		return -1;
	return buf_add(to, "\n", 1);
}

static int
put_full_event(struct writer *w, struct buf *to, const struct record *e)
{
	if (put_event(w, to, e) < 0)
		return -1;
	if (!e->text.p || (e->kind != RECORD_NOISE && e->kind != RECORD_STDERR))
		return 0;
	return buf_printf(to, "%*s", MARGIN, "") < 0 || text_plain(to, e->text) < 0 ? -1 : buf_add(to, "\n", 1);
}

const struct format format_full = {.header = put_header, .watch = watch, .message = put_full,
	.event = put_full_event};
const struct format format_pretty = {.header = put_header, .watch = watch, .message = put_message,
	.joins = joins, .event = put_event, .flush = end_run};
