/* What S3 calls an object's ETag where it tells the content: the MD5 of all of it, or for one that
 * came in parts the MD5 of the parts' MD5s with "-COUNT" behind it. Servers that encrypt with keys
 * of their own give other texts, which match nothing. */
#ifndef ENTRYPOINT_TRANSFER_S3_ETAG_H
#define ENTRYPOINT_TRANSFER_S3_ETAG_H

#include "entrypoint/transfer/disk/digest.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ETAG_MAX = DIGEST_HEX_MAX + 32 };

/* A larger file goes in parts of... */
#define ETAG_PART (INT64_C(16) << 20)
enum { ETAG_PARTS_MAX = 9000 }; /* S3 takes 10,000 */

/* ... so many bytes each, the last one less; 0 where it goes in one piece. A function of the size
 * alone, so that a later start can tell what lies there. */
int64_t etag_part_size(int64_t size);

/* 32 digits and nothing else. */
bool etag_is_md5(const char *etag);

/* Of SIZE bytes of the file FD. PART 0: in one piece. A file that ends before is an error. */
int etag_of_file(int fd, int64_t size, int64_t part, char ret[ETAG_MAX], struct error *err);

/* What is to be done while a file is read, which may take minutes. */
struct etag_along {
    struct digest *sha; /* where the ETag fits: begun, and all of the file added; or NULL */
    void (*turn)(void *context); /* after each block, some milliseconds of reading */
    void *context;
};

/* Whether ETAG is that of the SIZE bytes of FD, in one piece or in parts of a usual size. ALONG may
 * be NULL. */
bool etag_fits(int fd, int64_t size, const char *etag, const struct etag_along *along);

/* Adds SIZE bytes of FD from OFFSET on to each of the COUNT digests. */
int etag_digest(int fd, int64_t offset, int64_t size, struct digest *const *digests, size_t count,
                struct error *err);

#endif
