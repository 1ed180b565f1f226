/* --mcp: reports what became of each MCP server that a session declares, as the recordings of the servers show it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/base/people.h"
#include "lib/base/text.h"
#include "lib/run/directory.h"
#include "lib/recording/home.h"
#include "lib/run/proc.h"

/* How far a server got; with several processes, the farthest of them. */
enum stage { STAGE_NEVER, STAGE_STARTED, STAGE_ASKED, STAGE_REFUSED, STAGE_TOOLLESS, STAGE_READY, STAGE_ASKED_TOOLS, STAGE_REFUSED_TOOLS,
	STAGE_LISTED };
static const char *const stages[] = {"never started", "started, no initialize", "no response to initialize", "an error to initialize",
	"it offers no tools", "no tools/list", "no response to tools/list", "an error to tools/list",
	"listed"};

/* The figures of a recording, or the sums for a server. */
struct figures {
	enum stage stage;
	uint64_t starts, tools, calls, responses, errors;
	uint64_t us, longest, ran; /* us: the time of all calls; of the longest call; of the recordings */
	int status;                /* from waitpid: of the last process that did not end with 0; or 0 */
};

/* A server that a session declares. A command is stored as its arguments, each with a NUL after it. */
struct server {
	struct buf name, type, command;
	struct buf part;   /* the name as --wrap-mcp writes it in the names of files */
	uint64_t declared; /* how often sessions declare it */
	struct figures f;
};

/* A recording: of sessions, or of a server. */
struct stream {
	struct buf command;
	const char *file;
	bool session;      /* it is a recording of sessions, not of a server */
	struct figures f;
};

struct mcp {
	const struct options *options;
	struct server *servers;
	struct stream *streams;
	size_t nservers, nstreams;
	struct buf text;
};

/* Appends the text of a JSON string, and a NUL; any other value is an empty text. */
static void
add_argument(struct mcp *m, struct buf *to, struct slice string)
{
	struct slice text = json_type(string) == JSON_STRING ? json_text(string, &m->text) : slice("", 0);

	if (!text.p || buf_add_slice(to, text) || buf_add(to, "", 1))
		cli_no_memory(check_name);
}

static void
add_arguments(struct mcp *m, struct buf *to, struct slice list)
{
	struct json_iter it = {.in = list};
	struct slice value;

	while (json_item(&it, &value))
		add_argument(m, to, value);
}

/* --- sessions --- */

static bool
is_stdio(const struct server *s)
{
	return strcmp(s->type.p, "stdio") == 0;
}

/* Removes the last server. */
static void
drop_server(struct mcp *m)
{
	struct server *s = &m->servers[--m->nservers];

	buf_free(&s->name);
	buf_free(&s->part);
	buf_free(&s->type);
	buf_free(&s->command);
}

static void
declare(struct mcp *m, struct slice declaration)
{
	struct slice type = json_get(declaration, "type");
	struct server *new, *s;

	s = m->servers = cli_grow(check_name, m->servers, m->nservers, sizeof(*m->servers));
	new = &m->servers[m->nservers++];
	*new = (struct server){0};
	add_argument(m, &new->name, json_get(declaration, "name"));
	add_argument(m, &new->type, type.p ? type : slice_of("\"stdio\""));
	if (home_name(&new->part, slice_of(new->name.p)) < 0 || !buf_string(&new->part))
		cli_no_memory(check_name);
	if (is_stdio(new)) {
		add_argument(m, &new->command, json_get(declaration, "command"));
		add_arguments(m, &new->command, json_get(declaration, "args"));
	}
	while (s < new && !(slice_eq(buf_slice(&s->name), buf_slice(&new->name)) &&
		slice_eq(buf_slice(&s->command), buf_slice(&new->command))))
		s++;
	s->declared++;
	if (s < new)
		drop_server(m);
}

/* --- servers --- */

static void
reach(struct figures *f, enum stage stage)
{
	f->stage = stage > f->stage ? stage : f->stage;
}

static void
see_response(struct figures *f, const struct session_message *seen)
{
	const struct msg *msg = &seen->message.msg;
	const struct request *r = seen->request->request;
	uint64_t us = seen->message.t - r->t;

	if (json_string_is(r->method, "initialize") || json_string_is(r->method, "server/discover")) {
		reach(f, msg->error.p ? STAGE_REFUSED : json_path(msg->result, "capabilities.tools").p ? STAGE_READY : STAGE_TOOLLESS);
	} else if (json_string_is(r->method, "tools/list") && msg->error.p) {
		reach(f, STAGE_REFUSED_TOOLS);
	} else if (json_string_is(r->method, "tools/list")) {
		struct json_iter it = {.in = json_get(msg->result, "tools")};
		struct slice value;

		reach(f, STAGE_LISTED);
		while (json_item(&it, &value))
			f->tools++;
	} else if (json_string_is(r->method, "tools/call")) {
		f->responses++;
		f->errors += msg->error.p || json_type(json_get(msg->result, "isError")) == JSON_TRUE;
		f->us += us;
		f->longest = us > f->longest ? us : f->longest;
	}
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct mcp *m = w->state;
	struct stream *s;

	if (start->same)
		return 0;
	m->streams = cli_grow(check_name, m->streams, m->nstreams, sizeof(*s));
	s = &m->streams[m->nstreams++];
	*s = (struct stream){.file = w->file, .f = {.stage = STAGE_STARTED, .starts = 1}};
	add_arguments(m, &s->command, json_get(start->header, "command"));
	return 0;
}

