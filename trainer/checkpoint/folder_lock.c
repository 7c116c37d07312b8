#include "checkpoint/folder_lock.h"

#include "common/cleanup.h"
#include "common/file.h"

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

/* The holder before may have removed the file between our open and our lock. */
static bool is_still_there(int fd, const char *path) {
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
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
            return error_set_errno(err, file_write_code(errno), "%s", lock->path);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            read_holder(fd, holder);
            return 0;
        }
        if (!is_still_there(fd, lock->path))
            continue;
        /* What cannot be told, on a full disk, is not told. */
        if (ftruncate(fd, 0) == 0)
            (void)file_write_all(fd, who, strlen(who), NULL);
        lock->fd = take_fd(&fd);
        lock->held = true;
        *ret_taken = true;
        return 0;
    }
    return error_set(err, EXIT_CODE_CONFIG, "%s: changes hands all the time", lock->path);
}

void folder_lock_done(struct folder_lock *lock) {
    if (!lock->held)
        return;
    (void)unlink(lock->path);
    (void)close(lock->fd);
    *lock = (struct folder_lock){0};
}
