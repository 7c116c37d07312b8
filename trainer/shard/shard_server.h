/* Parameter servers of a training: ranks that own all shares between them and do nothing else (Li
 * et al., "Scaling distributed machine learning with the parameter server", OSDI 2014, in its
 * synchronous form). They need neither data nor network: rank 0 tells them what to keep, and orders
 * what comes next.
 *
 * They update parameters once for all workers together, as ordered, or for each of them by itself
 * (async_server.h).
 *
 * An order is a sum to which rank 0 alone adds, so that no worker has to wait for it. */
#ifndef TRAINER_SHARD_SHARD_SERVER_H
#define TRAINER_SHARD_SHARD_SERVER_H

#include "common/error.h"
#include "trainer/shard/shard_keep.h"

enum shard_order {
    SHARD_STEP = 1, /* sums of all buckets, judgement, update */
    /* Of the arena that is the order's argument: */
    SHARD_DEAL,   /* rank 0 sends each server its values */
    SHARD_GATHER, /* servers send theirs to rank 0 */
    SHARD_SPREAD, /* servers send theirs to all workers */
    SHARD_END     /* the argument is the exit code */
};

/* Collective, for workers: tells the servers LAYOUT and SERVICE. */
int shard_server_tell(struct comm *comm, const struct shard_layout *layout,
                      const struct shard_service *service, struct error *err);
/* For workers: begins to send the next ORDER, with its ARGUMENT. SENT holds it on its way: it must
 * stay until a later operation of this communicator has been waited for. */
int shard_server_order(struct shards *s, enum shard_order order, int argument, float *sent,
                       struct error *err);

/* For servers, the ranks after the first WORKERS: serves until the order to end, which names
 * *RET_CODE. */
int shard_server_run(struct comm *comm, int workers, const struct shard_listener *listener,
                     int *ret_code, struct error *err);

#endif
