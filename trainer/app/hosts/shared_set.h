/* Data set with its samples in sealed memory. The ranks of a host then have them once: labels,
 * names and, of shards, the places of the samples.
 *
 * Each process maps this memory privately. A change, as that of a split, copies the pages that it
 * touches, and the other processes keep what they have. The memory belongs to the ranks of one job:
 * it has the byte order and the sizes of this program. */
#ifndef TRAINER_APP_HOSTS_SHARED_SET_H
#define TRAINER_APP_HOSTS_SHARED_SET_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

/* Moves the samples of SET, a folder or shards, into sealed memory. *RET_FD is its descriptor,
 * owned by the caller. SET is unchanged after a failure. */
int shared_set_make(struct dataset *set, int *ret_fd, struct error *err);

/* Opens the set in the memory FD that another process made in this way. What a log says of a set
 * (left_out, note, warning) is not in it. Fails with EXIT_CODE_DATA for memory that is not sealed,
 * or does not hold a set. */
int shared_set_map(struct dataset *ret, int fd, struct error *err);

#endif
