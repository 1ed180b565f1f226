/* missing: functions that some C libraries lack. The portable build includes this header everywhere, and missing_portable.c. */
#ifndef MISSING_H
#define MISSING_H

#include <dirent.h>
#include <stddef.h>

void *memrchr(const void *, int, size_t);
void *reallocarray(void *, size_t, size_t);
/* Compares names, with numbers in them as numbers: shorter names come first, which suffices if the names differ in one number. */
int versionsort(const struct dirent **, const struct dirent **);

#endif
