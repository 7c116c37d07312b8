/* Block of pictures, written as files of class folders.
 *
 *     TARGET/PART/CLASS/PICTURE
 *
 * One thread writes a block. A picture that has its name is complete (staging.h), and is not made
 * again. Names of classes and pictures may come from foreign archives; what would not lie below
 * TARGET/PART is refused. */
#ifndef TRAINER_DATA_PREPARE_FOLDER_MAKE_H
#define TRAINER_DATA_PREPARE_FOLDER_MAKE_H

#include "trainer/data/prepare/shard_make.h"

enum { FOLDER_MAKE_PICTURES = 256 }; /* of a block */

/* Writes block ORDER->shard of ORDER->shards. *RET_KEPT counts pictures that were there already,
 * *RET_BYTES the bytes of all. */
int folder_make(struct shard_maker *maker, const struct shard_order *order, int64_t *ret_kept,
                int64_t *ret_bytes, struct error *err);

#endif
