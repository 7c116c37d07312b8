/* A worker's way to its master. In the first life that is the first host, in a later one the host
 * that follows the lost master. Where another host than these may be the master (role_state.h), the
 * others are dialled as well, one after the other: only a master listens. */
#ifndef ENTRYPOINT_HOST_FIND_MASTER_H
#define ENTRYPOINT_HOST_FIND_MASTER_H

#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/dial.h"

/* A first host that is started anew in less is another run's. */
enum { FIND_MASTER_ABSENT_SECONDS = 2 };

struct find_master {
    struct supervisor *s;
    const struct dial_events *events;
    void *context;
    struct dial dial;
    struct timer turn; /* then the next host is dialled */
    bool vain;         /* `missed` was called */
    char address[NET_ADDRESS_TEXT];
};

/* EVENTS are those of a dial, but for `missed`: nobody is the master any more, as this host was not
 * cut off, the first host alone can be it, and nobody has listened there for
 * FIND_MASTER_ABSENT_SECONDS. When one comes the first host of the job's cluster is the one that it
 * is about. */
void find_master_start(struct find_master *k, struct supervisor *s,
                       const struct dial_events *events, void *context);
void find_master_stop(struct find_master *k);

/* The host that was reached cannot take this one yet: on, after a pause. */
void find_master_later(struct find_master *k);

/* Why there is no link yet. */
const struct error *find_master_why(const struct find_master *k);

#endif
