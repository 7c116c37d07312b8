#include "trainer/data/prepare/rank_lock.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static const char *new_target(void) {
    static char target[600];
    static int number;
    (void)snprintf(target, sizeof(target), "%s/target%d", unit_temp_dir(), number++);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(target, NULL), 0);
    return target;
}

static bool is_there(const char *target, const char *name) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", target, name);
    return access(path, F_OK) == 0;
}

static void a_rank_takes_the_lock_of_its_job(void) {
    const char *target = new_target();
    CU_ASSERT_EQUAL_FATAL(rank_lock_mark(target, 7, NULL), 0);
    const int fd = rank_lock_take(target, 7, 3, 60, NULL);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_TRUE(is_there(target, ".ringtrain-rank-3"));
    rank_lock_remove(target);
    CU_ASSERT_FALSE(is_there(target, ".ringtrain-rank-3"));
    CU_ASSERT_FALSE(is_there(target, ".ringtrain-job-0000000000000007"));
    (void)close(fd);
}

static void a_folder_that_is_not_shared_is_refused(void) {
    const char *target = new_target();
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(rank_lock_mark(target, 7, NULL), 0);
    CU_ASSERT_EQUAL(rank_lock_take(target, 8, 3, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "not the folder that rank 0 writes to");
    CU_ASSERT_EQUAL(rank_lock_take("/nowhere/at/all", 8, 3, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

static void a_rank_that_still_writes_keeps_the_next_job_out(void) {
    const char *target = new_target();
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(rank_lock_mark(target, 7, NULL), 0);
    const int fd = rank_lock_take(target, 7, 2, 60, NULL);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(rank_lock_take(target, 7, 2, 60, &err), -1);
    ASSERT_CONTAINS(err.text, ".ringtrain-rank-2");
    CU_ASSERT_EQUAL(rank_lock_clear(target, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, ".ringtrain-rank-2");
    (void)close(fd);
    CU_ASSERT_EQUAL(rank_lock_clear(target, &err), 0);
    CU_ASSERT_FALSE(is_there(target, ".ringtrain-rank-2"));
}

/* Its rank 0 has ended, and another job has begun. */
static void a_rank_of_an_earlier_job_is_late(void) {
    const char *target = new_target();
    CU_ASSERT_EQUAL_FATAL(rank_lock_mark(target, 7, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(rank_lock_clear(target, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(rank_lock_mark(target, 8, NULL), 0);
    CU_ASSERT_EQUAL(rank_lock_take(target, 7, 1, 0, NULL), -1);
    CU_ASSERT_FALSE(is_there(target, ".ringtrain-rank-1"));
}

UNIT_SUITE("data.prepare.rank_lock", UNIT(a_rank_takes_the_lock_of_its_job),
           UNIT(a_folder_that_is_not_shared_is_refused),
           UNIT(a_rank_that_still_writes_keeps_the_next_job_out),
           UNIT(a_rank_of_an_earlier_job_is_late))
