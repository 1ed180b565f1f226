/* The faults: one table of what their options take, what they can hit, and what they do. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/work.h"
#include "lib/base/cli.h"

/* --- arguments --- */

/* What stands after the separator, cut off; NULL where there is none. */
static char *
cut(char *text, char separator)
{
	char *at = strchr(text, separator);

	if (at)
		*at++ = '\0';
	return at;
}

static const char *
take_probability(struct argument *a, char *text)
{
	return cli_probability(text, &a->p) < 0 ? "expected a probability, such as 0.1 or 10%" : NULL;
}

/* How long a message waits for another to go before it. */
static const char *
take_wait(struct argument *a, char *text)
{
	const char *time = cut(text, ',');

	a->us = 1000 * 1000;
	if (cli_probability(text, &a->p) < 0 || (time && cli_duration(time, &a->us) < 0))
		return "expected a probability, and a duration after a comma, such as 10%,500ms";
	return NULL;
}

static const char *
take_delay(struct argument *a, char *text)
{
	const char *jitter = cut(text, ',');

	a->more_us = 0;
	if (cli_duration(text, &a->us) < 0 || (jitter && cli_duration(jitter, &a->more_us) < 0))
		return "expected a duration, or two with a comma between, such as 100ms,20ms";
	return a->more_us > a->us ? "more jitter than delay" : NULL;
}

static const char *
take_duration(struct argument *a, char *text)
{
	return cli_duration(text, &a->us) < 0 ? cli_want_duration : NULL;
}

static const char *
take_count(struct argument *a, char *text)
{
	return cli_count(text, &a->n) < 0 || a->n == 0 ? "expected a number, at least 1" : NULL;
}

static const char *
take_rate(struct argument *a, char *text)
{
	size_t rate;

	if (cli_bytes(text, &rate) < 0 || rate == 0)
		return "expected bytes a second, such as 500 or 10K";
	a->n = rate;
	return NULL;
}

/* A pause of nothing would be none: both pieces would leave in one write. */
static const char *
take_split(struct argument *a, char *text)
{
	const char *pause = cut(text, ',');

	a->us = 1000;
	if (cli_count(text, &a->n) < 0 || a->n == 0 || (pause && (cli_duration(pause, &a->us) < 0 || a->us == 0)))
		return "expected a number of bytes, and a pause after a comma, such as 1,5ms";
	return NULL;
}

static const char *
take_method(struct argument *a, char *text)
{
	char *why = NULL;

	if (a->method)
		return "given twice: put the second one into a --plan";
	a->method = select_new();
	if (!*text || !a->method || select_glob(a->method, text, &why) < 0 || select_kind(a->method, "request", &why) < 0) {
		free(why);
		return "expected a method";
	}
	return NULL;
}

static const char *
take_error(struct argument *a, char *text)
{
	char *code = cut(text, '='), *message = code ? cut(code, ',') : NULL, *end = NULL;
	long n;

	errno = 0;
	n = code ? strtol(code, &end, 10) : 0;
	if (!code || end == code || *end || errno || n < INT_MIN || n > INT_MAX || (message && !*message))
		return "expected METHOD=CODE or METHOD=CODE,MESSAGE, such as session/prompt=-32603,overloaded";
	a->code = (int)n;
	a->text = message ? message : "acp-fault";
	return take_method(a, text);
}

/* --- what they can hit --- */

static bool
is_response(const struct argument *a, const struct message *s)
{
	(void)a;
	return s->msg.kind == MSG_RESPONSE;
}

static bool
is_notification(const struct argument *a, const struct message *s)
{
	(void)a;
	return s->msg.kind == MSG_NOTIFICATION;
}

static bool
is_request_of(const struct argument *a, const struct message *s)
{
	char *why = NULL;
	bool yes = select_match(a->method, s, &why);

	free(why);
	return yes;
}

static bool
names_session(const struct argument *a, const struct message *s)
{
	(void)a;
	return work_session(&s->msg).p != NULL;
}

/* --- the table --- */

const struct fault_kind fault_kinds[FAULTS] = {
	{FAULT_NOISE, "noise", "noise", take_probability, NULL, work_noise, KIND_DICE | KIND_BY_TIME},
	{FAULT_ERROR, "error", "error", take_error, is_request_of, work_error, 0},
	{FAULT_HANG, "hang", "hang", take_method, is_request_of, work_hang, 0},
	{FAULT_DROP, "drop", "drop", take_probability, NULL, work_drop, 0},
	{FAULT_STALE_SESSION, "stale-session", "stale-session", take_probability, names_session, work_stale_session, KIND_DICE},
	{FAULT_WRONG_ID, "wrong-id", "wrong-id", take_probability, is_response, work_wrong_id, KIND_DICE},
	{FAULT_ID_TYPE, "id-type", "id-type", take_probability, is_response, work_id_type, KIND_DICE},
	{FAULT_CORRUPT, "corrupt", "corrupt", take_probability, NULL, work_corrupt, KIND_DICE},
	{FAULT_TRUNCATE, "truncate", "truncate", take_probability, NULL, work_truncate, KIND_DICE},
	{FAULT_DUPLICATE, "duplicate", "duplicate", take_probability, NULL, work_duplicate, 0},
	{FAULT_REORDER, "reorder", "reorder", take_wait, NULL, work_reorder, 0},
	{FAULT_OVERTAKE, "overtake", "overtake", take_wait, is_notification, work_overtake, 0},
	{FAULT_DELAY, "delay", "delay", take_delay, NULL, work_delay, 0},
	{FAULT_STALL, "stall", "stall", take_duration, NULL, work_stall, KIND_BY_TIME},
	{FAULT_SPLIT, "split", "split", take_split, NULL, work_split, 0},
	{FAULT_BANDWIDTH, "bandwidth", "bandwidth", take_rate, NULL, work_bandwidth, 0},
	{FAULT_CLOSE, "close-after", "close", take_count, NULL, work_close, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_EXIT, "exit-after", "exit", take_count, NULL, work_exit, KIND_COUNTS | KIND_BY_TIME},
	{FAULT_LINGER, "linger", "linger", take_duration, NULL, NULL, 0},
};

const struct fault_kind *
fault_kind(enum fault fault)
{
	const struct fault_kind *k = fault_kinds;

	while (k->fault != fault)
		k++;
	return k;
}
