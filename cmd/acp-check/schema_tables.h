/* schema_tables: the form of what scripts/schema-tables makes. For schema.c only. */
#ifndef CHECK_SCHEMA_TABLES_H
#define CHECK_SCHEMA_TABLES_H

#include "cmd/acp-check/schema.h"

/* Types of values; a number has one of two. */
enum {
	SCHEMA_NULL = 1,
	SCHEMA_BOOLEAN = 2,
	SCHEMA_INTEGER = 4,
	SCHEMA_FRACTION = 8,
	SCHEMA_STRING = 16,
	SCHEMA_ARRAY = 32,
	SCHEMA_OBJECT = 64,
};

/* Of members. The three in the middle: what SDKs do with a value that is wrong. */
enum {
	SCHEMA_REQUIRED = 1,
	SCHEMA_ON_ERROR = 2,   /* the default is taken */
	SCHEMA_ON_NULL = 4,    /* the default is taken for null */
	SCHEMA_SKIP_ITEMS = 8, /* items that are wrong are left out */
	SCHEMA_PATH = 16,      /* an absolute path, or a list of them */
};

enum {
	SCHEMA_UNKNOWN = 0xffff, /* schema_node.extra: members without a name here are unknown */
	SCHEMA_OPEN = 0xfffe,    /* schema_branch.value: for all values of the tag that no other branch has */
	SCHEMA_ALSO = 0xffff,    /* the branch has no tag */
};

struct schema_range {
	int64_t low;
	uint64_t high;
};

struct schema_member {
	unsigned short name, node;
	unsigned char flags;
};

struct schema_branch {
	unsigned short value, node; /* value: the name that the tag has */
};

/* Numbers are places in the tables; 0: none, of nodes: any value. A node with branches is a union, and types is what may be instead. */
struct schema_node {
	unsigned char types, nmembers, nvalues, nbranches, min_length, min_items, range;
	bool open, one;             /* values: others are extensions; branches: exactly one holds */
	unsigned short members, values, items, extra, branches, tag;
};

#endif
