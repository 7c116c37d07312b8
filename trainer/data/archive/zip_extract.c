#include "common/binary/little_endian.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/archive/zip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

enum { LOCAL_SIZE = 30, PIECE = 64 * 1024, STORED = 0, ENCRYPTED = 1 };

static const uint32_t local_magic = 0x04034b50;

/* A member on its way from the archive to a file. */
struct extracting {
    const struct zip *zip;
    const struct zip_member *member;
    int fd;
    uint64_t at;   /* offset of the next packed byte */
    uint64_t left; /* packed bytes that are not read */
    uint64_t size; /* bytes written */
    uint32_t crc;
    z_stream stream;
    uint8_t in[PIECE];
    uint8_t out[PIECE];
};

static int bad(const struct extracting *x, const char *what, struct error *err) {
    return shard_file_bad(&x->zip->file, x->member->header, err, "%.100s: %s", x->member->path,
                          what);
}

/* Sets the place of the packed data: the local header has a name and fields of its own. */
static int find_data(struct extracting *x, struct error *err) {
    uint8_t head[LOCAL_SIZE];
    const struct zip_member *m = x->member;
    if ((m->flags & ENCRYPTED) != 0)
        return bad(x, "encrypted: not read", err);
    if (m->method != STORED && m->method != Z_DEFLATED)
        return bad(x, "packed by a method that is not read; expected stored or deflated", err);
    if (shard_file_read(&x->zip->file, m->header, head, sizeof(head), err) != 0)
        return -1;
    if (little_endian_get(head, 4) != local_magic)
        return bad(x, "no header at its place", err);
    x->at =
        m->header + LOCAL_SIZE + little_endian_get(head + 26, 2) + little_endian_get(head + 28, 2);
    x->left = m->packed;
    return 0;
}

static int take_more(struct extracting *x, struct error *err) {
    const size_t size = x->left < PIECE ? (size_t)x->left : PIECE;
    if (shard_file_read(&x->zip->file, x->at, x->in, size, err) != 0)
        return -1;
    x->at += size;
    x->left -= size;
    x->stream.next_in = x->in;
    x->stream.avail_in = (unsigned)size;
    return 0;
}

static int put(struct extracting *x, const uint8_t *bytes, size_t size, struct error *err) {
    x->size += size;
    if (x->size > x->member->size)
        return bad(x, "larger than the directory says", err);
    x->crc = (uint32_t)crc32(x->crc, bytes, (unsigned)size);
    return file_write_all(x->fd, bytes, size, err);
}

static int copy_stored(struct extracting *x, struct error *err) {
    while (x->left > 0)
        if (take_more(x, err) != 0 || put(x, x->in, x->stream.avail_in, err) != 0)
            return -1;
    return 0;
}

static int inflate_all(struct extracting *x, struct error *err) {
    for (int code = Z_OK; code != Z_STREAM_END;) {
        if (x->stream.avail_in == 0 && x->left == 0)
            return bad(x, "its packed data ends too early", err);
        if (x->stream.avail_in == 0 && take_more(x, err) != 0)
            return -1;
        x->stream.next_out = x->out;
        x->stream.avail_out = PIECE;
        code = inflate(&x->stream, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return bad(x, "damaged packed data", err);
        if (put(x, x->out, PIECE - x->stream.avail_out, err) != 0)
            return -1;
    }
    return 0;
}

static int copy_deflated(struct extracting *x, struct error *err) {
    if (inflateInit2(&x->stream, -MAX_WBITS) != Z_OK)
        return error_no_memory(err, "unpacking");
    int result = inflate_all(x, err);
    (void)inflateEnd(&x->stream);
    return result;
}

int zip_extract(const struct zip *zip, const struct zip_member *member, int fd, struct error *err) {
    cleanup_free struct extracting *x = calloc(1, sizeof(*x));
    if (x == NULL)
        return error_no_memory(err, "unpacking");
    x->zip = zip;
    x->member = member;
    x->fd = fd;
    if (find_data(x, err) != 0 ||
        (member->method == STORED ? copy_stored(x, err) : copy_deflated(x, err)) != 0)
        return -1;
    if (x->size != member->size)
        return bad(x, "smaller than the directory says", err);
    return x->crc == member->crc ? 0 : bad(x, "its checksum is wrong", err);
}
