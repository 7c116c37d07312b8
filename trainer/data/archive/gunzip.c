#include "trainer/data/archive/gunzip.h"

#include "common/binary/little_endian.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/format/shard_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 256 * 1024, TRAILER = 8, HEAD = 3 };

static bool begins_so(const struct shard_file *file) {
    uint8_t head[HEAD];
    return shard_file_read(file, 0, head, sizeof(head), NULL) == 0 && head[0] == 0x1f &&
           head[1] == 0x8b && head[2] == Z_DEFLATED;
}

bool gunzip_is(const char *path) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    return shard_file_open(&file, path, NULL) == 0 && begins_so(&file);
}

int gunzip_size(const char *path, int64_t *ret, struct error *err) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    uint8_t trailer[TRAILER] = {0};
    if (shard_file_open(&file, path, err) != 0)
        return -1;
    if (file.size > TRAILER &&
        shard_file_read(&file, file.size - TRAILER, trailer, sizeof(trailer), err) != 0)
        return -1;
    uint64_t size = little_endian_get(trailer + 4, 4);
    /* What cannot be compressed grows a little. */
    while (size + size / 64 + PIECE < file.size)
        size += UINT64_C(1) << 32;
    *ret = (int64_t)size;
    return 0;
}

/* One stream through zlib, and where it comes from and goes to. */
struct unpacking {
    const struct shard_file *from;
    int to;
    uint64_t at;
    z_stream stream;
    uint8_t in[PIECE];
    uint8_t out[PIECE];
};

static int take_more(struct unpacking *u, struct error *err) {
    const uint64_t left = u->from->size - u->at;
    const size_t size = left < PIECE ? (size_t)left : PIECE;
    if (size == 0)
        return shard_file_bad(u->from, u->at, err, "the file ends within its compressed data");
    if (shard_file_read(u->from, u->at, u->in, size, err) != 0)
        return -1;
    u->at += size;
    u->stream.next_in = u->in;
    u->stream.avail_in = (unsigned)size;
    return 0;
}

/* Unpacks one member; a gzip file may have several, one after the other. */
static int unpack_member(struct unpacking *u, struct error *err) {
    for (int code = Z_OK; code != Z_STREAM_END;) {
        if (u->stream.avail_in == 0 && take_more(u, err) != 0)
            return -1;
        u->stream.next_out = u->out;
        u->stream.avail_out = PIECE;
        code = inflate(&u->stream, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return shard_file_bad(u->from, u->at - u->stream.avail_in, err,
                                  "damaged compressed data (%s)",
                                  u->stream.msg != NULL ? u->stream.msg : "zlib gives no reason");
        if (file_write_all(u->to, u->out, PIECE - u->stream.avail_out, err) != 0)
            return -1;
    }
    return 0;
}

static int unpack_all(struct unpacking *u, struct error *err) {
    do {
        if (unpack_member(u, err) != 0)
            return -1;
        if (inflateReset(&u->stream) != Z_OK)
            return error_set(err, EXIT_CODE_INTERNAL, "%s: zlib cannot go on", u->from->path);
    } while (u->stream.avail_in > 0 || u->at < u->from->size);
    return 0;
}

static int unpack(const struct shard_file *from, int to, struct error *err) {
    enum { GZIP_ONLY = 16 };
    cleanup_free struct unpacking *u = calloc(1, sizeof(*u));
    if (u == NULL)
        return error_no_memory(err, "unpacking");
    u->from = from;
    u->to = to;
    if (inflateInit2(&u->stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
        return error_no_memory(err, "unpacking");
    int result = unpack_all(u, err);
    (void)inflateEnd(&u->stream);
    return result;
}

int gunzip_file(const char *from, const char *to, struct error *err) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    char temp[4096];
    if (shard_file_open(&file, from, err) != 0)
        return -1;
    if (!begins_so(&file))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: not compressed with gzip; expected a file of .gz or .tgz", from);
    const int fd = file_publish_open(to, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (unpack(&file, fd, err) == 0)
        return file_publish_commit(fd, temp, to, err);
    file_publish_abort(fd, temp);
    return -1;
}
