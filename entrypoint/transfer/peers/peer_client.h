/* The host that this one asks for what it has fetched (peer_server.h). It counts as there when it
 * has answered once, within its patience; as lost when it is not, or when a file could not be
 * fetched from it: then everything else comes from its own source. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_PEER_CLIENT_H
#define ENTRYPOINT_TRANSFER_PEERS_PEER_CLIENT_H

#include "entrypoint/transfer/http/exchange.h"
#include "entrypoint/wire/tls.h"

#include <stdbool.h>
#include <stdint.h>

/* What it answers where a file is still to come, and where it never will. */
enum { PEER_CLIENT_LATER = 404, PEER_CLIENT_NEVER = 410 };

struct peer_client {
    const char *name; /* for people; borrowed */
    const char *url;  /* borrowed; "https://algo-1:7074" */
    unsigned char key[TLS_KEY_SIZE];
    int64_t patience; /* seconds */
    uint64_t steps;   /* how far it has got, as it told last */
    uint64_t moves;   /* how often it told of another step */
    bool met;
    bool lost;
};

/* Waits until it answers; an error where it does not in time. */
int peer_client_meet(struct peer_client *p, struct error *err);

/* The request for the file PATH of the task WHAT. */
int peer_client_prepare(const struct peer_client *p, const char *what, const char *path,
                        struct request *ret, struct error *err);

/* An answer that is no success: 0 where the file is still to come, and to be asked for again. */
int peer_client_refused(struct peer_client *p, const struct answer *answer, struct error *err);

#endif
