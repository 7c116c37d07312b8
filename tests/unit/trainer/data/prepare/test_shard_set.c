#include "tests/support/shards.h"
#include "trainer/data/prepare/shard_set.h"
#include "trainer/data/prepare/target.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 40 };

/* A folder of two classes, with small texts as its files. */
static void make_set(struct dataset *set, const char *name) {
    char path[1200];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", shards_path(name), i % 2 == 0 ? "a" : "b");
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
        (void)snprintf(path + strlen(path), 32, "/%02d.jpg", i);
        shards_put(path, path, strlen(path));
    }
    CU_ASSERT_EQUAL_FATAL(dataset_open(set, shards_path(name), 0, NULL), 0);
}

static int write_set(const struct dataset *set, const char *target, int64_t shards, int threads,
                     struct shard_set_result *ret, struct error *err) {
    static char path[700];
    (void)snprintf(path, sizeof(path), "%s", shards_path(target));
    const struct shard_set_options o = {.target = path,
                                        .format = &FORMAT_RECORDIO,
                                        .shards = shards,
                                        .quality = 90,
                                        .threads = threads};
    const struct shard_set_part part = {"train", set};
    return shard_set_write(&o, &part, 1, ret, err);
}

static void read_all(const char *folder, const char *name, struct buf *ret) {
    char path[1200];
    (void)snprintf(path, sizeof(path), "%s/%s", shards_path(folder), name);
    *ret = (struct buf){.max = 1 << 20};
    CU_ASSERT_EQUAL_FATAL(file_read(path, ret, NULL), 0);
}

static void the_same_set_gives_the_same_bytes(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    make_set(&set, "set");
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "one", 3, 1, &result, NULL), 0);
    CU_ASSERT_EQUAL(result.pictures, COUNT);
    CU_ASSERT_EQUAL(result.shards, 3);
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "four", 3, 4, &result, NULL), 0);
    static const char *const names[] = {"train-00000-of-00003.rec", "train-00002-of-00003.rec",
                                        "train-00001-of-00003.idx", "classes.txt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_buf struct buf a = {0}, b = {0};
        read_all("one", names[i], &a);
        read_all("four", names[i], &b);
        CU_ASSERT_EQUAL_FATAL(a.size, b.size);
        CU_ASSERT_EQUAL(memcmp(a.data, b.data, a.size), 0);
    }
    cleanup_dataset struct dataset again = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open(&again, shards_path("four"), 0, NULL), 0);
    CU_ASSERT_EQUAL(again.count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(again.labels[i], set.labels[i]);
}

