#include "common/file.h"
#include "data/dataset.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error err;

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

/* Folders are read, not pictures: any bytes do. */
static void put(const char *folder, const char *name, const char *text) {
    char path[1400];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    path[strlen(path)] = '/';
    CU_ASSERT_EQUAL_FATAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static void classes_and_files_are_in_bytewise_order(void) {
    const char *folder = folder_of("order");
    char name[700];
    put(folder, "b/2.jpg", "22");
    put(folder, "b/10.jpg", "1");
    put(folder, "B/x.JPEG", "333");
    put(folder, "a/z.jpeg", "");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(set.classes, 3);
    CU_ASSERT_STRING_EQUAL(set.class_names[0], "B");
    CU_ASSERT_STRING_EQUAL(set.class_names[1], "a");
    CU_ASSERT_STRING_EQUAL(set.class_names[2], "b");
    CU_ASSERT_EQUAL_FATAL(set.count, 4);
    dataset_sample_name(&set, 2, name, sizeof(name));
    ASSERT_CONTAINS(name, "order/b/10.jpg");
    CU_ASSERT_EQUAL(set.labels[2], 2);
    CU_ASSERT_EQUAL(set.bytes, 6);
}

static void what_is_hidden_or_no_picture_is_skipped(void) {
    const char *folder = folder_of("skip");
    put(folder, "a/1.jpg", "x");
    put(folder, "a/.hidden.jpg", "x");
    put(folder, "a/README.txt", "x");
    put(folder, "a/folder.jpg/1.jpg", "x");
    put(folder, ".git/1.jpg", "x");
    put(folder, "loose.jpg", "x");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(set.classes, 1);
    CU_ASSERT_EQUAL(set.count, 1);
}

static uint64_t hash_of(const char *folder) {
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    return set.hash;
}

static void the_hash_sees_names_classes_and_sizes(void) {
    char one[600];
    snprintf(one, sizeof(one), "%s", folder_of("hash1"));
    put(one, "a/1.jpg", "xx");
    put(one, "b/2.jpg", "y");
    uint64_t hash = hash_of(one);
    CU_ASSERT_EQUAL(hash_of(one), hash);
    const char *two = folder_of("hash2");
    put(two, "a/1.jpg", "zz"); /* the same names and sizes */
    put(two, "b/2.jpg", "w");
    CU_ASSERT_EQUAL(hash_of(two), hash);
    put(two, "b/2.jpg", "ww");
    CU_ASSERT_NOT_EQUAL(hash_of(two), hash);
    put(two, "b/2.jpg", "w");
    put(two, "b/3.jpg", "");
    CU_ASSERT_NOT_EQUAL(hash_of(two), hash);
    const char *three = folder_of("hash3");
    put(three, "a/1.jpg", "xx");
    put(three, "c/2.jpg", "y");
    CU_ASSERT_NOT_EQUAL(hash_of(three), hash);
}

static void expect_refused(const char *folder, const char *why) {
    struct dataset set;
    CU_ASSERT_EQUAL(dataset_open_folder(&set, folder, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
    ASSERT_CONTAINS(err.text, folder);
    CU_ASSERT_PTR_NULL(set.names);
}

static void folders_without_pictures_are_refused_by_name(void) {
    expect_refused(folder_of("missing"), "No such file");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder_of("empty"), NULL), 0);
    expect_refused(folder_of("empty"), "no class folders");
    put(folder_of("loose"), "1.jpg", "x");
    expect_refused(folder_of("loose"), "no class folders");
    put(folder_of("bare"), "a/1.jpg", "x");
    put(folder_of("bare"), "b/notes.txt", "x");
    expect_refused(folder_of("bare"), "bare/b: a class without pictures");
}

static void a_link_that_leads_nowhere_is_named(void) {
    char path[700];
    put(folder_of("link"), "a/1.jpg", "x");
    snprintf(path, sizeof(path), "%s/a/2.jpg", folder_of("link"));
    CU_ASSERT_EQUAL_FATAL(symlink("/nowhere", path), 0);
    expect_refused(folder_of("link"), "a/2.jpg");
}

static void a_fifo_is_no_picture_and_does_not_block(void) {
    char path[700];
    put(folder_of("fifo"), "a/1.jpg", "x");
    snprintf(path, sizeof(path), "%s/a/2.jpg", folder_of("fifo"));
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder_of("fifo"), &err), 0);
    CU_ASSERT_EQUAL(set.count, 1);
}

UNIT_MAIN("data.folder", UNIT(classes_and_files_are_in_bytewise_order),
          UNIT(what_is_hidden_or_no_picture_is_skipped),
          UNIT(the_hash_sees_names_classes_and_sizes),
          UNIT(folders_without_pictures_are_refused_by_name),
          UNIT(a_link_that_leads_nowhere_is_named), UNIT(a_fifo_is_no_picture_and_does_not_block))
