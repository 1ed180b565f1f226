/* schema_tables: the types of the tables that scripts/schema-tables makes. For schema.c only. */
#ifndef CHECK_SCHEMA_TABLES_H
#define CHECK_SCHEMA_TABLES_H

#include "cmd/acp-check/schema.h"

/* Types of values, as bits; a number is an integer or a fraction. */
enum {
	SCHEMA_NULL = 1,
	SCHEMA_BOOLEAN = 2,
	SCHEMA_INTEGER = 4,
	SCHEMA_FRACTION = 8,
	SCHEMA_STRING = 16,
	SCHEMA_ARRAY = 32,
	SCHEMA_OBJECT = 64,
};

/* Flags of members. The three in the middle: what SDKs do with a wrong value. */
enum {
	SCHEMA_REQUIRED = 1,
	SCHEMA_ON_ERROR = 2,   /* they use the default */
	SCHEMA_ON_NULL = 4,    /* they use the default for null */
	SCHEMA_SKIP_ITEMS = 8, /* items that are wrong are left out */
	SCHEMA_PATH = 16,      /* an absolute path, or a list of them */
};

enum {
	SCHEMA_ANY = 0xffff,     /* schema_node.extra: other members may have any value */
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

/* value: the name that the tag has; then the tag is no member of the node. */
struct schema_branch {
	unsigned short value, node;
};

/*
 * The numbers are indexes in the tables; 0: none (extra: members that are not listed are unknown); of a node: any value. A node with
 * branches is a union; types: other types it may have.
 */
struct schema_node {
	unsigned char types, nmembers, nvalues, nbranches, min_length, min_items, range;
	bool open, one, meta;       /* values: others are extensions; branches: exactly one holds; members: schema_meta is one of them */
	unsigned short members, values, items, extra, branches, tag;
};

#endif
