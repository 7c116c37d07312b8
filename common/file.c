#include "common/file.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum exit_code file_write_code(int number) {
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ETXTBSY:
        return EXIT_CODE_CONFIG;
    default:
        return EXIT_CODE_INTERNAL;
    }
}

int file_write_all(int fd, const void *bytes, size_t size, struct error *err) {
    const char *p = bytes;
    while (size > 0) {
        ssize_t wrote = write(fd, p, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return error_set_errno(err, file_write_code(errno), "write");
        p += wrote;
        size -= (size_t)wrote;
    }
    return 0;
}

int file_read_exact(int fd, void *bytes, size_t size, struct error *err) {
    char *p = bytes;
    while (size > 0) {
        ssize_t got = read(fd, p, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "read");
        if (got == 0)
            return error_set(err, EXIT_CODE_DATA, "unexpected end of file");
        p += got;
        size -= (size_t)got;
    }
    return 0;
}

static int read_open_file(int fd, struct buf *out, struct error *err) {
    enum { CHUNK = 65536 };
    for (;;) {
        size_t room = out->max - out->size;
        size_t want = room < CHUNK ? room : CHUNK;
        char last; /* one byte past the ceiling tells a full buffer from a file that is too long */
        if (room > 0 && buf_reserve(out, want, err) != 0)
            return -1;
        ssize_t got = room > 0 ? read(fd, out->data + out->size, want) : read(fd, &last, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_DATA, "read");
        if (got == 0)
            return 0;
        if (room == 0)
            return error_set(err, EXIT_CODE_DATA, "more than %zu bytes", out->max);
        out->size += (size_t)got;
        out->data[out->size] = '\0';
    }
}

int file_read(const char *path, struct buf *out, struct error *err) {
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: not a regular file", path);
    if (read_open_file(fd, out, err) != 0)
        return error_wrap(err, "%s", path);
    return 0;
}

static int sync_folder_of(const char *path, struct error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(folder, sizeof(folder), ".");
    else
        snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s: fsync", folder);
    return 0;
}

int file_publish_open(const char *path, char temp[4096], mode_t mode, struct error *err) {
    int length = snprintf(temp, 4096, "%s.XXXXXX", path);
    if (length < 0 || length >= 4096)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, file_write_code(errno), "%s", path);
    if (fchmod(fd, mode) != 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "%s: chmod", temp);
        file_publish_abort(fd, temp);
        return -1;
    }
    return fd;
}

int file_publish_commit(int fd, const char *temp, const char *path, struct error *err) {
    if (fsync(fd) != 0 || rename(temp, path) != 0) {
        (void)error_set_errno(err, file_write_code(errno), "%s: publish", path);
        file_publish_abort(fd, temp);
        return -1;
    }
    (void)close(fd); /* synced: close has nothing left to report */
    return sync_folder_of(path, err);
}

void file_publish_abort(int fd, const char *temp) {
    (void)unlink(temp);
    (void)close(fd);
}

int file_publish(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err) {
    char temp[4096];
    int fd = file_publish_open(path, temp, mode, err);
    if (fd < 0)
        return -1;
    if (file_write_all(fd, bytes, size, err) != 0) {
        file_publish_abort(fd, temp);
        return error_wrap(err, "%s", path);
    }
    return file_publish_commit(fd, temp, path, err);
}

int file_put(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err) {
    (void)unlink(path);
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
    if (file_write_all(fd, bytes, size, err) == 0)
        return 0;
    (void)unlink(path);
    return error_wrap(err, "%s", path);
}

int file_make_dirs(const char *path, struct error *err) {
    char part[PATH_MAX];
    int length = snprintf(part, sizeof(part), "%s", path);
    if (length < 0 || (size_t)length >= sizeof(part))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", path);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s: mkdir", part);
        if (end == '\0')
            break;
        *p = end;
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s: not a folder", path);
    return 0;
}

void file_cloexec_all(void) {
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < limit && fd < 65536; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* EBADF for the ones that are not open */
}
