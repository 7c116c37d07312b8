/* Checkpoints of this host's ranks, by their own word.
 *
 * Programs report them with their progress (common/system/progress.h), and may be wrong. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SAVES_H
#define ENTRYPOINT_HOST_RANKS_RANK_SAVES_H

#include "entrypoint/host/ranks/rank_set.h"

#include <stdint.h>

/* Returns when the last checkpoint of a rank was complete, clock_boot(), or 0 if none was; and the
 * longest time that one of them stood still for its checkpoints, in ns. */
int64_t rank_saves_last(const struct rank_set *c, int64_t *ret_pause);
/* Adds both to an answer to a heartbeat, if there was a checkpoint: `saved`, [ns since, pause]. */
void rank_saves_put(const struct rank_set *c, json_t *message);

#endif
