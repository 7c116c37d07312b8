/* The report on folders of pictures; the test train_inspect_data covers files that are not
 * pictures. */
#include "trainer/app/command/command_inspect_data.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "tests/support/printed.h"
#include "tests/support/unit.h"
#include "trainer/app/command/command.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static struct error err;
static char said[TEXT_MAX];

static const char *path_of(const char *name) {
    static char paths[4][600];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, 600, "%s/%s", unit_temp_dir(), name);
    return path;
}

/* Runs the command on a folder and stores its output in `said`. */
static int inspect(const char *folder) {
    char dir[600], flag[] = "--threads", count[] = "2";
    char *const argv[] = {dir, flag, count};
    cleanup_buf struct buf all = {.max = TEXT_MAX - 1};
    (void)snprintf(dir, sizeof(dir), "%s", path_of(folder));
    err = (struct error){0};
    int result = printed_to(path_of("out"), command_inspect_data, 3, argv, &err);
    CU_ASSERT_EQUAL_FATAL(file_read(path_of("out"), &all, &err), 0);
    (void)snprintf(said, sizeof(said), "%s", buf_text(&all));
    return result;
}

static void make_set(void) {
    char set[600];
    char *const argv[] = {
        (char[]){"shapes"},       set,           (char[]){"--train"},   (char[]){"6"},
        (char[]){"--validation"}, (char[]){"4"}, (char[]){"--classes"}, (char[]){"2"},
        (char[]){"--side"},       (char[]){"24"}};
    (void)snprintf(set, sizeof(set), "%s", path_of("set"));
    CU_ASSERT_EQUAL_FATAL(command_prepare(10, argv, &err), 0);
}

static void sets_are_listed_with_their_classes_and_sizes(void) {
    CU_ASSERT_EQUAL(inspect("set"), EXIT_CODE_OK);
    ASSERT_CONTAINS(said, "/set/train: 6 pictures in 2 classes, ");
    ASSERT_CONTAINS(said, "/set/val: 4 pictures in 2 classes, ");
    ASSERT_CONTAINS(said, "\n  width 24 to 24, height 24 to 24 pixels\n         3  ");
    ASSERT_CONTAINS(said, "\n         2  ");
    ASSERT_CONTAINS(said, "\nfound: 0 bad, 0 damaged, 0 left out (0 of them pictures), 0 "
                          "duplicates (0 times in several classes, 0 times in several sets): in "
                          "order\n");
    CU_ASSERT_PTR_NULL(strstr(said, "left out: "));
}

static void a_picture_that_is_in_both_sets_is_none_to_score_on(void) {
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("leak/train/a"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("leak/val/a"), &err), 0);
    static const char *const places[] = {"leak/train/a/1.jpg", "leak/val/a/2.jpg"};
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(file_publish(path_of(places[i]), "no picture", 10, 0644, &err), 0);
    CU_ASSERT_EQUAL(inspect("leak"), EXIT_CODE_DATA);
    ASSERT_CONTAINS(said, "/leak/train: 1 picture in 1 class, 0.0 MB\n         1  a\nbad: ");
    ASSERT_CONTAINS(said, "\nsame bytes in other sets: ");
    ASSERT_CONTAINS(said, "\nfound: 2 bad, 0 damaged, ");
    ASSERT_CONTAINS(said, ", 1 duplicates (0 times in several classes, 1 times in several sets): "
                          "not in order\n");
}

static void a_folder_that_is_none_is_named(void) {
    CU_ASSERT_EQUAL(inspect("nowhere"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/nowhere");
    CU_ASSERT_STRING_EQUAL(said, "");
}

UNIT_SUITE("app.command_inspect_data", UNIT(make_set),
           UNIT(sets_are_listed_with_their_classes_and_sizes),
           UNIT(a_picture_that_is_in_both_sets_is_none_to_score_on),
           UNIT(a_folder_that_is_none_is_named))
