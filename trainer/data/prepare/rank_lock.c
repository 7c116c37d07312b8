#include "trainer/data/prepare/rank_lock.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/str.h"
#include "trainer/data/prepare/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK TARGET_OWN "job-"
#define LOCK TARGET_OWN "rank-"

static int name_mark(const char *folder, uint64_t job, char path[PATH_MAX], struct error *err) {
    return snprintf(path, PATH_MAX, "%s/" MARK "%016" PRIx64, folder, job) < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
}

static int refuse(const char *folder, const char *name, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: a rank of another job still writes shards here (it has %s locked); wait "
                     "for its end, or end it",
                     folder, name);
}

/* Removes the lock NAME of an earlier job, unless it is held. */
static int clear_lock(DIR *dir, const char *folder, const char *name, struct error *err) {
    cleanup_fd int fd = openat(dirfd(dir), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refuse(folder, name, err);
    (void)unlinkat(dirfd(dir), name, 0);
    return 0;
}

int rank_lock_clear(const char *folder, struct error *err) {
    DIR *dir = opendir(folder);
    int result = 0;
    if (dir == NULL)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    /* Marks first: a rank that takes its lock after they are gone does not find that of its job. */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (str_starts_with(entry->d_name, MARK))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    rewinddir(dir);
    for (const struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;)
        if (str_starts_with(entry->d_name, LOCK))
            result = clear_lock(dir, folder, entry->d_name, err);
    (void)closedir(dir);
    return result;
}

void rank_lock_remove(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (str_starts_with(entry->d_name, MARK) || str_starts_with(entry->d_name, LOCK))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
}

int rank_lock_mark(const char *folder, uint64_t job, struct error *err) {
    char path[PATH_MAX];
    return name_mark(folder, job, path, err) != 0 ? -1 : file_put(path, "", 0, 0644, err);
}

/* Waits for the mark, which also shows that the folder is there. */
static int await_mark(const char *folder, uint64_t job, int seconds, struct error *err) {
    static const struct timespec nap = {.tv_nsec = 50 * CLOCK_MILLISECOND};
    const int64_t deadline = clock_now() + seconds * CLOCK_SECOND;
    char path[PATH_MAX];
    struct stat status;
    if (name_mark(folder, job, path, err) != 0)
        return -1;
    while (stat(path, &status) != 0) {
        if (errno != ENOENT)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
        if (clock_now() >= deadline)
            return error_set(err, EXIT_CODE_CONFIG,
                             "%s: not the folder that rank 0 writes to: its mark has not appeared "
                             "here within %d s; expected one folder that all ranks share. For a "
                             "copy on each host, start each process without WORLD_SIZE and mpirun",
                             folder, seconds);
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

int rank_lock_take(const char *folder, uint64_t job, int rank, int seconds, struct error *err) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/" LOCK "%d", folder, rank) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
    if (await_mark(folder, job, seconds, err) != 0)
        return -1;
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refuse(folder, path + strlen(folder) + 1, err);
    /* The job may have ended before this rank held its lock, and another may have begun. */
    return await_mark(folder, job, 0, err) != 0 ? -1 : take_fd(&fd);
}
