#include "trainer/data/prepare/staging.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *new_target(void) {
    static char target[600];
    static int number;
    snprintf(target, sizeof(target), "%s/target%d", unit_temp_dir(), number++);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(target, NULL), 0);
    return target;
}

/* Writes a file that is to be published as NAME in TARGET. */
static void write_one(const char *target, const char *own, const char *name, struct buf *list) {
    char path[PATH_MAX], temp[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", target, name);
    CU_ASSERT_EQUAL_FATAL(staging_add(target, own, path, list, temp, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_put(temp, own, strlen(own), 0644, NULL), 0);
}

/* Returns whether the file NAME in TARGET holds TEXT. */
static bool holds(const char *target, const char *name, const char *text) {
    char path[PATH_MAX];
    cleanup_buf struct buf bytes = {.max = 4096};
    snprintf(path, sizeof(path), "%s/%s", target, name);
    return file_read(path, &bytes, NULL) == 0 && strcmp(buf_text(&bytes), text) == 0;
}

static void files_get_their_names_together(void) {
    const char *target = new_target();
    cleanup_buf struct buf list = {.max = 1 << 16};
    CU_ASSERT_EQUAL_FATAL(staging_begin(target, NULL), 0);
    write_one(target, "1", "a/b/one", &list);
    write_one(target, "2", "two", &list);
    CU_ASSERT_FALSE(holds(target, "two", "2"));
    CU_ASSERT_EQUAL_FATAL(staging_publish(target, &list, NULL), 0);
    CU_ASSERT(holds(target, "a/b/one", "1") && holds(target, "two", "2"));
    CU_ASSERT_EQUAL(list.size, 0);
    CU_ASSERT_EQUAL(staging_publish(target, &list, NULL), 0);
    staging_end(target);
    /* The next group, in a target that was used before. */
    CU_ASSERT_EQUAL_FATAL(staging_begin(target, NULL), 0);
    write_one(target, "1", "a/b/three", &list);
    CU_ASSERT_EQUAL_FATAL(staging_publish(target, &list, NULL), 0);
    CU_ASSERT(holds(target, "a/b/three", "1") && holds(target, "a/b/one", "1"));
}

static void nothing_is_left_beside_them(void) {
    const char *target = new_target();
    cleanup_buf struct buf list = {.max = 1 << 16};
    char temp[PATH_MAX], path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/x", target);
    CU_ASSERT_EQUAL_FATAL(staging_begin(target, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(staging_add(target, "7", path, &list, temp, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_put(temp, "", 0, 0644, NULL), 0);
    *strrchr(temp, '/') = '\0';
    /* The folder stays as long as it has a file that is not published. */
    staging_end(target);
    CU_ASSERT_EQUAL(access(temp, F_OK), 0);
    CU_ASSERT_EQUAL_FATAL(staging_publish(target, &list, NULL), 0);
    staging_end(target);
    CU_ASSERT_NOT_EQUAL(access(temp, F_OK), 0);
}

static void a_place_that_is_taken_is_named(void) {
    const char *target = new_target();
    cleanup_buf struct buf list = {.max = 1 << 16};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(staging_begin(target, NULL), 0);
    write_one(target, "1", "same", &list);
    write_one(target, "2", "same", &list);
    CU_ASSERT_EQUAL(staging_publish(target, &list, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "same: another file has this name already");
    CU_ASSERT(holds(target, "same", "1"));
}

static void a_folder_where_a_file_is_cannot_be_made(void) {
    const char *target = new_target();
    cleanup_buf struct buf list = {.max = 1 << 16};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(staging_begin(target, NULL), 0);
    write_one(target, "1", "file", &list);
    write_one(target, "2", "file/below", &list);
    CU_ASSERT_EQUAL(staging_publish(target, &list, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "file");
}

static void paths_and_lists_have_ceilings(void) {
    char target[PATH_MAX + 8], temp[PATH_MAX];
    cleanup_buf struct buf list = {.max = 16};
    struct error err = {0};
    memset(target, 'x', sizeof(target) - 1);
    target[sizeof(target) - 1] = '\0';
    CU_ASSERT_EQUAL(staging_begin(target, &err), -1);
    ASSERT_CONTAINS(err.text, "path too long");
    staging_end(target);
    CU_ASSERT_EQUAL(staging_add("/t", "1", "/t/a", &list, temp, &err), -1);
}

UNIT_SUITE("data.staging", UNIT(files_get_their_names_together), UNIT(nothing_is_left_beside_them),
           UNIT(a_place_that_is_taken_is_named), UNIT(a_folder_where_a_file_is_cannot_be_made),
           UNIT(paths_and_lists_have_ceilings))
