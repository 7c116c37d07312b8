#include "tests/support/shards.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/holdout.h"

#include <stdlib.h>

static void put_picture(const char *set, const char *class_name, const char *name,
                        const char *bytes) {
    char path[1200];
    (void)snprintf(path, sizeof(path), "%s/%s/%s", shards_path(set), class_name, name);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    path[strlen(path)] = '/';
    shards_put(path, bytes, strlen(bytes));
}

/* The folder "pictures", of three classes. */
static const struct {
    const char *class_name, *name, *bytes;
    int64_t label;
} PICTURES[] = {
    {"ant", "b.jpg", "ant b", 0},       {"ant", "a.b.jpg", "ant a", 0},
    {"bee", "z/a.jpg", "bee z a", 1},   {"bee", "m.png", "bee m", 1},
    {"cat", "z-/a.jpg", "cat z- a", 2}, {"cat", "z/b.jpg", "cat z b", 2},
};
enum { PICTURE_COUNT = sizeof(PICTURES) / sizeof(PICTURES[0]) };

static void make_folder(void) {
    for (size_t i = 0; i < PICTURE_COUNT; i++)
        put_picture("pictures", PICTURES[i].class_name, PICTURES[i].name, PICTURES[i].bytes);
}

/* Writes two shards with the pictures in a different order. */
static void make_shards(const struct format *format, const char *set) {
    struct buf out[2] = {{.max = 1 << 20}, {.max = 1 << 20}};
    char path[64];
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path(set), NULL), 0);
    for (size_t i = 0; i < PICTURE_COUNT; i++) {
        const size_t p = (i * 5 + 2) % PICTURE_COUNT;
        const struct shard_record record = {.class_name = PICTURES[p].class_name,
                                            .name = PICTURES[p].name,
                                            .label = PICTURES[p].label,
                                            .number = p,
                                            .picture = (const uint8_t *)PICTURES[p].bytes,
                                            .size = strlen(PICTURES[p].bytes)};
        CU_ASSERT_EQUAL_FATAL(format->write(&out[i % 2], &record, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%d", set, i);
        shards_put(shards_path(path), out[i].data, out[i].size);
        buf_done(&out[i]);
    }
    (void)snprintf(path, sizeof(path), "%s/classes.txt", set);
    shards_put(shards_path(path), "ant\nbee\ncat\n", 12);
}

static void check_same(const struct dataset *a, const struct dataset *b) {
    cleanup_buf struct buf x = {0}, y = {0};
    CU_ASSERT_EQUAL(a->hash, b->hash);
    CU_ASSERT_EQUAL(a->bytes, b->bytes);
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    CU_ASSERT_EQUAL_FATAL(a->classes, b->classes);
    for (size_t c = 0; c < a->classes; c++)
        CU_ASSERT_STRING_EQUAL(a->class_names[c], b->class_names[c]);
    for (size_t i = 0; i < a->count; i++) {
        CU_ASSERT_EQUAL(a->labels[i], b->labels[i]);
        CU_ASSERT_STRING_EQUAL(a->names + a->name_at[i], b->names + b->name_at[i]);
        CU_ASSERT_EQUAL(dataset_read(a, i, &x, NULL), 0);
        CU_ASSERT_EQUAL(dataset_read(b, i, &y, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&x), buf_text(&y));
    }
}

static void a_set_is_the_same_in_a_folder_and_in_shards(void) {
    static const struct format *const formats[] = {&FORMAT_TAR, &FORMAT_TFRECORD};
    cleanup_dataset struct dataset folder = {0};
    make_folder();
    CU_ASSERT_EQUAL_FATAL(dataset_open(&folder, shards_path("pictures"), 0, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        cleanup_dataset struct dataset set = {0};
        make_shards(formats[i], formats[i]->name);
        CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path(formats[i]->name), 0, NULL), 0);
        CU_ASSERT_EQUAL(set.kind, DATASET_SHARDS);
        check_same(&folder, &set);
    }
}

/* RecordIO has numbers in place of names. */
static void records_without_names_are_ordered_by_number(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_buf struct buf bytes = {0};
    make_shards(&FORMAT_RECORDIO, "recordio");
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("recordio"), 0, NULL), 0);
    CU_ASSERT_STRING_EQUAL(set.class_names[2], "cat");
    for (size_t i = 0; i < PICTURE_COUNT; i++) {
        CU_ASSERT_EQUAL(dataset_read(&set, i, &bytes, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&bytes), PICTURES[i].bytes);
        CU_ASSERT_EQUAL(set.labels[i], PICTURES[i].label);
    }
}

