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
	BOX_SESSION, BOX_CHILD, BOX_TURN, /* may contain other boxes; BOX_CHILD: a sub-agent */
	BOX_CONTENTS, /* contains links */
	BOX_FACTS,   /* contains facts */
	BOX_USER, BOX_AGENT, BOX_THOUGHT, BOX_TOOL, BOX_ASK, BOX_PLAN,
	BOX_FOLD,    /* a part of a tool call that can be folded */
};

struct box {
	enum box_kind kind;
	const char *label;   /* the name of the box: "Turn 3"; or NULL */
	struct slice title;  /* empty: none */
	const char *state;   /* selects the style of the box: "completed"; or NULL */
	char anchor[48];     /* the target of links to the box, or empty */
	char clock[32];      /* the beginning, for people: a time of day, or the time since the start of the recording; or empty */
	char date[32];       /* the beginning in ISO 8601, or empty */
	char length[24];     /* how long the content took, for people; or empty */
	bool open;           /* a box that can be folded is open at first */
};

enum line_kind {
	LINE_PLAIN, LINE_NOTE,
	LINE_FOOT,   /* how a turn ended */
	LINE_ENTRY,  /* an entry of a plan, or an option of a permission request; state: the status of the entry or option */
	LINE_FACT,   /* the value of a fact; state: its label */
	LINE_LINK,   /* a link to a session, in a box of contents; state: the anchor */
	LINE_PATH,   /* the path or language above code or a difference; only paints use this kind */
};

enum markup_block { BLOCK_PARAGRAPH, BLOCK_HEADING, BLOCK_LIST, BLOCK_ITEM, BLOCK_QUOTE, BLOCK_TABLE, BLOCK_ROW, BLOCK_CELL, BLOCK_RULE };
enum markup_span { SPAN_STRONG, SPAN_EMPHASIS, SPAN_CODE, SPAN_LINK };

struct page {
	const struct paint *paint;
	struct buf *to;
	/* The state of walk.c: */
	const struct transcript *transcript;
	struct out *out;
	struct session *separate; /* the list of sub-agents that are nested too deeply, to be written after the session */
	struct buf word;       /* scratch */
	/* The state of the paint: */
	bool line_start, number; /* line_start: the line still has only blanks; number: the line still has only digits */
	struct buf prefix;     /* begins each line */
	unsigned cells;        /* how many this row of a table has already */
	bool headed;           /* the table has its first row */
	enum markup_block block; /* the block that was opened last */
	bool in_code;          /* a span of code is open */
	unsigned depth;        /* how many boxes of sessions are open */
};

/* The functions of a format append to page.to. Slices are valid during the call. */
struct paint {
	void (*begin)(struct page *, struct slice title); /* begins the document; or NULL */
	const char *end; /* the end of the document */
	/* These begin and end a box; close gets the box that open got, without a title. */
	void (*open)(struct page *, const struct box *);
	void (*close)(struct page *, const struct box *);
	/* Shows how full the context of a session was over time. */
	void (*chart)(struct page *, const struct session *);
	/* Shows when the model, the tools and the user worked in a turn. NULL: the format has no timelines. */
	void (*timeline)(struct page *, const struct export_turn *);
	/* Writes a text as a block of its own. state selects the style, as in struct box, unless line_kind says otherwise. */
	void (*line)(struct page *, enum line_kind, const char *state, struct slice text);
	void (*code)(struct page *, struct slice language, struct slice text); /* language: a word without markup, or empty */
	void (*diff)(struct page *, struct slice path, const struct diff_line *, size_t n);
	/* type: a MIME type that the caller has checked; data: base64. */
	void (*image)(struct page *, const char *type, struct slice data);
	/* The parts of Markdown text. open: the part begins; otherwise it ends. marker: "-" or "3." of an item; the first number of a
	   list that begins. level: the level of a heading; of a list, 1 if the list is numbered. BLOCK_RULE has no end. */
	void (*block)(struct page *, enum markup_block, unsigned level, struct slice marker, bool open);
	void (*span)(struct page *, enum markup_span, struct slice url, bool open);
	void (*text)(struct page *, struct slice);
};

extern const struct paint paint_html, paint_markdown;

/* The style of the HTML page, up to NULL, and the hash of the style for the page's policy; a test checks the hash. */
extern const char *const html_style[], html_style_hash[];

/* These append to the page. */
void page_put(struct page *, const char *);
void page_put_slice(struct page *, struct slice);
void page_printf(struct page *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* Returns the next code point, like text_next, but skips terminal colours and the CR of a CRLF. */
int32_t page_next(struct text *);
/* Appends text to HTML: escapes markup, and writes unsafe characters by name. attribute: without elements, as in an attribute. */
void page_put_html(struct page *, struct slice text, bool attribute);
/* Returns whether a link to this URL is allowed: http, https or mailto, without unsafe characters. */
bool page_is_link(struct slice url);
/* Returns the first URL of http or https in a text, in the text; empty if there is none. */
struct slice page_find_link(struct slice text);
/* Returns whether a byte belongs to a word: an ASCII letter or digit, or a byte of another character. */
bool page_is_word(char);
/* Returns whether a text has only ASCII letters, digits and these other characters. */
bool page_has_only(struct slice, const char *others);

/* Appends Markdown text as blocks and spans of the page's paint. */
void markup_put(struct page *, struct slice text);

/* Returns the name of a tool call, plain; valid until the next call. */
struct slice page_tool_name(struct page *, const struct item *);
/* Writes the transcript with this paint. chosen: the only session to write, or NULL: all. */
void page_write(const struct transcript *, const struct session *chosen, const struct paint *, struct out *);

/* chart and timeline of paint_html: figures in SVG. */
void html_chart(struct page *, const struct session *);
void html_timeline(struct page *, const struct export_turn *);

/* A chart of the tokens in the context over time. */
enum { CHART_MOST = 200 };
struct chart {
	uint64_t column[CHART_MOST]; /* the most tokens in each part of the time */
	double cost[CHART_MOST];   /* the cost at the end of each part; below 0: not known yet */
	size_t n, first;           /* how many columns there are; the first column that has a report */
	uint64_t peak, last, size; /* tokens: the most, in the last report, and the size of the context, 0: not known */
	uint64_t height;           /* tokens at the top: the size, or if little of the size is used, a round number above the peak */
	double most_cost;          /* the greatest cost; 0: no cost is known */
	double begin, seconds;     /* the left end, in seconds since 1970; the seconds from left to right, 0: not known */
};
/* Fills the chart with 2 to CHART_MOST columns. whole: the chart covers all turns, not only the time from first to last report. */
void chart_make(struct chart *, const struct export_session *, size_t columns, bool whole);
/* Appends "Context: 12.3K of 200K tokens (6%), at most 15.0K." and, without axes, " Height: 20K, width: 4m05s." */
void chart_caption(const struct chart *, struct buf *to, bool axes);

#endif
