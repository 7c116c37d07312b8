/* Client for the upstream host, which serves what it has downloaded (peer_server.h).
 *
 * The host counts as available once it has answered within its patience, and as lost when it does
 * not, or when a file could not be downloaded from it: then everything else comes from its own
 * source. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_PEER_CLIENT_H
#define ENTRYPOINT_TRANSFER_PEERS_PEER_CLIENT_H

#include "entrypoint/transfer/http/exchange.h"
#include "entrypoint/wire/tls.h"

#include <stdbool.h>
#include <stdint.h>

/* Its answer if a file is still to come, and if it never will. */
enum { PEER_CLIENT_LATER = 404, PEER_CLIENT_NEVER = 410 };

struct peer_client {
    const char *name; /* for people; borrowed */
    const char *url;  /* borrowed; "https://algo-1:7074" */
    unsigned char key[TLS_KEY_SIZE];
    int64_t patience; /* seconds */
    uint64_t steps;   /* its progress, as last reported */
    uint64_t moves;   /* how often it reported progress */
    bool met;
    bool lost;
};

/* Waits until it answers; an error if it does not in time. */
int peer_client_meet(struct peer_client *p, struct error *err);

/* Prepares the request for the file PATH of the task WHAT. */
int peer_client_prepare(const struct peer_client *p, const char *what, const char *path,
                        struct request *ret, struct error *err);

/* Handles an unsuccessful answer: returns 0 if the file is still to come and should be requested
 * again. */
int peer_client_refused(struct peer_client *p, const struct answer *answer, struct error *err);

#endif
