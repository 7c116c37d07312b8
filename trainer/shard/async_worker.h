/* Worker side of parameter servers that do not wait for all workers. It sends its gradients to all
 * of them, each its share, and gets weights back.
 *
 * Every call waits no longer than comm.h says. A server that is gone is an error, as its share of
 * the parameters is lost with it. */
#ifndef TRAINER_SHARD_ASYNC_WORKER_H
#define TRAINER_SHARD_ASYNC_WORKER_H

#include "common/error.h"
#include "trainer/shard/async_wire.h"
#include "trainer/shard/shards.h"

struct async_worker {
    struct shards *shards;       /* borrowed; one bucket */
    struct comm_part *parts;     /* owned; one a rank */
    struct async_reply *replies; /* owned; one a server */
};

int async_worker_open(struct async_worker *w, struct shards *shards, struct error *err);
void async_worker_done(struct async_worker *w);

/* Sends REQUEST, and after it VALUES in shares unless that is NULL. */
int async_worker_send(struct async_worker *w, const struct async_request *request,
                      const float *values, struct error *err);
/* Waits for all replies; *RET is the first server's. */
int async_worker_hear(struct async_worker *w, const struct async_reply **ret, struct error *err);
/* Waits for what follows a reply: all of VALUES. */
int async_worker_fetch(struct async_worker *w, float *values, struct error *err);

#endif
