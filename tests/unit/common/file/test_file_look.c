#include "common/file/file_look.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static void only_what_is_not_there_is_absent(void) {
    struct error err = {0};
    struct stat st;
    bool there = false, folder = false;
    char path[PATH_MAX];
    CU_ASSERT_EQUAL(file_look(unit_temp_dir(), &st, &there, &err), 0);
    CU_ASSERT(there && S_ISDIR(st.st_mode));
    CU_ASSERT(file_look_folder(unit_temp_dir(), &folder, &err) == 0 && folder);
    CU_ASSERT_EQUAL(file_look("/dev/null", &st, &there, &err), 0);
    CU_ASSERT(there && S_ISCHR(st.st_mode));
    CU_ASSERT(file_look_folder("/dev/null", &folder, &err) == 0 && !folder);
    CU_ASSERT(file_look("/nowhere/at/all", NULL, &there, &err) == 0 && !there);
    CU_ASSERT(file_look("/dev/null/below", NULL, &there, &err) == 0 && !there);
    (void)snprintf(path, sizeof(path), "%s/loop", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(symlink("loop", path), 0);
    CU_ASSERT(file_look(path, NULL, &there, &err) == -1 && !there);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ELOOP);
    ASSERT_CONTAINS(err.text, path);
    folder = true;
    CU_ASSERT(file_look_folder(path, &folder, &err) == -1 && !folder);
    CU_ASSERT_EQUAL(unlink(path), 0);
    static const int others[] = {EACCES, EIO, ESTALE, EMFILE, ENFILE, ENOMEM, ELOOP, ENAMETOOLONG};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_FALSE(file_is_absence(others[i]));
    CU_ASSERT(file_is_absence(ENOENT) && file_is_absence(ENOTDIR));
}

UNIT_SUITE("common.file_look", UNIT(only_what_is_not_there_is_absent))
