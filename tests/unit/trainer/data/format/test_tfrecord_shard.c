#include "common/binary/tfrecord.h"
#include "common/crc32c.h"
#include "tests/support/shards.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/png.h"
#include "trainer/data/codec/pnm.h"
#include "trainer/data/format/example.h"

static void add(struct buf *out, const char *class_name, const char *name, int64_t label,
                const char *picture) {
    const struct shard_record record = {
        .class_name = class_name,
        .name = name,
        .label = label,
        .picture = (const uint8_t *)picture,
        .size = strlen(picture),
    };
    CU_ASSERT_EQUAL_FATAL(FORMAT_TFRECORD.write(out, &record, NULL), 0);
}

static void make(struct buf *out) {
    add(out, "cat", "1.jpg", 0, "first");
    add(out, "dog", "sub/2.jpg", 1, "second picture");
    add(out, "dog", "3.jpg", 1, "third");
}

static void records_are_found_and_read(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    make(&out);
    CU_ASSERT(FORMAT_TFRECORD.is("shard", (const uint8_t *)out.data, out.size));
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.bad, 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.samples[1].label, 1);
    CU_ASSERT_STRING_EQUAL(seen.classes[0], "cat");
    CU_ASSERT_STRING_EQUAL(seen.names[1], "sub/2.jpg");
    shards_read(&FORMAT_TFRECORD, &seen.samples[0], "first");
    shards_read(&FORMAT_TFRECORD, &seen.samples[1], "second picture");
    shards_read(&FORMAT_TFRECORD, &seen.samples[2], "third");
}

static bool holds(const struct buf *record, const char *bytes, size_t size) {
    return memmem(record->data, record->size, bytes, size) != NULL;
}

/* Readers of ImageNet's and of flowers' files ask for these, too. */
static void the_form_of_the_picture_is_written(void) {
    static const char *const formats[] = {"JPEG", "PNG", "PNM"};
    uint8_t pixels[9 * 5 * IMAGE_CHANNELS] = {0};
    const struct image image = {.pixels = pixels, .width = 9, .height = 5};
    for (int i = 0; i < 3; i++) {
        cleanup_buf struct buf picture = {.max = 1 << 16}, out = {.max = 1 << 20};
        char format[64];
        CU_ASSERT_EQUAL_FATAL(i == 0   ? jpeg_encode(&image, 90, &picture, NULL)
                              : i == 1 ? png_encode(&image, &picture, NULL)
                                       : pnm_encode(&image, &picture, NULL),
                              0);
        const struct shard_record record = {.class_name = "cat",
                                            .name = "1",
                                            .picture = (const uint8_t *)picture.data,
                                            .size = picture.size};
        CU_ASSERT_EQUAL_FATAL(FORMAT_TFRECORD.write(&out, &record, NULL), 0);
        CU_ASSERT(holds(&out, "image/height\x12\x05\x1a\x03\x0a\x01\x05", 19));
        CU_ASSERT(holds(&out, "image/width\x12\x05\x1a\x03\x0a\x01\x09", 18));
        CU_ASSERT(holds(&out, "image/channels\x12\x05\x1a\x03\x0a\x01\x03", 21));
        CU_ASSERT(holds(&out, "image/colorspace\x12\x07\x0a\x05\x0a\x03RGB", 25));
        const size_t size = strlen(formats[i]);
        const int length = snprintf(format, sizeof(format), "image/format\x12%c\x0a%c\x0a%c%s",
                                    (int)size + 4, (int)size + 2, (int)size, formats[i]);
        CU_ASSERT(holds(&out, format, (size_t)length));
    }
    cleanup_buf struct buf out = {.max = 1 << 20};
    add(&out, "cat", "1.jpg", 0, "no picture");
    CU_ASSERT(!holds(&out, "image/height", 12));
}

static void a_damaged_length_ends_the_shard(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    make(&out);
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    const uint64_t second = seen.samples[1].offset;
    out.data[second + 2] ^= 4;
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, "the checksum of a record's length is wrong");
    CU_ASSERT_EQUAL(seen.lost.begin, second);
    CU_ASSERT_EQUAL(seen.lost.end, out.size);
}

static void a_damaged_picture_is_one_bad_sample(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    cleanup_buf struct buf got = {.max = 1 << 20};
    struct shards_seen seen;
    struct error err = {0};
    struct shard_file file = SHARD_FILE_CLOSED;
    make(&out);
    char *picture = memmem(out.data, out.size, "second", 6);
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    picture[1] ^= 1;
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.count, 3);
    CU_ASSERT_EQUAL_FATAL(shard_file_open(&file, shards_path("scanned"), NULL), 0);
    const struct shard_sample *s = &seen.samples[1];
    CU_ASSERT_EQUAL(FORMAT_TFRECORD.read(&file, s->offset, s->bytes, &got, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "the checksum of a record is wrong");
    shard_file_done(&file);
}

static void each_cut_leaves_whole_records_alone(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    make(&out);
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    uint64_t ends[4] = {0, seen.samples[1].offset, seen.samples[2].offset, out.size};
    for (size_t size = 0; size < out.size; size++) {
        size_t whole = 0;
        while (whole < 3 && ends[whole + 1] <= size)
            whole++;
        shards_scan_bytes(&FORMAT_TFRECORD, out.data, size, &seen);
        CU_ASSERT_EQUAL(seen.count, whole);
        CU_ASSERT_EQUAL(seen.bad, ends[whole] != size);
    }
}

static void records_that_are_no_pictures_are_bad(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    CU_ASSERT_EQUAL(tfrecord_write(&out,
                                   "\x12\x03"
                                   "abc",
                                   5, NULL),
                    0);
    add(&out, "cat", "1.jpg", -3, "x");
    CU_ASSERT_EQUAL(tfrecord_write(&out, "\x0f", 1, NULL), 0);
    add(&out, "cat", "2.jpg", 3, "y");
    shards_scan_bytes(&FORMAT_TFRECORD, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.bad, 3);
    ASSERT_CONTAINS(seen.why, "scanned: at byte");
}

static void a_length_beyond_all_bounds_is_refused(void) {
    uint8_t head[12] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    struct shards_seen seen;
    const uint32_t sum = crc32c_mask(crc32c(0, head, 8));
    memcpy(head + 8, &sum, 4);
    shards_scan_bytes(&FORMAT_TFRECORD, head, sizeof(head), &seen);
    CU_ASSERT_EQUAL(seen.bad, 1);
    ASSERT_CONTAINS(seen.why, "a record of 9223372036854775808 bytes");
}

UNIT_SUITE("data.format.tfrecord_shard", UNIT(records_are_found_and_read),
           UNIT(the_form_of_the_picture_is_written), UNIT(a_damaged_length_ends_the_shard),
           UNIT(a_damaged_picture_is_one_bad_sample), UNIT(each_cut_leaves_whole_records_alone),
           UNIT(records_that_are_no_pictures_are_bad), UNIT(a_length_beyond_all_bounds_is_refused))
