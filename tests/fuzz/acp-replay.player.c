/*
 * Plays any bytes as a recording to any bytes as the live side, on either side and with each way to
 * treat a miss: whatever both say, the play comes to an end. The first byte says how it is played; the
 * recording and what the live side says are parted by a line of ====.
 */
#include "cmd/acp-replay/player.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { LIMIT = 1024 * 1024 };

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static struct loop *loop;

static void
open_nowhere(struct endpoint *out)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	*out = (struct endpoint){0};
	expect(fd >= 0 && endpoint_open(out, loop, -1, fd, 0) == 0);
}

/* Plays until the live side is waited for. False when it is over. */
static bool
play(struct player *p)
{
	enum play play;

	do {
		/* What is waited for by time comes soon. */
		p->now = p->wake > p->now ? p->wake : p->now + 1000;
		play = player_play(p);
		endpoint_flush(p->out, 0, 0);
		endpoint_flush(p->err, 0, 0);
	} while (play == PLAY_FULL || play == PLAY_LEAVE);
	/* Only a file that changes while it is played, or memory, could make it fail. */
	expect(play != PLAY_FAILED);
	return play == PLAY_WAITING;
}

static void
hear(struct player *p, struct slice line)
{
	enum received h = player_receive(p, line, false);

	while (h == RECEIVED_LATER) {
		if (!play(p))
			return;
		h = player_receive(p, line, true);
	}
	expect(h == RECEIVED);
}

static void
play_to(struct player *p, struct slice live)
{
	const char *end = live.p + live.n, *newline;
	bool more = play(p);

	for (; more && live.n > 0; more = play(p)) {
		newline = memchr(live.p, '\n', live.n);
		hear(p, slice_between(live.p, newline ? newline : end));
		live = newline ? slice_between(newline + 1, end) : slice(end, 0);
	}
	p->left = true;
	while (more)
		more = play(p);
	player_finish(p, true);
}

static void
run(const struct replay_options *o, const char *path, struct slice live)
{
	struct endpoint out, err;
	struct player player = {0};
	int opened;

	open_nowhere(&out);
	open_nowhere(&err);
	expect(items_open(&player.plan.items, "fuzz", path, LIMIT, NULL, false) == 0);
	opened = player_open(&player, o, &out, &err);
	expect(opened >= 0);
	if (opened == 0)
		play_to(&player, live);
	player_close(&player);
	endpoint_close(&out);
	endpoint_close(&err);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char between[] = "\n====\n";
	const char *p = (const char *)data + 1, *end = (const char *)data + size, *cut;
	struct replay_options o = {0};
	char path[64];
	int fd;

	if (size == 0)
		return 0;
	if (!loop)
		loop = loop_new((const int[]){0}, NULL, NULL);
	expect(loop);
	cut = memmem(p, size - 1, between, sizeof(between) - 1);
	o.us = data[0] & 1 ? ACP_AGENT : ACP_CLIENT;
	o.match = data[0] & 2 ? MATCH_METHOD : MATCH_PARAMS;
	o.on_miss = (enum on_miss)((data[0] >> 2) % 3);
	o.loop = data[0] & 16;
	o.start = data[0] & 32 ? 4 : 0;
	fd = memfd_create("recording", MFD_CLOEXEC);
	expect(fd >= 0 && write(fd, p, (size_t)((cut ? cut : end) - p)) >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	run(&o, path, cut ? slice_between(cut + sizeof(between) - 1, end) : slice(end, 0));
	close(fd);
	return 0;
}
