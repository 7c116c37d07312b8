/* State of a server of parameters. It is the same for servers that update it once for all workers
 * (shard_server.h) and for those that do so for each of them (async_server.h). */
#ifndef TRAINER_SHARD_SHARD_KEEP_H
#define TRAINER_SHARD_SHARD_KEEP_H

#include "trainer/shard/shards.h"

#include <stdint.h>

enum shard_arena { SHARD_WEIGHTS, SHARD_MOMENTUM, SHARD_SECOND, SHARD_AVERAGE, SHARD_ARENAS };

/* What a server keeps; sent from rank 0 to ranks of the same program. */
struct shard_service {
    struct optimizer_rule rule;
    uint64_t count;              /* elements of an arena */
    int32_t keeps[SHARD_ARENAS]; /* the optimizer has it */
    int32_t async;               /* workers do not wait for each other (async_server.h) */
    int32_t staleness;           /* by how many steps they may differ then */
};

/* A server and what it keeps. */
struct shard_server {
    struct shards shards;
    struct shard_service service;
    float *gradients;           /* owned, as are those: only the pages of own shares are touched */
    float *arena[SHARD_ARENAS]; /* NULL: the optimizer has none */
};

/* Called after each step of a server, with the number of updates so far. */
struct shard_listener {
    void (*stepped)(void *user, uint64_t updates);
    void *user;
};

#endif
