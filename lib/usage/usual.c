/*
 * Most updates of most agents are spelled alike, to the byte: their serializers write the members in the schema's order, without
 * blanks. Those are told by comparing; for all others there is usage_read. What is accepted here is right JSON.
 */
#include "lib/usage/usage_parts.h"

enum { DIGITS = 19 }; /* that are read of a count */

/* "name":, after what comes before it. */
static bool
over_name(const char **p, const char *end, const char *before, const char *name)
{
	return bytes_skip(p, end, before) && bytes_skip(p, end, name) && bytes_skip(p, end, "\":");
}

/* A string of ASCII without escapes, with its quotes. */
static bool
plain_string(const char **p, const char *end, struct slice *string)
{
	const char *from = *p, *q = from + 1;

	if (from >= end || *from != '"')
		return false;
	while (q < end && *q >= ' ' && *q < 0x7f && *q != '"' && *q != '\\')
		q++;
	if (q >= end || *q != '"')
		return false;
	*p = q + 1;
	*string = slice_between(from, q + 1);
	return true;
}

/* 12 or 0.11358000000000001 */
static bool
amount(const char **p, const char *end, struct slice *number)
{
	const char *from = *p;
	uint64_t n;

	if (!bytes_number(p, end, DIGITS, &n))
		return false;
	if (*p < end && **p == '.') {
		for (++*p; *p < end && **p >= '0' && **p <= '9'; ++*p)
			;
		if ((*p)[-1] == '.')
			return false;
	}
	*number = slice_between(from, *p);
	return true;
}

static bool
cost(const char **p, const char *end, struct usage_report *r)
{
	if (!bytes_skip(p, end, ",\"cost\":"))
		return true;
	return bytes_skip(p, end, "{\"amount\":") && amount(p, end, &r->amount) && bytes_skip(p, end, ",\"currency\":")
		&& plain_string(p, end, &r->currency) && r->currency.n > 2 && bytes_skip(p, end, "}");
}

/* The last member: all that is left but for the closing brackets. */
static bool
meta(const char **p, const char *end, struct usage_report *r)
{
	struct slice value;

	if (!bytes_skip(p, end, ",\"_meta\":"))
		return true;
	if (end - *p < 3)
		return false;
	value = slice_between(*p, end - 3);
	*p = end - 3;
	if (json_scan(value, JSON_DEPTH - 3, NULL, 0, NULL, NULL) != JSON_OBJECT)
		return false;
	usage_read_meta(value, r);
	return true;
}

bool
usage_read_usual(struct slice text, struct usage_report *r)
{
	const char *p = text.p, *end = p + text.n;

	*r = (struct usage_report){.what = USAGE_UPDATE, .has_used = true};
	if (!bytes_skip(&p, end, "{\"jsonrpc\":\"2.0\",\"method\":\"") || !bytes_skip(&p, end, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN))
		|| !over_name(&p, end, "\",\"params\":{\"", acp_session_id) || !plain_string(&p, end, &r->session)
		|| !over_name(&p, end, ",\"", acp_update) || !over_name(&p, end, "{\"", acp_update_kind)
		|| !bytes_skip(&p, end, "\"usage_update\",\"used\":") || !bytes_number(&p, end, DIGITS, &r->used)
		|| !bytes_skip(&p, end, ",\"size\":") || !bytes_number(&p, end, DIGITS, &r->size)
		|| !cost(&p, end, r) || !meta(&p, end, r) || !bytes_skip(&p, end, "}}}"))
		return false;
	r->has_size = r->size > 0;
	return p == end;
}
