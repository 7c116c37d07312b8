/* A piece of a file on its way to S3: an object of its own, or a part of one. Its MD5 goes along
 * for the server to check, its SHA-256 is signed, and the ETag that comes back, where it is an MD5,
 * has to be that one: else it is sent again. */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_PART_H
#define ENTRYPOINT_TRANSFER_UPLOAD_PART_H

#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/http/pool.h"
#include "entrypoint/transfer/s3/s3.h"

struct part_order {
    struct s3 *s3;
    const char *bucket;
    const char *key;
    const char *name;      /* for people */
    const char *upload_id; /* NULL: an object of its own */
    unsigned number;       /* of the part, from 1 on */
    int fd;
    int64_t offset;
    int64_t size;
    int64_t *sent; /* bytes that are there, of all; counted along */
    /* Once, at the end; the piece may go away. FAILURE is NULL where it is there. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* In place until `ended`. */
struct part {
    struct part_order order;
    struct exchange exchange;
    bool digested;
    unsigned char md5[DIGEST_MD5];
    char sha256[DIGEST_HEX_MAX];
    char etag[EXCHANGE_FIELD_MAX]; /* the server's */
};

void part_start(struct part *p, const struct part_order *order, struct pool *pool);

#endif
