#include "common/file/folder_lock.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The lock is flock() on a file in the folder. Two locks in one process conflict like those of two,
 * since each opens the file by itself. That is why most cases need no second process. Failures of
 * flock() are injected by the linker's --wrap, as no file system gives them on demand. */

static struct error err;

/* This program is linked with --wrap for flock (tests/room.cmake). */
static int failing_lock; /* errno; 0: none */

/* The names that the linker gives: the real function, and the one that replaces it in all files of
 * this program. */
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation) {
    if (failing_lock == 0)
        return __real_flock(fd, operation);
    errno = failing_lock;
    if (failing_lock == EINTR)
        failing_lock = 0;
    return -1;
}

/* Takes the lock as "job one" in the test's folder, and returns whether it was free. HOLDER is
 * filled with rubbish first: it has to be a valid text in either case. */
static bool take(struct folder_lock *lock, char holder[FOLDER_LOCK_TEXT]) {
    bool taken = false;
    memset(holder, '?', FOLDER_LOCK_TEXT);
    CU_ASSERT_EQUAL(folder_lock_take(lock, unit_temp_dir(), "job one", holder, &taken, &err), 0);
    CU_ASSERT_EQUAL(lock->held, taken);
    if (taken)
        CU_ASSERT_STRING_EQUAL(holder, "");
    return taken;
}

/* The file is removed with the lock, and a lock that was refused removes nothing. After the first
 * holder has left, the second one can take it by the same structure. */
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

/* The holder is killed and cannot tidy up: only the kernel's release counts. The pipe tells when
 * the child has the lock, so no time is waited for. Its name is readable meanwhile, for the message
 * to the user. */
static void it_ends_with_its_holder(void) {
    struct folder_lock lock = {0};
    char holder[FOLDER_LOCK_TEXT];
    int ends[2];
    char byte = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    /* The child holds the lock until it is killed: pause() never returns on its own. */
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

/* A file with more text than HOLDER has room for is cut, without overflow. The first text here is
 * twice as long as the room. */
static void what_is_reported_of_the_holder_has_a_ceiling(void) {
    struct folder_lock first = {0}, second = {0};
    char holder[FOLDER_LOCK_TEXT], who[2 * FOLDER_LOCK_TEXT];
    bool taken = false;
    /* More than any holder has to say of itself. */
    memset(who, 'w', sizeof(who) - 1);
    who[sizeof(who) - 1] = '\0';
    CU_ASSERT_EQUAL(folder_lock_take(&first, unit_temp_dir(), who, holder, &taken, &err), 0);
    CU_ASSERT_TRUE(taken);
    CU_ASSERT_FALSE(take(&second, holder));
    CU_ASSERT_EQUAL(strlen(holder), FOLDER_LOCK_TEXT - 1);
    folder_lock_done(&first);
    /* A longer text left by a holder that was killed does not show after the next holder's text. */
    char path[600];
    snprintf(path, sizeof(path), "%s/.ringtrain.lock", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(path, "a holder that was killed", 24, 0644, NULL), 0);
    CU_ASSERT_TRUE(take(&first, holder));
    CU_ASSERT_FALSE(take(&second, holder));
    CU_ASSERT_STRING_EQUAL(holder, "job one");
    folder_lock_done(&first);
}

/* Slashes fill the folder's name, so that it is as long as wanted and still exists. The longest
 * path that fits is taken; one byte more is refused, before anything is made. */
static void a_path_that_is_too_long_is_named(void) {
    struct folder_lock lock = {0};
    char holder[FOLDER_LOCK_TEXT], folder[sizeof(lock.path)];
    enum { NAME_SIZE = sizeof("/.ringtrain.lock") - 1 };
    bool taken = false;
    memset(folder, '/', sizeof(folder));
    memcpy(folder, unit_temp_dir(), strlen(unit_temp_dir()));
    folder[sizeof(folder) - 1 - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(folder_lock_take(&lock, folder, "x", holder, &taken, &err), 0);
    CU_ASSERT_TRUE(taken);
    folder_lock_done(&lock);
    folder[sizeof(folder) - 1 - NAME_SIZE] = '/';
    folder[sizeof(folder) - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(folder_lock_take(&lock, folder, "x", holder, &taken, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "path too long");
    CU_ASSERT_FALSE(taken);
}

/* Nothing can be made in /proc, not even by root, as which tests often run. */
static void a_folder_that_takes_no_file_is_named(void) {
    struct folder_lock lock = {0};
    char holder[FOLDER_LOCK_TEXT];
    bool taken = true;
    CU_ASSERT_EQUAL(folder_lock_take(&lock, "/proc/none", "x", holder, &taken, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "/proc/none");
    CU_ASSERT_FALSE(taken);
}

/* These numbers are what file systems without locks return; training must be possible there. EINTR
 * is a signal, after which the call is repeated: the wrapper fails only once then. */
static void a_file_system_without_locks_keeps_nobody_out(void) {
    static const int none[] = {EOPNOTSUPP, ENOSYS, ENOLCK, EINVAL, EINTR};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        struct folder_lock lock = {0};
        char holder[FOLDER_LOCK_TEXT];
        failing_lock = none[i];
        CU_ASSERT_TRUE(take(&lock, holder));
        failing_lock = 0;
        folder_lock_done(&lock);
    }
}

/* Any other number is an answer about nothing: going on could destroy another job's files. The
 * error keeps the number, and names the file. */
static void a_lock_that_fails_is_neither_held_nor_free(void) {
    /* A failing disk, a file server that forgot the file, no memory, no permission. */
    static const int failures[] = {EIO, ESTALE, ENOMEM, EACCES};
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        struct folder_lock lock = {0};
        char holder[FOLDER_LOCK_TEXT];
        bool taken = true;
        failing_lock = failures[i];
        CU_ASSERT_EQUAL(folder_lock_take(&lock, unit_temp_dir(), "x", holder, &taken, &err), -1);
        failing_lock = 0;
        CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == failures[i] && !taken);
        ASSERT_CONTAINS(err.text, ".ringtrain.lock: flock");
    }
}

UNIT_SUITE("common.folder_lock", UNIT(a_file_system_without_locks_keeps_nobody_out),
           UNIT(a_lock_that_fails_is_neither_held_nor_free), UNIT(one_holds_it_and_is_named),
           UNIT(it_ends_with_its_holder), UNIT(what_is_reported_of_the_holder_has_a_ceiling),
           UNIT(a_path_that_is_too_long_is_named), UNIT(a_folder_that_takes_no_file_is_named))
