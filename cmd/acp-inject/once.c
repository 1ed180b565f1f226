/* Sets of names. */
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "cmd/acp-inject/inject.h"

struct once {
	UT_hash_handle hh;
	char key[]; /* the number, then the name */
};

/* A session is the same however its id is spelled. */
static int
make_key(struct buf *key, unsigned number, struct slice name)
{
	if (buf_add(key, &number, sizeof(number)) < 0)
		return -1;
	return json_type(name) == JSON_STRING ? json_unescape(name, key) : buf_add_slice(key, name);
}

bool
once_new(struct once *const *set, unsigned number, struct slice name)
{
	struct once *head = *set, *found = NULL;
	SCOPED struct buf key = {0};

	if (head && make_key(&key, number, name) == 0)
		HASH_FIND(hh, head, key.p, key.n, found);
	return !found;
}

int
once_add(struct once **set, unsigned number, struct slice name)
{
	struct once *head = *set, *o;
	SCOPED struct buf key = {0};

	if (!once_new(set, number, name))
		return 0;
	if (make_key(&key, number, name) < 0)
		return -1;
	o = calloc(1, sizeof(*o) + key.n);
	if (!o)
		return -1;
	memcpy(o->key, key.p, key.n);
	HASH_ADD_KEYPTR(hh, head, o->key, key.n, o);
	if (!o->hh.tbl) {
		free(o);
		return -1;
	}
	*set = head;
	return 0;
}

void
once_free(struct once *set)
{
	struct once *o = set, *next;

	HASH_CLEAR(hh, set);
	for (; o; o = next) {
		next = o->hh.next;
		free(o);
	}
}
