/* The links of a direct chain, and the relay that copies from the client's descriptor where a component must not hold it. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "direct.h"
#include "lib/base/cli.h"
#include "lib/run/system.h"

enum { RELAY_LINE = 64 * 1024 /* bytes: longer lines are copied in pieces */ };

static bool
relay_line(void *arg, enum input_got got, const struct line *line)
{
	struct endpoint *out = &((struct direct *)arg)->relay.out;

	if (out->out.full)
		return false;
	/* Without memory a line is lost; so is much else. */
	if (got == INPUT_PIECE)
		endpoint_put(out, line->block, line->text);
	else
		endpoint_put_line(out, line->block, line->text, got == INPUT_TORN);
	return true;
}

static void
relay_event(void *arg, enum endpoint_event event)
{
	struct relay *r = &((struct direct *)arg)->relay;

	if (event == ENDPOINT_ENDED)
		endpoint_finish(&r->out);
	else if (event == ENDPOINT_CLOSED)
		endpoint_close(&r->in);
	else if (event == ENDPOINT_WROTE && !r->out.out.full)
		endpoint_pause(&r->in, false);
}

/*
 * Must acp-conduct read the client's descriptor, though a component could? Components are background process groups, which a terminal
 * stops when they read from it; and the end of a socket may show only to its reader.
 */
static bool
is_relayed(void)
{
	struct stat st;

	return isatty(STDIN_FILENO) || (!system_hangup && fstat(STDIN_FILENO, &st) == 0 && S_ISSOCK(st.st_mode));
}

static int
open_relay(struct chain *ch, int *rd)
{
	struct direct *d = ch->direct;
	int ends[2], in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8);

	if (in < 0 || proc_pipe(ends) < 0)
		return -1;
	*rd = ends[0];
	d->relay.in = (struct endpoint){.line = relay_line, .event = relay_event, .arg = d};
	d->relay.out = (struct endpoint){.event = relay_event, .arg = d};
	return endpoint_open(&d->relay.in, ch->loop, in, -1, RELAY_LINE) < 0 || endpoint_open(&d->relay.out, ch->loop, -1, ends[1], 0) < 0 ? -1 : 0;
}

/* The pipe between two neighbours, or the client's own descriptor. */
static int
add_link(struct chain *ch, enum acp_direction dir, struct component *writer, struct component *reader)
{
	struct direct *d = ch->direct;
	struct link *l = &d->links[d->n++];
	int ends[2];

	*l = (struct link){.chain = ch, .dir = dir, .rd = -1, .wr = -1, .writer = writer, .reader = reader, .watch.fd = -1};
	if (writer)
		writer->out[dir] = l;
	if (reader)
		reader->in[dir] = l;
	if (!writer || !reader)
		d->client[dir] = l;
	if (!reader) {
		l->wr = STDOUT_FILENO;
	} else if (!writer) {
		l->rd = STDIN_FILENO;
		return is_relayed() ? open_relay(ch, &l->rd) : 0;
	} else {
		if (proc_pipe(ends) < 0)
			return -1;
		l->rd = ends[0];
		l->wr = ends[1];
	}
	return 0;
}

int
direct_open(struct chain *ch)
{
	struct direct *d = ch->direct = calloc(1, sizeof(*d));
	struct component *last = NULL, *c;

	ch->flow = &direct_flow;
	if (d)
		d->links = calloc(2 * ch->n + 2, sizeof(*d->links));
	if (!d || !d->links)
		return -1;
	for (c = ch->components; c < ch->components + ch->n; c++) {
		if (!component_handles(c, ACP_DOWN))
			continue;
		if (add_link(ch, ACP_DOWN, last, c) < 0)
			return -1;
		last = c;
	}
	while (c-- > ch->components) {
		if (!component_handles(c, ACP_UP) || c == last)
			continue;
		if (add_link(ch, ACP_UP, last, c) < 0)
			return -1;
		last = c;
	}
	cli_waits("acp-conduct", STDIN_FILENO, "the client's messages");
	return add_link(ch, ACP_UP, last, NULL);
}

void
direct_free(struct direct *d)
{
	if (!d)
		return;
	endpoint_close(&d->relay.in);
	endpoint_close(&d->relay.out);
	free(d->links);
	free(d);
}
