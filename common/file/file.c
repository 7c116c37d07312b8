#include "common/file/file.h"

#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file is published in four steps: open_partial() makes a temporary file beside it, the caller
 * writes, fsync puts the bytes on the disk, and rename() gives them the name. The folder is synced
 * last, because the new name is data of the folder. Renaming before the first fsync would be
 * faster, but a crash could then leave an empty file under the final name.
 *
 * A killed process leaves its temporary file. The lock that open_partial() takes ends with the
 * process, so file_tidy() can remove such a file at any later time without a list of its own. */

/* The listed numbers are faults of the place that the user has chosen. The class of the exit code
 * tells a reader whether to look at settings and disks (EXIT_CODE_CONFIG) or at this program. */
enum exit_code file_write_code(int number) {
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
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

/* Bytes that were written before a failure stay: the caller removes the file. The descriptor has to
 * be a blocking one, as EAGAIN is an error here. */
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

/* For binary formats of known length: an end before SIZE bytes means a file that was cut off, which
 * is a fault of the data. */
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

/* Reads to the end of the file instead of the size that fstat tells: files in /proc say 0, and a
 * growing file may be longer by now. OUT stays NUL-terminated after each step. */
static int read_open_file(int fd, struct buf *out, struct error *err) {
    enum { CHUNK = 65536 };
    for (;;) {
        size_t room = out->max - out->size;
        size_t want = room < CHUNK ? room : CHUNK;
        char last; /* One byte past the maximum tells a full buffer from a file that is too long. */
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

/* fstat looks at the open descriptor, so that the check and the read are about the same file. */
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

/* Makes the name PATH in its folder durable. A path without a slash is in the working directory. */
static int sync_folder_of(const char *path, struct error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(folder, sizeof(folder), ".");
    else
        snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A folder with write but no read permission cannot be synced, and some network file systems do
     * not support it. */
    if (fd < 0 && errno == EACCES)
        return 0;
    if (fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP))
        return 0;
    return error_set_errno(err, file_write_code(errno), "%s: fsync", folder);
}

/* Appended to the name of a file that is being written, followed by six random characters. A try
 * is lost only if file_tidy() of another process hits the moment between making the file and
 * locking it, so a few are enough. */
#define PARTIAL ".partial-"
enum { PARTIAL_RANDOM = 6, PARTIAL_TRIES = 16 };

/* Makes the temporary file. Its writer holds a lock on it as long as it lives, so that file_tidy
 * can tell a file that is being written from one that was left over. */
static int open_partial(const char *path, char temp[4096], struct error *err) {
    for (int i = 0; i < PARTIAL_TRIES; i++) {
        int length = snprintf(temp, 4096, "%s" PARTIAL "XXXXXX", path);
        if (length < 0 || length >= 4096)
            return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", path);
        int fd = mkostemp(temp, O_CLOEXEC);
        if (fd < 0)
            return error_set_errno(err, file_write_code(errno), "%s", path);
        /* Without locks in the file system there is nothing that file_tidy could remove either. */
        bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat st;
        if (!taken && fstat(fd, &st) == 0 && st.st_nlink > 0)
            return fd;
        (void)close(fd); /* removed by file_tidy before it was locked */
    }
    return error_set(err, EXIT_CODE_INTERNAL, "%s: another process keeps removing temporary files",
                     path);
}

/* mkostemp() makes files with mode 0600; MODE is set here, exactly and without the umask. TEMP is
 * in the folder of PATH, since a rename cannot move a file to another file system. */
int file_publish_open(const char *path, char temp[4096], mode_t mode, struct error *err) {
    int fd = open_partial(path, temp, err);
    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) != 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "%s: chmod", temp);
        file_publish_abort(fd, temp);
        return -1;
    }
    return fd;
}

/* The file may have its new name already when this fails, as the folder is synced after the
 * rename. */
int file_publish_commit(int fd, const char *temp, const char *path, struct error *err) {
    if (fsync(fd) != 0 || rename(temp, path) != 0) {
        (void)error_set_errno(err, file_write_code(errno), "%s: publish", path);
        file_publish_abort(fd, temp);
        return -1;
    }
    (void)close(fd); /* already synced, so close has nothing left to report */
    return sync_folder_of(path, err);
}

/* Errors of the removal are dropped: the caller reports why it gave up, and file_tidy() removes
 * what is left. */
void file_publish_abort(int fd, const char *temp) {
    (void)unlink(temp);
    (void)close(fd);
}

/* PATH is untouched on every failure before the rename. */
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

/* O_EXCL and O_NOFOLLOW refuse a name that another process makes between the two calls. A reader
 * may see the file while it is being written. */
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

/* The length of the published name within the name of a temporary file; 0 for any other file. */
static size_t partial_stem(const char *name) {
    const size_t tail = sizeof(PARTIAL) - 1 + PARTIAL_RANDOM;
    size_t length = strlen(name);
    if (length <= tail || strncmp(name + length - tail, PARTIAL, sizeof(PARTIAL) - 1) != 0)
        return 0;
    return length - tail;
}

/* The lock stays held until after the removal, so that open_partial() in another process sees
 * either the lock or a link count of 0, and then makes another file. */
static void remove_unlocked(int folder, const char *name) {
    cleanup_fd int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
}

/* A folder that cannot be opened has nothing to tidy. IS_OURS gets the published name, without the
 * random end, so that one folder can hold temporary files of several programs. */
void file_tidy(const char *folder, bool (*is_ours)(const char *name)) {
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *item = readdir(dir); item != NULL; item = readdir(dir)) {
        char name[NAME_MAX + 1];
        size_t stem = partial_stem(item->d_name);
        (void)snprintf(name, sizeof(name), "%.*s", (int)stem, item->d_name);
        if (stem > 0 && is_ours(name))
            remove_unlocked(dirfd(dir), item->d_name);
    }
    (void)closedir(dir);
}

/* Each part that did not exist is synced by itself: a folder in a folder that is lost in a crash is
 * lost, too. Another process may make the same folders at the same time, so EEXIST is success. What
 * has the name in the end is checked once, at the last part. */
int file_make_dirs(const char *path, struct error *err) {
    char part[PATH_MAX];
    int length = snprintf(part, sizeof(part), "%s", path);
    if (length <= 0)
        return error_set(err, EXIT_CODE_CONFIG, "an empty path");
    if ((size_t)length >= sizeof(part))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", path);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0755) == 0) {
            if (sync_folder_of(part, err) != 0)
                return -1;
        } else if (errno != EEXIST) {
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s: mkdir", part);
        }
        if (end == '\0')
            break;
        *p = end;
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "%s: not a folder", path);
    return 0;
}

/* readlink() adds no NUL and cuts silently; a result as long as the room for it counts as cut. */
int file_self(char *path, size_t size, struct error *err) {
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "/proc/self/exe");
    if ((size_t)length >= size)
        return error_set(err, EXIT_CODE_INTERNAL, "/proc/self/exe: path too long");
    path[length] = '\0';
    return 0;
}
