/* show: writes the values in previews. Each function takes any JSON value. */
#ifndef SHOW_H
#define SHOW_H

#include "cmd/acp-tap/cells.h"

/* The first of several paths, with | between, that is there and not null; "" is the object itself. p NULL: none. */
struct slice show_find(struct slice object, const char *paths);

void show_value(struct cells *, struct slice);    /* as it is, a string without its quotes */
void show_raw(struct cells *, struct slice);      /* the same, but nothing for {}, [] and null */
void show_size(struct cells *, struct slice);     /* how long a string is */
void show_count(struct cells *, struct slice);    /* how many elements an array has */
void show_peer(struct cells *, struct slice);     /* the name and version of a client or agent */
void show_servers(struct cells *, struct slice);  /* how many MCP servers */
void show_commands(struct cells *, struct slice);
void show_choices(struct cells *, struct slice);  /* options of a permission */
void show_words(struct cells *, struct slice);
void show_setting(struct cells *, struct slice);  /* a configuration option and its value */
void show_settings(struct cells *, struct slice);
void show_blocks(struct cells *, struct slice);   /* a content block, or several */
void show_yields(struct cells *, struct slice);   /* the content of a tool call */
void show_status(struct cells *, struct slice);
void show_tool(struct cells *, struct slice);     /* the title of a tool call, or its id */
void show_plan(struct cells *, struct slice);     /* how many entries are done, and the current one */
void show_usage(struct cells *, struct slice);    /* of a session: context and cost */
void show_tokens(struct cells *, struct slice);   /* of a turn */
void show_stop(struct cells *, struct slice);     /* a stop reason */

#endif
