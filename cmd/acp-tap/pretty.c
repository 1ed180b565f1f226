#include "cmd/acp-tap/pretty.h"
#include <stdlib.h>
struct pretty { bool fold; };
struct pretty *pretty_new(const struct out *o, enum cli_color c, bool fold) { (void)o; (void)c; (void)fold; return calloc(1, sizeof(struct pretty)); }
void pretty_free(struct pretty *p) { free(p); }
const struct format format_pretty = {.name = "pretty"};
