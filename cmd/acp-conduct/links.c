/* The links of a direct chain, and the relay that copies from the client's descriptor where a component must not hold it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "direct.h"
#include "lib/base/cli.h"
#include "lib/run/system.h"

static bool
relay_bytes(void *arg, enum input_got got, const struct line *bytes)
{
	(void)got;
	/* Out of memory these bytes are lost. */
	endpoint_put(arg, bytes->block, bytes->text);
	return true;
}

static void
relay_event(void *arg, enum endpoint_event event)
{
	struct endpoint *relay = arg;

	if (event == ENDPOINT_ENDED)
		endpoint_finish(relay);
	else if (event == ENDPOINT_CLOSED)
		endpoint_close(relay);
	else
		endpoint_pause(relay, relay->out.full);
}

/*
 * Does acp-conduct have to read the client's descriptor itself? Components are background process groups, which a terminal stops when they
 * read from it; and the end of a socket may show only to the process that reads.
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
	struct endpoint *relay = &ch->direct->relay;
	int ends[2], in = proc_copy(STDIN_FILENO);

	if (in < 0 || proc_pipe(ends) < 0)
		return -1;
	*rd = ends[0];
	*relay = (struct endpoint){.line = relay_bytes, .event = relay_event, .arg = relay};
	return endpoint_open(relay, ch->loop, in, ends[1], 0);
}

/* Makes the pipe between two neighbours, or takes the client's own descriptor. */
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
	struct component *last = NULL, *c;

	ch->flow = &direct_flow;
	ch->direct = calloc(1, sizeof(*ch->direct) + (2 * ch->n + 2) * sizeof(struct link));
	if (!ch->direct)
		return -1;
	/* First the links down the row, then those up. */
	for (size_t i = 0; i < 2 * ch->n; i++) {
		enum acp_direction dir = i < ch->n ? ACP_DOWN : ACP_UP;

		c = &ch->components[dir == ACP_DOWN ? i : 2 * ch->n - 1 - i];
		if (c->kind == (dir == ACP_DOWN ? KIND_UP : KIND_DOWN) || c == last)
			continue;
		if (add_link(ch, dir, last, c) < 0)
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
	endpoint_close(&d->relay);
	free(d);
}
