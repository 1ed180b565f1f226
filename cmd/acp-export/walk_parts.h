/* walk_parts: what the files of walk share. */
#ifndef WALK_PARTS_H
#define WALK_PARTS_H

#include "cmd/acp-export/page.h"

struct walk {
	struct page page;
	const struct transcript *transcript;
	struct out *out;
	struct session *apart; /* to be shown later */
	struct buf text;       /* for a moment */
	unsigned sessions;
};

/* What a JSON string says, or any other value as it is written; valid until the next call. */
struct slice walk_plain(struct walk *, struct slice json);
/* When it was, and how long it took. */
void walk_clock(const struct walk *, struct box *, const struct turn *, uint64_t t);
void walk_length(const struct walk *, struct box *, uint64_t from, uint64_t to);

/* A block of content. */
void walk_content(struct walk *, struct slice block);
/* A value, folded; nothing where it says nothing. */
void walk_raw(struct walk *, const char *label, const struct buf *json, bool open);
void walk_tool(struct walk *, const struct session *, const struct turn *, const struct item *);
void walk_plan(struct walk *, const struct item *);
void walk_ask(struct walk *, const struct turn *, const struct item *);

#endif
