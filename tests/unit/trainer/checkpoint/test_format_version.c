#include "trainer/checkpoint/format_version.h"

#include "tests/support/unit.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdio.h>

static struct error err;

static void versions_up_to_ours_are_read(void) {
    for (int64_t version = FORMAT_VERSION_FIRST; version <= FORMAT_VERSION; version++)
        CU_ASSERT_EQUAL(format_version_check(version, "here", &err), 0);
    CU_ASSERT_EQUAL(format_version_check(FORMAT_VERSION + 1, "here", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "here: written by a later ringtrain");
    CU_ASSERT_EQUAL(format_version_check(FORMAT_VERSION_FIRST - 1, "here", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "here: format_version 0 does not exist");
}

/* What a file with this version (NULL: none) is. */
static int check_file(const char *version, bool *ret_newer, struct error *e) {
    const struct safetensors_note note = {FORMAT_VERSION_KEY, version};
    cleanup_safetensors struct safetensors file = {0};
    char path[600];
    snprintf(path, sizeof(path), "%s/file", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, NULL, 0, &note, version != NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, path, &err), 0);
    return format_version_check_file(&file, ret_newer, e);
}

static void a_file_says_its_version(void) {
    bool newer = true;
    CU_ASSERT_EQUAL(check_file(NULL, &newer, &err), 0);
    CU_ASSERT_FALSE(newer);
    newer = true;
    CU_ASSERT_EQUAL(check_file(FORMAT_VERSION_TEXT, &newer, &err), 0);
    CU_ASSERT_FALSE(newer);
    CU_ASSERT_EQUAL(check_file("99", &newer, &err), -1);
    CU_ASSERT_TRUE(newer);
    ASSERT_CONTAINS(err.text, "format version 99");
}

static void what_is_no_version_is_damage(void) {
    static const char *const bad[] = {"", "old", "-1", "1.5", "0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bool newer = true;
        CU_ASSERT_EQUAL(check_file(bad[i], &newer, &err), -1);
        CU_ASSERT_FALSE(newer);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "/file: format_version");
        CU_ASSERT_EQUAL(check_file(bad[i], &newer, NULL), -1);
    }
}

UNIT_SUITE("checkpoint.format_version", UNIT(versions_up_to_ours_are_read),
           UNIT(a_file_says_its_version), UNIT(what_is_no_version_is_damage))
