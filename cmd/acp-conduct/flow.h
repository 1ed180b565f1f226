/* flow: what follows once something was read, written or has ended: logs, admission, the end. */
#ifndef FLOW_H
#define FLOW_H

struct route;

void flow_follow(struct route *);

#endif
