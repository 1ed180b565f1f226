/* show: writes the values in previews. Each function takes any JSON value; absent ones (p NULL) write nothing. */
#ifndef SHOW_H
#define SHOW_H

#include "lib/base/cells.h"

/* The first of several paths, with | between, that is there and not null; "" is the object itself. p NULL: none. */
struct slice show_find(struct slice object, const char *paths);

/* Shows each element of an array, or what is none. */
void show_each(struct cells *, struct slice, const char *separator, void (*show)(struct cells *, struct slice));
/* Two values; where there is no second one, only the first. */
void show_pair(struct cells *, struct slice first, const char *between, struct slice second);

void show_value(struct cells *, struct slice);    /* as it is, a string without its quotes */
void show_raw(struct cells *, struct slice);      /* the same, but nothing for {}, [] and null */
void show_size(struct cells *, struct slice);     /* how long a string is */
void show_count(struct cells *, struct slice);    /* how many elements an array has */
void show_peer(struct cells *, struct slice);     /* the name and version of a client or agent */
void show_servers(struct cells *, struct slice);  /* how many MCP servers */
void show_commands(struct cells *, struct slice);
void show_name(struct cells *, struct slice);      /* of a command, or an option of a permission */
void show_setting(struct cells *, struct slice);  /* a configuration option and its value */
void show_block(struct cells *, struct slice);     /* a content block */
void show_tool_content(struct cells *, struct slice);     /* a content of a tool call */
void show_status(struct cells *, struct slice);
void show_tool(struct cells *, struct slice);     /* the title of a tool call, or its id */
void show_plan(struct cells *, struct slice);     /* how many entries are done, and the current one */
void show_usage(struct cells *, struct slice);    /* of a session: context and cost */
void show_tokens(struct cells *, struct slice);   /* of a turn */
void show_stop(struct cells *, struct slice);     /* a stop reason */

#endif
