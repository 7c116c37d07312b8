/* Bytes that a data set will take, before it is written. */
#ifndef TRAINER_DATA_PREPARE_SET_ROOM_H
#define TRAINER_DATA_PREPARE_SET_ROOM_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/prepare/shard_set_options.h"

#include <stdint.h>

enum {
    SET_ROOM_PICTURES = 256, /* that an estimate looks at */
    SET_ROOM_MARGIN = 10,    /* percent that it adds where these are not all */
    SET_ROOM_RECORD = 3072,  /* most bytes of a record beside its picture */
};

/* An upper bound where pictures are copied. Where they are scaled or decoded, some are, and *RET is
 * estimated from their sizes; pictures that cannot be used count as the others. */
int set_room(const struct shard_set_options *options, const struct dataset *set, int64_t *ret,
             struct error *err);

#endif
