/* summary: what the files that write the summary (--summary, --by) have in common. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "cmd/acp-usage/tool.h"

/* A row of the summary: a session, a group (a model, a day, ...), or the total. */
struct summary_row {
	UT_hash_handle hh; /* of summary.groups */
	const struct usage_session *session; /* NULL: a group, or the total */
	int64_t key;      /* of a group: a name's number, or a day */
	unsigned depth;   /* 0 for a session, 1 for its sub-agents, and so on */
	bool used;        /* of a model: it has something to show, not only the mark of a lower bound */
	struct usage_figures figures;
};

/* A row of depth 0, with what --sort compares. */
struct summary_order {
	const struct usage_session *session; /* NULL: a group */
	const struct summary_row *group;
	bool unknown;         /* rows without a value come last */
	struct slice text;    /* the currency or title, in rising order */
	struct decimal value; /* in falling order */
	size_t number;        /* the place without --sort, which decides between equal rows */
};

enum { SUMMARY_COLUMNS = 17 };

struct summary {
	struct tool *tool;
	struct summary_row *groups, total;
	struct usage_figures unassigned; /* figures that belong to no group */
	struct summary_order *order;     /* all rows of depth 0 */
	size_t norder, sessions;
	uint64_t turns;                  /* --by model: turns of all sessions */
	/* The columns of the table. */
	size_t width[SUMMARY_COLUMNS];   /* of the widest cell; 0: hide the column */
	bool value[SUMMARY_COLUMNS];     /* some cell of the column has a value */
	bool narrow, color;
};

/* Makes the rows and the total. Call it before the functions below. 0, or -1 out of memory. */
int summary_make(struct summary *);
void summary_free(struct summary *);
/* Calls fn for each row except the total, until fn returns something other than 0. Returns that, or 0. */
int summary_each(struct summary *, int (*fn)(struct summary *, const struct summary_row *));
/* Appends the id, model, day, directory or agent of a row; nothing if it is not known. 0, or -1 out of memory. */
int summary_name(struct summary *, const struct summary_row *, struct buf *);
/* The most tokens that the session's context has held, over all recordings. */
uint64_t summary_peak(const struct usage_session *);
/* The share of cache reads in all input, in per mille; -1 if no input is known. */
int summary_hits(const struct usage_figures *);

/* table.c */
/* Measures the columns, and writes their names. 0, or -1 out of memory. */
int summary_head(struct summary *);
/* Appends the line of a row or, for NULL, of the columns' names. 0, or -1 out of memory. */
int summary_line(struct summary *, const struct summary_row *, struct buf *);

#endif
