/* labels: short names for sessions. */
#ifndef LABELS_H
#define LABELS_H

#include "lib/session/session.h"

enum { LABEL = 8, LABEL_SHORT = 4 };

/* The data of a session. */
struct label {
	char text[LABEL + 1];        /* a part of the id that no other session here has */
	char brief[LABEL_SHORT + 1];
	unsigned number;             /* 1 for the first session */
};

/* The label of a session that has none yet. NULL when out of memory. */
struct label *label_new(const struct sessions *, const struct session *, unsigned number);

#endif
