#include "tests/support/shards.h"

#include <stdlib.h>

enum { PLANE = 1024, RECORD = 1 + 3 * PLANE };

/* COUNT records of CIFAR-10; record i is of class i and has the pixels (i, i + 1, i + 2). */
static uint8_t *records(size_t count) {
    uint8_t *bytes = malloc(count * RECORD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[i * RECORD] = (uint8_t)i;
        for (size_t channel = 0; channel < 3; channel++)
            memset(bytes + i * RECORD + 1 + channel * PLANE, (int)(i + channel), PLANE);
    }
    return bytes;
}

static void planes_become_pixels(void) {
    struct shards_seen seen;
    uint8_t *bytes = records(4);
    cleanup_buf struct buf out = {.max = 1 << 16};
    struct shard_file file = SHARD_FILE_CLOSED;
    bytes[3 * RECORD + 1 + 5] = 200; /* red of the sixth pixel */
    shards_scan_bytes(&FORMAT_CIFAR10, bytes, 4 * RECORD, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 4);
    CU_ASSERT_EQUAL(seen.samples[3].label, 3);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, shards_path("scanned"), NULL), 0);
    CU_ASSERT_EQUAL(
        FORMAT_CIFAR10.read(&file, seen.samples[3].offset, seen.samples[3].bytes, &out, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(out.size, seen.samples[3].picture_bytes);
    CU_ASSERT_EQUAL(memcmp(out.data, "P6\n32 32\n255\n", 13), 0);
    CU_ASSERT_EQUAL(memcmp(out.data + 13, "\3\4\5\3\4\5", 6), 0);
    CU_ASSERT_EQUAL(memcmp(out.data + 13 + 15, "\310\4\5\3\4\5", 6), 0);
    shard_file_done(&file);
    free(bytes);
}

static void the_fine_label_of_cifar100_counts(void) {
    struct shards_seen seen;
    uint8_t bytes[2 * (RECORD + 1)] = {7, 99};
    bytes[RECORD + 1] = 19;
    bytes[RECORD + 2] = 100;
    shards_scan_bytes(&FORMAT_CIFAR100, bytes, sizeof(bytes), &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.samples[0].label, 99);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, "a picture of class 100; expected classes from 0 to 99");
}

static void what_is_left_of_a_picture_is_bad(void) {
    struct shards_seen seen;
    uint8_t *bytes = records(2);
    shards_scan_bytes(&FORMAT_CIFAR10, bytes, 2 * RECORD - 1, &seen);
    CU_ASSERT_EQUAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, "the file ends within a picture");
    CU_ASSERT(seen.lost.begin < seen.lost.end);
    CU_ASSERT_EQUAL(seen.lost.records, 0); /* not known */
    free(bytes);
}

static void the_name_tells_the_version(void) {
    const uint8_t byte = 3;
    CU_ASSERT_PTR_EQUAL(format_of("data_batch_1.bin", &byte, 1), &FORMAT_CIFAR10);
    CU_ASSERT_PTR_EQUAL(format_of("test_batch.bin", &byte, 1), &FORMAT_CIFAR10);
    CU_ASSERT_PTR_EQUAL(format_of("train.bin", &byte, 1), &FORMAT_CIFAR100);
    CU_ASSERT_PTR_NULL(format_of("weights.bin", &byte, 1));
    CU_ASSERT_PTR_NULL(format_of("data_batch_1", &byte, 1)); /* Python's version */
}

UNIT_SUITE("format.cifar_shard", UNIT(planes_become_pixels),
           UNIT(the_fine_label_of_cifar100_counts), UNIT(what_is_left_of_a_picture_is_bad),
           UNIT(the_name_tells_the_version))
