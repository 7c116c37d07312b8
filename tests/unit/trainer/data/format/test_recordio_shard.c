#include "tests/support/shards.h"
#include "trainer/data/format/recordio.h"

#include <stdlib.h>

static const char MAGIC[] = "\x0a\x23\xd7\xce";

static void add(struct buf *out, int64_t label, uint64_t id, const void *picture, size_t size) {
    CU_ASSERT_EQUAL_FATAL(recordio_write(out, label, id, picture, size, NULL), 0);
}

static void records_are_found_and_read(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    add(&out, 0, 7, "first", 5);
    add(&out, 999, 1, "second picture", 14);
    CU_ASSERT(FORMAT_RECORDIO.is("shard", (const uint8_t *)out.data, out.size));
    shards_scan_bytes(&FORMAT_RECORDIO, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_EQUAL(seen.samples[0].id, 7);
    CU_ASSERT_EQUAL(seen.samples[1].label, 999);
    CU_ASSERT_EQUAL(seen.samples[1].offset % 4, 0);
    shards_read(&FORMAT_RECORDIO, &seen.samples[0], "first");
    shards_read(&FORMAT_RECORDIO, &seen.samples[1], "second picture");
}

/* A payload is split where the magic occurs at a multiple of four: at the beginning, in the middle,
 * at the end, and several times in a row; anywhere else it is ordinary bytes. */
static void payloads_are_split_at_the_magic(void) {
    static const struct {
        size_t at[3];
        size_t count;
        size_t size;
        size_t parts;
    } cases[] = {
        {{0}, 1, 40, 2}, {{36}, 1, 40, 2}, {{8, 12}, 2, 40, 3}, {{0, 16, 36}, 3, 40, 4},
        {{5}, 1, 40, 1}, {{36}, 1, 41, 2}, {{37}, 1, 41, 1},    {{0, 4, 8}, 3, 12, 4},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        cleanup_buf struct buf out = {.max = 1 << 20};
        cleanup_buf struct buf got = {.max = 1 << 20};
        struct shard_file file = SHARD_FILE_CLOSED;
        struct shards_seen seen;
        char picture[64];
        memset(picture, 'p', sizeof(picture));
        for (size_t i = 0; i < cases[c].count; i++)
            memcpy(picture + cases[c].at[i], MAGIC, 4);
        add(&out, 3, 0, picture, cases[c].size);
        size_t parts = 0;
        for (size_t at = 0; at + 4 <= out.size; at += 4)
            parts += memcmp(out.data + at, MAGIC, 4) == 0;
        CU_ASSERT_EQUAL(parts, cases[c].parts);
        shards_scan_bytes(&FORMAT_RECORDIO, out.data, out.size, &seen);
        CU_ASSERT_EQUAL_FATAL(seen.count, 1);
        CU_ASSERT_EQUAL(seen.samples[0].picture_bytes, cases[c].size);
        CU_ASSERT_EQUAL(seen.samples[0].bytes, out.size);
        CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, shards_path("scanned"), NULL), 0);
        CU_ASSERT_EQUAL(FORMAT_RECORDIO.read(&file, 0, out.size, &got, NULL), 0);
        CU_ASSERT_EQUAL(got.size, cases[c].size);
        CU_ASSERT_EQUAL(memcmp(got.data, picture, got.size), 0);
        shard_file_done(&file);
    }
}

/* If an id equals the magic, the header itself is split. */
static void a_header_may_be_split(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    uint32_t magic = 0;
    memcpy(&magic, MAGIC, 4);
    add(&out, 5, magic, "picture", 7);
    shards_scan_bytes(&FORMAT_RECORDIO, out.data, out.size, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.samples[0].label, 5);
    CU_ASSERT_EQUAL(seen.samples[0].id, magic);
    shards_read(&FORMAT_RECORDIO, &seen.samples[0], "picture");
}

static void put_u32(char *to, uint32_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (char)(value >> (8 * i));
}

