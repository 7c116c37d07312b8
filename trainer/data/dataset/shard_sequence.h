/* Sequence of a set in shards: its samples as they follow each other on the disk. */
#ifndef TRAINER_DATA_DATASET_SHARD_SEQUENCE_H
#define TRAINER_DATA_DATASET_SHARD_SEQUENCE_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/order/lanes.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is empty. */
struct shard_sequence {
    uint32_t *samples; /* owned; [count of the set], shard by shard, in each by offset */
    size_t *first;     /* owned; [shards + 1]; where each shard begins in `samples` */
    size_t shards;
};

void shard_sequence_done(struct shard_sequence *order);

/* SET is in shards. */
int shard_sequence_make(struct shard_sequence *ret, const struct dataset *set, struct error *err);

/* Has the kernel read PIECE of the set into its cache; does not wait for it. */
void shard_sequence_read_ahead(const struct shard_sequence *order, const struct dataset *set,
                               const struct lanes_piece *piece);

#endif
