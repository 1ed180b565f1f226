#include "lib/base/metrics.h"

#include "lib/base/text.h"

int
metrics_head(struct buf *to, const char *name, const char *type, const char *help)
{
	return buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

int
metrics_labels(struct buf *to, const char *name, const struct metrics_label *label)
{
	int r = buf_printf(to, "%s{", name);
	char piece[TEXT_SHOW_SIZE];
	struct text t;
	int32_t code;
	size_t n;

	for (const struct metrics_label *l = label; l->name; l++) {
		r |= buf_printf(to, "%s%s=\"", l > label ? "," : "", l->name);
		for (t = text_of(l->value); (code = text_next(&t)) >= 0;) {
			/* text_plain would leave colours out, so that two values could become one. */
			n = code == '\n' ? 0 : text_show(piece, code);
			r |= n ? 0 : buf_add_string(to, "\\n");
			for (size_t i = 0; i < n; i++) {
				if (piece[i] == '"' || piece[i] == '\\')
					r |= buf_add(to, "\\", 1);
				r |= buf_add(to, &piece[i], 1);
			}
		}
		r |= buf_add(to, "\"", 1);
	}
	return r | buf_add_string(to, "} ");
}