/* Rank 1 of 3 writes each third shard, counted over all parts. */
static void ranks_share_the_shards_of_all_parts(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_shard_set struct shard_set first = SHARD_SET_CLOSED, other = SHARD_SET_CLOSED;
    char target[700], path[1200];
    make_set(&set, "of-ranks");
    (void)snprintf(target, sizeof(target), "%s", shards_path("by-ranks"));
    struct shard_set_options o = {
        .target = target, .format = &FORMAT_TAR, .shards = 4, .threads = 2, .ranks = 3};
    const struct shard_set_part parts[] = {{"train", &set}, {"validation", &set}};
    struct shard_set_options of_other = o;
    of_other.rank = 1;
    CU_ASSERT_EQUAL_FATAL(shard_set_plan(&first, &o, parts, 2, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_set_plan(&other, &of_other, parts, 2, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&first.plan), buf_text(&other.plan));
    CU_ASSERT_EQUAL_FATAL(shard_set_begin(&first, 5, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_set_join(&other, 5, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_set_make(&other, NULL), 0);
    CU_ASSERT_EQUAL(shard_set_pictures(&other), 30);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s-%05d-of-00004.tar", target, parts[i / 4].name,
                       i % 4);
        CU_ASSERT_EQUAL(access(path, F_OK), i % 3 == 1 ? 0 : -1);
    }
    struct error err = {0};
    CU_ASSERT_EQUAL(shard_set_finish(&first, &err), -1);
    ASSERT_CONTAINS(err.text, "train-00000-of-00004.tar");
}

static void a_stop_ends_a_rank_without_a_fault_of_its_own(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_shard_set struct shard_set stopped = SHARD_SET_CLOSED;
    struct error err = {0};
    char target[700];
    make_set(&set, "of-stopped");
    (void)snprintf(target, sizeof(target), "%s", shards_path("stopped-rank"));
    const struct shard_set_options o = {.target = target, .format = &FORMAT_TAR, .threads = 1};
    const struct shard_set_part part = {"train", &set};
    CU_ASSERT_EQUAL_FATAL(shard_set_plan(&stopped, &o, &part, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shard_set_begin(&stopped, 0, NULL), 0);
    shard_set_stop(&stopped);
    CU_ASSERT_EQUAL(shard_set_make(&stopped, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(shard_set_pictures(&stopped), 0);
}

/* A line "NUMBER<tab>OFFSET" for each record, at which it begins. */
static void the_index_names_each_record(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    make_set(&set, "indexed");
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "index", 1, 1, &result, NULL), 0);
    cleanup_buf struct buf index = {0}, shard = {0};
    read_all("index", "train-00000-of-00001.idx", &index);
    read_all("index", "train-00000-of-00001.rec", &shard);
    size_t lines = 0;
    for (char *line = index.data; *line != '\0'; line = strchr(line, '\n') + 1, lines++) {
        size_t number = 0, offset = 0;
        CU_ASSERT_EQUAL_FATAL(sscanf(line, "%zu\t%zu", &number, &offset), 2);
        CU_ASSERT_FATAL(number < COUNT && offset + 24 < shard.size);
        CU_ASSERT_EQUAL(memcmp(shard.data + offset, "\x0a\x23\xd7\xce", 4), 0);
        CU_ASSERT_EQUAL((size_t)(unsigned char)shard.data[offset + 16], number);
    }
    CU_ASSERT_EQUAL(lines, COUNT);
}

/* As ImageNet's converter has it: the same set, whatever its labels count from. */
static void labels_may_count_from_1(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    struct error err = {0};
    char path[700];
    make_set(&set, "counted");
    (void)snprintf(path, sizeof(path), "%s", shards_path("from1"));
    struct shard_set_options o = {
        .target = path, .format = &FORMAT_TFRECORD, .shards = 2, .threads = 1, .label_base = 1};
    const struct shard_set_part part = {"train", &set};
    CU_ASSERT_EQUAL_FATAL(shard_set_write(&o, &part, 1, &result, NULL), 0);
    for (int i = 0; i < 2; i++) {
        const struct shards_reading reading = {.unindexed = i == 1};
        cleanup_dataset struct dataset again = {0};
        CU_ASSERT_EQUAL_FATAL(dataset_open_as(&again, path, &reading, NULL), 0);
        CU_ASSERT_EQUAL(again.hash, set.hash);
        CU_ASSERT_EQUAL_FATAL(again.count, set.count);
        CU_ASSERT_EQUAL(memcmp(again.labels, set.labels, COUNT * sizeof(*set.labels)), 0);
        ASSERT_CONTAINS(again.note, "classes are counted from 1 here");
    }
    cleanup_buf struct buf shard = {0};
    read_all("from1", "train-00000-of-00002.tfrecord", &shard);
    CU_ASSERT_PTR_NOT_NULL(
        memmem(shard.data, shard.size, "image/class/label\x12\x05\x1a\x03\x0a\x01\x02", 24));
    CU_ASSERT_PTR_NULL(
        memmem(shard.data, shard.size, "image/class/label\x12\x05\x1a\x03\x0a\x01\0", 24));
    o.label_base = 0; /* another plan */
    CU_ASSERT_EQUAL(shard_set_write(&o, &part, 1, &result, &err), -1);
    ASSERT_CONTAINS(err.text, "with other flags");
}

static void an_interrupted_run_goes_on(void) {
    cleanup_dataset struct dataset set = {0};
    cleanup_buf struct buf whole = {0}, again = {0};
    struct shard_set_result result;
    char path[1200];
    make_set(&set, "resumed");
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "stopped", 4, 2, &result, NULL), 0);
    read_all("stopped", "train-00001-of-00004.rec", &whole);
    (void)snprintf(path, sizeof(path), "%s/train-00001-of-00004.rec", shards_path("stopped"));
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "stopped", 4, 2, &result, NULL), 0);
    CU_ASSERT_EQUAL(result.kept, 3);
    CU_ASSERT_EQUAL(result.pictures, COUNT);
    read_all("stopped", "train-00001-of-00004.rec", &again);
    CU_ASSERT_EQUAL_FATAL(whole.size, again.size);
    CU_ASSERT_EQUAL(memcmp(whole.data, again.data, whole.size), 0);
}

/* A kill leaves the plan, and a shard that was not complete. */
static void what_a_killed_run_left_is_removed(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    char path[1200];
    make_set(&set, "left");
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "unfinished", 2, 1, &result, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/train-00001-of-00002.rec.partial-AbCdEf",
                   shards_path("unfinished"));
    shards_put(path, "x", 1);
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "unfinished", 2, 1, &result, NULL), 0);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
}

/* Writes SET as folders of classes. */
static int write_folders(const struct dataset *set, const char *target,
                         struct shard_set_result *ret, struct error *err) {
    static char path[700];
    (void)snprintf(path, sizeof(path), "%s", shards_path(target));
    const struct shard_set_options o = {.target = path, .quality = 90, .threads = 2};
    const struct shard_set_part part = {"train", set};
    return shard_set_write(&o, &part, 1, ret, err);
}

