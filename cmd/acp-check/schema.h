/*
 * schema: checks JSON text against the schemas of ACP. The tables are made by scripts/schema-tables; what reads them is a small
 * interpreter that walks the text where it lies.
 */
#ifndef CHECK_SCHEMA_H
#define CHECK_SCHEMA_H

#include "cmd/acp-check/rules.h"
#include "lib/json/json.h"

enum schema_part { SCHEMA_REQUEST, SCHEMA_NOTIFICATION, SCHEMA_RESPONSE, SCHEMA_PARTS };
/* Which side a request or notification is for, and whose response it is. */
enum schema_side { SCHEMA_NONE, SCHEMA_TO_AGENT, SCHEMA_TO_CLIENT, SCHEMA_TO_EITHER };

struct schema_method {
	unsigned short name;
	struct {
		unsigned char to; /* enum schema_side; SCHEMA_NONE: the method has no such message */
		unsigned short node;
	} parts[SCHEMA_PARTS];
};

/* One of the four schemas. */
struct schema {
	const struct schema_method *methods;
	size_t nmethods;
	unsigned short id, error; /* nodes: of a request's id, of an error */
};

/* The schema of a version, 1 or 2. */
const struct schema *schema_of(unsigned version, bool unstable);
/* A method (a JSON string with its quotes), or NULL. */
const struct schema_method *schema_method(const struct schema *, struct slice name);
/* Where the tables come from: name and version of the package. */
const char *schema_source(void);

/* What is wrong with a value. */
struct schema_finding {
	enum rule_id rule;
	size_t path, expected; /* texts: where they begin in schema_findings.text; NUL-terminated */
	struct slice found;    /* JSON text; p NULL: nothing */
};

/* The findings of one text, at most so many. Zero it to begin. */
enum { SCHEMA_FINDINGS = 32 };
struct schema_findings {
	struct schema_finding at[SCHEMA_FINDINGS];
	size_t n;
	size_t errors; /* how often the schema is broken, those that are tolerated and those without room included */
	struct buf text;
	uint64_t *keys; /* of the objects that are open: a hash of each */
	size_t nkeys, room;
	bool failed;   /* out of memory */
};

/* Adds what is wrong with text (which json_members has accepted) as a value of the node; it is called root in paths. */
void schema_check(struct schema_findings *, unsigned node, struct slice text, const char *root);
void schema_findings_free(struct schema_findings *);

#endif
