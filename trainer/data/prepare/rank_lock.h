/* Ranks that write shards to one target. Rank 0 holds the target itself (target.h); each other rank
 * holds a file of its own there, so that no second job begins while a rank of the first still
 * writes.
 *
 *     TARGET/.ringtrain-rank-1          locked by rank 1
 *     TARGET/.ringtrain-job-0123...     the mark of the job that rank 0 began
 *
 * A rank that does not find the mark sees another folder than rank 0 does. The name of the mark is
 * new in each job, so that no cache of a network file system remembers that it was missing. */
#ifndef TRAINER_DATA_PREPARE_RANK_LOCK_H
#define TRAINER_DATA_PREPARE_RANK_LOCK_H

#include "common/error.h"

#include <stdint.h>

/* For rank 0, which holds the target: removes what earlier jobs left. Fails with EXIT_CODE_CONFIG
 * while a rank of one still writes. */
int rank_lock_clear(const char *folder, struct error *err);
/* For rank 0: makes the mark of JOB, a random number. */
int rank_lock_mark(const char *folder, uint64_t job, struct error *err);
/* For rank 0, when no other rank writes any more: removes the mark and all locks. */
void rank_lock_remove(const char *folder);

/* For another rank: takes its lock and waits up to SECONDS for the mark of JOB. Returns the
 * descriptor of the lock, which is held until it is closed, or -1. */
int rank_lock_take(const char *folder, uint64_t job, int rank, int seconds, struct error *err);

#endif
