#include "entrypoint/transfer/disk/safe_dir.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { WAY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

int safe_dir_open(const char *path, struct error *err) {
    if (file_make_dirs(path, err) != 0)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd : error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
}

bool safe_dir_is_empty(int folder, const char *ignored) {
    int copy = openat(folder, ".", WAY);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    bool empty = true;
    if (listing == NULL)
        return true;
    for (const struct dirent *e = NULL; empty && (e = readdir(listing)) != NULL;)
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                str_starts_with(e->d_name, ignored);
    (void)closedir(listing);
    return empty;
}

static bool is_name(const char *part, size_t size) {
    return size > 0 && size <= SAFE_DIR_NAME_MAX && !(size == 1 && part[0] == '.') &&
           !(size == 2 && part[0] == '.' && part[1] == '.');
}

static int fail_part(const char *path, struct error *err) {
    return error_set(err, EXIT_CODE_DATA,
                     "\"%.256s\" is no path for a file: its parts are names of 1 to %d bytes, "
                     "neither \".\" nor \"..\", %d at most",
                     path, SAFE_DIR_NAME_MAX, SAFE_DIR_DEPTH_MAX);
}

/* Opens the folder NAME in FOLDER, and closes FOLDER. */
static int step(int folder, const char *name, const char *path, bool make, struct error *err) {
    if (make && mkdirat(folder, name, 0755) != 0 && errno != EEXIST) {
        (void)error_set_errno(err, file_write_code(errno), "a folder for \"%.256s\"", path);
        (void)close(folder);
        return -1;
    }
    int next = openat(folder, name, WAY);
    if (next < 0)
        (void)error_set(err, EXIT_CODE_DATA,
                        "\"%.256s\": \"%s\" is in the way, as it is no folder or a link", path,
                        name);
    (void)close(folder);
    return next;
}

static int enter(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1], bool make,
                 struct error *err) {
    int folder = openat(root, ".", WAY);
    if (folder < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the folder of \"%.256s\"", path);
    const char *part = path;
    for (unsigned depth = 0; folder >= 0; depth++) {
        size_t size = strcspn(part, "/");
        if (!is_name(part, size) || depth >= SAFE_DIR_DEPTH_MAX) {
            (void)close(folder);
            return fail_part(path, err);
        }
        (void)snprintf(name, SAFE_DIR_NAME_MAX + 1, "%.*s", (int)size, part);
        if (part[size] == '\0')
            return folder;
        folder = step(folder, name, path, make, err);
        part += size + 1;
    }
    return -1;
}

int safe_dir_enter(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1],
                   struct error *err) {
    return enter(root, path, name, true, err);
}

int safe_dir_find(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1]) {
    return enter(root, path, name, false, NULL);
}

int safe_dir_check_room(int root, int64_t bytes, struct error *err) {
    struct statvfs st;
    if (fstatvfs(root, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the disk's room");
    double room = (double)st.f_bavail * (double)st.f_frsize;
    if ((double)bytes <= room)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%" PRId64 " MiB are to come, and the disk has room for %.0f", bytes >> 20,
                     room / 1048576);
}
