/* TFRecord: records with checksums, one after the other.
 *
 *     u64 length, u32 masked CRC32C of these 8 bytes, data, u32 masked CRC32C of the data
 *
 * all little-endian. Source: tensorflow/core/lib/io/record_writer.cc. */
#ifndef TRAINER_DATA_FORMAT_TFRECORD_H
#define TRAINER_DATA_FORMAT_TFRECORD_H

#include "common/buf.h"
#include "trainer/data/format/shard_file.h"

#include <stdbool.h>

enum {
    TFRECORD_HEAD = 12, /* bytes before the data */
    TFRECORD_FOOT = 4,  /* and after it */
    TFRECORD_BYTES_MAX = 256 << 20,
};

/* Returns true if SIZE bytes at the beginning of a file are the head of a record. */
bool tfrecord_is(const uint8_t *bytes, size_t size);

/* Reads the head of the record at OFFSET and checks that its data is in the file. Returns 1, 0 at
 * the end of the file, or -1: where the next record begins is then unknown. */
int tfrecord_next(struct shard_window *window, uint64_t offset, uint64_t *ret_size,
                  struct error *err);

/* Replaces OUT by the SIZE bytes of data of the record at OFFSET; a wrong checksum is an error. */
int tfrecord_read(const struct shard_file *file, uint64_t offset, uint64_t size, struct buf *out,
                  struct error *err);

/* Appends a record. */
int tfrecord_write(struct buf *out, const void *data, size_t size, struct error *err);

#endif
