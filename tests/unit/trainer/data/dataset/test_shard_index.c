#include "trainer/data/dataset/shard_index.h"

#include "common/binary/little_endian.h"
#include "common/crc32c.h"
#include "tests/support/shards.h"
#include "trainer/data/dataset/dataset.h"

#include <stdlib.h>
#include <unistd.h>

enum { PICTURES = 40 };

/* A set of two shards of FORMAT, of pictures longer than the ends that are looked at. */
static const char *make_set(const struct format *format, const char *name) {
    struct buf out[2] = {{.max = 1 << 22}, {.max = 1 << 22}};
    static char bytes[1000];
    char path[64];
    memset(bytes, 'p', sizeof(bytes));
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path(name), NULL), 0);
    for (int i = 0; i < PICTURES; i++) {
        char picture[32];
        (void)snprintf(picture, sizeof(picture), "sub/%02d.jpg", (i * 7) % PICTURES);
        const struct shard_record record = {.class_name = i % 3 == 0 ? "ant" : "bee",
                                            .name = picture,
                                            .label = i % 3 != 0,
                                            .number = (uint64_t)i,
                                            .picture = (const uint8_t *)bytes,
                                            .size = (size_t)(500 + i)};
        CU_ASSERT_EQUAL_FATAL(format->write(&out[i % 2], &record, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/train-%d-of-2", name, i);
        shards_put(shards_path(path), out[i].data, out[i].size);
        buf_done(&out[i]);
    }
    return shards_path(name);
}

static void open_set(struct dataset *set, const char *path, bool keep, const char *source) {
    const struct shards_reading reading = {.keep_index = keep};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_as(set, path, &reading, &err), 0);
    ASSERT_CONTAINS(set->note, "40 pictures in 2 shards");
    if (source != NULL)
        ASSERT_CONTAINS(set->note, source);
    if (source == NULL)
        CU_ASSERT_PTR_NULL(strstr(set->note, "index"));
}

static void check_same(const struct dataset *a, const struct dataset *b) {
    CU_ASSERT_EQUAL(a->hash, b->hash);
    CU_ASSERT_EQUAL(a->bytes, b->bytes);
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    CU_ASSERT_EQUAL_FATAL(a->classes, b->classes);
    for (size_t c = 0; c < a->classes; c++)
        CU_ASSERT_STRING_EQUAL(a->class_names[c], b->class_names[c]);
    for (size_t i = 0; i < a->count; i++) {
        CU_ASSERT_EQUAL(a->labels[i], b->labels[i]);
        CU_ASSERT_EQUAL(a->places[i].offset, b->places[i].offset);
        CU_ASSERT_EQUAL(a->places[i].bytes, b->places[i].bytes);
        CU_ASSERT_EQUAL(a->places[i].shard, b->places[i].shard);
        CU_ASSERT_STRING_EQUAL(a->names + a->name_at[i], b->names + b->name_at[i]);
    }
}

static void an_index_is_what_a_scan_finds(void) {
    static const struct format *const formats[] = {&FORMAT_TAR, &FORMAT_TFRECORD, &FORMAT_RECORDIO};
    for (size_t i = 0; i < 3; i++) {
        cleanup_dataset struct dataset scanned = {0}, kept = {0}, indexed = {0};
        char path[700];
        (void)snprintf(path, sizeof(path), "%s", make_set(formats[i], formats[i]->name));
        open_set(&scanned, path, false, NULL);
        open_set(&kept, path, true, "their index was written");
        open_set(&indexed, path, true, "from their index");
        CU_ASSERT_PTR_NULL(indexed.warning);
        check_same(&scanned, &kept);
        check_same(&scanned, &indexed);
    }
}

