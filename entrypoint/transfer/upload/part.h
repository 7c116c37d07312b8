/* Upload of a file, or of one part of it, to S3.
 *
 * Its MD5 is sent for the server to check, its SHA-256 is signed, and the returned ETag, if it is
 * an MD5, must match: else it is sent again. */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_PART_H
#define ENTRYPOINT_TRANSFER_UPLOAD_PART_H

#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/http/exchange_pool.h"
#include "entrypoint/transfer/s3/s3.h"

struct part_order {
    struct s3 *s3;
    const char *bucket;
    const char *key;
    const char *name;      /* for people */
    const char *upload_id; /* NULL: a whole object */
    unsigned number;       /* of the part, from 1 on */
    int fd;
    int64_t offset;
    int64_t size;
    int64_t *sent; /* counter of sent bytes of all files */
    /* Called once, at the end; the object may be freed then. FAILURE is NULL on success. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* Must stay in place until `ended`. */
struct part {
    struct part_order order;
    struct exchange exchange;
    bool digested;
    unsigned char md5[DIGEST_MD5];
    char sha256[DIGEST_HEX_MAX];
    char etag[EXCHANGE_FIELD_MAX]; /* the server's */
};

void part_start(struct part *p, const struct part_order *order, struct exchange_pool *pool);

#endif
