#include "common/binary/tfrecord.h"
#include "tests/support/unit.h"

#include <string.h>

/* Made by the description of the format, with a CRC32C computed bit by bit. */
static const uint8_t RECORD[] = {3,    0,    0,   0,   0,   0,    0,    0,    0xb0, 0x99,
                                 0x49, 0x0e, 'a', 'b', 'c', 0x6e, 0x57, 0xf1, 0x21};

static void a_record_is_as_tensorflow_writes_it(void) {
    cleanup_buf struct buf out = {.max = 1024};
    CU_ASSERT_EQUAL(tfrecord_write(&out, "abc", 3, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(out.size, sizeof(RECORD));
    CU_ASSERT_EQUAL(memcmp(out.data, RECORD, sizeof(RECORD)), 0);
}

static void a_changed_bit_is_noticed(void) {
    const uint8_t *foot = RECORD + TFRECORD_HEAD + 3;
    uint64_t size = 0;
    CU_ASSERT(tfrecord_head_read(RECORD, &size));
    CU_ASSERT_EQUAL(size, 3);
    CU_ASSERT(tfrecord_foot_fits(foot, "abc", 3));
    CU_ASSERT_FALSE(tfrecord_foot_fits(foot, "abd", 3));
    for (int bit = 0; bit < 8 * TFRECORD_HEAD; bit++) {
        uint8_t head[TFRECORD_HEAD];
        memcpy(head, RECORD, sizeof(head));
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CU_ASSERT_FALSE(tfrecord_head_read(head, &size));
    }
}

UNIT_SUITE("common.tfrecord", UNIT(a_record_is_as_tensorflow_writes_it),
           UNIT(a_changed_bit_is_noticed))
