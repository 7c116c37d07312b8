/* Probe of a checkpoint directory that all hosts share, for RINGMASTER_FAILOVER.
 *
 * Without a shared directory the host that takes over would start from the beginning. Every host
 * writes a file there, then reads the file of the previous host (host/failover/shared_dir_probe.h).
 * Raises DIR_SHARED, or LAUNCH_FAILED with m->fault. In any case every host gets the order to
 * remove its file. */
#ifndef ENTRYPOINT_MASTER_FAILOVER_SHARED_DIR_H
#define ENTRYPOINT_MASTER_FAILOVER_SHARED_DIR_H

#include "entrypoint/master/state/state.h"

#include <jansson.h>

void shared_dir_init(struct master *m);
void shared_dir_close(struct master *m);
void shared_dir_begin(struct master *m);
void shared_dir_end(struct master *m);
/* Handles the answer of a host. */
void shared_dir_receive(struct member *b, const json_t *message);

#endif
