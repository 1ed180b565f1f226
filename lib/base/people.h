/* people: short figures for people to read. Each function writes a figure into `to` and returns `to`. */
#ifndef PEOPLE_H
#define PEOPLE_H

#include <stdint.h>

enum { PEOPLE_FIGURE = 24 }; /* bytes that are enough for every figure */

const char *people_bytes(char to[PEOPLE_FIGURE], uint64_t n);     /* 254, 1.2K, 53K: in 1024s */
const char *people_count(char to[PEOPLE_FIGURE], uint64_t n);     /* 53.0K, 200K, 1M: in 1000s */
const char *people_duration(char to[PEOPLE_FIGURE], uint64_t us); /* 1.5 ms, 850 ms, 12.3 s, 4m05s, 3h07m, 12d */

#endif
