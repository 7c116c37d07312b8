#include "entrypoint/transfer/s3/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024, MD5_DIGITS = 2 * DIGEST_MD5 };
#define MIB (INT64_C(1) << 20)

int64_t etag_part_size(int64_t size) {
    if (size <= ETAG_PART)
        return 0;
    int64_t part = (size + ETAG_PARTS_MAX - 1) / ETAG_PARTS_MAX;
    part = (part + MIB - 1) / MIB * MIB;
    return part > ETAG_PART ? part : ETAG_PART;
}

bool etag_is_md5(const char *etag) {
    return etag != NULL && strlen(etag) == MD5_DIGITS &&
           strspn(etag, "0123456789abcdef") == MD5_DIGITS;
}

int etag_digest(int fd, int64_t offset, int64_t size, struct digest *const *digests, size_t count,
                struct error *err) {
    static char block[READ_SIZE];
    while (size > 0) {
        ssize_t got = pread(fd, block, size < READ_SIZE ? (size_t)size : READ_SIZE, offset);
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "reading");
        if (got == 0)
            return error_set(err, EXIT_CODE_DATA, "the file became shorter while it was read");
        for (size_t i = 0; i < count; i++)
            if (digest_add(digests[i], block, (size_t)got, err) != 0)
                return -1;
        offset += got;
        size -= got;
    }
    return 0;
}

/* State of reading one file, and the digests computed from it. */
struct reading {
    int fd;
    const struct etag_along *along; /* or NULL */
    struct digest one;
    struct digest all; /* MD5 over the parts' MD5s */
};

static int md5_of(struct reading *r, int64_t at, int64_t size, unsigned char ret[DIGEST_SHA256],
                  struct error *err) {
    struct digest *const both[] = {&r->one, r->along != NULL ? r->along->sha : NULL};
    if (digest_begin(&r->one, DIGEST_OF_MD5, err) != 0)
        return -1;
    for (int64_t end = at + size; at < end; at += READ_SIZE) {
        int64_t block = end - at < READ_SIZE ? end - at : READ_SIZE;
        if (etag_digest(r->fd, at, block, both, both[1] != NULL ? 2 : 1, err) != 0)
            return -1;
        if (r->along != NULL)
            r->along->turn(r->along->context);
    }
    return digest_finish(&r->one, ret, err);
}

static int parts_of(struct reading *r, int64_t size, int64_t part, char ret[ETAG_MAX],
                    struct error *err) {
    unsigned char raw[DIGEST_SHA256];
    char hex[DIGEST_HEX_MAX];
    int64_t count = 0;
    if (digest_begin(&r->all, DIGEST_OF_MD5, err) != 0)
        return -1;
    for (int64_t at = 0; at < size; at += part, count++)
        if (md5_of(r, at, size - at < part ? size - at : part, raw, err) != 0 ||
            digest_add(&r->all, raw, DIGEST_MD5, err) != 0)
            return -1;
    if (digest_end(&r->all, hex, err) != 0)
        return -1;
    (void)snprintf(ret, ETAG_MAX, "%s-%" PRId64, hex, count);
    return 0;
}

static int of_file(struct reading *r, int64_t size, int64_t part, char ret[ETAG_MAX],
                   struct error *err) {
    unsigned char raw[DIGEST_SHA256];
    int result = 0;
    if (r->along != NULL && r->along->sha != NULL)
        result = digest_begin(r->along->sha, DIGEST_OF_SHA256, err);
    if (result == 0 && part > 0) {
        result = parts_of(r, size, part, ret, err);
    } else if (result == 0) {
        result = md5_of(r, 0, size, raw, err);
        if (result == 0)
            digest_hex(raw, DIGEST_MD5, ret);
    }
    digest_done(&r->one);
    digest_done(&r->all);
    return result;
}

int etag_of_file(int fd, int64_t size, int64_t part, char ret[ETAG_MAX], struct error *err) {
    struct reading r = {.fd = fd};
    return of_file(&r, size, part, ret, err);
}

/* Returns true if the file has this ETag with parts of this size. PART 0: uploaded in one piece. */
static bool fits(int fd, int64_t size, int64_t part, const char *etag,
                 const struct etag_along *along) {
    struct reading r = {.fd = fd, .along = along};
    char own[ETAG_MAX];
    return of_file(&r, size, part, own, NULL) == 0 && strcmp(own, etag) == 0;
}

bool etag_fits(int fd, int64_t size, const char *etag, const struct etag_along *along) {
    /* The part size of this program, and those of common tools. */
    const int64_t parts[] = {
        etag_part_size(size), 5 * MIB, 8 * MIB, 10 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 100 * MIB};
    if (etag_is_md5(etag))
        return fits(fd, size, 0, etag, along);
    const char *dash = strchr(etag, '-');
    if (dash == NULL || dash - etag != MD5_DIGITS || size <= 0)
        return false;
    int64_t count = strtoll(dash + 1, NULL, 10);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i] > 0 && (size + parts[i] - 1) / parts[i] == count &&
            fits(fd, size, parts[i], etag, along))
            return true;
    return false;
}
