#include "common/file/output_path.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const STARTS[] = {"RIFF", "{\"ours\"", NULL};
static const struct output_path_kind OURS = {"a file of ours", STARTS};

static const char *path_of(const char *name) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static const char *made(const char *name, const char *text, size_t size) {
    const char *path = path_of(name);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, text, size, 0644, NULL), 0);
    return path;
}

static void a_place_that_is_free_or_ours_is_taken(void) {
    CU_ASSERT_EQUAL(output_path_check(path_of("free"), NULL, "--out", NULL), 0);
    CU_ASSERT_EQUAL(output_path_check("free-here", NULL, "--out", NULL), 0);
    CU_ASSERT_EQUAL(output_path_check(made("ours", "{\"ours\": 1}", 11), &OURS, "--out", NULL), 0);
    CU_ASSERT_EQUAL(output_path_check(made("empty", "", 0), &OURS, "--out", NULL), 0);
}

static void somebody_elses_file_is_not(void) {
    struct error err = {0};
    const char *const texts[] = {"{\"images\": []}", "RIF", "RIFE", "{"};
    const size_t sizes[] = {14, 3, 4, 1};
    for (int i = 0; i < 4; i++) {
        const char *path = made("theirs", texts[i], sizes[i]);
        CU_ASSERT_EQUAL(output_path_check(path, &OURS, "--out", &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "--out: ");
        ASSERT_CONTAINS(err.text, path);
        ASSERT_CONTAINS(err.text, "a file of ours");
    }
    CU_ASSERT_EQUAL(output_path_check(path_of("ours"), NULL, "--out", &err), -1);
    ASSERT_CONTAINS(err.text, "would be lost");
}

static void what_is_no_file_is_never_replaced(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(output_path_check("/dev/null", &OURS, "--out", &err), -1);
    ASSERT_CONTAINS(err.text, "not a regular file");
    CU_ASSERT_EQUAL(output_path_check(unit_temp_dir(), &OURS, "--out", &err), -1);
    const char *link = path_of("dangling");
    CU_ASSERT_EQUAL_FATAL(symlink("/nowhere/at/all", link), 0);
    CU_ASSERT_EQUAL(output_path_check(link, &OURS, "--out", &err), -1);
    CU_ASSERT_EQUAL_FATAL(symlink("loop", path_of("loop")), 0);
    CU_ASSERT_EQUAL(output_path_check(path_of("loop/below"), &OURS, "--out", &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ELOOP);
}

static void a_folder_that_takes_nothing_is_named(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(output_path_check("/nowhere/at/all", NULL, "--out", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "--out: the folder /nowhere/at: No such file or directory");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    (void)made("plain", "x", 1);
    CU_ASSERT_EQUAL(output_path_check(path_of("plain/below"), NULL, "--out", &err), -1);
    ASSERT_CONTAINS(err.text, "not a folder");
}

static void one_file_has_many_names(void) {
    char other[PATH_MAX];
    (void)snprintf(other, sizeof(other), "%s", path_of("other"));
    const char *path = made("one", "x", 1);
    CU_ASSERT_FALSE(output_path_is_same(path, other));
    CU_ASSERT(output_path_is_same("/nowhere/x", "/nowhere/x"));
    CU_ASSERT_EQUAL_FATAL(link(path, other), 0);
    CU_ASSERT(output_path_is_same(path, other));
    CU_ASSERT_FALSE(output_path_is_same(path, "/nowhere/x"));
}

UNIT_SUITE("common.output_path", UNIT(a_place_that_is_free_or_ours_is_taken),
           UNIT(somebody_elses_file_is_not), UNIT(what_is_no_file_is_never_replaced),
           UNIT(a_folder_that_takes_nothing_is_named), UNIT(one_file_has_many_names))
