/* One file brought here in the best way that there is: from another host that has it
 * (peers/peer.h), from its source in pieces (ranges.h), or from its source in one stream (fetch.h).
 * What another host does not have, or has in another version or without the MD5 that the listing
 * tells, comes from the source, and what does not come in pieces in one stream. */
#ifndef FETCH_BRING_H
#define FETCH_BRING_H

#include "entrypoint/transfer/fetch/fetch.h"
#include "entrypoint/transfer/fetch/ranges.h"
#include "entrypoint/transfer/peers/passing.h"

struct bring_order {
    struct fetch_order source;
    struct passing *passing; /* NULL: no other hosts */
    const char *task;        /* by its name there */
    void (*say)(const char *line);
    /* Once, at the end; the bring may go away. FAILURE is NULL where the file is here. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* In place until `ended`. */
struct bring {
    struct bring_order order;
    struct fetch_order source; /* with an end of our own */
    struct pool *pool;
    struct fetch fetch;
    struct ranges *ranges;        /* owned; NULL: not in pieces */
    struct shelf_facts facts;     /* of what is here, at the end */
    char doubted[DIGEST_HEX_MAX]; /* SHA-256 of what another host has given; "": nothing */
};

void bring_start(struct bring *b, const struct bring_order *order, struct pool *pool);

/* Begins another piece of it where there is one to begin; to be called when the pool has room. */
bool bring_more(struct bring *b);

/* Verifies a little of what is here; to be called at every turn of the pool (its `aside`). False
 * where there is nothing to verify; else it may have ended. */
bool bring_verify(struct bring *b);

#endif
