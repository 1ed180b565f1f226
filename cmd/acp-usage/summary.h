/* summary: shared by the files that write the summary (--summary, --by). */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "cmd/acp-usage/tool.h"

/* A row of the summary: a session, or a group (a model, a day, ...). */
struct summary_row {
	UT_hash_handle hh; /* of a group */
	const struct usage_session *session; /* or NULL */
	int64_t key;      /* of a group: a name, or a day */
	unsigned depth;   /* 0 for a session, 1 for its sub-agents, and so on */
	bool total;
	struct usage_figures figures;
};

/* A row, and by what --sort compares it. */
struct summary_order {
	const struct usage_session *session; /* or NULL: */
	const struct summary_row *group;
	bool unknown;         /* these come last */
	struct slice text;    /* rising: the currency, or the title */
	struct decimal value; /* falling */
	size_t number;        /* without --sort */
};

enum { SUMMARY_COLUMNS = 17 };

struct summary {
	struct tool *tool;
	struct summary_row *groups, total;
	struct usage_figures unassigned; /* of no group */
	struct summary_order *order;     /* all rows of depth 0 */
	size_t norder, sessions;
	uint64_t turns;                  /* --by model: of all sessions */
	/* of the table */
	size_t width[SUMMARY_COLUMNS];   /* of the widest cell; 0: the column is not shown */
	bool value[SUMMARY_COLUMNS];     /* some cell of the column has a value */
	bool narrow, color;
};

/* Makes what is shown: before the functions below. 0, or -1 out of memory. */
int summary_make(struct summary *);
void summary_free(struct summary *);
/* Calls fn for each row except the total, until fn returns something other than 0. Returns that, or 0. */
int summary_each(struct summary *, int (*fn)(struct summary *, const struct summary_row *));
/* Appends the id, model, day, directory or agent of a row; nothing where it is not known. 0, or -1 out of memory. */
int summary_name(struct summary *, const struct summary_row *, struct buf *);
/* The most tokens that the session's context has held, over all recordings. */
uint64_t summary_peak(const struct usage_session *);
/* Cache reads as a share of all input, in per mille; -1 where there is none. */
int summary_hits(const struct usage_figures *);

/* table.c */
/* Measures the columns, and writes their names. */
int summary_head(struct summary *);
/* Appends a line: of a row's cells, or (NULL) of the columns' names. */
int summary_line(struct summary *, const struct summary_row *, struct buf *);

#endif
