/* libjq PROGRAM: parses each line of stdin with libjq and runs the program on it; nothing is printed. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/filter/jqprog.h"

int
main(int argc, char **argv)
{
	struct jqprog *prog;
	char *why, *line = NULL;
	size_t cap = 0;
	ssize_t n;
	bool yes;

	if (argc != 2 || !(prog = jqprog_new(argv[1], NULL, 0, NULL, 0, &why)))
		return 2;
	while ((n = getline(&line, &cap, stdin)) > 0)
		if (jqprog_test(prog, slice(line, (size_t)n), NULL, 0, &yes, &why) != 0)
			return 1;
	free(line);
	jqprog_free(prog);
	return 0;
}
