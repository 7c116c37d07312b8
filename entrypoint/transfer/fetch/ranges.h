/* Download of one large object or file in parallel ranges.
 *
 * It is for servers that limit the rate per connection, and a killed run loses only the ranges
 * under way (disk/part_file.h). The server is first asked for size and version (HEAD). Every range
 * is requested under the condition of that version, by a strong ETag, and an answer with another
 * one is refused: ranges of two versions never mix. Ranges are digested in order while others
 * arrive, a block at a time, so that a large file left by an earlier run does not delay the rest.
 *
 * It ends with `one_stream` if there is no strong ETag, if the server gives no ranges, or if the
 * whole is not what it should be. So it does if the ETag changes at an address other than S3's. The
 * caller then uses stream.h. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_RANGES_H
#define ENTRYPOINT_TRANSFER_FETCH_RANGES_H

#include "entrypoint/transfer/disk/part_file.h"
#include "entrypoint/transfer/fetch/stream.h"

#include <stdbool.h>
#include <stdint.h>

/* Smaller files are not split. */
#define RANGES_LEAST (INT64_C(64) << 20)
/* Ranges of one file in parallel; the pool has room for two such files. */
enum { RANGES_WIDTH = 8 };

struct ranges;

struct ranges_piece {
    struct ranges *owner;
    struct exchange exchange;
    uint32_t number;
    int64_t have; /* bytes of it */
    bool busy;
};

/* Must stay in place until the order's `ended`, which is called once. */
struct ranges {
    struct stream_order order; /* of no other host */
    struct exchange_pool *pool;
    struct exchange question; /* the HEAD request */
    struct part_file file;
    struct ranges_piece pieces[RANGES_WIDTH];
    size_t running;
    uint32_t next;    /* the next part to begin, if it is not here */
    int64_t digested; /* bytes from the beginning */
    int64_t size;
    char etag[EXCHANGE_FIELD_MAX];
    char sha256[EXCHANGE_FIELD_MAX]; /* of the whole, as the server gives it */
    char own_sha256[DIGEST_HEX_MAX];
    bool is_md5; /* the ETag */
    bool begun;  /* the server has answered */
    bool one_stream;
    struct digest md5;
    struct digest sha;
    struct error failure; /* the first; code 0: none */
};

void ranges_start(struct ranges *r, const struct stream_order *order, struct exchange_pool *pool);

/* Begins another part if there is one; call it when the pool has room. */
bool ranges_more(struct ranges *r);

/* Digests a block if there is one; call it at every turn of the pool (its `aside`). */
bool ranges_digest(struct ranges *r);

#endif
