#include "trainer/data/dataset/picture_list.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const char *put(const char *name) {
    static char path[600];
    snprintf(path, sizeof(path), "%.400s/%.100s", unit_temp_dir(), name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    *slash = '/';
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "x", 1, 0644, NULL), 0);
    return path;
}

static const char *at(const char *name) {
    static char path[600];
    snprintf(path, sizeof(path), "%.400s/%.100s", unit_temp_dir(), name);
    return path;
}

static void files_are_taken_as_they_are_called_and_folders_by_suffix(void) {
    cleanup_picture_list struct picture_list list = {0};
    struct error err = {0};
    put("set/b.png");
    put("set/a.JPG");
    put("set/below/c.jpeg");
    put("set/notes.txt");
    put("loose.dat");
    CU_ASSERT_EQUAL_FATAL(picture_list_add(&list, at("loose.dat"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_list_add(&list, at("set/"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_list_add(&list, at("set/b.png"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(list.count, 5);
    CU_ASSERT_STRING_EQUAL(list.paths[0], at("loose.dat"));
    CU_ASSERT_STRING_EQUAL(list.paths[1], at("set/a.JPG"));
    CU_ASSERT_STRING_EQUAL(list.paths[2], at("set/b.png"));
    CU_ASSERT_STRING_EQUAL(list.paths[3], at("set/below/c.jpeg"));
    CU_ASSERT_STRING_EQUAL(list.paths[4], at("set/b.png"));
    CU_ASSERT_EQUAL(list.left_out.count, 1);
}

static void what_is_not_there_is_named(void) {
    cleanup_picture_list struct picture_list list = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(picture_list_add(&list, at("nowhere.jpg"), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "nowhere.jpg");
    put("other/notes.txt");
    CU_ASSERT_EQUAL(picture_list_add(&list, at("other"), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "other: no pictures");
    CU_ASSERT_EQUAL(list.count, 0);
}

UNIT_SUITE("data.picture_list", UNIT(files_are_taken_as_they_are_called_and_folders_by_suffix),
           UNIT(what_is_not_there_is_named))