/* Sets FILES and BYTES to those of a set of tars, with its index. */
static void indexed(struct shard_list *files, struct buf *bytes) {
    char path[4096];
    cleanup_dataset struct dataset set = {0};
    (void)snprintf(path, sizeof(path), "%s", make_set(&FORMAT_TAR, "ours"));
    open_set(&set, path, true, "");
    CU_ASSERT_EQUAL_FATAL(shard_list_find(files, path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_index_path(files, path, NULL), 0);
    ASSERT_CONTAINS(path, "/ours/train.rtix");
    *bytes = (struct buf){.max = 1 << 20};
    CU_ASSERT_EQUAL_FATAL(file_read(path, bytes, NULL), 0);
}

static int unpack(const struct buf *bytes, size_t size, const struct shard_list *files,
                  struct error *err) {
    cleanup_shard_rows struct shard_rows rows = {0};
    shard_rows_init(&rows);
    return shard_index_unpack(&rows, bytes->data, size, files, err);
}

/* Writes the checksums that belong to the content. */
static void mend(struct buf *bytes) {
    size_t at = SHARD_INDEX_HEAD;
    for (int i = 0; i < 3; i++) {
        char *entry = bytes->data + 48 + 16 * i;
        const size_t size = (size_t)little_endian_get(entry, 8);
        if (size <= bytes->size - at)
            little_endian_put(entry + 8, crc32c(0, bytes->data + at, size), 4);
        at += size;
    }
    little_endian_put(bytes->data + 96, crc32c(0, bytes->data, 96), 4);
}

static void every_flipped_bit_and_every_cut_is_found(void) {
    cleanup_shard_list struct shard_list files = {0};
    cleanup_buf struct buf bytes = {0};
    indexed(&files, &bytes);
    CU_ASSERT_EQUAL(unpack(&bytes, bytes.size, &files, NULL), 0);
    for (size_t at = 0; at < bytes.size; at++) {
        struct error err = {0};
        bytes.data[at] = (char)(bytes.data[at] ^ (1 << (at % 8)));
        if (unpack(&bytes, bytes.size, &files, &err) == 0 || err.code != EXIT_CODE_DATA)
            CU_FAIL("a flipped bit was not found");
        bytes.data[at] = (char)(bytes.data[at] ^ (1 << (at % 8)));
    }
    for (size_t size = 0; size < bytes.size; size++)
        if (unpack(&bytes, size, &files, NULL) == 0)
            CU_FAIL("a cut was not found");
    CU_ASSERT_EQUAL(unpack(&bytes, bytes.size, &files, NULL), 0);
}

/* A value of SIZE bytes at AT of an index with right checksums is refused with WORDS. */
static void refuse(struct buf *bytes, const struct shard_list *files, size_t at, uint64_t value,
                   size_t size, const char *words) {
    cleanup_buf struct buf copy = {.max = bytes->max};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(buf_add(&copy, bytes->data, bytes->size, NULL), 0);
    little_endian_put(copy.data + at, value, size);
    mend(&copy);
    CU_ASSERT_EQUAL(unpack(&copy, copy.size, files, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
}

static void an_index_with_right_checksums_is_not_trusted(void) {
    cleanup_shard_list struct shard_list files = {0};
    cleanup_buf struct buf bytes = {0};
    enum { ROWS = SHARD_INDEX_HEAD + 2 * SHARD_INDEX_STAMP };
    indexed(&files, &bytes);
    refuse(&bytes, &files, 4, 2, 4, "of version 2; expected 1");
    refuse(&bytes, &files, 8, 'x', 1, "of shards of the format xar; expected tar");
    refuse(&bytes, &files, 24, 3, 4, "its counts do not fit");
    refuse(&bytes, &files, 28, 5, 4, "");
    refuse(&bytes, &files, 32, 0, 8, "its counts do not fit");
    refuse(&bytes, &files, 32, 41, 8, "its counts do not fit");
    refuse(&bytes, &files, 32, UINT64_MAX / 36 + 2, 8, "its counts do not fit");
    refuse(&bytes, &files, 40, 41, 8, "its counts do not fit");
    refuse(&bytes, &files, 64, UINT64_MAX, 8, "it ends early");
    refuse(&bytes, &files, SHARD_INDEX_HEAD, 7, 8, "stale: train-0-of-2 has changed since");
    refuse(&bytes, &files, ROWS, UINT64_MAX, 8, "a sample outside its shard");
    refuse(&bytes, &files, ROWS + 16, 0, 4, "a sample outside its shard");
    refuse(&bytes, &files, ROWS + 16, UINT32_MAX, 4, "a sample outside its shard");
    refuse(&bytes, &files, ROWS + 24, 2, 4, "a sample of no shard or no class");
    refuse(&bytes, &files, ROWS + 28, 1000, 4, "a sample of no shard or no class");
    refuse(&bytes, &files, ROWS + 32, (uint64_t)-2, 4, "a sample of no shard or no class");
}

/* A copy keeps its index, whatever its times. */
static void shards_are_known_by_their_content(void) {
    static const char *const kinds[] = {"end", "begin", "shorter", "gone", "renamed", "copy"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        cleanup_dataset struct dataset first = {0}, second = {0};
        cleanup_buf struct buf bytes = {.max = 1 << 22};
        char path[700], shard[800], other[800];
        (void)snprintf(path, sizeof(path), "%s", make_set(&FORMAT_TFRECORD, kinds[i]));
        (void)snprintf(shard, sizeof(shard), "%s/train-1-of-2", path);
        (void)snprintf(other, sizeof(other), "%s/train-x-of-2", path);
        open_set(&first, path, true, "was written");
        CU_ASSERT_EQUAL_FATAL(file_read(shard, &bytes, NULL), 0);
        if (i == 0)
            bytes.data[bytes.size - 6]++;
        if (i == 1)
            bytes.data[100]++;
        CU_ASSERT_EQUAL(unlink(shard), 0);
        if (i != 3)
            shards_put(i == 4 ? other : shard, bytes.data, bytes.size);
        if (i == 2)
            CU_ASSERT_EQUAL(truncate(shard, 100), 0);
        const struct shards_reading reading = {.bad_allowed = INT64_MAX};
        CU_ASSERT_EQUAL_FATAL(dataset_open_as(&second, path, &reading, NULL), 0);
        if (i == 5)
            ASSERT_CONTAINS(second.note, "from their index");
        if (i == 3) /* a set of one shard has an index with another name */
            CU_ASSERT_PTR_NULL(strstr(second.note, "index"));
        if (i == 3 || i == 5)
            continue;
        CU_ASSERT_PTR_NOT_NULL_FATAL(second.warning);
        ASSERT_CONTAINS(second.warning, "train.rtix");
        ASSERT_CONTAINS(second.warning, "the shards are scanned");
    }
}

static void sets_of_one_shard_have_an_index_of_its_name(void) {
    cleanup_shard_list struct shard_list files = {0};
    char path[4096], pattern[4200];
    (void)snprintf(path, sizeof(path), "%s", make_set(&FORMAT_TAR, "one"));
    (void)snprintf(pattern, sizeof(pattern), "%s/train-0*", path);
    CU_ASSERT_EQUAL_FATAL(shard_list_find(&files, pattern, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_index_path(&files, path, NULL), 0);
    ASSERT_CONTAINS(path, "/one/train-0-of-2.rtix");
}

/* Bad records are reported at each start. */
static void a_set_with_bad_records_keeps_no_index(void) {
    const struct shards_reading reading = {.bad_allowed = INT64_MAX, .keep_index = true};
    char path[700], shard[800];
    (void)snprintf(path, sizeof(path), "%s", make_set(&FORMAT_TFRECORD, "bad"));
    (void)snprintf(shard, sizeof(shard), "%s/train-1-of-2", path);
    CU_ASSERT_EQUAL(truncate(shard, 3000), 0);
    for (int i = 0; i < 2; i++) {
        cleanup_dataset struct dataset set = {0};
        CU_ASSERT_EQUAL_FATAL(dataset_open_as(&set, path, &reading, NULL), 0);
        ASSERT_CONTAINS(set.note, "at least 1 record cannot be used");
        CU_ASSERT_PTR_NULL(strstr(set.note, "index"));
    }
}

/* Cuts a shard to a fifth: each format loses most of its 20 pictures. */
static void an_index_from_before_counts_what_is_lost(void) {
    static const struct format *const formats[] = {&FORMAT_TAR, &FORMAT_TFRECORD, &FORMAT_RECORDIO};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        cleanup_dataset struct dataset whole = {0}, skipped = {0}, counted = {0}, refused = {0};
        cleanup_buf struct buf bytes = {.max = 1 << 22};
        struct error err = {0};
        char path[700], name[16], shard[800];
        (void)snprintf(name, sizeof(name), "lost_%zu", i);
        (void)snprintf(path, sizeof(path), "%s", make_set(formats[i], name));
        (void)snprintf(shard, sizeof(shard), "%s/train-1-of-2", path);
        open_set(&whole, path, true, "was written");
        CU_ASSERT_EQUAL_FATAL(file_read(shard, &bytes, NULL), 0);
        CU_ASSERT_EQUAL(truncate(shard, (off_t)(bytes.size / 5)), 0);
        struct shards_reading reading = {.bad_allowed = INT64_MAX, .keep_index = true};
        CU_ASSERT_EQUAL_FATAL(dataset_open_as(&skipped, path, &reading, NULL), 0);
        CU_ASSERT(skipped.count > PICTURES / 2 && skipped.count < PICTURES - 10);
        CU_ASSERT_EQUAL(skipped.bad, PICTURES - skipped.count);
        CU_ASSERT_PTR_NULL(strstr(skipped.note, "at least"));
        reading.bad_allowed = (int64_t)skipped.bad;
        CU_ASSERT_EQUAL(dataset_open_as(&counted, path, &reading, NULL), 0);
        reading.bad_allowed--;
        CU_ASSERT_EQUAL(dataset_open_as(&refused, path, &reading, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, " records cannot be used; --bad-samples ");
        dataset_done(&refused);
        reading.unindexed = true; /* then nothing says how many are lost */
        CU_ASSERT_EQUAL(dataset_open_as(&refused, path, &reading, &err), -1);
        ASSERT_CONTAINS(err.text, "no index says how many records");
    }
}

static void an_index_is_left_alone_where_that_is_asked_for(void) {
    const struct shards_reading reading = {.unindexed = true};
    cleanup_dataset struct dataset first = {0}, second = {0};
    char path[700];
    (void)snprintf(path, sizeof(path), "%s", make_set(&FORMAT_TAR, "alone"));
    open_set(&first, path, true, "was written");
    CU_ASSERT_EQUAL_FATAL(dataset_open_as(&second, path, &reading, NULL), 0);
    CU_ASSERT_PTR_NULL(strstr(second.note, "index"));
    check_same(&first, &second);
}

UNIT_SUITE("data.dataset.shard_index", UNIT(an_index_is_what_a_scan_finds),
           UNIT(every_flipped_bit_and_every_cut_is_found),
           UNIT(an_index_with_right_checksums_is_not_trusted),
           UNIT(shards_are_known_by_their_content),
           UNIT(sets_of_one_shard_have_an_index_of_its_name),
           UNIT(a_set_with_bad_records_keeps_no_index),
           UNIT(an_index_from_before_counts_what_is_lost),
           UNIT(an_index_is_left_alone_where_that_is_asked_for))
