/* One shard, made by one thread. */
#ifndef TRAINER_DATA_PREPARE_SHARD_MAKE_H
#define TRAINER_DATA_PREPARE_SHARD_MAKE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/prepare/picture_make.h"
#include "trainer/data/prepare/shard_set_options.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a thread keeps between shards. */
struct shard_maker {
    struct picture_maker picture;
    struct buf records; /* not yet written */
    struct buf index;
};

int shard_maker_init(struct shard_maker *maker, struct error *err);
void shard_maker_done(struct shard_maker *maker);

/* Shard SHARD of SHARDS of a part; all borrowed. */
struct shard_order {
    const struct shard_set_options *options;
    const struct dataset *set;
    const char *part;
    int64_t shard;
    int64_t shards;
    const atomic_bool *stop; /* another thread has failed: nothing is published any more */
    void (*progress)(void *context, int64_t pictures, int64_t bad); /* that have been added */
    void *context;
};

/* Sets PATH to that of a shard of the order; SUFFIX ends its name. */
int shard_make_name(const struct shard_order *order, const char *suffix, char path[PATH_MAX],
                    struct error *err);

/* Publishes the shard, unless it is there already (*RET_KEPT). *RET_BYTES is its size. */
int shard_make(struct shard_maker *maker, const struct shard_order *order, bool *ret_kept,
               int64_t *ret_bytes, struct error *err);

#endif
