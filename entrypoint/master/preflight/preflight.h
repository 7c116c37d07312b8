/* Orders of `ringmaster check` to all hosts.
 *
 * They examine themselves and the network between them.
 *
 * It starts when all hosts have joined, or the time for that is over. Each host runs its probe
 * (host/preflight/preflight_child.h) and reports to the master. A fault of a host, which would end
 * a job, is kept here and becomes a row. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_PREFLIGHT_H
#define ENTRYPOINT_MASTER_PREFLIGHT_PREFLIGHT_H

#include "entrypoint/master/state/state.h"

void preflight_init(struct master *m);
int preflight_open(struct master *m, struct error *err);
void preflight_close(struct master *m);

/* Sends the order to all hosts. */
int preflight_begin(struct master *m, struct error *err);
void preflight_receive(struct member *b, const json_t *message);
/* Stops waiting for a host that is gone. */
void preflight_left(struct member *b);

#endif
