/* S3 ETags that identify content: the MD5 of the whole object, or, if it was uploaded in parts, the
 * MD5 of the parts' MD5s followed by "-COUNT". Servers that encrypt with keys of their own give
 * other texts, which match nothing. */
#ifndef ENTRYPOINT_TRANSFER_S3_ETAG_H
#define ENTRYPOINT_TRANSFER_S3_ETAG_H

#include "entrypoint/transfer/disk/digest.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ETAG_MAX = DIGEST_HEX_MAX + 32 };

/* Larger files are uploaded in parts of... */
#define ETAG_PART (INT64_C(16) << 20)
enum { ETAG_PARTS_MAX = 9000 }; /* S3 takes 10,000 */

/* ... this many bytes, the last one smaller; 0 if it is uploaded whole. A function of the size
 * alone, so that a later run can recognize an upload. */
int64_t etag_part_size(int64_t size);

/* Returns true for 32 hexadecimal digits and nothing else. */
bool etag_is_md5(const char *etag);

/* Computes the ETag of SIZE bytes of the file FD. PART 0: whole. A file that ends before is an
 * error. */
int etag_of_file(int fd, int64_t size, int64_t part, char ret[ETAG_MAX], struct error *err);

/* Work while a file is read, which may take minutes. */
struct etag_along {
    struct digest *sha; /* if the ETag matches: begun, with the whole file added; or NULL */
    void (*turn)(void *context); /* called after each block, some milliseconds of reading */
    void *context;
};

/* Returns true if ETAG is that of the SIZE bytes of FD, whole or in parts of a usual size. ALONG
 * may be NULL. */
bool etag_fits(int fd, int64_t size, const char *etag, const struct etag_along *along);

/* Adds SIZE bytes of FD from OFFSET on to each of the COUNT digests. */
int etag_digest(int fd, int64_t offset, int64_t size, struct digest *const *digests, size_t count,
                struct error *err);

#endif
