/* missing: what the C library of some systems has not. The portable build includes it everywhere; missing_portable.c has it. */
#ifndef MISSING_H
#define MISSING_H

#include <dirent.h>
#include <stddef.h>

void *memrchr(const void *, int, size_t);
void *reallocarray(void *, size_t, size_t);
/* With the numbers in names compared as numbers (here: names of the same length, and shorter ones first). */
int versionsort(const struct dirent **, const struct dirent **);

#endif