static void folders_hold_the_same_set(void) {
    cleanup_dataset struct dataset set = {0}, again = {0};
    struct shard_set_result result;
    struct stat status;
    make_set(&set, "for_folders");
    CU_ASSERT_EQUAL_FATAL(write_folders(&set, "folders", &result, NULL), 0);
    CU_ASSERT_EQUAL(result.pictures, COUNT);
    CU_ASSERT_EQUAL(result.shards, 0);
    CU_ASSERT_EQUAL(result.kept, 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open(&again, shards_path("folders/train"), 0, NULL), 0);
    CU_ASSERT_EQUAL(again.hash, set.hash);
    CU_ASSERT_EQUAL(again.bytes, set.bytes);
    CU_ASSERT_EQUAL(stat(shards_path("folders/.ringtrain-writing"), &status), -1);

    CU_ASSERT_EQUAL(unlink(shards_path("folders/train/a/04.jpg")), 0);
    CU_ASSERT_EQUAL_FATAL(write_folders(&set, "folders", &result, NULL), 0);
    CU_ASSERT_EQUAL(result.kept, COUNT - 1);
    CU_ASSERT_EQUAL(result.bytes, set.bytes);
    CU_ASSERT_EQUAL(stat(shards_path("folders/train/a/04.jpg"), &status), 0);
}

/* Names come from foreign archives. */
static void names_that_leave_the_folder_are_refused(void) {
    static const char *const names[] = {"..", "x/../y", "", ".hidden"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_dataset struct dataset set = {0};
        struct shard_set_result result;
        struct error err = {0};
        char target[32];
        make_set(&set, "hostile");
        free(set.class_names[1]);
        set.class_names[1] = strdup(names[i]);
        (void)snprintf(target, sizeof(target), "hostile_%zu", i);
        CU_ASSERT_EQUAL(write_folders(&set, target, &result, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot be the names of a folder"));
    }
}

static void a_folder_of_something_else_is_refused(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    struct error err = {0};
    make_set(&set, "other");
    CU_ASSERT_EQUAL_FATAL(write_set(&set, "full", 2, 1, &result, NULL), 0);
    CU_ASSERT_EQUAL(write_set(&set, "full", 3, 1, &result, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "holds shards of another set or with other flags");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("mine"), NULL), 0);
    shards_put(shards_path("mine/thesis.doc"), "x", 1);
    CU_ASSERT_EQUAL(write_set(&set, "mine", 3, 1, &result, &err), -1);
    ASSERT_CONTAINS(err.text, "not empty (thesis.doc)");
}

static void a_folder_belongs_to_one_process(void) {
    struct target first = TARGET_CLOSED, second = TARGET_CLOSED;
    struct error err = {0};
    const char *folder = shards_path("locked");
    CU_ASSERT_EQUAL_FATAL(target_open(&first, folder, "plan\n", NULL), 0);
    CU_ASSERT_EQUAL(target_open(&second, folder, "plan\n", &err), -1);
    ASSERT_CONTAINS(err.text, "another process writes shards here");
    target_done(&second);
    CU_ASSERT_EQUAL(target_check_room(first.folder, INT64_MAX, &err), -1);
    ASSERT_CONTAINS(err.text, "GB are needed");
    CU_ASSERT_EQUAL(target_commit(&first, NULL), 0);
    target_done(&first);
    CU_ASSERT_EQUAL(target_open(&second, folder, "plan\n", NULL), 0);
    CU_ASSERT(second.resumed);
    target_done(&second);
}

/* Also by another path, and before it exists. */
static void a_target_within_its_source_is_refused(void) {
    static const struct {
        const char *target, *source;
        bool refused;
    } cases[] = {
        {"source", "source", true},         {"source/out", "source", true},
        {"source/a/b/out", "source", true}, {"other/link/out", "source", true},
        {"source-2", "source", false},      {"other", "source", false},
        {"other/out", "other/link", false}, {"source", "source/a", false},
        {"source/out", "missing", false},   {"source/file/out", "source/file", false},
    };
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("source/a"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path("other"), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("../source", shards_path("other/link")), 0);
    shards_put(shards_path("source/file"), "x", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        const int result =
            target_check_outside(shards_path(cases[i].target), shards_path(cases[i].source), &err);
        CU_ASSERT_EQUAL(result, cases[i].refused ? -1 : 0);
        CU_ASSERT_EQUAL(err.code, cases[i].refused ? EXIT_CODE_USAGE : 0);
    }
}

static void a_picture_that_is_gone_is_named(void) {
    cleanup_dataset struct dataset set = {0};
    struct shard_set_result result;
    struct error err = {0};
    char path[1200];
    make_set(&set, "gone");
    (void)snprintf(path, sizeof(path), "%s/b/07.jpg", shards_path("gone"));
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    CU_ASSERT_EQUAL(write_set(&set, "failed", 2, 2, &result, &err), -1);
    ASSERT_CONTAINS(err.text, "b/07.jpg");
}

UNIT_SUITE("data.prepare.shard_set", UNIT(the_same_set_gives_the_same_bytes),
           UNIT(the_index_names_each_record), UNIT(labels_may_count_from_1),
           UNIT(an_interrupted_run_goes_on), UNIT(folders_hold_the_same_set),
           UNIT(names_that_leave_the_folder_are_refused), UNIT(what_a_killed_run_left_is_removed),
           UNIT(a_folder_of_something_else_is_refused), UNIT(ranks_share_the_shards_of_all_parts),
           UNIT(a_stop_ends_a_rank_without_a_fault_of_its_own),
           UNIT(a_folder_belongs_to_one_process), UNIT(a_target_within_its_source_is_refused),
           UNIT(a_picture_that_is_gone_is_named))