static void labels_that_count_from_1_are_noticed(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_buf struct buf out = {.max = 1 << 20};
    for (int64_t label = 1; label <= 3; label++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%d.jpg", (int)label);
        const struct shard_record record = {.class_name = "",
                                            .name = name,
                                            .label = label,
                                            .picture = (const uint8_t *)"x",
                                            .size = 1};
        CU_ASSERT_EQUAL_FATAL(FORMAT_TFRECORD.write(&out, &record, NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("from1"), NULL), 0);
    shards_put(shards_path("from1/train-0"), out.data, out.size);
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("from1"), 0, NULL), 0);
    CU_ASSERT_EQUAL(set.classes, 3);
    CU_ASSERT_EQUAL(set.labels[0], 0);
    CU_ASSERT_STRING_EQUAL(set.class_names[0], "1");
    ASSERT_CONTAINS(set.note, "counted from 1");
    dataset_done(&set);
    /* With four names, the classes are 0 to 3. */
    shards_put(shards_path("from1/classes.txt"), "a\nb\nc\nd\n", 8);
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("from1"), 0, NULL), 0);
    CU_ASSERT_EQUAL(set.labels[0], 1);
    dataset_done(&set);
    shards_put(shards_path("from1/classes.txt"), "a\nb\nc\n", 6);
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("from1"), 0, NULL), 0);
    CU_ASSERT_EQUAL(set.labels[0], 0);
    struct error err = {0};
    cleanup_dataset struct dataset refused = {0};
    shards_put(shards_path("from1/classes.txt"), "a\nb\n", 4);
    CU_ASSERT_EQUAL(dataset_open(&refused, shards_path("from1"), 0, &err), -1);
    ASSERT_CONTAINS(err.text, "a record of class 3; expected classes from 0 to 1");
}

/* Numbers alone do not tell: of the classes a, b and c the last has no picture, as in a small part
 * of a set. */
static void names_tell_from_which_number_labels_count(void) {
    for (int64_t base = 0; base <= 1; base++) {
        cleanup_dataset struct dataset set = {0};
        cleanup_buf struct buf out = {.max = 1 << 20};
        for (int64_t class = 1 - base; class < 2; class ++) {
            const struct shard_record record = {.class_name = class == 0 ? "a" : "b",
                                                .name = class == 0 ? "1.jpg" : "2.jpg",
                                                .label = class + base,
                                                .picture = (const uint8_t *)"x",
                                                .size = 1};
            CU_ASSERT_EQUAL_FATAL(FORMAT_TFRECORD.write(&out, &record, NULL), 0);
        }
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("named"), NULL), 0);
        shards_put(shards_path("named/train-0"), out.data, out.size);
        shards_put(shards_path("named/classes.txt"), "a\nb\nc\n", 6);
        CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("named"), 0, NULL), 0);
        CU_ASSERT_EQUAL(set.classes, 3);
        CU_ASSERT_EQUAL(set.labels[set.count - 1], 1);
        CU_ASSERT_EQUAL(set.labels[0], base == 0);
    }
}

