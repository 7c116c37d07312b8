#include "trainer/data/archive/tar_extract.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/archive/member_path.h"
#include "trainer/data/format/tar_walk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 256 * 1024 };

static int copy(const struct shard_file *from, const struct tar_member *m, int to,
                struct error *err) {
    cleanup_free uint8_t *bytes = malloc(PIECE);
    if (bytes == NULL)
        return error_no_memory(err, "unpacking");
    for (uint64_t at = 0; at < m->size;) {
        const size_t size = m->size - at < PIECE ? (size_t)(m->size - at) : PIECE;
        if (shard_file_read(from, m->offset + at, bytes, size, err) != 0 ||
            file_write_all(to, bytes, size, err) != 0)
            return -1;
        at += size;
    }
    return 0;
}

static int extract(const struct shard_file *from, const struct tar_member *m, const char *path,
                   struct error *err) {
    char temp[4096];
    struct stat status;
    if (stat(path, &status) == 0 && (uint64_t)status.st_size == m->size)
        return 0;
    const int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (copy(from, m, fd, err) == 0)
        return file_publish_commit(fd, temp, path, err);
    file_publish_abort(fd, temp);
    return -1;
}

int tar_extract(const char *path, const char *folder, bool (*wanted)(const char *name),
                size_t *ret_count, struct error *err) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    cleanup_free struct shard_window *window = calloc(1, sizeof(*window));
    cleanup_free struct tar_walk *walk = calloc(1, sizeof(*walk));
    struct tar_member m;
    int more = 0;
    *ret_count = 0;
    if (window == NULL || walk == NULL)
        return error_no_memory(err, "reading a tar file");
    if (shard_file_open(&file, path, err) != 0)
        return -1;
    window->file = &file;
    walk->window = window;
    while ((more = tar_walk_next(walk, &m, err)) == 1) {
        char to[PATH_MAX];
        const char *slash = strrchr(m.path, '/');
        const char *name = slash != NULL ? slash + 1 : m.path;
        if (!m.regular || !member_path_is_name(name) || !wanted(name))
            continue;
        if (snprintf(to, sizeof(to), "%s/%s", folder, name) >= (int)sizeof(to))
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
        if (extract(&file, &m, to, err) != 0)
            return -1;
        ++*ret_count;
    }
    return more;
}
