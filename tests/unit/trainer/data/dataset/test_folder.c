#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/dataset.h"

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

static void add_level(char *path, size_t size) {
    snprintf(path + strlen(path), size - strlen(path), "d/");
}

static void expect_left_out(const struct dataset *set, const char *what, size_t count,
                            const char *example) {
    const struct skipped_files *left = &set->left_out;
    for (size_t i = 0; i < left->kinds; i++)
        if (strcmp(left->kind[i].what, what) == 0) {
            CU_ASSERT_EQUAL(left->kind[i].count, count);
            CU_ASSERT_STRING_EQUAL(left->kind[i].example, example);
            return;
        }
    CU_FAIL("nothing of that kind is left out");
}

static void what_is_no_picture_is_left_out_and_counted(void) {
    const char *folder = folder_of("skip");
    char text[400];
    put(folder, "a/1.jpg", "x");
    put(folder, "a/.hidden.jpg", "x");
    put(folder, "a/README.txt", "x");
    put(folder, "a/2.webp", "x");
    put(folder, "a/deep/3.WEBP", "x");
    put(folder, "a/deep/noname", "x");
    put(folder, ".git/1.jpg", "x");
    put(folder, "loose.jpg", "x");
    put(folder, "labels.csv", "x");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(set.classes, 1);
    CU_ASSERT_EQUAL(set.count, 1);
    CU_ASSERT_EQUAL(set.left_out.count, 6);
    CU_ASSERT_EQUAL(set.left_out.pictures, 3);
    expect_left_out(&set, ".txt", 1, "a/README.txt");
    expect_left_out(&set, "without a suffix", 1, "a/deep/noname");
    expect_left_out(&set, "beside the class folders", 1, "loose.jpg");
    expect_left_out(&set, ".csv", 1, "labels.csv");
    skipped_files_text(&set.left_out, text, sizeof(text));
    ASSERT_CONTAINS(text, "6 left out:");
    ASSERT_CONTAINS(text, "2 .webp (a/");
    ASSERT_CONTAINS(buf_text(&set.left_out.names), "a/deep/3.WEBP\n");
    skipped_files_text(&set.left_out, text, 20);
    CU_ASSERT_EQUAL(strlen(text), 19);
}

static void all_names_of_jpeg_and_png_are_taken(void) {
    static const char *const names[] = {"1.jpg", "2.JPG",  "3.jpeg", "4.Jpeg", "5.jpe",
                                        "6.JPE", "7.jfif", "8.png",  "9.PNG"};
    char path[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "a/%s", names[i]);
        put(folder_of("names"), path, "x");
    }
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder_of("names"), &err), 0);
    CU_ASSERT_EQUAL(set.count, sizeof(names) / sizeof(names[0]));
    CU_ASSERT_EQUAL(set.left_out.count, 0);
}

/* The order is that of torchvision.datasets.ImageFolder 0.29 on the same tree. */
static void folders_below_a_class_belong_to_it(void) {
    static const char *const order[] = {"a/z.jpg", "a/b/1.jpg", "a/b.c/1.jpg", "a/b/d.jpg/x.png",
                                        "c/d/e/f/1.jpg"};
    const char *folder = folder_of("deep");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        put(folder, order[i], "x");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(set.count, sizeof(order) / sizeof(order[0]));
    for (size_t i = 0; i < set.count; i++) {
        char name[800];
        char wanted[800];
        dataset_sample_name(&set, i, name, sizeof(name));
        snprintf(wanted, sizeof(wanted), "%s/%s", folder, order[i]);
        CU_ASSERT_STRING_EQUAL(name, wanted);
        CU_ASSERT_EQUAL(set.labels[i], i == 4);
    }
}

static void circles_and_great_depth_are_left_out(void) {
    char path[1400];
    const char *folder = folder_of("circle");
    put(folder, "a/b/1.jpg", "x");
    put(folder, "other/2.jpg", "x");
    snprintf(path, sizeof(path), "%s/a/b/up", folder);
    CU_ASSERT_EQUAL_FATAL(symlink("..", path), 0);
    snprintf(path, sizeof(path), "%s/a/beside", folder);
    CU_ASSERT_EQUAL_FATAL(symlink("../other", path), 0); /* a link that is followed */
    snprintf(path, sizeof(path), "a/");
    for (int i = 0; i < 17; i++)
        add_level(path, sizeof(path));
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "1.jpg");
    put(folder, path, "x");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(set.count, 3);
    expect_left_out(&set, "links to a folder around them", 1, "a/b/up");
    CU_ASSERT_EQUAL(set.left_out.count, 2);
    CU_ASSERT_EQUAL(set.left_out.pictures, 1); /* nested too deep */
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

static void a_link_that_leads_nowhere_is_a_sample_that_cannot_be_read(void) {
    static const char *const links[] = {"a/2.jpg", "a/notes.txt", "3.jpg", "class"};
    char path[700];
    put(folder_of("link"), "a/1.jpg", "x");
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder_of("link"), links[i]);
        CU_ASSERT_EQUAL_FATAL(symlink(i == 0 ? "2.jpg" : "/nowhere", path),
                              0); /* the first: in circles */
    }
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder_of("link"), &err), 0);
    CU_ASSERT_EQUAL(set.classes, 1);
    CU_ASSERT_EQUAL_FATAL(set.count, 2);
    CU_ASSERT_EQUAL(set.bytes, 1);
    cleanup_buf struct buf bytes = {0};
    CU_ASSERT_EQUAL(dataset_read(&set, 1, &bytes, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "link/a/2.jpg");
    expect_left_out(&set, "beside the class folders", 1, "3.jpg");
    CU_ASSERT_EQUAL(set.left_out.count, 3);
}

static void a_fifo_is_no_picture_and_does_not_block(void) {
    char path[700];
    put(folder_of("fifo"), "a/1.jpg", "x");
    snprintf(path, sizeof(path), "%s/a/2.jpg", folder_of("fifo"));
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder_of("fifo"), &err), 0);
    CU_ASSERT_EQUAL(set.count, 1);
    expect_left_out(&set, "that are not files", 1, "a/2.jpg");
}

UNIT_SUITE("data.folder", UNIT(classes_and_files_are_in_bytewise_order),
           UNIT(what_is_no_picture_is_left_out_and_counted),
           UNIT(all_names_of_jpeg_and_png_are_taken), UNIT(folders_below_a_class_belong_to_it),
           UNIT(circles_and_great_depth_are_left_out), UNIT(the_hash_sees_names_classes_and_sizes),
           UNIT(folders_without_pictures_are_refused_by_name),
           UNIT(a_link_that_leads_nowhere_is_a_sample_that_cannot_be_read),
           UNIT(a_fifo_is_no_picture_and_does_not_block))
