/* One large object or file fetched in pieces side by side, for servers that give each connection so
 * much and no more, and so that a start that was killed costs the pieces under way alone
 * (disk/part_file.h). The server is asked first what there is (HEAD); every piece is asked for
 * under the condition that it is still that version, by a strong ETag, and an answer with another
 * one is refused: pieces of two versions never mix. Pieces are digested in order while others come,
 * a block at a time, so that nobody is kept waiting however large a file is that an earlier start
 * has left.
 *
 * Where there is no strong ETag, or it changes behind an address that is not S3's, or the server
 * does not give parts, or all of it together is not what it should be, it ends with `one_stream`:
 * the caller fetches it as fetch.h does. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_RANGES_H
#define ENTRYPOINT_TRANSFER_FETCH_RANGES_H

#include "entrypoint/transfer/disk/part_file.h"
#include "entrypoint/transfer/fetch/stream.h"

#include <stdbool.h>
#include <stdint.h>

/* A smaller file is not worth it. */
#define RANGES_LEAST (INT64_C(64) << 20)
/* Of one file; the pool has room for two such. */
enum { RANGES_WIDTH = 8 };

struct ranges;

struct ranges_piece {
    struct ranges *owner;
    struct exchange exchange;
    uint32_t number;
    int64_t have; /* bytes of it */
    bool busy;
};

/* In place until the order's `ended`, which is called once. */
struct ranges {
    struct stream_order order; /* of no other host */
    struct pool *pool;
    struct exchange question; /* what there is */
    struct part_file file;
    struct ranges_piece pieces[RANGES_WIDTH];
    size_t running;
    uint32_t next;    /* to be begun, if it is not here */
    int64_t digested; /* bytes, from the first on */
    int64_t size;
    char etag[EXCHANGE_FIELD_MAX];
    char sha256[EXCHANGE_FIELD_MAX]; /* as told for all of it */
    char own_sha256[DIGEST_HEX_MAX];
    bool is_md5; /* the ETag */
    bool begun;  /* the server has answered */
    bool one_stream;
    struct digest md5;
    struct digest sha;
    struct error failure; /* the first; code 0: none */
};

void ranges_start(struct ranges *r, const struct stream_order *order, struct pool *pool);

/* Begins another piece where there is one to begin; to be called when the pool has room. */
bool ranges_more(struct ranges *r);

/* Digests a block where there is one; to be called at every turn of the pool (its `aside`). */
bool ranges_digest(struct ranges *r);

#endif