/* Needed, though it ignores all events: without it, watch would not run lib/session, which finds the request of a response. */
static void
happened(struct watch *w, const struct session_event *e)
{
	(void)w;
	(void)e;
}

static int
message(struct watch *w, const struct message *original, const struct session_message *seen)
{
	struct mcp *m = w->state;
	struct stream *s = &m->streams[m->nstreams - 1];
	const struct msg *msg = &seen->message.msg;
	struct json_iter it = {.in = json_get(msg->params, acp_mcp_servers)};
	struct slice value;

	(void)original;
	s->f.ran = w->t;
	if (msg->kind == MSG_RESPONSE && seen->request)
		see_response(&s->f, seen);
	if (msg->kind != MSG_REQUEST)
		return 0;
	if (acp_opens_session(msg->what)) {
		s->session = true;
		while (!seen->copy && json_item(&it, &value))
			declare(m, value);
	} else if (json_string_is(msg->method, "initialize") || json_string_is(msg->method, "server/discover")) {
		/* In MCP the version is a date, a string; only in ACP it is a number. */
		s->session |= json_type(json_get(msg->params, "protocolVersion")) == JSON_NUMBER;
		reach(&s->f, STAGE_ASKED);
	} else if (json_string_is(msg->method, "tools/list")) {
		/* The list may have several pages; a request without a cursor begins it. */
		s->f.tools = json_get(msg->params, "cursor").p ? s->f.tools : 0;
		reach(&s->f, STAGE_ASKED_TOOLS);
	} else if (json_string_is(msg->method, "tools/call")) {
		s->f.calls++;
	}
	return 0;
}

static int
event(struct watch *w, const struct record *record)
{
	struct mcp *m = w->state;
	struct figures *f = m->nstreams ? &m->streams[m->nstreams - 1].f : NULL;

	if (f)
		f->ran = record->t;
	if (record->kind == RECORD_EXIT && f)
		f->status = record->status;
	return 0;
}

/* --- which server a recording is of --- */

/* Does the file's name contain the server's as a word, as it is or as --wrap-mcp writes it? */
static bool
is_named(const struct stream *s, const struct server *server)
{
	const char *file = s->file ? s->file : "", *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	const char *names[] = {server->name.p, server->part.p}, *at;
	size_t n;

	for (int i = 0; i < 2; i++) {
		n = strlen(names[i]);
		for (at = n ? strstr(base, names[i]) : NULL; at; at = strstr(at + 1, names[i]))
			if ((at == base || at[-1] == '-') && (at[n] == '-' || at[n] == '.' || at[n] == '\0'))
				return true;
	}
	return false;
}

/* Does the declared command end with the recorded one? It may begin with a recorder, which records the command of its child. */
static bool
is_started_by(const struct stream *s, const struct server *server)
{
	const struct buf *whole = &server->command, *part = &s->command;
	size_t before = whole->n - part->n;

	return part->n > 0 && part->n <= whole->n && memcmp(whole->p + before, part->p, part->n) == 0 &&
		(before == 0 || whole->p[before - 1] == '\0');
}

/* Finds the server of a recording: by command and name, else by the command, else by the name. NULL: none. */
static struct server *
server_of(const struct mcp *m, const struct stream *stream)
{
	struct server *best = NULL;
	int most = 0;

	for (struct server *s = m->servers; s < m->servers + m->nservers; s++) {
		int fits = 2 * is_started_by(stream, s) + is_named(stream, s);

		if (fits > most && is_stdio(s)) {
			most = fits;
			best = s;
		}
	}
	return best;
}

static void
add_up(struct figures *to, const struct figures *f)
{
	to->starts += f->starts;
	to->tools = f->stage == STAGE_LISTED ? f->tools : to->tools;
	reach(to, f->stage);
	to->calls += f->calls;
	to->responses += f->responses;
	to->errors += f->errors;
	to->us += f->us;
	to->longest = f->longest > to->longest ? f->longest : to->longest;
	to->ran += f->ran;
	to->status = f->status ? f->status : to->status;
}

/* --- the report --- */

