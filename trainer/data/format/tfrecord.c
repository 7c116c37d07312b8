#include "trainer/data/format/tfrecord.h"

#include "common/crc32c.h"

#include <inttypes.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

static uint64_t little_endian(const uint8_t *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static bool head_is_good(const uint8_t *head) {
    return crc32c_mask(crc32c(0, head, LENGTH_BYTES)) == little_endian(head + LENGTH_BYTES, 4);
}

bool tfrecord_is(const uint8_t *bytes, size_t size) {
    return size >= TFRECORD_HEAD && head_is_good(bytes);
}

int tfrecord_next(struct shard_window *window, uint64_t offset, uint64_t *ret_size,
                  struct error *err) {
    const struct shard_file *file = window->file;
    if (offset == file->size)
        return 0;
    const uint8_t *head = shard_window_get(window, offset, TFRECORD_HEAD, err);
    if (head == NULL)
        return -1;
    if (!head_is_good(head))
        return shard_file_bad(file, offset, err,
                              "the checksum of a record's length is wrong: damaged, compressed or "
                              "not a TFRecord file; the records from here on are not readable");
    const uint64_t size = little_endian(head, LENGTH_BYTES);
    if (size > TFRECORD_BYTES_MAX)
        return shard_file_bad(file, offset, err,
                              "a record of %" PRIu64 " bytes; at most %d are allowed", size,
                              TFRECORD_BYTES_MAX);
    if (size + TFRECORD_HEAD + TFRECORD_FOOT > file->size - offset)
        return shard_file_bad(file, offset, err,
                              "the file ends within a record of %" PRIu64 " bytes", size);
    *ret_size = size;
    return 1;
}

int tfrecord_read(const struct shard_file *file, uint64_t offset, uint64_t size, struct buf *out,
                  struct error *err) {
    uint8_t foot[TFRECORD_FOOT];
    if (shard_file_load(file, offset + TFRECORD_HEAD, size, out, err) != 0 ||
        shard_file_read(file, offset + TFRECORD_HEAD + size, foot, sizeof(foot), err) != 0)
        return -1;
    if (crc32c_mask(crc32c(0, out->data, out->size)) != little_endian(foot, sizeof(foot)))
        return shard_file_bad(file, offset, err, "the checksum of a record is wrong");
    return 0;
}

static void store(uint8_t *to, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

int tfrecord_write(struct buf *out, const void *data, size_t size, struct error *err) {
    uint8_t head[TFRECORD_HEAD];
    uint8_t foot[TFRECORD_FOOT];
    store(head, size, LENGTH_BYTES);
    store(head + LENGTH_BYTES, crc32c_mask(crc32c(0, head, LENGTH_BYTES)), 4);
    store(foot, crc32c_mask(crc32c(0, data, size)), sizeof(foot));
    return buf_add(out, head, sizeof(head), err) != 0 || buf_add(out, data, size, err) != 0
               ? -1
               : buf_add(out, foot, sizeof(foot), err);
}
