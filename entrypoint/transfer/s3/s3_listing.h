/* Listing of the objects at an address: all pages, of which only the matching objects are kept. */
#ifndef ENTRYPOINT_TRANSFER_S3_S3_LISTING_H
#define ENTRYPOINT_TRANSFER_S3_S3_LISTING_H

#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/objects.h"
#include "entrypoint/transfer/s3/s3.h"

struct s3_listing {
    struct s3 *s3;
    const struct address *at;
    const char *what;     /* for people */
    bool may_be_none;     /* a directory without objects is no error */
    size_t shard, shards; /* every SHARDSth of a directory's objects, in the order of keys */
    int64_t deadline;     /* clock_now() */
    void (*mark)(const char *line); /* called for each page; NULL: not needed */
    void (*say)(const char *line);  /* for the log; NULL: not needed */
};

/* Lists the object of that name, or those of the directory; FRONT is the length of the prefix of
 * their keys. None is an error, unless may_be_none. */
int s3_listing_read(const struct s3_listing *listing, struct objects *ret, size_t *front,
                    struct error *err);

#endif
