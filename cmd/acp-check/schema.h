/*
 * schema: checks JSON text against the schemas of ACP. scripts/schema-tables makes the tables; a small interpreter reads them and
 * scans the text in place.
 */
#ifndef CHECK_SCHEMA_H
#define CHECK_SCHEMA_H

#include "cmd/acp-check/rules.h"
#include "lib/json/json.h"

enum schema_part { SCHEMA_REQUEST, SCHEMA_NOTIFICATION, SCHEMA_RESPONSE, SCHEMA_PARTS };
/* Which side receives a request or notification; for a response, which side received its request. */
enum schema_side { SCHEMA_NONE, SCHEMA_TO_AGENT, SCHEMA_TO_CLIENT, SCHEMA_TO_EITHER };

struct schema_method {
	unsigned short name;
	unsigned char sets; /* the schemas that have it so: their bits */
	struct {
		unsigned char to; /* enum schema_side; SCHEMA_NONE: the method has no such message */
		unsigned short node;
	} parts[SCHEMA_PARTS];
};

/* One of the four schemas. */
struct schema {
	unsigned char set; /* its bit */
	unsigned short id, error; /* nodes: of a request's id, of an error */
};

/* Returns the schema of a version, 1 or 2; a static table. */
const struct schema *schema_of(unsigned version, bool unstable);
/* Returns the entry of a method (a JSON string with its quotes), or NULL. */
const struct schema_method *schema_method(const struct schema *, struct slice name);
/* The next method that the schema has, after one or NULL; and its name. */
const struct schema_method *schema_next(const struct schema *, const struct schema_method *, struct slice *name);
/* Calls a function for each name that the first member so called may have, in this part of a method. */
void schema_names_of(const struct schema *, const char *method, enum schema_part, const char *member,
	void (*)(void *arg, struct slice), void *arg);
/* The source of the tables: name and version of the package. */
extern const char schema_source[];

/* A value that breaks the schema. */
struct schema_finding {
	enum rule_id rule;
	size_t path, expected; /* offsets in schema_findings.text of NUL-terminated texts */
	struct slice found;    /* the value: JSON text, which points into the checked text; p NULL: nothing */
};

/* The findings of one text, at most SCHEMA_FINDINGS. Zero it to begin. */
enum { SCHEMA_FINDINGS = 32 };
struct schema_findings {
	struct schema_finding at[SCHEMA_FINDINGS];
	size_t n;
	size_t errors; /* all breaches of the schema, also tolerated ones and those that found no room in `at` */
	struct buf text;
	struct buf keys; /* hashes (uint64_t) of the keys of the objects that are being read */
	size_t tolerated; /* what is read now is in so many values whose errors are tolerated */
	bool failed;     /* out of memory */
};

/* Adds the findings of text, which json_members has accepted, as a value of the node. root: its name in paths. */
void schema_check(struct schema_findings *, unsigned node, struct slice text, const char *root);
void schema_findings_free(struct schema_findings *);

#endif
