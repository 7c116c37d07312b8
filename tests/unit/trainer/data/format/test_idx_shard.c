#include "tests/support/shards.h"

#include <unistd.h>

/* Three pictures of 2 x 1 pixels (height 2), and their labels. */
static const char IMAGES[] = "\0\0\10\3\0\0\0\3\0\0\0\2\0\0\0\1abcdef";
static const char LABELS[] = "\0\0\10\1\0\0\0\3\4\0\11";

/* Scans a file of SIZE bytes of pictures with these labels; NULL: none. */
static void scan(const void *images, size_t size, const void *labels, size_t label_size,
                 struct shards_seen *seen) {
    const char *path = shards_path("t10k-images-idx3-ubyte");
    const struct shard_sink sink = {shards_add, shards_bad, shards_lost, seen};
    struct shard_file file = SHARD_FILE_CLOSED;
    *seen = (struct shards_seen){0};
    (void)unlink(shards_path("t10k-labels-idx1-ubyte"));
    shards_put(path, images, size);
    if (labels != NULL)
        shards_put(shards_path("t10k-labels-idx1-ubyte"), labels, label_size);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, path, NULL), 0);
    CU_ASSERT_EQUAL(FORMAT_IDX.scan(&file, &sink, NULL), 0);
    shard_file_done(&file);
}

static void pictures_find_their_labels(void) {
    struct shards_seen seen;
    cleanup_buf struct buf out = {.max = 1 << 16};
    struct shard_file file = SHARD_FILE_CLOSED;
    scan(IMAGES, sizeof(IMAGES) - 1, LABELS, sizeof(LABELS) - 1, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.samples[0].label, 4);
    CU_ASSERT_EQUAL(seen.samples[1].label, 0);
    CU_ASSERT_EQUAL(seen.samples[2].label, 9);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, shards_path("t10k-images-idx3-ubyte"), NULL), 0);
    CU_ASSERT_EQUAL(
        FORMAT_IDX.read(&file, seen.samples[1].offset, seen.samples[1].bytes, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "P5\n1 2\n255\ncd");
    CU_ASSERT_EQUAL(out.size, seen.samples[1].picture_bytes);
    shard_file_done(&file);
}

static void refuse(const char *images, size_t size, const char *labels, size_t label_size,
                   const char *why) {
    struct shards_seen seen;
    scan(images, size, labels, label_size, &seen);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, why);
}

static void what_does_not_fit_is_refused(void) {
    const size_t whole = sizeof(IMAGES) - 1;
    struct shards_seen seen;
    refuse(IMAGES, whole - 1, LABELS, sizeof(LABELS) - 1, "the file ends with picture 2 of 3");
    scan(IMAGES, 16, LABELS, sizeof(LABELS) - 1, &seen);
    CU_ASSERT_EQUAL(seen.lost.records, 3); /* the head says how many */
    scan(IMAGES, whole, NULL, 0, &seen);
    CU_ASSERT_EQUAL(seen.lost.records, 3);
    refuse(IMAGES, 9, LABELS, sizeof(LABELS) - 1, "the file ends within its header");
    refuse(IMAGES, whole, NULL, 0, "labels of ");
    refuse(IMAGES, whole, LABELS, 10, "expected the labels of 3 pictures");
    refuse(IMAGES, whole, "\0\0\10\1\0\0\0\2\4\0\11", 11, "not the labels of the 3 pictures in ");
    refuse("\0\0\10\3\0\0\0\3\0\0\0\0\0\0\0\1", 16, LABELS, 11, "expected sides from 1 to 16384");
    refuse("\0\0\10\3\0\0\0\3\xff\0\0\0\0\0\0\1", 16, LABELS, 11, "expected sides from 1 to 16384");
}

static void without_images_in_its_name_a_file_has_no_labels(void) {
    struct shards_seen seen;
    shards_scan_bytes(&FORMAT_IDX, IMAGES, sizeof(IMAGES) - 1, &seen);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, "expected 'images' in the name of this file");
}

static void labels_alone_are_no_shard(void) {
    CU_ASSERT_PTR_EQUAL(format_of("x", (const uint8_t *)IMAGES, sizeof(IMAGES) - 1), &FORMAT_IDX);
    CU_ASSERT_PTR_NULL(format_of("x", (const uint8_t *)LABELS, sizeof(LABELS) - 1));
}

UNIT_SUITE("format.idx_shard", UNIT(pictures_find_their_labels), UNIT(what_does_not_fit_is_refused),
           UNIT(without_images_in_its_name_a_file_has_no_labels), UNIT(labels_alone_are_no_shard))
