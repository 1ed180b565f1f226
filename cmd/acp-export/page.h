/*
 * page: a document for people. walk.c decides what it contains, from top to bottom; a struct paint writes it in one format.
 * No text comes from a trusted source: every function of a paint must write it so that it stays text.
 */
#ifndef PAGE_H
#define PAGE_H

#include "cmd/acp-export/transcript.h"
#include "lib/base/text.h"
#include "lib/run/out.h"

enum box_kind {
	BOX_SESSION, BOX_CHILD, BOX_TURN, /* may contain others; BOX_CHILD: a sub-agent */
	BOX_CONTENTS, /* contains links */
	BOX_FACTS,   /* contains facts */
	BOX_USER, BOX_AGENT, BOX_THOUGHT, BOX_TOOL, BOX_ASK, BOX_PLAN,
	BOX_FOLD,    /* a part of a tool call that can be folded */
};

struct box {
	enum box_kind kind;
	const char *label;   /* its name: "Turn 3"; or NULL */
	struct slice title;  /* empty: none */
	const char *state;   /* selects its style: "completed"; or NULL */
	char anchor[48];     /* the target of links to it, or empty */
	char clock[32];      /* when it began, for people: a time of day, or the time since the start; or empty */
	char date[32];       /* the same in ISO 8601, or empty */
	char length[24];     /* how long it took, for people; or empty */
	bool open;           /* unfolded from the start */
};

enum line_kind {
	LINE_PLAIN, LINE_NOTE,
	LINE_FOOT,   /* how a turn ended */
	LINE_ENTRY,  /* of a plan, or an option of a permission request; state: its status */
	LINE_PATH,   /* for the use of the paint: above code or a difference */
};

enum markup_block { BLOCK_PARAGRAPH, BLOCK_HEADING, BLOCK_LIST, BLOCK_ITEM, BLOCK_QUOTE, BLOCK_TABLE, BLOCK_ROW, BLOCK_CELL, BLOCK_RULE };
enum markup_span { SPAN_STRONG, SPAN_EMPHASIS, SPAN_CODE, SPAN_LINK };

struct page {
	const struct paint *paint;
	struct buf *to;
	bool failed;           /* out of memory */
	/* For the use of the paint: */
	bool line_start, number; /* the line so far has only blanks; only digits */
	struct buf prefix;     /* written at the start of each line */
	unsigned cells, head;  /* cells so far in this row of a table; in its first row */
	enum markup_block block; /* the last that was opened */
	bool in_code;          /* within a span of code */
	unsigned depth;        /* boxes of sessions that are open */
};

/* The functions of a format. They append to page.to and set page.failed when out of memory. Slices are valid during the call. */
struct paint {
	/* The whole document. */
	void (*begin)(struct page *, struct slice title);
	void (*end)(struct page *);
	/* A box; open and close get the same one. */
	void (*open)(struct page *, const struct box *);
	void (*close)(struct page *, const struct box *);
	void (*fact)(struct page *, const char *label, struct slice value);
	/* The context of the session over time. */
	void (*chart)(struct page *, const struct session *);
	/* Where the time of a turn went. NULL: not in this format. */
	void (*timeline)(struct page *, const struct export_turn *);
	/* In a box of contents: a link to a session. NULL: likewise. */
	void (*link)(struct page *, const char *anchor, struct slice title);
	/* A text of its own. state selects the style, as in struct box. */
	void (*line)(struct page *, enum line_kind, const char *state, struct slice text);
	void (*code)(struct page *, struct slice language, struct slice text); /* language: a word without markup, or empty */
	void (*diff)(struct page *, struct slice path, const struct diff_line *, size_t n);
	/* type: a MIME type that the caller has checked; data: base64. */
	void (*image)(struct page *, const char *type, struct slice data);
	/* The parts of Markdown text. open: it begins; otherwise it ends. marker: of an item, "-" or "3."; of a list that begins, its
	   first number. level: of a heading; not 0: the list is numbered. BLOCK_RULE has no end. */
	void (*block)(struct page *, enum markup_block, unsigned level, struct slice marker, bool open);
	void (*span)(struct page *, enum markup_span, struct slice url, bool open);
	void (*text)(struct page *, struct slice);
};

extern const struct paint paint_html, paint_markdown;

/* The style of the HTML page, up to NULL, and its hash for the page's policy: a test says what it has to be. */
extern const char *const html_style[], html_style_hash[];

/* These append to the page, and set page.failed when out of memory. */
void page_put(struct page *, const char *);
void page_put_slice(struct page *, struct slice);
void page_printf(struct page *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* As text_next, but skips terminal colours and the CR of a CRLF. */
int32_t page_next(struct text *);
/* Appends text to HTML: escapes markup, and writes unsafe characters by name. attribute: the text is the value of one. */
void page_put_html(struct page *, struct slice text, bool attribute);
/* Returns whether a link to this URL is allowed: http, https or mailto, without unsafe characters. */
bool page_is_link(struct slice url);

/* Appends Markdown text as blocks and spans of the page's paint. */
void markup_put(struct page *, struct slice text);

/* Writes the transcript with this paint. chosen: the only session to write, or NULL. Returns 0, or -1 when memory or output failed. */
int page_write(const struct transcript *, const struct session *chosen, const struct paint *, struct out *);

/* The figures of the HTML page: the paint's chart and timeline. */
void html_chart(struct page *, const struct session *);
void html_timeline(struct page *, const struct export_turn *);

/* A chart of the tokens in the context over time. */
enum { CHART_MOST = 200 };
struct chart {
	uint64_t column[CHART_MOST]; /* the most tokens in each part of the time */
	double cost[CHART_MOST];   /* at its end; below 0: not known yet */
	size_t n, first;           /* columns in use; the first that has tokens */
	uint64_t peak, last, size; /* tokens; size 0: not known */
	uint64_t height;           /* tokens at the top: the size, or a round number above the peak where little of it is used */
	double most_cost;          /* 0: no cost is known */
	double begin, seconds;     /* since 1970, at the left end; the time at the right end, 0: not known */
};
/* Fills the chart. columns: how many, from 2 to CHART_MOST. whole: all turns, not only from the first to the last report. */
void chart_make(struct chart *, const struct export_session *, size_t columns, bool whole);
/* Appends "Context: 12.3K of 200K tokens (6%), at most 15.0K." and, where it has no axes, " Height: 20K, width: 4m05s." Returns 0, or -1
   when out of memory. */
int chart_caption(const struct chart *, struct buf *to, bool axes);

#endif
