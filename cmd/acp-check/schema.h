/*
 * schema: checks JSON text against the schemas of ACP. scripts/schema-tables makes tables of the schemas; a small interpreter reads
 * the tables and scans the text in place.
 */
#ifndef CHECK_SCHEMA_H
#define CHECK_SCHEMA_H

#include "cmd/acp-check/rules.h"
#include "lib/json/json.h"

enum schema_part { SCHEMA_REQUEST, SCHEMA_NOTIFICATION, SCHEMA_RESPONSE, SCHEMA_PARTS };
/* The side that receives a request or notification; for a response, the side that received its request. */
enum schema_side { SCHEMA_NONE, SCHEMA_TO_AGENT, SCHEMA_TO_CLIENT, SCHEMA_TO_EITHER };

struct schema_method {
	unsigned short name; /* an index in the table of names */
	unsigned char sets; /* the bits of the schemas that have this entry */
	struct {
		unsigned char to; /* enum schema_side; SCHEMA_NONE: the method has no such message */
		unsigned short node;  /* of its params, or of its result */
	} parts[SCHEMA_PARTS];
};

/* One of four schemas: of version 1 or 2, stable or unstable. */
struct schema {
	unsigned char set; /* its bit in schema_method.sets */
	unsigned short id, error; /* the nodes of a request's id and of an error */
};

/* Returns the schema of a version, 1 or 2; it is static. */
const struct schema *schema_of(unsigned version, bool unstable);
/* Returns the schema's entry for a method (a JSON string with its quotes), or NULL. */
const struct schema_method *schema_method(const struct schema *, struct slice name);
/* Returns the next method of the schema (after NULL the first) and its name; NULL at the end. */
const struct schema_method *schema_next(const struct schema *, const struct schema_method *, struct slice *name);
/* Calls a function for each name that the schema lists as a value of the first member so called, in this part of a method. */
void schema_names_of(const struct schema *, const char *method, enum schema_part, const char *member,
	void (*)(void *arg, struct slice), void *arg);
/* The source of the tables: name and version of the package. */
extern const char schema_source[];

/* A value that breaks the schema. */
struct schema_finding {
	enum rule_id rule;
	size_t path, expected; /* offsets in schema_findings.text, where two NUL-terminated texts begin */
	struct slice found;    /* the value, a part of the checked text; p NULL: it is missing */
};

/* The findings of one text, at most SCHEMA_FINDINGS. Zero it to begin. */
enum { SCHEMA_FINDINGS = 32 };
struct schema_findings {
	struct schema_finding at[SCHEMA_FINDINGS];
	size_t n;
	size_t errors; /* the number of all breaches of the schema, also of tolerated ones, and of those without room in `at` */
	struct buf text; /* the paths and expectations of the findings */
	struct buf keys; /* hashes (uint64_t) of the keys of the objects that are being read */
	size_t tolerated; /* how many values around the one that is being read have errors that SDKs tolerate */
	bool failed;     /* out of memory */
};

/* Replaces the findings by those of a text, which json_members has accepted, as a value of a node. root: its name in paths. */
void schema_check(struct schema_findings *, unsigned node, struct slice text, const char *root);
void schema_findings_free(struct schema_findings *);

#endif
