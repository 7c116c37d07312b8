/* Detection of another host with the first host's name: a container left by an earlier try, or two
 * containers with the same RINGMASTER_HOST.
 *
 * Both would wait for the other hosts, some of which reach the one and some the other. So the first
 * host looks up its own name and asks whatever else answers there with the job's key; until that is
 * done it admits no host. The one that the name does not lead to exits, else the later one; hosts
 * that had connected to it connect to the other. Raises DUPLICATE_NAME.
 *
 * If the name cannot be resolved, or leads only to other machines because it is wrong, the host
 * asks again from time to time until a host has joined.
 *
 * Each case here is an error of users that would otherwise end with a wrong reason, after
 * RINGMASTER_READY_SECONDS:
 *   - the rule of who leaves: without it both hosts leave, or both wait with a part of the workers;
 *   - no admission during the first lookup: a worker would join the container that then leaves;
 *   - the new lookups: a platform's DNS often names the other container only seconds later;
 *   - the own answer: a host reached through a translated address would leave because of itself.
 * Two other files say why a host is missing: name_lookup.h that its name does not resolve,
 * state/rejected_peers.h that it has another key. All three look names up in children
 * (wire/resolve.h), as the system's resolver may block. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_DUPLICATE_NAME_H
#define ENTRYPOINT_MASTER_MEMBERS_DUPLICATE_NAME_H

#include "entrypoint/master/state/state.h"

#include <jansson.h>

enum {
    DUPLICATE_NAME_LOOK_SECONDS = 5, /* for a peer to answer */
    DUPLICATE_NAME_AGAIN_SECONDS = 5,
};

/* Callbacks of the link to the peer that answers to the name; the context is the master. */
extern const struct link_events duplicate_name_events;

/* Starts once the listener is open. Does nothing if this host knows no name of its own or cannot
 * look it up. */
void duplicate_name_open(struct master *m);
void duplicate_name_close(struct master *m);

/* Handles a host at PEER that claims in MESSAGE to be the first one. Takes over LINK. */
void duplicate_name_met(struct master *m, struct link *link, const struct net_address *peer,
                        const json_t *message);

/* Sets the error for duplicates: the host at SECOND has the NAME of the host at FIRST. */
int duplicate_name_error(struct error *err, const char *name, const struct net_address *first,
                         const struct net_address *second);

#endif
