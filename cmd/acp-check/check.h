/* check: what a stream of messages breaks, and how it is reported. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "cmd/acp-check/connection.h"
#include "cmd/acp-check/schema.h"
#include "lib/filter/select.h"
#include "lib/frame/frame_options.h"
#include "lib/run/out.h"

static const char check_name[] = "acp-check";

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_JUNIT };

/* What the command line says. */
struct options {
	enum check_format format;
	unsigned protocol;  /* 1, 2, or 0: what initialize agrees on */
	bool unstable;
	enum level level;   /* the least that is reported */
	bool ignored[RULES];
	struct select *select;
	bool where; /* one of its programs wants to see messages */
	struct frame_options frame;
};

/* Where a finding is. */
struct where {
	const char *file;       /* or NULL: a stream */
	uint64_t number;        /* of the record, or of the line in its direction; 0: of none */
	uint64_t t;
	bool timed;
	enum acp_side from;
	const struct message *message; /* the message, or NULL */
};

struct check {
	const struct options *options;
	struct out out;
	struct where where;
	struct connection c;
	struct schema_findings found;
	struct buf text, examples[RULES]; /* examples: of the rules, for junit */
	uint64_t count[LEVELS], rule_count[RULES]; /* findings that were reported */
	struct slice update;  /* of the message, if it is one: JSON text */
	uint64_t messages;
	bool failed; /* out of memory */
};

void check_open(struct check *, const struct options *);
void check_close(struct check *);

/* A message; where is set but for where.seen. */
void check_message(struct check *, const struct message *);
/* A line that is none. */
void check_noise(struct check *, struct slice line);
/* A side has ended. */
void check_eof(struct check *, bool torn);
/* The stream, or this part of it, has ended; cut: not by itself. */
void check_end(struct check *, bool cut);
/* Something was missed: what was before is not known from now on. */
void check_lost(struct check *);

/* A finding in what is being looked at. found: JSON text or any other; p NULL: nothing. */
void check_find(struct check *, enum rule_id, const char *path, const char *expected, struct slice found);

/* --- its parts --- */

/* check_turn.c: what follows from sessions, turns and tool calls. before: the request that a response is for. */
void check_request(struct check *, const struct message *, struct asked *);
void check_notification(struct check *, const struct message *);
void check_response(struct check *, const struct message *, const struct request *);
/* check_capability.c: what the other side has to have advertised. */
void check_capabilities(struct check *, const struct message *);
/* check_usage.c: figures. */
void check_usage_update(struct check *, struct session *, struct slice update);
/* ends: it comes with the end of a turn, and does not repeat it. */
void check_usage(struct check *, struct session *, struct slice usage, bool ends, const char *path);

/* report.c: one finding, in the format of the options; and what it ends with. */
void report_finding(struct check *, enum rule_id, const char *path, const char *expected, struct slice found);
void report_end(struct check *);

int files_run(const struct options *);
int stream_run(const struct options *);

#endif
