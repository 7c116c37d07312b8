/* Bytes of every rank, however many each has, to every rank. */
#ifndef TASK_GATHER_H
#define TASK_GATHER_H

#include "comm/comm.h"
#include "common/buf.h"
#include "common/error.h"

#include <stdint.h>

/* So many bytes of a rank travel at once. */
enum { GATHER_ROUND = 4 * 1024 * 1024 };

/* Appends to ALL the bytes of each rank in rank order; RET_SIZES, one for each rank, says how many
 * those are. All ranks together. */
int gather_bytes(struct comm *comm, const struct buf *mine, struct buf *all, int64_t *ret_sizes,
                 struct error *err);

#endif
