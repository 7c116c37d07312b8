#include "common/crc32c.h"
#include "tests/support/unit.h"

#include <string.h>

typedef uint32_t (*sum_function)(uint32_t crc, const void *bytes, size_t size);

static void check_known_vectors(sum_function sum) {
    uint8_t bytes[48];
    memset(bytes, 0, sizeof(bytes));
    CU_ASSERT_EQUAL(sum(0, bytes, 32), 0x8A9136AAu);
    memset(bytes, 0xff, sizeof(bytes));
    CU_ASSERT_EQUAL(sum(0, bytes, 32), 0x62A8AB43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    CU_ASSERT_EQUAL(sum(0, bytes, 32), 0x46DD794Eu);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    CU_ASSERT_EQUAL(sum(0, bytes, 32), 0x113FDB5Cu);
    CU_ASSERT_EQUAL(sum(0, "123456789", 9), 0xE3069283u);
    CU_ASSERT_EQUAL(sum(0, "", 0), 0u);
}

static void the_vectors_of_rfc_3720_hold_by_instruction(void) {
    check_known_vectors(crc32c);
}

static void the_vectors_of_rfc_3720_hold_by_table(void) {
    check_known_vectors(crc32c_table);
}

static void pieces_give_the_checksum_of_the_whole(void) {
    uint8_t bytes[257];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    uint32_t whole = crc32c(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        CU_ASSERT_EQUAL(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), whole);
        CU_ASSERT_EQUAL(crc32c_table(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
                        whole);
    }
}

static void the_mask_is_tensorflows(void) {
    /* The length 24 in a record's head, as TensorFlow writes it. */
    const uint8_t length[8] = {24, 0, 0, 0, 0, 0, 0, 0};
    CU_ASSERT_EQUAL(crc32c_mask(crc32c(0, length, 8)), 0x224B7FA3u);
}

UNIT_SUITE("common.crc32c", UNIT(the_vectors_of_rfc_3720_hold_by_instruction),
           UNIT(the_vectors_of_rfc_3720_hold_by_table), UNIT(pieces_give_the_checksum_of_the_whole),
           UNIT(the_mask_is_tensorflows))
