#include "checkpoint/folder_lock.h"
#include "support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

static bool take(struct folder_lock *lock, char holder[FOLDER_LOCK_TEXT]) {
    bool taken = false;
    CU_ASSERT_EQUAL(folder_lock_take(lock, unit_temp_dir(), "job one", holder, &taken, &err), 0);
    return taken;
}

static void one_holds_it_and_is_named(void) {
    struct folder_lock first = {0}, second = {0};
    char holder[FOLDER_LOCK_TEXT];
    CU_ASSERT_TRUE(take(&first, holder));
    CU_ASSERT_FALSE(take(&second, holder));
    CU_ASSERT_STRING_EQUAL(holder, "job one");
    folder_lock_done(&second); /* holds nothing, frees nothing */
    CU_ASSERT_FALSE(take(&second, holder));
    folder_lock_done(&first);
    CU_ASSERT_EQUAL(access(first.path, F_OK), -1);
    CU_ASSERT_TRUE(take(&second, holder));
    CU_ASSERT_EQUAL(access(second.path, F_OK), 0);
    folder_lock_done(&second);
}

static void it_ends_with_its_holder(void) {
    struct folder_lock lock = {0};
    char holder[FOLDER_LOCK_TEXT];
    int ends[2];
    char byte = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool taken = false;
        (void)folder_lock_take(&lock, unit_temp_dir(), "job two", holder, &taken, NULL);
        _exit(taken && write(ends[1], "x", 1) == 1 && pause() == 0 ? 0 : 1);
    }
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 1);
    CU_ASSERT_FALSE(take(&lock, holder));
    CU_ASSERT_STRING_EQUAL(holder, "job two");
    kill(child, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_TRUE(take(&lock, holder));
    folder_lock_done(&lock);
    close(ends[0]);
    close(ends[1]);
}

static void a_folder_that_takes_no_file_is_named(void) {
    struct folder_lock lock = {0};
    char holder[FOLDER_LOCK_TEXT];
    bool taken = true;
    CU_ASSERT_EQUAL(folder_lock_take(&lock, "/proc/none", "x", holder, &taken, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "/proc/none");
    CU_ASSERT_FALSE(taken);
}

UNIT_MAIN("checkpoint.folder_lock", UNIT(one_holds_it_and_is_named), UNIT(it_ends_with_its_holder),
          UNIT(a_folder_that_takes_no_file_is_named))
