/* Peers that the master's listener turned away.
 *
 * A ringmaster with another key is logged at once; all other peers (scanners, garbage, silence) are
 * logged at most once a minute. The names of missing hosts are looked up: only if one of them has
 * the address of a peer with another key is the key the reason that it is missing. */
#ifndef ENTRYPOINT_MASTER_STATE_REJECTED_PEERS_H
#define ENTRYPOINT_MASTER_STATE_REJECTED_PEERS_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/wire/resolve.h"

#include <stdint.h>

enum {
    REJECTED_PEERS_MAX = 16,          /* addresses with another key to remember: the latest */
    REJECTED_PEERS_SAID_SECONDS = 60, /* between two log lines about unknown peers */
    REJECTED_PEERS_KEY_SECONDS =
        10, /* between two lines about an address known to have another key */
    REJECTED_PEERS_LOOK_SECONDS = 5, /* between two rounds of looking up the missing hosts */
};

struct rejected_peers {
    struct loop *loop;
    struct reaper *reaper;
    const struct cluster *cluster;
    bool (*is_missing)(void *context, size_t host);
    void *context;
    struct net_address refused[REJECTED_PEERS_MAX];
    size_t refused_count; /* ever */
    int64_t key_said;
    size_t untold; /* peers since the last line about them */
    int64_t said;
    /* the current round of lookups */
    struct resolve resolve;
    size_t host;
    bool looking;
    int64_t looked;
    int known; /* a host with another key; -1: none */
    struct net_address known_address;
};

void rejected_peers_open(struct rejected_peers *s, struct loop *loop, struct reaper *reaper,
                         const struct cluster *cluster,
                         bool (*is_missing)(void *context, size_t host), void *context);
void rejected_peers_close(struct rejected_peers *s);

/* Implements listener_events.turned_away. */
void rejected_peers_add(struct rejected_peers *s, const struct net_address *peer,
                        const struct error *why);

/* Returns the index of a host that is missing because of its key, and its address; -1 if there is
 * none. */
int rejected_peers_host(const struct rejected_peers *s, struct net_address *ret_address);

#endif
