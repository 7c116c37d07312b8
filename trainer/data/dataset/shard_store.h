/* Open shards of a data set, with the places of its samples.
 *
 * Shared by the sets that a set was split into: each holds a reference. Any number of threads may
 * read. Descriptors are kept open, for the first SHARD_STORE_OPEN_MAX shards that are read; others
 * are opened for each sample. */
#ifndef TRAINER_DATA_DATASET_SHARD_STORE_H
#define TRAINER_DATA_DATASET_SHARD_STORE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/format/shard_list.h"

#include <stddef.h>
#include <stdint.h>

enum { SHARD_STORE_OPEN_MAX = 256 };

struct shard_store;

struct shard_place {
    uint64_t offset;
    uint32_t bytes;
    uint32_t shard;
};

/* Takes over the list, which is empty afterwards. Returns NULL out of memory. The caller holds the
 * reference. */
struct shard_store *shard_store_open(struct shard_list *list, struct error *err);
/* Adds a reference. */
struct shard_store *shard_store_share(struct shard_store *store);
/* Drops a reference; NULL is fine. */
void shard_store_drop(struct shard_store *store);

const struct shard_list *shard_store_list(const struct shard_store *store);

/* Replaces OUT by the encoded picture at PLACE. */
int shard_store_read(struct shard_store *store, const struct shard_place *place, struct buf *out,
                     struct error *err);

/* Has the kernel read BYTES from OFFSET on of a shard into its cache, as a hint: does not wait for
 * it, and does not fail. */
void shard_store_read_ahead(struct shard_store *store, uint32_t shard, uint64_t offset,
                            uint64_t bytes);

#endif
