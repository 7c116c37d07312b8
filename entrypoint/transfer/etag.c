#include "transfer/etag.h"

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

static int md5_of(int fd, int64_t offset, int64_t size, struct digest *one,
                  unsigned char ret[DIGEST_SHA256], struct error *err) {
    if (digest_begin(one, DIGEST_OF_MD5, err) != 0 ||
        etag_digest(fd, offset, size, &one, 1, err) != 0)
        return -1;
    return digest_finish(one, ret, err);
}

static int parts_of(int fd, int64_t size, int64_t part, struct digest *one, struct digest *all,
                    char ret[ETAG_MAX], struct error *err) {
    unsigned char raw[DIGEST_SHA256];
    char hex[DIGEST_HEX_MAX];
    int64_t count = 0;
    if (digest_begin(all, DIGEST_OF_MD5, err) != 0)
        return -1;
    for (int64_t at = 0; at < size; at += part, count++)
        if (md5_of(fd, at, size - at < part ? size - at : part, one, raw, err) != 0 ||
            digest_add(all, raw, DIGEST_MD5, err) != 0)
            return -1;
    if (digest_end(all, hex, err) != 0)
        return -1;
    (void)snprintf(ret, ETAG_MAX, "%s-%" PRId64, hex, count);
    return 0;
}

int etag_of_file(int fd, int64_t size, int64_t part, char ret[ETAG_MAX], struct error *err) {
    struct digest one = {0};
    struct digest all = {0};
    unsigned char raw[DIGEST_SHA256];
    int result = -1;
    if (part > 0) {
        result = parts_of(fd, size, part, &one, &all, ret, err);
    } else {
        result = md5_of(fd, 0, size, &one, raw, err);
        if (result == 0)
            digest_hex(raw, DIGEST_MD5, ret);
    }
    digest_done(&one);
    digest_done(&all);
    return result;
}

/* In parts of PART bytes, of which there would be as many as ETAG says. */
static bool fits_parts(int fd, int64_t size, int64_t part, int64_t count, const char *etag) {
    char own[ETAG_MAX];
    return (size + part - 1) / part == count && etag_of_file(fd, size, part, own, NULL) == 0 &&
           strcmp(own, etag) == 0;
}

bool etag_fits(int fd, int64_t size, const char *etag) {
    /* Ours, and what the usual tools send. */
    const int64_t parts[] = {
        etag_part_size(size), 5 * MIB, 8 * MIB, 10 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 100 * MIB};
    char own[ETAG_MAX];
    if (etag_is_md5(etag))
        return etag_of_file(fd, size, 0, own, NULL) == 0 && strcmp(own, etag) == 0;
    const char *dash = strchr(etag, '-');
    if (dash == NULL || dash - etag != MD5_DIGITS || size <= 0)
        return false;
    int64_t count = strtoll(dash + 1, NULL, 10);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i] > 0 && fits_parts(fd, size, parts[i], count, etag))
            return true;
    return false;
}
