/* MXNet's RecordIO with image records, as im2rec writes them.
 *
 *     u32 magic, u32 kind << 29 | length (29 bits), payload, zeros up to a multiple of 4
 *
 * all little-endian. A payload in which the magic stands at a multiple of 4 is split there, and the
 * magic itself left out: kind 0 is a whole record, 1 the first part, 2 a middle one, 3 the last.
 *
 * The payload is a header of 24 bytes { u32 flag, f32 label, u64 id, u64 id2 }, then FLAG labels of
 * f32 if FLAG is above 0 (the first is the class), then the encoded picture. Sources: dmlc-core,
 * RecordIO; mxnet, recordio.py. */
#ifndef TRAINER_DATA_FORMAT_RECORDIO_H
#define TRAINER_DATA_FORMAT_RECORDIO_H

#include "common/buf.h"
#include "trainer/data/format/shard_file.h"

#include <stdbool.h>

enum {
    RECORDIO_HEAD = 8,
    RECORDIO_IMAGE_HEAD = 24,
    RECORDIO_BYTES_MAX = (1 << 29) - 1,
    RECORDIO_LABELS_MAX = 4096,
};

bool recordio_is(const uint8_t *bytes, size_t size);

/* A whole record, all its parts. */
struct recordio_record {
    uint64_t bytes;   /* in the shard, padding included */
    uint64_t payload; /* size of the payload */
};

/* Finds the end of the record at OFFSET. Returns 1, 0 at the end of the file, or -1: where the next
 * record begins is then unknown. */
int recordio_next(struct shard_window *window, uint64_t offset, struct recordio_record *ret,
                  struct error *err);

/* Replaces OUT by the payload of the record of BYTES bytes at OFFSET. */
int recordio_read(const struct shard_file *file, uint64_t offset, uint64_t bytes, struct buf *out,
                  struct error *err);

/* The header of an image record. */
struct recordio_image {
    int64_t label; /* the class */
    size_t labels; /* 1, or the number in the list */
    uint64_t id;
    size_t size; /* bytes before the picture */
};

/* Parses the header of a payload, of which SIZE bytes are given: at least those of its labels.
 * Errors are EXIT_CODE_DATA without a place. */
int recordio_image_parse(struct recordio_image *ret, const uint8_t *bytes, size_t size,
                         struct error *err);

/* Appends a record with one label and a picture. */
int recordio_write(struct buf *out, int64_t label, uint64_t id, const void *picture, size_t size,
                   struct error *err);

#endif
