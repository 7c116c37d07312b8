#include "common/file/file.h"
#include "entrypoint/mpi/session_dirs.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct control_socket local;
static char run[17];

/* Names the run as the master would, with a name that no other run has. */
static void settle(void) {
    (void)snprintf(local.folder, sizeof(local.folder), "%s", unit_temp_dir());
    (void)snprintf(run, sizeof(run), "%016llx", 0xabcd000000000000ULL + (unsigned)getpid());
}

static void fill(const char *folder) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/deep/er", folder);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/deep/segment", folder);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0600, NULL), 0);
}

static void both_folders_go_with_all_that_is_in_them(void) {
    struct session_dirs s = {0};
    struct session_dirs before;
    struct stat st;
    settle();
    CU_ASSERT_EQUAL_FATAL(session_dirs_open(&s, &local, run, 3, NULL), 0);
    before = s;
    CU_ASSERT_EQUAL(session_dirs_open(&s, &local, run, 3, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&s, &before, sizeof(s)), 0);
    CU_ASSERT_EQUAL(lstat(s.temporary, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0700);
    fill(s.temporary);
    if (access("/dev/shm", W_OK) == 0) {
        ASSERT_CONTAINS(s.shared, "/dev/shm/ringmaster-run-abcd");
        CU_ASSERT_EQUAL(lstat(s.shared, &st), 0);
        CU_ASSERT_EQUAL(st.st_mode & 07777, 0700);
        fill(s.shared);
    }
    session_dirs_close(&s);
    CU_ASSERT_NOT_EQUAL(access(before.temporary, F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(before.shared, F_OK), 0);
    session_dirs_close(&s);
}

static void what_somebody_else_put_there_is_not_taken(void) {
    struct session_dirs s = {0};
    struct error err = {0};
    char path[512];
    settle();
    (void)snprintf(path, sizeof(path), "%s/tmp", local.folder);
    CU_ASSERT_EQUAL_FATAL(symlink("/", path), 0);
    CU_ASSERT_EQUAL(session_dirs_open(&s, &local, run, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "tmp");
    CU_ASSERT_EQUAL(access("/", F_OK), 0);
    (void)unlink(path);
}

UNIT_SUITE("mpi.session_dirs", UNIT(both_folders_go_with_all_that_is_in_them),
           UNIT(what_somebody_else_put_there_is_not_taken))
