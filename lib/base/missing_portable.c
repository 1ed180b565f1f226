/* Defines the functions of missing.h for C libraries that lack them. */
#include "lib/base/missing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *
memrchr(const void *s, int c, size_t n)
{
	const unsigned char *p = s;

	while (n > 0)
		if (p[--n] == (unsigned char)c)
			return (void *)(p + n);
	return NULL;
}

void *
reallocarray(void *p, size_t n, size_t size)
{
	if (size == 0 || n <= SIZE_MAX / size)
		return realloc(p, n * size);
	errno = ENOMEM;
	return NULL;
}

int
versionsort(const struct dirent **a, const struct dirent **b)
{
	size_t n = strlen((*a)->d_name), m = strlen((*b)->d_name);

	return n != m ? (n < m ? -1 : 1) : strcmp((*a)->d_name, (*b)->d_name);
}
