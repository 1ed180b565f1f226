/*
 * page: a document for people. walk.c says what stands on it, from top to bottom; a struct paint says how that is written in
 * one format. No text that a function of it is given can be trusted: each writes it so that it stays text.
 */
#ifndef PAGE_H
#define PAGE_H

#include "cmd/acp-export/transcript.h"
#include "lib/base/text.h"
#include "lib/run/out.h"

enum box_kind {
	BOX_SESSION, BOX_CHILD, BOX_TURN, /* one in another */
	BOX_FACTS,   /* holds facts */
	BOX_USER, BOX_AGENT, BOX_THOUGHT, BOX_TOOL, BOX_ASK, BOX_PLAN,
	BOX_FOLD,    /* a part of a tool call */
};

struct box {
	enum box_kind kind;
	const char *label;   /* what it is: "Turn 3"; or NULL */
	struct slice title;  /* empty: none */
	const char *state;   /* a word for its look: "completed"; or NULL */
	char anchor[48];     /* a name to link to, or empty */
	char clock[32];      /* for people: a time of day, or since the start; or empty */
	char date[32];       /* the same in ISO 8601, or empty */
	char length[24];     /* how long it took, or empty */
	bool open;           /* unfolded from the start */
};

/* What a line of a difference is. */
enum diff_mark { DIFF_SAME = ' ', DIFF_OLD = '-', DIFF_NEW = '+', DIFF_GAP = '@' };
struct diff_line {
	enum diff_mark mark;
	struct slice text;   /* DIFF_GAP: p NULL */
	size_t skipped;      /* DIFF_GAP: so many lines */
};

enum markup_block { BLOCK_PARAGRAPH, BLOCK_HEADING, BLOCK_ITEM, BLOCK_QUOTE, BLOCK_TABLE, BLOCK_ROW, BLOCK_CELL, BLOCK_RULE };
enum markup_span { SPAN_STRONG, SPAN_EMPHASIS, SPAN_CODE, SPAN_LINK };

struct page {
	const struct paint *paint;
	struct buf *to;
	bool failed;           /* out of memory */
	bool line_start, number; /* for a paint: only blanks, or only digits stand in the line so far */
	const char *prefix;    /* likewise: of each line */
	unsigned cells, head;  /* likewise: of the row of a table, and of its first row */
	enum markup_block block; /* likewise: the last that was opened */
	bool in_list, in_code; /* likewise: after an item of a list, within a span of code */
	unsigned depth;        /* boxes of sessions that are open */
};

struct paint {
	void (*begin)(struct page *, struct slice title);
	void (*end)(struct page *);
	void (*open)(struct page *, const struct box *);
	void (*close)(struct page *, const struct box *);
	void (*fact)(struct page *, const char *label, struct slice value);
	void (*chart)(struct page *, const struct session *);
	/* How a turn ended: state is a word for its look. */
	void (*foot)(struct page *, const char *state, struct slice text);
	void (*plain)(struct page *, struct slice text);
	void (*code)(struct page *, struct slice language, struct slice text); /* language: a word without markup, or empty */
	void (*diff)(struct page *, struct slice path, const struct diff_line *, size_t n);
	void (*note)(struct page *, const char *state, struct slice text);
	/* An entry of a plan, or an option: state says which it is. */
	void (*entry)(struct page *, const char *state, struct slice text);
	/* type: one of page_image_type; data: base64. */
	void (*image)(struct page *, const char *type, struct slice data);
	/* The parts of Markdown. marker: of an item, "-" or "3."; level: of a heading, an item. A rule only opens. */
	void (*block)(struct page *, enum markup_block, unsigned level, struct slice marker, bool open);
	void (*span)(struct page *, enum markup_span, struct slice url, bool open);
	void (*text)(struct page *, struct slice);
};

/* Append to the page. */
void page_put(struct page *, const char *);
void page_put_slice(struct page *, struct slice);
void page_printf(struct page *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* The next character to be shown: colours of terminals and the CR of a line's end are left out. As text_next. */
int32_t page_next(struct text *);
/* Text in HTML: markup is escaped, and what must not be seen as it is gets a name. */
void page_put_html(struct page *, struct slice text, bool attribute);
/* May this be linked to (http, https, mailto)? */
bool page_is_link(struct slice url);

/* Text with Markdown in it, as the blocks and spans of the page's paint. */
void markup_put(struct page *, struct slice text);
/* A difference between two texts, with a few lines around each change. */
void diff_put(struct page *, struct slice path, struct slice old, struct slice new);
/* A part of a git patch, or of whatever has such lines. */
void diff_put_patch(struct page *, struct slice text);
/* Indented JSON. 0, or -1 out of memory. */
int json_indent(struct buf *to, struct slice json);

/* The chosen sessions of the transcript, painted. chosen: NULL: all. 0, or -1 where memory or the output has failed. */
int page_write(const struct transcript *, const struct session *chosen, const struct paint *, struct out *);

/* How full the context was, in so many columns at most: the most in each. Returns how many there are. */
enum { CHART_MOST = 200 };
struct chart {
	uint64_t column[CHART_MOST];
	size_t n;
	uint64_t peak, last, size; /* size 0: not known */
	uint64_t height;           /* that of the chart: the size, or where little of it is used a round number above the peak */
	double seconds;            /* its width; 0: not known */
};
void chart_make(struct chart *, const struct session *, size_t columns);
/* Appends "Context: 12.3K of 200K tokens (6%), at most 15.0K. Height: 20K, width: 4m05s." 0, or -1 out of memory. */
int chart_caption(const struct chart *, struct buf *to);

#endif
