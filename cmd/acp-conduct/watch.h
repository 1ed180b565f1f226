/*
 * watch: those who have attached themselves to a hop while the chain runs. Each gets a recording of it: what he has to
 * know first (preface), then a copy of what goes by. Nobody waits for one who reads slowly: he misses records, and is
 * told how many.
 */
#ifndef WATCH_H
#define WATCH_H

#include "lib/loop.h"
#include "lib/msg.h"
#include "lib/output.h"

/* What may wait for a watcher, and one record: beyond it records are lost, until half of it is read. */
enum { WATCH_QUEUE = 1024 * 1024 };

struct watch; /* the hops */

struct watcher {
	struct watch *watch;
	size_t hop;
	struct output out;
	struct loop_fd writable;
	bool losing;
	uint64_t lost;             /* records since he was told last */
	void (*changed)(void *arg, bool left); /* he has read something; or has gone, and so has the watcher. NULL: nobody has to know */
	void *arg;
	struct watcher *next, *prev;
};

/* names: of the hops, n of them, and NULL at the end: borrowed. began and started: when the chain did, us on loop_clock and seconds since 1970. NULL with errno. */
struct watch *watch_new(struct loop *, char *const *names, size_t n, uint64_t began, double started);
/* A message in its plain form, as look_message has it. except: one who does not see it, or NULL. */
void watch_message(struct watch *, size_t hop, enum lane, struct slice text, const struct splices *, const struct msg *plain,
	struct slice session, const struct watcher *except);
void watch_noise(struct watch *, size_t hop, enum acp_side from, struct slice text);
/* Writes what has been seen. */
void watch_flush(struct watch *);

/* Adds one who reads the other end of fd, which is taken over. NULL with errno. */
struct watcher *watch_add(struct watch *, size_t hop, int fd);
/* Lets him go. What is queued for him is not written any more. */
void watch_remove(struct watcher *);
/* Gives him a record that he does not lose, however slow he is. 0, or -1 out of memory. */
int watch_tell(struct watcher *, struct slice record);

/* Microseconds since the chain began. */
uint64_t watch_time(const struct watch *);
double watch_started(const struct watch *);
size_t watch_hops(const struct watch *);
char *const *watch_names(const struct watch *);
/* How many watch now, at all hops. */
size_t watch_count(const struct watch *);
uint64_t watch_messages(const struct watch *, size_t hop, enum lane);
size_t watch_sessions(const struct watch *, size_t hop);
/* All that has been seen is written, for those who read, and then they are let go. NULL is none. */
void watch_free(struct watch *);

#endif
