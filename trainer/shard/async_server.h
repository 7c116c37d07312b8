/* Asynchronous parameter servers, updated by each worker's gradients as they come. The method is
 * that of Dean et al., "Large scale distributed deep networks", 2012, within the bounds of
 * async_clocks.h.
 *
 * A worker that is lost costs only itself: what it has sent stays, the others continue. Rank 0 is
 * the exception, as it alone writes checkpoints and the log. */
#ifndef TRAINER_SHARD_ASYNC_SERVER_H
#define TRAINER_SHARD_ASYNC_SERVER_H

#include "common/error.h"
#include "trainer/shard/shard_keep.h"

/* Serves until all workers have left; *RET_CODE is what rank 0 says of the run's end.
 * EXIT_CODE_INTERNAL if rank 0 is lost. */
int async_server_run(struct shard_server *server, const struct shard_listener *listener,
                     int *ret_code, struct error *err);

#endif
