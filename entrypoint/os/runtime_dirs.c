#include "entrypoint/os/runtime_dirs.h"

#include "common/cleanup.h"
#include "common/file/descriptors.h"
#include "common/str.h"
#include "entrypoint/os/run_as.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lock (flock) is what tells a folder in use from one that a killed process has left: the
 * kernel releases it with the last descriptor. Users hold it shared, and removing needs it
 * exclusively, without waiting.
 *
 * Places such as /tmp are open to all users. Folders are therefore entered by descriptors, never by
 * a path that was checked before, and only those of this user with mode 0700 are touched. */

/* A folder may be removed between being created and locked; it is then created again. */
enum { TRIES = 100, DEEPEST = 32 };

/* Also true of a folder that belongs to the user that programs run as. */
static bool is_ours(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && run_as_is_ours(st.st_uid) &&
           (st.st_mode & 07777) == 0700;
}

/* Returns true if PATH still leads to the folder of FD. A path may lead to another folder of the
 * same name by now. */
static bool is_still(const char *path, int fd) {
    struct stat there;
    struct stat here;
    return lstat(path, &there) == 0 && fstat(fd, &here) == 0 && there.st_ino == here.st_ino &&
           there.st_dev == here.st_dev;
}

/* Returns a descriptor of the folder, locked; -1 with *RET_GONE and no error if it was removed
 * meanwhile. An exclusive lock means that another process is removing it, which counts as gone. */
static int hold(const char *path, bool *ret_gone, struct error *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret_gone = fd < 0 && errno == ENOENT;
    if (*ret_gone)
        return -1;
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
    if (!is_ours(fd))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "%s must be a directory that only this user can enter", path);
    *ret_gone = flock(fd, LOCK_SH | LOCK_NB) != 0 || !is_still(path, fd);
    return *ret_gone ? -1 : take_fd(&fd);
}

/* LOCK may be -1, for a folder that was never made. */
bool runtime_dirs_is_there(const char *path, int lock) {
    return lock >= 0 && is_still(path, lock) && is_ours(lock);
}

/* A folder that is there already may be another process's of the same user; both then hold it. */
int runtime_dirs_make(const char *path, struct error *err) {
    for (int i = 0; i < TRIES; i++) {
        bool gone = false;
        bool made = mkdir(path, 0700) == 0;
        if (!made && errno != EEXIST)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
        if (made && run_as_give(path, err) != 0)
            return -1;
        int fd = hold(path, &gone, err);
        if (fd >= 0 || !gone)
            return fd;
    }
    return error_set(err, EXIT_CODE_INTERNAL, "%s: another process keeps removing it", path);
}

/* The XXXXXX is restored before each try, as mkdtemp() has replaced it. */
int runtime_dirs_make_new(char *path, struct error *err) {
    char *end = path + strlen(path) - strlen("XXXXXX");
    for (int i = 0; i < TRIES; i++) {
        bool gone = false;
        memcpy(end, "XXXXXX", strlen("XXXXXX"));
        if (mkdtemp(path) == NULL)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
        if (run_as_give(path, err) != 0)
            return -1;
        int fd = hold(path, &gone, err);
        if (fd >= 0 || !gone)
            return fd;
    }
    return error_set(err, EXIT_CODE_INTERNAL, "%s: another process keeps removing it", path);
}

/* --- removing -------------------------------------------------------------------------------- */

/* The two entries that each folder has. */
static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Empties the folder FD and closes it. Descends into subfolders, but not into other file systems or
 * links. DEVICE is that of the first folder. What cannot be removed stays. */
static void empty(int fd, dev_t device, int depth) {
    struct stat st;
    bool enter = fstat(fd, &st) == 0 && st.st_dev == device && depth < DEEPEST;
    DIR *folder = enter ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        (void)close(fd);
        return;
    }
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (is_dots(e->d_name) || unlinkat(fd, e->d_name, 0) == 0)
            continue;
        int below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        empty(below, device, depth + 1);
        (void)unlinkat(fd, e->d_name, AT_REMOVEDIR);
    }
    (void)closedir(folder);
}

/* FD is our folder NAME in the folder PLACE, and remains the caller's. Returns false if a process
 * holds it, or something in it cannot be removed. empty() closes its descriptor, so it gets one of
 * its own. */
static bool remove_unheld(int place, const char *name, int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0)
        return false;
    /* An open file of its own: fdopendir() takes the descriptor over. */
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return false;
    empty(copy, st.st_dev, 0);
    return unlinkat(place, name, AT_REMOVEDIR) == 0;
}

/* A folder at PATH that is not the one of LOCK is left alone: a program may have removed ours. */
void runtime_dirs_remove(const char *path, int lock) {
    if (lock < 0)
        return;
    if (is_still(path, lock))
        (void)remove_unheld(AT_FDCWD, path, lock);
    (void)close(lock);
}

/* Folders of other users, and those in use, are left alone without a word. */
size_t runtime_dirs_sweep(const char *place) {
    size_t count = 0;
    DIR *folder = opendir(place);
    if (folder == NULL)
        return 0;
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (!str_starts_with(e->d_name, RUNTIME_DIRS_PREFIX))
            continue;
        cleanup_fd int fd =
            openat(dirfd(folder), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && is_ours(fd))
            count += remove_unheld(dirfd(folder), e->d_name, fd);
    }
    (void)closedir(folder);
    return count;
}

/* The child inherits locks of this process with its descriptors, so it closes them first of all:
 * its copies would keep folders held. */
void runtime_dirs_sweep_apart(const char *const *places, size_t count) {
    if (fork() != 0)
        return; /* reaped as an orphan; if it could not start, old folders stay a little longer */
    descriptors_close(3);
    for (size_t i = 0; i < count; i++)
        (void)runtime_dirs_sweep(places[i]);
    _exit(0);
}
