#include "common/cleanup.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_path_is_made_below_the_root(void) {
    char name[SAFE_DIR_NAME_MAX + 1];
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/new/root", unit_temp_dir());
    cleanup_fd int root = safe_dir_open(path, NULL);
    CU_ASSERT_TRUE_FATAL(root >= 0);
    CU_ASSERT_TRUE(safe_dir_is_empty(root, ".part-"));
    cleanup_fd int one = safe_dir_enter(root, "file", name, NULL);
    CU_ASSERT_TRUE(one >= 0);
    CU_ASSERT_STRING_EQUAL(name, "file");
    cleanup_fd int two = safe_dir_enter(root, "a/b b/c.txt", name, NULL);
    CU_ASSERT_TRUE(two >= 0);
    CU_ASSERT_STRING_EQUAL(name, "c.txt");
    CU_ASSERT_EQUAL(faccessat(root, "a/b b", F_OK, 0), 0);
    CU_ASSERT_FALSE(safe_dir_is_empty(root, ".part-"));
    cleanup_fd int part = openat(one, ".part-1", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CU_ASSERT_EQUAL(unlinkat(root, "a/b b", AT_REMOVEDIR), 0);
    CU_ASSERT_EQUAL(unlinkat(root, "a", AT_REMOVEDIR), 0);
    CU_ASSERT_TRUE(safe_dir_is_empty(root, ".part-"));
}

static void no_name_leads_out(void) {
    static char deep[2 * SAFE_DIR_DEPTH_MAX + 8];
    static char longest[SAFE_DIR_NAME_MAX + 2];
    for (size_t i = 0; i <= SAFE_DIR_DEPTH_MAX; i++)
        memcpy(deep + 2 * i, "a/", 3);
    memset(longest, 'a', SAFE_DIR_NAME_MAX + 1);
    const char *const bad[] = {"",     "..",    ".",    "../x",   "a/../../x", "/etc/x",
                               "a//b", "a/./b", "a/..", "a/b/..", "link/x",    "a/link/x",
                               deep,   longest, "a/",   "file/x"};
    char name[SAFE_DIR_NAME_MAX + 1];
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/safe", unit_temp_dir());
    cleanup_fd int root = safe_dir_open(path, NULL);
    CU_ASSERT_EQUAL(mkdirat(root, "a", 0755), 0);
    CU_ASSERT_EQUAL(symlinkat("..", root, "link"), 0);
    CU_ASSERT_EQUAL(symlinkat("/tmp", root, "a/link"), 0);
    cleanup_fd int file = openat(root, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(safe_dir_enter(root, bad[i], name, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
}

static void room_is_asked_for(void) {
    struct error err = {0};
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(safe_dir_check_room(root, 1, NULL), 0);
    CU_ASSERT_EQUAL(safe_dir_check_room(root, INT64_MAX, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "8796093022207 MiB are to come");
}

UNIT_SUITE("transfer.safe_dir", UNIT(a_path_is_made_below_the_root), UNIT(no_name_leads_out),
           UNIT(room_is_asked_for))