/* Scans a record with this payload. */
static void scan_payload(const char *payload, size_t size, struct shards_seen *seen) {
    char bytes[1024] = "";
    memcpy(bytes, MAGIC, 4);
    put_u32(bytes + 4, (uint32_t)size);
    memcpy(bytes + 8, payload, size);
    shards_scan_bytes(&FORMAT_RECORDIO, bytes, 8 + (size + 3) / 4 * 4, seen);
}

static void of_several_labels_the_first_is_the_class(void) {
    struct shards_seen seen;
    char payload[24 + 8 + 3] = "";
    const float labels[2] = {4, 0.5F};
    put_u32(payload, 2);
    memcpy(payload + 24, labels, sizeof(labels));
    memcpy(payload + 32, "jpg", 3);
    scan_payload(payload, sizeof(payload), &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.samples[0].label, 4);
    shards_read(&FORMAT_RECORDIO, &seen.samples[0], "jpg");
}

static void labels_that_are_no_classes_are_bad(void) {
    static const uint32_t bits[] = {0xbf800000, 0x3f000000, 0x7fc00000, 0x7f800000, 0x50000000};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        struct shards_seen seen;
        char payload[28] = "";
        put_u32(payload + 4, bits[i]);
        scan_payload(payload, sizeof(payload), &seen);
        CU_ASSERT_EQUAL(seen.count, 0);
        CU_ASSERT_EQUAL(seen.bad, 1);
        ASSERT_CONTAINS(seen.why, "is not a class");
    }
    struct shards_seen seen;
    char payload[24] = "";
    put_u32(payload, 9);
    scan_payload(payload, sizeof(payload), &seen);
    ASSERT_CONTAINS(seen.why, "a record of 24 bytes; expected 60 or more for 9 labels");
    put_u32(payload, 0x80000000);
    scan_payload(payload, sizeof(payload), &seen);
    ASSERT_CONTAINS(seen.why, "SageMaker's protobuf");
    scan_payload(payload, 10, &seen);
    ASSERT_CONTAINS(seen.why, "a record of 10 bytes");
}

static void parts_out_of_order_end_the_shard(void) {
    static const uint32_t kinds[][3] = {{2, 9, 9}, {3, 9, 9}, {1, 0, 9}, {1, 1, 9}, {1, 2, 0}};
    for (size_t c = 0; c < sizeof(kinds) / sizeof(kinds[0]); c++) {
        struct shards_seen seen;
        char bytes[3 * 12] = "";
        size_t parts = 0;
        for (; parts < 3 && kinds[c][parts] != 9; parts++) {
            memcpy(bytes + 12 * parts, MAGIC, 4);
            put_u32(bytes + 12 * parts + 4, kinds[c][parts] << 29 | 4);
        }
        shards_scan_bytes(&FORMAT_RECORDIO, bytes, 12 * parts, &seen);
        CU_ASSERT_EQUAL(seen.count, 0);
        CU_ASSERT_EQUAL(seen.bad, 1);
        ASSERT_CONTAINS(seen.why, "a part of kind");
    }
}

static void each_cut_is_noticed(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    add(&out, 1, 0,
        "aaaa\x0a\x23\xd7\xce"
        "bbb",
        11);
    const size_t first = out.size;
    add(&out, 2, 1, "cc", 2);
    for (size_t size = 1; size < out.size; size++) {
        shards_scan_bytes(&FORMAT_RECORDIO, out.data, size, &seen);
        CU_ASSERT_EQUAL(seen.count, size >= first);
        CU_ASSERT_EQUAL(seen.bad, size != first);
    }
    memset(out.data + first, 0, 4);
    shards_scan_bytes(&FORMAT_RECORDIO, out.data, out.size, &seen);
    ASSERT_CONTAINS(seen.why, "no record begins here");
    CU_ASSERT_EQUAL(seen.lost.begin, first);
    CU_ASSERT_EQUAL(seen.lost.end, out.size);
}

UNIT_SUITE("data.format.recordio_shard", UNIT(records_are_found_and_read),
           UNIT(payloads_are_split_at_the_magic), UNIT(a_header_may_be_split),
           UNIT(of_several_labels_the_first_is_the_class), UNIT(labels_that_are_no_classes_are_bad),
           UNIT(parts_out_of_order_end_the_shard), UNIT(each_cut_is_noticed))
