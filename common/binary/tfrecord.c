#include "common/binary/tfrecord.h"

#include "common/binary/little_endian.h"
#include "common/crc32c.h"

enum { LENGTH = 8, CHECKSUM = 4 };

static uint32_t checksum(const void *data, size_t size) {
    return crc32c_mask(crc32c(0, data, size));
}

bool tfrecord_head_read(const uint8_t *head, uint64_t *ret_size) {
    *ret_size = little_endian_get(head, LENGTH);
    return checksum(head, LENGTH) == little_endian_get(head + LENGTH, CHECKSUM);
}

bool tfrecord_foot_fits(const uint8_t *foot, const void *data, size_t size) {
    return checksum(data, size) == little_endian_get(foot, CHECKSUM);
}

int tfrecord_write(struct buf *out, const void *data, size_t size, struct error *err) {
    uint8_t head[TFRECORD_HEAD];
    uint8_t foot[TFRECORD_FOOT];
    little_endian_put(head, size, LENGTH);
    little_endian_put(head + LENGTH, checksum(head, LENGTH), CHECKSUM);
    little_endian_put(foot, checksum(data, size), CHECKSUM);
    return buf_add(out, head, sizeof(head), err) != 0 || buf_add(out, data, size, err) != 0
               ? -1
               : buf_add(out, foot, sizeof(foot), err);
}