static void a_given_base_goes_before_what_is_noticed(void) {
    cleanup_dataset struct dataset set = {0}, refused = {0};
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_reading reading = {.base = SHARDS_BASE_0};
    struct error err = {0};
    for (int64_t label = 1; label <= 2; label++) {
        const struct shard_record record = {.class_name = "",
                                            .name = label == 1 ? "1.jpg" : "2.jpg",
                                            .label = label,
                                            .picture = (const uint8_t *)"x",
                                            .size = 1};
        CU_ASSERT_EQUAL_FATAL(FORMAT_TFRECORD.write(&out, &record, NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("based"), NULL), 0);
    shards_put(shards_path("based/train-0"), out.data, out.size);
    CU_ASSERT_EQUAL_FATAL(dataset_open_as(&set, shards_path("based"), &reading, NULL), 0);
    CU_ASSERT_EQUAL(set.classes, 3);
    CU_ASSERT_EQUAL(set.labels[0], 1);
    dataset_done(&set);
    reading.base = SHARDS_BASE_1;
    CU_ASSERT_EQUAL_FATAL(dataset_open_as(&set, shards_path("based"), &reading, NULL), 0);
    CU_ASSERT_EQUAL(set.classes, 2);
    CU_ASSERT_EQUAL(set.labels[0], 0);
    make_shards(&FORMAT_RECORDIO, "based_at_0");
    CU_ASSERT_EQUAL(dataset_open_as(&refused, shards_path("based_at_0"), &reading, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "a record of class 0; expected classes from 1 to 3");
}

static void bad_records_are_refused_or_left_out(void) {
    cleanup_dataset struct dataset set = {0};
    struct error err = {0};
    make_shards(&FORMAT_TFRECORD, "cut");
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    CU_ASSERT_EQUAL_FATAL(file_read(shards_path("cut/1"), &bytes, NULL), 0);
    shards_put(shards_path("cut/1"), bytes.data, bytes.size - 1);
    CU_ASSERT_EQUAL(dataset_open(&set, shards_path("cut"), 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "the file ends within a record");
    ASSERT_CONTAINS(err.text, "--bad-samples skip");
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("cut"), INT64_MAX, NULL), 0);
    CU_ASSERT_EQUAL(set.count, PICTURE_COUNT - 1);
    CU_ASSERT_EQUAL(set.bad, 1);
    ASSERT_CONTAINS(set.note, "at least 1 record cannot be used and ");
    ASSERT_CONTAINS(set.note, " bytes are not readable, the first: ");
}

/* No index says how many records a rest holds: a number of them cannot be kept. */
static void a_rest_of_unknown_size_needs_skip(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    struct error err = {0};
    make_shards(&FORMAT_TFRECORD, "short");
    CU_ASSERT_EQUAL_FATAL(file_read(shards_path("short/1"), &bytes, NULL), 0);
    shards_put(shards_path("short/1"), bytes.data, 20);
    CU_ASSERT_EQUAL(dataset_open(&set, shards_path("short"), 5, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "20 bytes cannot be read, and no index says how many records");
    ASSERT_CONTAINS(err.text, "--bad-samples skip");
}

static void what_is_held_out_is_read_from_the_shards(void) {
    cleanup_dataset struct dataset set = {0}, held = {0}, folder = {0}, held_of_folder = {0};
    make_folder();
    make_shards(&FORMAT_TAR, "split");
    CU_ASSERT_EQUAL_FATAL(dataset_open(&set, shards_path("split"), 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open(&folder, shards_path("pictures"), 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(holdout_split(&set, 0.5, 1, &held, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(holdout_split(&folder, 0.5, 1, &held_of_folder, NULL, NULL), 0);
    check_same(&set, &folder);
    check_same(&held, &held_of_folder);
    dataset_done(&set); /* the shards stay open for the other part */
    cleanup_buf struct buf bytes = {0};
    CU_ASSERT_EQUAL(dataset_read(&held, 0, &bytes, NULL), 0);
}

static void samples_without_any_class_are_refused(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct error err = {0};
    const struct shard_record record = {
        .class_name = "x", .name = "1.jpg", .label = 0, .picture = (const uint8_t *)"x", .size = 1};
    CU_ASSERT_EQUAL_FATAL(FORMAT_TAR.write(&out, &record, NULL), 0);
    /* Removes the .cls entry and the folder. */
    memcpy(out.data, "1.jpg\0\0", 7);
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? 0 : (unsigned char)out.data[i];
    (void)snprintf(out.data + 148, 8, "%06o", sum);
    shards_put(shards_path("loose.tar"), out.data, 1024);
    CU_ASSERT_EQUAL(dataset_open(&set, shards_path("loose.tar"), 0, &err), -1);
    ASSERT_CONTAINS(err.text, "1.jpg: no class; expected KEY.cls");
}

/* One host's part of a set that is divided among hosts. */
static void a_part_keeps_its_samples_among_others(void) {
    static const char *const kinds[] = {"pictures", "tar"};
    make_folder();
    make_shards(&FORMAT_TAR, "tar");
    for (size_t k = 0; k < 2; k++) {
        cleanup_dataset struct dataset alone = {0}, part = {0};
        cleanup_buf struct buf x = {0}, y = {0};
        char name[600], other[600];
        CU_ASSERT_EQUAL_FATAL(dataset_open(&alone, shards_path(kinds[k]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(dataset_open(&part, shards_path(kinds[k]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(dataset_embed(&part, 100, 200, NULL), 0);
        CU_ASSERT_EQUAL(part.count, 200);
        for (size_t i = 0; i < alone.count; i++) {
            CU_ASSERT_EQUAL(part.labels[100 + i], alone.labels[i]);
            CU_ASSERT_EQUAL(dataset_read(&alone, i, &x, NULL), 0);
            CU_ASSERT_EQUAL(dataset_read(&part, 100 + i, &y, NULL), 0);
            CU_ASSERT_STRING_EQUAL(buf_text(&x), buf_text(&y));
            dataset_sample_name(&alone, i, name, sizeof(name));
            dataset_sample_name(&part, 100 + i, other, sizeof(other));
            CU_ASSERT_STRING_EQUAL(name, other);
        }
        for (size_t i = 0; i < 200; i += 199) {
            dataset_sample_name(&part, i, other, sizeof(other));
            ASSERT_CONTAINS(other, "(a sample of another part)");
            CU_ASSERT_EQUAL(part.labels[i], 0);
        }
    }
}

UNIT_SUITE("data.dataset.shards", UNIT(a_set_is_the_same_in_a_folder_and_in_shards),
           UNIT(records_without_names_are_ordered_by_number),
           UNIT(labels_that_count_from_1_are_noticed),
           UNIT(names_tell_from_which_number_labels_count),
           UNIT(a_given_base_goes_before_what_is_noticed),
           UNIT(bad_records_are_refused_or_left_out), UNIT(a_rest_of_unknown_size_needs_skip),
           UNIT(what_is_held_out_is_read_from_the_shards),
           UNIT(samples_without_any_class_are_refused), UNIT(a_part_keeps_its_samples_among_others))
