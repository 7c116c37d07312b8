/* Frame of a TFRecord: the checksums around the data. Shards of pictures and TensorBoard's event
 * files are such records, one after the other.
 *
 *     u64 length, u32 masked CRC32C of these 8 bytes, data, u32 masked CRC32C of the data
 *
 * all little-endian. Source: tensorflow/core/lib/io/record_writer.cc. */
#ifndef COMMON_BINARY_TFRECORD_H
#define COMMON_BINARY_TFRECORD_H

#include "common/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TFRECORD_HEAD = 12, /* bytes before the data */
    TFRECORD_FOOT = 4,  /* and after it */
};

/* Sets *RET_SIZE to the number of bytes of data that the TFRECORD_HEAD bytes announce. Returns
 * false if their checksum is wrong: no record begins here. */
bool tfrecord_head_read(const uint8_t *head, uint64_t *ret_size);

/* Returns true if FOOT holds the checksum of the data. */
bool tfrecord_foot_fits(const uint8_t *foot, const void *data, size_t size);

/* Appends a record. */
int tfrecord_write(struct buf *out, const void *data, size_t size, struct error *err);

#endif
