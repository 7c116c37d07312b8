/* Another host with the first host's name: a container that an earlier try has left, or the same
 * RINGMASTER_HOST said to two. Each would wait for the others, of whom some find the one and some
 * the other. So the first host looks its own name up, and asks whoever else answers there with the
 * job's key; until that is done it takes no host in. The one that nobody finds by the name, else
 * the one that came later, leaves, and those that have dialled it go on to the other. Raises TWIN.
 *
 * Where the name leads nowhere, or elsewhere alone, as on a host that was told a wrong name, it
 * asks again from time to time while nobody has joined. */
#ifndef ENTRYPOINT_MASTER_DUPLICATE_NAME_H
#define ENTRYPOINT_MASTER_DUPLICATE_NAME_H

#include "entrypoint/master/state.h"

#include <jansson.h>

enum {
    DUPLICATE_NAME_LOOK_SECONDS = 5, /* for who has been reached to answer */
    DUPLICATE_NAME_AGAIN_SECONDS = 5,
};

/* Of the link to who answers to the name; the context is the master. */
extern const struct link_events duplicate_name_events;

/* Begins, once the door is open; not where this host knows no way to itself, or cannot look. */
void duplicate_name_open(struct master *m);
void duplicate_name_close(struct master *m);

/* A host at PEER says in MESSAGE that it is the first one. Takes over LINK. */
void duplicate_name_met(struct master *m, struct link *link, const struct net_address *peer,
                        const json_t *message);

/* In the words for all twins: who is at SECOND says the NAME of the one at FIRST. */
int duplicate_name_error(struct error *err, const char *name, const struct net_address *first,
                         const struct net_address *second);

#endif
