/* Data set written as shards or as folders of classes.
 *
 * Several threads write it, or several ranks that share the target.
 *
 *     TARGET/PART-00000-of-00008.tar ...     PART: train, validation
 *     TARGET/PART.rtix                       their index (dataset/shard_index.h)
 *     TARGET/classes.txt
 *
 *     TARGET/PART/CLASS/PICTURE              folders (folder_make.h)
 *
 * The samples of a part are spread over its shards evenly and at random, by a permutation of the
 * seed 0; the same set gives the same bytes. A shard appears under its name once it is complete and
 * on the disk, and is not made again: an interrupted run continues with those that are missing. */
#ifndef TRAINER_DATA_PREPARE_SHARD_SET_H
#define TRAINER_DATA_PREPARE_SHARD_SET_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/prepare/shard_set_options.h"
#include "trainer/data/prepare/target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHARD_SET_PARTS_MAX = 2 };

struct shard_set_part {
    const char *name; /* "train" */
    const struct dataset *set;
};

struct shard_set_result {
    int64_t pictures; /* in all parts */
    int64_t shards;   /* 0 in folders */
    int64_t kept;     /* shards, or pictures in folders, that were there already */
    int64_t bad;      /* pictures that were left out */
    int64_t bytes;
};

/* A set as it is written. Zeroed but for TARGET (TARGET_CLOSED) and RANK_LOCK (-1), it is closed:
 * SHARD_SET_CLOSED. */
struct shard_set {
    const struct shard_set_options *options; /* borrowed, as PARTS */
    const struct shard_set_part *parts;
    size_t count;                        /* parts */
    int64_t shards[SHARD_SET_PARTS_MAX]; /* of each part */
    struct buf plan;                     /* what is made: the same on all ranks */
    struct target target;                /* of rank 0 */
    int rank_lock;                       /* of another rank */
    atomic_llong next;                   /* of this rank's shards, counted over all parts */
    atomic_bool failed;
    pthread_mutex_t lock; /* for the rest */
    bool has_lock;
    struct shard_set_result result;
    struct error why;
};
#define SHARD_SET_CLOSED                                                                           \
    { .target = TARGET_CLOSED, .rank_lock = -1 }

/* Writes the set: all the steps below, as a single rank. Errors: EXIT_CODE_DATA for a picture that
 * cannot be used, EXIT_CODE_CONFIG for a target that cannot be written to, has too little room,
 * holds other shards, or is in use. */
int shard_set_write(const struct shard_set_options *options, const struct shard_set_part *parts,
                    size_t count, struct shard_set_result *ret, struct error *err);

/* The steps, for ranks that take each of them together. */

/* Decides how many shards there are, and touches no file. */
int shard_set_plan(struct shard_set *ret, const struct shard_set_options *options,
                   const struct shard_set_part *parts, size_t count, struct error *err);
/* For rank 0: takes the target, and keeps the plan there. JOB is a random number for the others. */
int shard_set_begin(struct shard_set *set, uint64_t job, struct error *err);
/* For another rank, after it: takes its lock; fails if the target is not that of rank 0. */
int shard_set_join(struct shard_set *set, uint64_t job, struct error *err);
/* Writes this rank's shards. shard_set_stop, from another thread, ends it with EXIT_CODE_STOPPED;
 * shard_set_pictures tells how many pictures are done. */
int shard_set_make(struct shard_set *set, struct error *err);
void shard_set_stop(struct shard_set *set);
int64_t shard_set_pictures(struct shard_set *set);
/* For rank 0, after all: verifies that the shards are there, and writes their indexes. */
int shard_set_finish(struct shard_set *set, struct error *err);
void shard_set_done(struct shard_set *set);

#define cleanup_shard_set __attribute__((cleanup(shard_set_done)))

#endif
