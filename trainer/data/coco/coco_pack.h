/* Encoding of packed outlines: whole numbers in base 128 and lists of coordinates. */
#ifndef TRAINER_DATA_COCO_COCO_PACK_H
#define TRAINER_DATA_COCO_COCO_PACK_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes to read; `at` advances. */
struct coco_bytes {
    const uint8_t *at;
    const uint8_t *end;
};

int coco_pack_count(struct buf *out, uint64_t number, struct error *err);
int coco_unpack_count(struct coco_bytes *in, uint64_t max, uint64_t *ret, struct error *err);

/* Packs COUNT coordinates, x and y alternating. */
int coco_pack_points(struct buf *out, const double *numbers, size_t count, struct error *err);
int coco_unpack_points(struct coco_bytes *in, double *ret, size_t count, struct error *err);

#endif
