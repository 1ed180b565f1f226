/* walk_parts: shared by the files of walk. */
#ifndef WALK_PARTS_H
#define WALK_PARTS_H

#include "cmd/acp-export/page.h"

struct walk {
	struct page page;
	const struct transcript *transcript;
	struct out *out;
	struct session *separate; /* sub-agents to be written after the session: their parents are nested too deeply */
	struct buf text;       /* scratch */
};

/* Sets the box's clock and date from t, us. */
void walk_clock(const struct walk *, struct box *, const struct export_turn *, uint64_t t);

/* Each writes what its name says to the page. A block of content: */
void walk_content(struct walk *, struct slice block);
/* A JSON value in a box that is folded unless `open`; nothing if it is empty. */
void walk_raw(struct walk *, const char *label, struct slice json, bool open);
void walk_tool(struct walk *, const struct session *, const struct export_turn *, const struct item *);
void walk_plan(struct walk *, const struct item *);
void walk_ask(struct walk *, const struct export_turn *, const struct item *);

#endif
