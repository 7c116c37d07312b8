#include "common/file/folder_lock.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/file_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME ".ringtrain.lock"
enum { TRIES = 16 };

static void read_holder(int fd, char holder[FOLDER_LOCK_TEXT]) {
    ssize_t got = pread(fd, holder, FOLDER_LOCK_TEXT - 1, 0);
    holder[got > 0 ? got : 0] = '\0';
}

/* The previous holder may have removed the file between our open and our lock. */
static int look_again(int fd, const char *path, bool *ret_same, struct error *err) {
    struct stat ours, there;
    bool found = false;
    *ret_same = false;
    if (fstat(fd, &ours) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (file_look(path, &there, &found, err) != 0)
        return -1;
    *ret_same = found && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
    return 0;
}

/* Returns true if a flock failed because the file system does not support locks. */
static bool knows_no_locks(int number) {
    return number == EOPNOTSUPP || number == ENOSYS || number == ENOLCK || number == EINVAL;
}

/* Returns 1 if locked, or if locks are not supported; 0 if another job holds the lock. */
static int lock_file(int fd, const char *path, struct error *err) {
    int failed = 0;
    do
        failed = flock(fd, LOCK_EX | LOCK_NB);
    while (failed != 0 && errno == EINTR);
    if (failed == 0 || knows_no_locks(errno))
        return 1;
    return errno == EWOULDBLOCK ? 0 : error_set_errno(err, EXIT_CODE_CONFIG, "%s: flock", path);
}

int folder_lock_take(struct folder_lock *lock, const char *folder, const char *who,
                     char holder[FOLDER_LOCK_TEXT], bool *ret_taken, struct error *err) {
    *lock = (struct folder_lock){0};
    *ret_taken = false;
    holder[0] = '\0';
    int length = snprintf(lock->path, sizeof(lock->path), "%s/" NAME, folder);
    if (length < 0 || (size_t)length >= sizeof(lock->path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    for (int i = 0; i < TRIES; i++) {
        cleanup_fd int fd =
            open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        if (fd < 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s", lock->path);
        bool same = false;
        int locked = lock_file(fd, lock->path, err);
        if (locked == 0)
            read_holder(fd, holder);
        if (locked <= 0)
            return locked;
        if (look_again(fd, lock->path, &same, err) != 0)
            return -1;
        if (!same)
            continue;
        /* On a full disk the holder's name cannot be written; the lock holds all the same. */
        if (ftruncate(fd, 0) == 0)
            (void)file_write_all(fd, who, strlen(who), NULL);
        lock->fd = take_fd(&fd);
        lock->held = true;
        *ret_taken = true;
        return 0;
    }
    return error_set(err, EXIT_CODE_CONFIG, "%s: the lock changes hands all the time", lock->path);
}

void folder_lock_done(struct folder_lock *lock) {
    if (!lock->held)
        return;
    (void)unlink(lock->path);
    (void)close(lock->fd);
    *lock = (struct folder_lock){0};
}
