#include "trainer/data/format/shard_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int shard_file_open(struct shard_file *ret, const char *path, struct error *err) {
    struct stat status;
    *ret = (struct shard_file){.fd = -1, .path = path};
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *ret = (struct shard_file){fd, path, (uint64_t)status.st_size};
    if (S_ISREG(status.st_mode))
        return 0;
    shard_file_done(ret);
    return error_set(err, EXIT_CODE_DATA, "%s: not a regular file", path);
}

void shard_file_done(struct shard_file *file) {
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

int shard_file_bad(const struct shard_file *file, uint64_t offset, struct error *err,
                   const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return error_set(err, EXIT_CODE_DATA, "%s: at byte %" PRIu64 ": %s", file->path, offset, text);
}

/* Reads up to SIZE bytes, fewer at the end of the file. */
static int read_some(const struct shard_file *file, uint64_t offset, uint8_t *to, size_t size,
                     size_t *ret_got, struct error *err) {
    size_t got = 0;
    while (got < size) {
        ssize_t now = pread(file->fd, to + got, size - got, (off_t)(offset + got));
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s: reading %zu bytes at byte %" PRIu64,
                                   file->path, size, offset);
        if (now == 0)
            break;
        got += (size_t)now;
    }
    *ret_got = got;
    return 0;
}

static int check_range(const struct shard_file *file, uint64_t offset, size_t size,
                       struct error *err) {
    if (offset <= file->size && size <= file->size - offset)
        return 0;
    return shard_file_bad(file, offset, err,
                          "the file ends at byte %" PRIu64 ", %zu bytes are expected here",
                          file->size, size);
}

int shard_file_read(const struct shard_file *file, uint64_t offset, void *ret, size_t size,
                    struct error *err) {
    size_t got = 0;
    if (check_range(file, offset, size, err) != 0 ||
        read_some(file, offset, ret, size, &got, err) != 0)
        return -1;
    return got == size ? 0
                       : shard_file_bad(file, offset, err,
                                        "the file has become shorter: %zu of %zu bytes are there",
                                        got, size);
}

int shard_file_load(const struct shard_file *file, uint64_t offset, uint64_t size, struct buf *out,
                    struct error *err) {
    buf_consume(out, out->size);
    if (buf_reserve(out, (size_t)size, err) != 0)
        return error_wrap(err, "%s: at byte %" PRIu64, file->path, offset);
    if (shard_file_read(file, offset, out->data, (size_t)size, err) != 0)
        return -1;
    out->size = (size_t)size;
    out->data[out->size] = '\0';
    return 0;
}

const uint8_t *shard_window_get(struct shard_window *w, uint64_t offset, size_t size,
                                struct error *err) {
    assert(size <= SHARD_WINDOW_SIZE);
    if (check_range(w->file, offset, size, err) != 0)
        return NULL;
    if (offset >= w->at && offset - w->at <= w->size && size <= w->size - (offset - w->at))
        return w->bytes + (offset - w->at);
    w->at = offset;
    w->size = 0;
    if (read_some(w->file, offset, w->bytes, sizeof(w->bytes), &w->size, err) != 0)
        return NULL;
    if (size <= w->size)
        return w->bytes;
    (void)shard_file_bad(w->file, offset, err, "the file has become shorter");
    return NULL;
}
