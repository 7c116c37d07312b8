/* Which objects lie at an address: all pages of S3's listing, of which those are kept that are
 * meant. */
#ifndef ENTRYPOINT_TRANSFER_S3_LISTING_H
#define ENTRYPOINT_TRANSFER_S3_LISTING_H

#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/objects.h"
#include "entrypoint/transfer/s3/s3.h"

struct listing {
    struct s3 *s3;
    const struct address *at;
    const char *what;               /* for people */
    bool may_be_none;               /* a folder without objects is no error */
    size_t shard, shards;           /* of a folder's objects, in the order of keys, each SHARDSth */
    int64_t deadline;               /* clock_now() */
    void (*mark)(const char *line); /* another page is here; NULL: nobody asks */
    void (*say)(const char *line);  /* what people should know; NULL: nobody asks */
};

/* The object of that name, or those of the folder; FRONT is the length of what their keys have in
 * front of their paths. None is an error, unless there may be none. */
int listing_read(const struct listing *listing, struct objects *ret, size_t *front,
                 struct error *err);

#endif
