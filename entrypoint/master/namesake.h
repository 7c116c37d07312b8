/* Another host with the first host's name: a container that an earlier try has left, or the same
 * RINGMASTER_HOST said to two. Each would wait for the others, of whom some find the one and some
 * the other. So the first host looks its own name up, and asks whoever else answers there with the
 * job's key; until that is done it takes no host in. The one that nobody finds by the name, else
 * the one that came later, leaves, and those that have dialled it go on to the other.
 *
 * Where the name leads nowhere, or elsewhere alone, as on a host that was told a wrong name, it
 * asks again from time to time while nobody has joined. */
#ifndef MASTER_NAMESAKE_H
#define MASTER_NAMESAKE_H

#include "common/attempt.h"
#include "common/error.h"
#include "common/net_address.h"
#include "wire/link.h"
#include "wire/resolve.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    NAMESAKE_LOOK_SECONDS = 5, /* for who has been reached to answer */
    NAMESAKE_AGAIN_SECONDS = 5,
};

struct master;

/* Of a struct master (state.h). Zeroed it looks for nobody, and has found nobody. */
struct namesake {
    bool pending;                /* the first look is not over: no host is taken in */
    bool self;                   /* whoever was reached is this process */
    bool astray;                 /* the name does not lead to this host */
    int64_t began;               /* clock_wall(): who came first, where both look */
    char life[ATTEMPT_RUN_SIZE]; /* unlike any other process's */
    struct resolve resolve;
    struct timer deadline; /* of a look */
    struct timer again;
    struct net_address addresses[RESOLVE_MAX];
    size_t count;
    size_t next;
    struct link *link;
};

/* Begins, once the door is open; not where this host knows no way to itself, or cannot look. */
void namesake_open(struct master *m);
void namesake_close(struct master *m);

/* A host at PEER says in MESSAGE that it is the first one. Takes over LINK. */
void namesake_met(struct master *m, struct link *link, const struct net_address *peer,
                  const json_t *message);

/* In the words for all twins: who is at SECOND says the NAME of the one at FIRST. */
int namesake_error(struct error *err, const char *name, const struct net_address *first,
                   const struct net_address *second);

#endif