/* Appends for example: listed 2 tools, called 3 times, 1 error, 0.3 ms in calls, ran 1.2 s */
static int
put_text(struct buf *to, const struct figures *f)
{
	char us[PEOPLE_FIGURE], ran[PEOPLE_FIGURE], end[32];
	int r = 0;

	if (f->starts > 1)
		r |= buf_printf(to, "%" PRIu64 " processes, ", f->starts);
	r |= buf_add_string(to, stages[f->stage]);
	if (f->stage == STAGE_LISTED)
		r |= buf_printf(to, " %" PRIu64 " tool%s", f->tools, f->tools == 1 ? "" : "s");
	if (f->stage >= STAGE_READY || f->calls)
		r |= f->calls ? buf_printf(to, ", called %" PRIu64 " time%s", f->calls, f->calls == 1 ? "" : "s") : buf_add_string(to, ", never called");
	if (f->errors)
		r |= buf_printf(to, ", %" PRIu64 " error%s", f->errors, f->errors == 1 ? "" : "s");
	if (f->calls > f->responses)
		r |= buf_printf(to, ", %" PRIu64 " without a response", f->calls - f->responses);
	if (f->responses)
		r |= buf_printf(to, ", %s in calls", people_duration(us, f->us));
	if (f->starts)
		r |= buf_printf(to, ", ran %s", people_duration(ran, f->ran));
	if (f->status)
		r |= buf_printf(to, "; %s", proc_describe(f->status, end, sizeof(end)));
	return r | buf_add_string(to, "\n");
}

static int
put_json(struct buf *to, const struct figures *f)
{
	int r = json_format(to, ",\"state\":\"%s\",\"started\":%u", stages[f->stage], f->starts);

	if (f->stage == STAGE_LISTED)
		r |= json_format(to, ",\"tools\":%u", f->tools);
	r |= json_format(to, ",\"calls\":%u,\"responses\":%u,\"errors\":%u,\"calls_us\":%u,\"longest_us\":%u,\"ran_us\":%u", f->calls,
		f->responses, f->errors, f->us, f->longest, f->ran);
	if (f->status)
		r |= buf_printf(to, ",\"status\":%d", proc_status(f->status));
	return r | buf_add_string(to, "}\n");
}

static int
put_server(struct buf *to, const struct server *s, bool json)
{
	struct slice name = slice_of(s->name.p), type = slice_of(s->type.p);

	if (json)
		return -(json_format(to, "{\"server\":%j,\"type\":%j,\"declared\":%u", name, type, s->declared) ||
			(is_stdio(s) ? put_json(to, &s->f) : buf_add_string(to, "}\n")));
	return is_stdio(s) ? -(json_format(to, "%t: ", name) || put_text(to, &s->f)) : json_format(to, "%t: not recorded: %t\n", name, type);
}

static int
finish(struct watch *w, int status)
{
	struct mcp *m = w->state;
	struct buf *to = out_buf(&w->out);
	size_t before = to->n;
	struct server *server;
	bool missing = false, json = m->options->format == CHECK_JSON;
	int r = 0;

	for (struct stream *s = m->streams; s < m->streams + m->nstreams; s++)
		if (!s->session && (server = server_of(m, s)))
			add_up(&server->f, &s->f);
	for (struct server *s = m->servers; s < m->servers + m->nservers; s++) {
		missing |= is_stdio(s) && s->f.stage != STAGE_LISTED && s->f.stage != STAGE_TOOLLESS;
		r |= put_server(to, s, json);
	}
	for (const struct stream *s = m->streams; s < m->streams + m->nstreams; s++)
		if (!s->session && !server_of(m, s))
			r |= -(json_format(to, json ? "{\"file\":%j" : "%t: no session declares it: ", slice_of(s->file ? s->file : "-")) ||
				(json ? put_json : put_text)(to, &s->f));
	out_commit(&w->out, before, r);
	if (status || w->failed)
		return status;
	if (m->nservers == 0) {
		watch_say(w, "no session in the recordings declares an MCP server");
		return EXIT_USAGE;
	}
	return missing ? EXIT_NEGATIVE : 0;
}

/* --- directories among the operands --- */

/* Returns the operands, with the recordings in a directory and in its mcp in place of the directory. Freed by directory_free. */
static char **
files_of(char *const *operands)
{
	char **files = NULL, *mcp;
	size_t n = 0, before;

	for (; *operands; operands++) {
		before = n;
		mcp = bytes_printf("%s/mcp", *operands);
		files = home_add(check_name, files, &n, directory_paths(*operands));
		files = home_add(check_name, files, &n, mcp ? directory_paths(mcp) : NULL);
		if (n == before) {
			files = cli_grow(check_name, files, n + 1, sizeof(*files));
			files[n++] = strdup(*operands);
			files[n] = NULL;
		}
		if (!mcp || !files[n - 1])
			cli_no_memory(check_name);
		free(mcp);
	}
	return files;
}

int
mcp_run(const struct options *o)
{
	struct mcp m = {.options = o};
	struct frame_options frame = o->frame;
	struct watch w = {.name = check_name, .state = &m, .frame = &frame, .counts_events = true, .begin = begin, .happened = happened,
		.message = message, .event = event, .finish = finish};
	int status;

	frame.files = files_of(o->frame.files);
	status = watch_run(&w);
	while (m.nservers)
		drop_server(&m);
	for (size_t i = 0; i < m.nstreams; i++)
		buf_free(&m.streams[i].command);
	directory_free(frame.files);
	free(m.servers);
	free(m.streams);
	buf_free(&m.text);
	return status;
}
