/* show: the contents of a message in a few words. */
#ifndef SHOW_H
#define SHOW_H

#include "lib/acp/requests.h"
#include "lib/base/cells.h"

/* Appends as much as the column has room for. */
void preview_put(struct cells *, const struct message *);
/* The style of a kind of update (a JSON string), or of a method. */
enum style preview_style(struct slice name);
/* The text of a chunk, as a JSON string; p NULL if the message is not a chunk or has no text. */
struct slice preview_chunk(const struct message *, struct slice kind);

/* --- the values in them. Each function takes any JSON value; absent ones (p NULL) write nothing --- */

/* The first of several paths, with | between, that is there and not null; "" is the object itself. p NULL: none. */
struct slice show_find(struct slice object, const char *paths);

/* Shows each element of an array, or what is none. */
void show_each(struct cells *, struct slice, const char *separator, void (*show)(struct cells *, struct slice));
/* How many elements an array has, and each of them: 2 tools: read, write. */
void show_list(struct cells *, struct slice, const char *noun, void (*show)(struct cells *, struct slice));
/* Two values; where there is no second one, only the first. */
void show_pair(struct cells *, struct slice first, const char *between, struct slice second);

void show_value(struct cells *, struct slice);    /* as it is, a string without its quotes */
void show_raw(struct cells *, struct slice);      /* the same, but nothing for {}, [] and null */
void show_size(struct cells *, struct slice);     /* how long a string is */
void show_peer(struct cells *, struct slice);     /* the name and version of a client or agent */
void show_servers(struct cells *, struct slice);  /* how many MCP servers */
void show_name(struct cells *, struct slice);      /* of a command, an option of a permission, a session, a tool */
void show_arguments(struct cells *, struct slice); /* each member of an object: path=/x, line=7 */
void show_setting(struct cells *, struct slice);  /* a configuration option and its value */
void show_block(struct cells *, struct slice);     /* a content block */
void show_tool_content(struct cells *, struct slice);     /* a content of a tool call */
void show_tool_result(struct cells *, struct slice);      /* of an MCP server: content, or why it failed */
void show_turn(struct cells *, struct slice);      /* a message of a prompt or a sample: its role and content */
void show_status(struct cells *, struct slice);
void show_tool(struct cells *, struct slice);     /* the title of a tool call, or its id */
void show_plan(struct cells *, struct slice);     /* how many entries are done, and the current one */
void show_usage(struct cells *, struct slice);    /* of a session: context and cost */
void show_tokens(struct cells *, struct slice);   /* of a turn */
void show_stop(struct cells *, struct slice);     /* a stop reason */

#endif
