/* Those whom the master's door turned away. The log hears of a ringmaster with another key at once,
 * and of everybody else (scanners, garbage, silence) at most every minute. Whether a missing host
 * is among those with another key is found out by looking up the missing hosts' names: only where
 * one of them has just that address is the key the reason that it is missing. */
#ifndef ENTRYPOINT_MASTER_REJECTED_PEERS_H
#define ENTRYPOINT_MASTER_REJECTED_PEERS_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/wire/resolve.h"

#include <stdint.h>

enum {
    REJECTED_PEERS_MAX = 16, /* addresses with another key that are remembered: the latest */
    REJECTED_PEERS_SAID_SECONDS = 60, /* between two lines about strangers */
    REJECTED_PEERS_KEY_SECONDS = 10,  /* about an address that is known to have another key */
    REJECTED_PEERS_LOOK_SECONDS = 5,  /* between two rounds of looking up the missing hosts */
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
    size_t untold; /* strangers since the last line about them */
    int64_t said;
    /* the round of looking up */
    struct resolve resolve;
    size_t host;
    bool looking;
    int64_t looked;
    int known; /* a host that has another key; -1: none known */
    struct net_address known_address;
};

void rejected_peers_open(struct rejected_peers *s, struct loop *loop, struct reaper *reaper,
                         const struct cluster *cluster,
                         bool (*is_missing)(void *context, size_t host), void *context);
void rejected_peers_close(struct rejected_peers *s);

/* As door_events.turned_away has it. */
void rejected_peers_add(struct rejected_peers *s, const struct net_address *peer,
                        const struct error *why);

/* The index of a host that is missing because of its key, with the address; -1 if none is known. */
int rejected_peers_host(const struct rejected_peers *s, struct net_address *ret_address);

#endif
