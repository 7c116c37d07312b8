#include "trainer/data/coco/coco_json.h"

#include "common/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

static const struct {
    const char *start;
    size_t size;
    const char *what;
} FOREIGN[] = {
    {"\x1f\x8b", 2, "packed with gzip; unpack it first"},
    {"BZh", 3, "packed with bzip2; unpack it first"},
    {"\xfd"
     "7zXZ",
     5, "packed with xz; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, "packed with zstd; unpack it first"},
    {"PK\x03\x04", 4, "a zip archive; unpack it first"},
    {"\xef\xbb\xbf", 3, "UTF-8 with a byte order mark; save it without the mark"},
    {"\xff\xfe", 2, "UTF-16; save it as UTF-8"},
    {"\xfe\xff", 2, "UTF-16; save it as UTF-8"},
    {"{\0", 2, "UTF-16; save it as UTF-8"},
    {"[\0", 2, "UTF-16; save it as UTF-8"},
    {"\0{", 2, "UTF-16; save it as UTF-8"},
    {"\0[", 2, "UTF-16; save it as UTF-8"},
};

int coco_json_open(struct json_stream *s, const char *path, struct error *err) {
    char head[8];
    if (json_stream_open(s, path, err) != 0)
        return -1;
    ssize_t size = pread(s->fd, head, sizeof(head), 0);
    for (size_t i = 0; size > 0 && i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++)
        if ((size_t)size >= FOREIGN[i].size && memcmp(head, FOREIGN[i].start, FOREIGN[i].size) == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: this is %s", path, FOREIGN[i].what);
    return 0;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    return hash ^ hash >> 29;
}

int coco_json_key(int fd, const char *path, struct coco_key *ret, struct error *err) {
    cleanup_free char *piece = malloc(PIECE + sizeof(uint64_t));
    if (piece == NULL)
        return error_no_memory(err, "reading annotations");
    struct coco_key key = {0};
    size_t filled = 0;
    for (;;) {
        ssize_t got = pread(fd, piece + filled, PIECE - filled, (off_t)key.size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
        key.size += (uint64_t)got;
        filled += (size_t)got;
        if (got > 0 && filled < PIECE)
            continue;
        memset(piece + filled, 0, sizeof(uint64_t));
        for (size_t at = 0; at < filled; at += sizeof(uint64_t)) {
            uint64_t word;
            memcpy(&word, piece + at, sizeof(word));
            key.hash = mix(key.hash, word);
        }
        filled = 0;
        if (got == 0)
            break;
    }
    key.hash = mix(key.hash, key.size);
    *ret = key;
    return 0;
}
