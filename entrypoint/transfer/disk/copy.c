#include "entrypoint/transfer/disk/copy.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { BLOCK_SIZE = 1024 * 1024, TEMP_SIZE = 64 };

static int copy_bytes(int from, int64_t size, int to, struct error *err) {
    static char block[BLOCK_SIZE];
    for (int64_t at = 0; at < size;) {
        ssize_t got =
            pread(from, block, size - at < BLOCK_SIZE ? (size_t)(size - at) : BLOCK_SIZE, at);
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "reading");
        if (got == 0)
            return error_set(err, EXIT_CODE_DATA, "the file became shorter while it was read");
        if (file_write_all(to, block, (size_t)got, err) != 0)
            return -1;
        at += got;
    }
    return 0;
}

/* Creates a temporary file in FOLDER with a name that only this process uses. */
static int make_temp(int folder, char name[TEMP_SIZE], struct error *err) {
    static unsigned number;
    (void)snprintf(name, TEMP_SIZE, ".ringmaster-part-%ld-%u", (long)getpid(), number++);
    (void)unlinkat(folder, name, 0);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd >= 0 ? fd : error_set_errno(err, EXIT_CODE_CONFIG, "a new file");
}

static int publish(int fd, int64_t size, int folder, const char *name, struct error *err) {
    char temp[TEMP_SIZE];
    cleanup_fd int to = make_temp(folder, temp, err);
    if (to < 0)
        return -1;
    if (copy_bytes(fd, size, to, err) == 0) {
        if (fsync(to) == 0 && renameat(folder, temp, folder, name) == 0 && fsync(folder) == 0)
            return 0;
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "writing");
    }
    (void)unlinkat(folder, temp, 0);
    return -1;
}

int copy_file(int fd, int64_t size, const char *folder, const char *path, struct error *err) {
    char name[SAFE_DIR_NAME_MAX + 1];
    cleanup_fd int root = safe_dir_open(folder, err);
    if (root < 0)
        return -1;
    if (safe_dir_check_room(root, size, err) != 0)
        return error_wrap(err, "%s", folder);
    cleanup_fd int below = safe_dir_enter(root, path, name, err);
    if (below < 0)
        return -1;
    if (publish(fd, size, below, name, err) != 0)
        return error_wrap(err, "%.256s/%.256s", folder, path);
    return 0;
}

int copy_probe(const char *folder, struct error *err) {
    char temp[TEMP_SIZE];
    cleanup_fd int root = safe_dir_open(folder, err);
    cleanup_fd int fd = root >= 0 ? make_temp(root, temp, err) : -1;
    if (fd < 0)
        return error_wrap(err, "%s", folder);
    (void)unlinkat(root, temp, 0);
    return 0;
}
