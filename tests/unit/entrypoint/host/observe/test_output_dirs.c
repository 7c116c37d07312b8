#include "common/file/file.h"
#include "entrypoint/host/observe/output_dirs.h"
#include "entrypoint/os/run_as.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *at(const char *name) {
    static char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static unsigned owner(const char *name) {
    struct stat st;
    return lstat(at(name), &st) == 0 ? (unsigned)st.st_uid : 99999;
}

static void folders_are_given_and_what_lies_in_them_is_not(void) {
    if (geteuid() != 0) {
        unit_skip("only root can give a folder away");
        return;
    }
    char target[600];
    CU_ASSERT_EQUAL(file_make_dirs(at("output/data"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(at("model"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(at("elsewhere"), NULL), 0);
    CU_ASSERT_EQUAL(file_put(at("model/old"), "x", 1, 0600, NULL), 0);
    (void)snprintf(target, sizeof(target), "%s", at("elsewhere"));
    CU_ASSERT_EQUAL(symlink(target, at("checkpoints")), 0);
    CU_ASSERT_EQUAL(run_as_choose("4321", NULL), 0);
    CU_ASSERT_EQUAL(output_dirs_give(unit_temp_dir(), NULL), 0);
    CU_ASSERT_EQUAL(owner("model"), 4321);
    CU_ASSERT_EQUAL(owner("output"), 4321);
    CU_ASSERT_EQUAL(owner("output/data"), 4321);
    CU_ASSERT_EQUAL(owner("model/old"), 0);
    CU_ASSERT_EQUAL(owner("checkpoints"), 0);
    CU_ASSERT_EQUAL(owner("elsewhere"), 0);
    CU_ASSERT_EQUAL(run_as_choose(NULL, NULL), 0);
    CU_ASSERT_EQUAL(output_dirs_give("/no/such/base", NULL), 0);
}

UNIT_SUITE("host.output_dirs", UNIT(folders_are_given_and_what_lies_in_them_is_not))
