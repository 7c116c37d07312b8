#include "common/binary/protobuf.h"
#include "tests/support/unit.h"

#include <string.h>

static struct protobuf_view view(const void *bytes, size_t size) {
    return (struct protobuf_view){bytes, size};
}

static void fields_of_all_types_are_read(void) {
    static const uint8_t bytes[] = {
        0x08, 0x96, 0x01,                                     /* 1: varint 150 */
        0x12, 0x03, 'a',  'b',  'c',                          /* 2: bytes */
        0x1d, 0x01, 0x02, 0x03, 0x04,                         /* 3: fixed32 */
        0x21, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, /* 4: fixed64 */
        0x12, 0x00,                                           /* 2: no bytes */
    };
    struct protobuf_view rest = view(bytes, sizeof(bytes));
    struct protobuf_field f;
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 1 && f.type == PROTOBUF_VARINT && f.value == 150);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 2 && f.view.size == 3 && memcmp(f.view.bytes, "abc", 3) == 0);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 3 && f.value == 0x04030201);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 4 && f.value == 0x8000000000000001);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 2 && f.view.size == 0);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 0);
}

/* Ten bytes hold the 64 bits of a negative number; the tenth has one bit of them. */
static void numbers_have_at_most_64_bits(void) {
    static const uint8_t most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t more[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t longer[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x00};
    struct error err = {0};
    uint64_t value = 0;
    struct protobuf_view rest = view(most, sizeof(most));
    CU_ASSERT_EQUAL(protobuf_varint(&rest, &value, NULL), 0);
    CU_ASSERT_EQUAL(value, UINT64_MAX);
    CU_ASSERT_EQUAL(rest.size, 0);
    rest = view(more, sizeof(more));
    CU_ASSERT_EQUAL(protobuf_varint(&rest, &value, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 64 bits");
    rest = view(longer, sizeof(longer));
    CU_ASSERT_EQUAL(protobuf_varint(&rest, &value, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void refuse(const void *bytes, size_t size, const char *why) {
    struct protobuf_view rest = view(bytes, size);
    struct protobuf_field f;
    struct error err = {0};
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
}

static void what_is_cut_or_unknown_is_refused(void) {
    refuse("\x08", 1, "ends within a number");
    refuse("\x08\x80", 2, "ends within a number");
    refuse("\x12\x05"
           "abc",
           5, "a field of 5 bytes in a message that has 3 left");
    refuse("\x1d\x01\x02", 3, "a field of 4 bytes");
    refuse("\x0b", 1, "unknown type 3"); /* a group */
    refuse("\x0f", 1, "unknown type 7");
    refuse("\x00\x01", 2, "field number 0");
    refuse("\x80\x80\x80\x80\x80\x01\x00", 7, "field number");
    refuse("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "18446744073709551615 bytes");
}

static void what_is_written_is_read(void) {
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT64_MAX};
    cleanup_buf struct buf out = {.max = 1024};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        CU_ASSERT_EQUAL(protobuf_add_varint(&out, (uint32_t)i + 1, values[i], NULL), 0);
    CU_ASSERT_EQUAL(protobuf_add_bytes(&out, 536870911, "xyz", 3, NULL), 0);
    struct protobuf_view rest = view(out.data, out.size);
    struct protobuf_field f;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
        CU_ASSERT(f.number == i + 1 && f.value == values[i]);
    }
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 1);
    CU_ASSERT(f.number == 536870911 && f.view.size == 3);
    CU_ASSERT_EQUAL(protobuf_next(&rest, &f, NULL), 0);
    cleanup_buf struct buf small = {.max = 3};
    CU_ASSERT_EQUAL(protobuf_add_bytes(&small, 1, "xyz", 3, NULL), -1);
}

UNIT_SUITE("data.format.protobuf", UNIT(fields_of_all_types_are_read),
           UNIT(numbers_have_at_most_64_bits), UNIT(what_is_cut_or_unknown_is_refused),
           UNIT(what_is_written_is_read))
