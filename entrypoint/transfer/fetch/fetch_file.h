/* One file brought here in the best way that there is: from another host that has it
 * (peers/peer_client.h), from its source in pieces (ranges.h), or from its source in one stream
 * (stream.h). What another host does not have, or has in another version or without the MD5 that
 * the listing tells, comes from the source, and what does not come in pieces in one stream. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_FETCH_FILE_H
#define ENTRYPOINT_TRANSFER_FETCH_FETCH_FILE_H

#include "entrypoint/transfer/fetch/ranges.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "entrypoint/transfer/peers/sharing.h"

struct fetch_file_order {
    struct stream_order source;
    struct sharing *passing; /* NULL: no other hosts */
    const char *task;        /* by its name there */
    void (*say)(const char *line);
    /* Once, at the end; the bring may go away. FAILURE is NULL where the file is here. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* In place until `ended`. */
struct fetch_file {
    struct fetch_file_order order;
    struct stream_order source; /* with an end of our own */
    struct pool *pool;
    struct stream fetch;
    struct ranges *ranges;        /* owned; NULL: not in pieces */
    struct catalog_facts facts;   /* of what is here, at the end */
    char doubted[DIGEST_HEX_MAX]; /* SHA-256 of what another host has given; "": nothing */
};

void fetch_file_start(struct fetch_file *b, const struct fetch_file_order *order,
                      struct pool *pool);

/* Begins another piece of it where there is one to begin; to be called when the pool has room. */
bool fetch_file_more(struct fetch_file *b);

/* Verifies a little of what is here; to be called at every turn of the pool (its `aside`). False
 * where there is nothing to verify; else it may have ended. */
bool fetch_file_verify(struct fetch_file *b);

#endif
