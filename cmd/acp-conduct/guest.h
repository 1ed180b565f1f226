/*
 * guest: somebody who has joined a hop while the chain runs. He is a watcher, and what he writes, as records, enters the
 * hop beside what its neighbours say. His requests have ids of their own there, and their answers go to him alone.
 */
#ifndef GUEST_H
#define GUEST_H

#include "route.h"

struct watch;
struct watcher;

/* Beyond so many open requests of one guest the next is refused. */
enum { GUEST_REQUESTS = 1000 };

/* One more at the hop, whose other end of fd (a socket; taken over) is read and written. 0, or -1 with errno. */
int guest_join(struct route *, struct watch *, size_t hop, int fd);
/* An answer for him: port is what stands for him in its call. */
void guest_answer(struct port *, struct slice text, const struct splices *, enum lane);
/* What he reads, who is told the answer with his own id, and so does not see it as the others do. NULL: nothing any more. */
const struct watcher *guest_watcher(const struct port *);
/* Reads only from those whose messages find room. */
void guest_watch_all(struct route *);
/* The chain has ended: nobody waits for answers any more. */
void guest_free_all(struct route *);

#endif
