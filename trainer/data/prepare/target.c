#include "trainer/data/prepare/target.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The plan's file is also the lock: whoever has it locked owns the folder. It is made before
 * anything else and written before the first shard, so that a folder with shards always tells which
 * set they are of.
 *
 * The lock is flock's and belongs to the descriptor. It ends with the process, however that ends,
 * and leaves nothing to be cleaned up. */

#define PLAN_NAME TARGET_OWN "prepare"

enum { PLAN_MAX = 64 * 1024 }; /* bytes of a plan, with a NUL */

/* Closing the descriptor ends the lock; the plan stays in the folder. */
void target_done(struct target *target) {
    if (target->lock >= 0)
        (void)close(target->lock);
    *target = (struct target)TARGET_CLOSED;
}

/* Returns true for names of which a killed run may have left a temporary file. file_tidy removes
 * these, and no others. */
static bool is_ours(const char *name) {
    static const char *const ends[] = {".tar", ".tfrecord", ".rec", ".idx", ".rtix", "classes.txt"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (str_ends_with(name, ends[i]))
            return true;
    return false;
}

/* Fails if FOLDER holds anything that is not of `ringtrain prepare`, and names the first such
 * entry. */
static int check_empty(const char *folder, struct error *err) {
    /* Names that begin with TARGET_OWN are of this program, and do not count. */
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(entries)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !str_starts_with(entry->d_name, TARGET_OWN))
            result = error_set(err, EXIT_CODE_CONFIG,
                               "%s: not empty (%s); expected a new or an empty folder", folder,
                               entry->d_name);
    (void)closedir(entries);
    return result;
}

/* A look without a lock, to fail before hours of downloads; target_open decides. */
int target_check_usable(const char *folder, struct error *err) {
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof(path), "%s/" PLAN_NAME, folder) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
    if (stat(folder, &status) != 0 && errno == ENOENT)
        return 0;
    return stat(path, &status) == 0 ? 0 : check_empty(folder, err);
}

/* Resolves the path of FOLDER, or of the nearest folder above it that exists, as the rest of the
 * path cannot be a link. False if it cannot be resolved. */
static bool resolve(const char *folder, char ret[PATH_MAX]) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
        return false;
    while (realpath(path, ret) == NULL) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT)
            return false;
        if (slash == NULL)
            return realpath(".", ret) != NULL;
        slash[slash == path] = '\0';
    }
    return true;
}

/* Compares resolved paths, so that links and ".." do not hide where the target lies. The last
 * comparison is for a source that is the root folder. */
int target_check_outside(const char *folder, const char *source, struct error *err) {
    char target_path[PATH_MAX], source_path[PATH_MAX];
    struct stat status;
    if (realpath(source, source_path) == NULL || stat(source_path, &status) != 0 ||
        !S_ISDIR(status.st_mode) || !resolve(folder, target_path))
        return 0; /* not a folder, or one that opening tells of */
    const size_t size = strlen(source_path);
    if (strncmp(target_path, source_path, size) != 0 ||
        (target_path[size] != '/' && target_path[size] != '\0' && source_path[size - 1] != '/'))
        return 0;
    return error_set(
        err, EXIT_CODE_USAGE,
        "%s: lies in the source %s, of which it would become a part; expected a folder "
        "outside it",
        folder, source);
}

/* Compares the plan in the folder, which has SIZE bytes, with this one, and sets `resumed`. A plan
 * that is only the beginning of this one was cut off. */
static int check_plan(struct target *t, off_t size, struct error *err) {
    char there[PLAN_MAX] = "";
    if (size >= (off_t)sizeof(there) || pread(t->lock, there, (size_t)size, 0) != size)
        return error_set(err, EXIT_CODE_CONFIG, "%s/" PLAN_NAME ": cannot be read", t->folder);
    t->resumed = strcmp(there, t->plan) == 0;
    /* A run that was killed while it wrote its plan has made nothing yet. */
    if (!t->resumed && strncmp(there, t->plan, (size_t)size) == 0)
        return ftruncate(t->lock, 0) == 0
                   ? check_empty(t->folder, err)
                   : error_set_errno(err, EXIT_CODE_CONFIG, "%s/" PLAN_NAME, t->folder);
    return t->resumed
               ? 0
               : error_set(err, EXIT_CODE_CONFIG,
                           "%s: holds shards of another set or with other flags (its " PLAN_NAME
                           " says which); expected a new or an empty folder",
                           t->folder);
}

/* O_NOFOLLOW: a link of that name could lead the plan into another file. file_tidy comes after the
 * lock, when no other process writes here. */
int target_open(struct target *ret, const char *folder, const char *plan, struct error *err) {
    char path[PATH_MAX];
    struct stat status;
    *ret = (struct target){.folder = folder, .plan = plan, .lock = -1};
    if (file_make_dirs(folder, err) != 0)
        return -1;
    if (snprintf(path, sizeof(path), "%s/" PLAN_NAME, folder) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
    ret->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (ret->lock < 0 || fstat(ret->lock, &status) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (flock(ret->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return error_set(err, EXIT_CODE_CONFIG, "%s: another process writes shards here", folder);
    file_tidy(folder, is_ours);
    return status.st_size > 0 ? check_plan(ret, status.st_size, err) : check_empty(folder, err);
}

/* A look only: other processes may use the room before this one does. */
int target_check_room(const char *folder, int64_t bytes, struct error *err) {
    struct statvfs room;
    if (statvfs(folder, &room) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    /* f_bavail is what a user without special rights may use. */
    const double left = (double)room.f_bavail * (double)room.f_frsize;
    if (left >= (double)bytes)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: %.3f GB are needed and %.3f GB are free; make room, give another folder, "
                     "or --resize the pictures",
                     folder, (double)bytes / 1e9, left / 1e9);
}

/* On the disk before the first shard: after a loss of power no shards are there without a plan. */
int target_commit(struct target *target, struct error *err) {
    if (target->resumed)
        return 0;
    if (file_write_all(target->lock, target->plan, strlen(target->plan), err) != 0 ||
        fsync(target->lock) != 0)
        return error_wrap(err, "%s/" PLAN_NAME, target->folder);
    return 0;
}
