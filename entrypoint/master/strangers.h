/* Those whom the master's door turned away. The log hears of a ringmaster with another key at once,
 * and of everybody else (scanners, garbage, silence) at most every minute. Whether a missing host
 * is among those with another key is found out by looking up the missing hosts' names: only where
 * one of them has just that address is the key the reason that it is missing. */
#ifndef MASTER_STRANGERS_H
#define MASTER_STRANGERS_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/wire/resolve.h"

#include <stdint.h>

enum {
    STRANGERS_MAX = 16,          /* addresses with another key that are remembered: the latest */
    STRANGERS_SAID_SECONDS = 60, /* between two lines about strangers */
    STRANGERS_KEY_SECONDS = 10,  /* about an address that is known to have another key */
    STRANGERS_LOOK_SECONDS = 5,  /* between two rounds of looking up the missing hosts */
};

struct strangers {
    struct loop *loop;
    struct reaper *reaper;
    const struct cluster *cluster;
    bool (*is_missing)(void *context, size_t host);
    void *context;
    struct net_address refused[STRANGERS_MAX];
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

void strangers_open(struct strangers *s, struct loop *loop, struct reaper *reaper,
                    const struct cluster *cluster, bool (*is_missing)(void *context, size_t host),
                    void *context);
void strangers_close(struct strangers *s);

/* As door_events.turned_away has it. */
void strangers_add(struct strangers *s, const struct net_address *peer, const struct error *why);

/* The index of a host that is missing because of its key, with the address; -1 if none is known. */
int strangers_host(const struct strangers *s, struct net_address *ret_address);

#endif
