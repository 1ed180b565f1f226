#include "lib/base/metrics.h"

int
metrics_head(struct buf *to, const char *name, const char *type, const char *help)
{
	return buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

int
metrics_labels(struct buf *to, const char *name, const struct metrics_label *label)
{
	int r = buf_printf(to, "%s{", name);

	for (const struct metrics_label *l = label; l->name; l++) {
		r |= buf_printf(to, "%s%s=\"", l > label ? "," : "", l->name);
		for (size_t i = 0; i < l->value.n; i++) {
			if (l->value.p[i] == '\n' || l->value.p[i] == '"' || l->value.p[i] == '\\')
				r |= buf_add(to, "\\", 1);
			r |= buf_add(to, l->value.p[i] == '\n' ? "n" : &l->value.p[i], 1);
		}
		r |= buf_add(to, "\"", 1);
	}
	return r | buf_add_string(to, "} ");
}
