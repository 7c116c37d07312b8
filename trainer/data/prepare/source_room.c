#include "trainer/data/prepare/source_room.h"

#include "common/file/file.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/data/archive/gunzip.h"
#include "trainer/data/prepare/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_any(const char *name) {
    (void)name;
    return true;
}

int source_room_open(struct source_room *ret, const char *target, struct error *err) {
    *ret = (struct source_room){.target = target, .lock = -1};
    if (snprintf(ret->folder, sizeof(ret->folder), "%s/" TARGET_OWN "source", target) >= PATH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", target);
    if (target_check_usable(target, err) != 0 || file_make_dirs(ret->folder, err) != 0)
        return -1;
    ret->lock = open(ret->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (ret->lock < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", ret->folder);
    if (flock(ret->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return error_set(err, EXIT_CODE_CONFIG, "%s: another process unpacks archives here",
                         target);
    file_tidy(ret->folder, is_any);
    return 0;
}

/* NAME without ".gz" or ".tgz", and the size of the archive, so that another one of the same name
 * is not taken for it. */
static int name_plain(const struct source_room *room, const char *path, char plain[PATH_MAX],
                      struct error *err) {
    struct stat status;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *suffix = str_ends_with(name, ".tgz")  ? ".tgz"
                         : str_ends_with(name, ".gz") ? ".gz"
                                                      : "";
    if (stat(path, &status) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    return snprintf(plain, PATH_MAX, "%s/%lld-%.*s%s", room->folder, (long long)status.st_size,
                    (int)(strlen(name) - strlen(suffix)), name,
                    strcmp(suffix, ".tgz") == 0 ? ".tar" : "") < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", path);
}

int source_room_plain(const struct source_room *room, const char *path, char plain[PATH_MAX],
                      struct error *err) {
    struct stat status;
    int64_t size = 0;
    if (!gunzip_is(path))
        return snprintf(plain, PATH_MAX, "%s", path) < PATH_MAX
                   ? 0
                   : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", path);
    if (name_plain(room, path, plain, err) != 0)
        return -1;
    if (stat(plain, &status) == 0)
        return 0;
    if (gunzip_size(path, &size, err) != 0 || target_check_room(room->target, size, err) != 0)
        return -1;
    log_info("unpacking %s, %.1f MB", path, (double)size / 1e6);
    return gunzip_file(path, plain, err);
}

void source_room_remove(struct source_room *room) {
    DIR *entries = opendir(room->folder);
    if (entries == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
    (void)closedir(entries);
    (void)rmdir(room->folder);
}

void source_room_done(struct source_room *room) {
    if (room->lock >= 0)
        (void)close(room->lock);
    room->lock = -1;
}
