/* Search for the master, by a worker.
 *
 * In the first role the master is the first host, later the host that takes over from a lost one.
 * If other hosts may be the master (role_state.h) they are dialled as well, one after the other:
 * only a master listens. */
#ifndef ENTRYPOINT_HOST_FAILOVER_FIND_MASTER_H
#define ENTRYPOINT_HOST_FAILOVER_FIND_MASTER_H

#include "entrypoint/wire/dial.h"

#include <openssl/types.h>

struct services;

/* A first host that is restarted in less belongs to another run. */
enum { FIND_MASTER_UNREACHABLE_SECONDS = 2 };

struct find_master {
    const struct services *services; /* NULL: never started */
    SSL_CTX *tls;                    /* of the job; borrowed */
    const struct dial_events *events;
    void *context;
    struct dial dial;
    struct timer turn; /* then the next host is dialled */
    bool vain;         /* `round_failed` was called */
    char address[NET_ADDRESS_TEXT];
};

/* Starts, with SERVICES' loop, reaper, job and role state. EVENTS are those of a dial, except
 * `round_failed`: it means that no host is the master any more. That is so if this host was not cut
 * off, only the first host can be the master, and nothing has listened there for
 * FIND_MASTER_UNREACHABLE_SECONDS. When an event comes, the first host of the job's cluster is the
 * one that it concerns. */
void find_master_start(struct find_master *k, const struct services *services, SSL_CTX *tls,
                       const struct dial_events *events, void *context);
void find_master_stop(struct find_master *k);

/* The host that was reached cannot admit this one yet: continues after a pause. */
void find_master_later(struct find_master *k);

/* Returns why there is no link yet. */
const struct error *find_master_why(const struct find_master *k);

#endif
