/* Small sets for tests: the folder "pictures", and the same pictures in two shards in "shards". */
#ifndef TESTS_UNIT_TRAINER_APP_HOSTS_SETS_H
#define TESTS_UNIT_TRAINER_APP_HOSTS_SETS_H

#include "tests/support/shards.h"
#include "trainer/data/dataset/dataset.h"

static const struct {
    const char *class_name, *name;
    int64_t label;
} PICTURES[] = {
    {"ant", "b.jpg", 0}, {"ant", "a.jpg", 0}, {"bee", "z/a.jpg", 1}, {"bee", "m.png", 1}};
enum { PICTURE_COUNT = sizeof(PICTURES) / sizeof(PICTURES[0]) };

static inline void put_picture(size_t i) {
    char name[128];
    char path[700];
    (void)snprintf(name, sizeof(name), "pictures/%s/%s", PICTURES[i].class_name, PICTURES[i].name);
    (void)snprintf(path, sizeof(path), "%s", shards_path(name));
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    shards_put(shards_path(name), PICTURES[i].name, strlen(PICTURES[i].name));
}

static inline void make_sets(void) {
    struct buf out[2] = {{.max = 1 << 20}, {.max = 1 << 20}};
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("shards"), NULL), 0);
    for (size_t i = 0; i < PICTURE_COUNT; i++) {
        const struct shard_record record = {.class_name = PICTURES[i].class_name,
                                            .name = PICTURES[i].name,
                                            .label = PICTURES[i].label,
                                            .number = i,
                                            .picture = (const uint8_t *)PICTURES[i].name,
                                            .size = strlen(PICTURES[i].name)};
        put_picture(i);
        CU_ASSERT_EQUAL_FATAL(FORMAT_TAR.write(&out[i % 2], &record, NULL), 0);
    }
    shards_put(shards_path("shards/0.tar"), out[0].data, out[0].size);
    shards_put(shards_path("shards/1.tar"), out[1].data, out[1].size);
    shards_put(shards_path("shards/classes.txt"), "ant\nbee\n", 8);
    buf_done(&out[0]);
    buf_done(&out[1]);
}

static inline bool lies_in_memory(const struct dataset *set, const void *items) {
    const char *begin = set->memory;
    return begin != NULL && (const char *)items >= begin &&
           (const char *)items < begin + set->memory_size;
}

static inline void check_same(const struct dataset *a, const struct dataset *b) {
    cleanup_buf struct buf x = {0}, y = {0};
    char name[1024], other[1024];
    CU_ASSERT_EQUAL(a->kind, b->kind);
    CU_ASSERT_EQUAL(a->hash, b->hash);
    CU_ASSERT_EQUAL(a->bytes, b->bytes);
    CU_ASSERT_EQUAL(a->bad, b->bad);
    CU_ASSERT_STRING_EQUAL(a->root, b->root);
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    CU_ASSERT_EQUAL_FATAL(a->classes, b->classes);
    for (size_t c = 0; c < a->classes; c++)
        CU_ASSERT_STRING_EQUAL(a->class_names[c], b->class_names[c]);
    for (size_t i = 0; i < a->count; i++) {
        CU_ASSERT_EQUAL(a->labels[i], b->labels[i]);
        dataset_sample_name(a, i, name, sizeof(name));
        dataset_sample_name(b, i, other, sizeof(other));
        CU_ASSERT_STRING_EQUAL(name, other);
        CU_ASSERT_EQUAL(dataset_read(a, i, &x, NULL), 0);
        CU_ASSERT_EQUAL(dataset_read(b, i, &y, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&x), buf_text(&y));
    }
}

#endif
