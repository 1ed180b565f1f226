#include "cmd/acp-mcp/peer.h"

static void
report_lost(struct peer *p, struct slice line)
{
	struct slice id;
	enum msg_kind meant = msg_noise_meant(line, &id);

	p->lost(p->arg, meant, id);
}

static void
hear_line(struct peer *p, const struct line *line)
{
	struct json_error error;
	struct msg m;

	if (line_is_blank(line))
		return;
	if (msg_scan(line->text, &m, &error) != MSG_NOISE) {
		p->message(p->arg, &m);
		return;
	}
	p->noise(p->arg, error.what, line->text);
	report_lost(p, line->text);
}

/* A part of a line that is too long. */
static void
hear_piece(struct peer *p, const struct line *piece)
{
	struct outline whole;

	if (piece->first)
		p->noise(p->arg, "it is too long", piece->text);
	outline_add(&p->outline, piece->text);
	if (!piece->last)
		return;
	whole = p->outline;
	p->outline = (struct outline){0};
	if (!whole.failed)
		report_lost(p, buf_slice(&whole.text));
	buf_free(&whole.text);
}

static bool
hear(void *arg, enum input_got got, const struct line *line)
{
	if (got == INPUT_PIECE)
		hear_piece(arg, line);
	else
		hear_line(arg, line);
	return true;
}

/* Where nobody reads what is written the owner hears of it when the other direction ends. */
static void
happened(void *arg, enum endpoint_event event)
{
	struct peer *p = arg;

	if (event == ENDPOINT_ENDED)
		p->ended(p->arg);
	p->moved(p->arg);
}

int
peer_open(struct peer *p, struct loop *loop, int reads, int writes, size_t limit)
{
	p->end = (struct endpoint){.line = hear, .event = happened, .arg = p};
	return endpoint_open(&p->end, loop, reads, writes, limit);
}

int
peer_send(struct peer *p, struct slice message)
{
	return p->finished ? 0 : endpoint_put_line(&p->end, NULL, message, false);
}

void
peer_finish(struct peer *p)
{
	p->finished = true;
	endpoint_finish(&p->end);
}

void
peer_close(struct peer *p)
{
	endpoint_close(&p->end);
	buf_free(&p->outline.text);
}
