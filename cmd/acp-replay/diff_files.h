/* diff_files: two recordings are compared, without anything being played. */
#ifndef REPLAY_DIFF_FILES_H
#define REPLAY_DIFF_FILES_H

#include "cmd/acp-replay/report.h"

struct diff_files_options {
	const char *path[DIFF_SIDES]; /* "-" is standard input */
	const char *hop;              /* --hop, or NULL */
	const char *normalize;        /* --normalize, or NULL */
	size_t limit;                 /* --max-line, bytes */
	enum match match;
	enum report_format format;
	bool keep_paths, environment, color;
};

/* Compares them, the report goes to standard output. Returns the exit status; has said on stderr what there was to say. */
int diff_files(const struct diff_files_options *);

#endif
