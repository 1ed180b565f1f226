/* check: checks the messages of a stream, and reports findings. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "cmd/acp-check/connection.h"
#include "cmd/acp-check/schema.h"
#include "lib/filter/select.h"
#include "lib/frame/frame_options.h"
#include "lib/run/out.h"

static const char check_name[] = "acp-check";

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_JUNIT };

/* The options of the command line. */
struct options {
	enum check_format format;
	unsigned protocol;  /* the version: 1, 2, or 0: as initialize agrees */
	bool unstable;      /* also accept the unstable schema */
	enum level level;   /* the least severe level that is reported */
	bool ignored[RULES];
	struct select *select; /* the messages that are reported on */
	bool where;         /* select has programs (--where), which need the messages' texts */
	struct frame_options frame;
};

/* The place of a finding. */
struct where {
	const char *file;       /* NULL: a stream */
	uint64_t number;        /* of the record, or of the line in its direction; 0: none */
	uint64_t t;             /* us since the start */
	bool timed;             /* t is known */
	enum acp_side from;     /* the sender */
	const struct message *message; /* or NULL; valid while it is checked */
};

struct check {
	const struct options *options;
	struct out out;
	struct where where;
	struct connection c;
	struct schema_findings found;
	struct buf text, examples[RULES]; /* text: scratch; examples: the findings of each rule, for junit */
	uint64_t count[LEVELS], rule_count[RULES]; /* findings that were reported */
	struct slice update;  /* of a session/update that is checked: JSON text; otherwise p NULL */
	uint64_t messages;
	bool failed; /* out of memory */
};

/* None of these returns an error: out of memory sets failed. The options stay the caller's. */
void check_open(struct check *, const struct options *);
void check_close(struct check *);

/* Checks a message. The caller has set check.where, except where.message. */
void check_message(struct check *, const struct message *);
/* Checks a line that is not a message. */
void check_noise(struct check *, struct slice line);
/* The side where.from has ended: reports the requests to it that have no response. torn: its last line has no newline. */
void check_eof(struct check *, bool torn);
/* A stream or a recording has ended; the next message begins another. cut: it was cut short, so open requests are not reported. */
void check_end(struct check *, bool cut);
/* Messages were lost: from now on findings that depend on earlier messages are not reported. */
void check_lost(struct check *);

/* --- its parts --- */

/*
 * check_turn.c: the rules of sessions, turns and tool calls. The last argument: what is remembered of this request; the request
 * of this response.
 */
void check_request(struct check *, const struct message *, struct request_state *);
void check_notification(struct check *, const struct message *);
void check_response(struct check *, const struct message *, const struct request *);
/* check_capability.c: methods and content that the other side must have advertised. */
void check_capabilities(struct check *, const struct message *);
/* check_usage.c: the figures of usage. */
void check_usage_update(struct check *, struct session *, struct slice update);
/* at_end: the usage comes with the end of a turn, not with a repeat of it. path: of the usage in the message. */
void check_usage(struct check *, struct session *, struct slice usage, bool at_end, const char *path);

/*
 * report.c. check_find reports a finding at check.where, if its rule and place are selected. path: in the message. found: the text;
 * p NULL: nothing.
 */
void check_find(struct check *, enum rule_id, const char *path, const char *expected, struct slice found);
/* Writes the end of the report. */
void report_end(struct check *);

/* Check the recordings, or the stream. Return the exit status. */
int files_run(const struct options *);
int stream_run(const struct options *);

#endif
