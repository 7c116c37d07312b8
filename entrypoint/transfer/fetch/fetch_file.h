/* Download of one file in the best available way: from another host that has it
 * (peers/peer_client.h), from its source in parallel ranges (ranges.h), or from its source in one
 * stream (stream.h).
 *
 * A file without a source comes from another host alone (fetch/first_folder.h). What another host
 * does not have, or has in another version or without the MD5 of the listing,
 * comes from the source; what cannot be split comes in one stream. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_FETCH_FILE_H
#define ENTRYPOINT_TRANSFER_FETCH_FETCH_FILE_H

#include "entrypoint/transfer/fetch/ranges.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "entrypoint/transfer/peers/sharing.h"

struct fetch_file_order {
    struct stream_order source;
    struct sharing *passing; /* NULL: no other hosts */
    const char *task;        /* its name there */
    void (*say)(const char *line);
    /* Called once, at the end; the object may be freed then. FAILURE is NULL if the file is here.
     */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* Must stay in place until `ended`. */
struct fetch_file {
    struct fetch_file_order order;
    struct stream_order source; /* with fetch_file.c's own callback */
    struct exchange_pool *pool;
    struct stream fetch;
    struct ranges *ranges;        /* owned; NULL: not split */
    struct catalog_facts facts;   /* of the file, at the end */
    char doubted[DIGEST_HEX_MAX]; /* SHA-256 of what another host sent; "": nothing */
};

void fetch_file_start(struct fetch_file *b, const struct fetch_file_order *order,
                      struct exchange_pool *pool);

/* Begins another part if there is one; call it when the pool has room. */
bool fetch_file_more(struct fetch_file *b);

/* Verifies a block; call it at every turn of the pool (its `aside`). Returns false if there was
 * nothing to verify; otherwise it may have ended. */
bool fetch_file_verify(struct fetch_file *b);

#endif
