/* Reconnection of a link (link.h) after its peer has fallen silent.
 *
 * TCP retransmits lost data after intervals that double, so that an outage of some seconds lasts up
 * to twice as long for a connection. A worker does not wait for that: while it hears nothing from
 * its master, or nothing gets through, it connects anew several times a second and proves that it
 * is the other end of the link (link_name); the link then continues over the new connection.
 * Whether the peer counts as lost is decided by the link's owner, by its own clock.
 *
 *   to the master     resume link taken
 *   from the master   resumed taken, or refuse code text
 *
 * Zeroed, it does nothing. */
#ifndef ENTRYPOINT_HOST_WORKER_REDIAL_H
#define ENTRYPOINT_HOST_WORKER_REDIAL_H

#include "common/net_address.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>
#include <stdint.h>

struct redial_events {
    /* The peer has resumed the link. It may call redial_stop(). */
    void (*resumed)(void *context);
    /* The peer no longer knows the link: it has ended. */
    void (*refused)(void *context, const struct error *why);
};

struct redial {
    struct supervisor *s;
    struct net_address peer;
    const struct redial_events *events;
    void *context;
    struct link *link;  /* the link to be restored, its owner's; NULL: none */
    struct link *fresh; /* the new connection, or NULL */
    struct link *late;  /* an earlier one that the peer did not answer in time, or NULL */
    int64_t asked;      /* when FRESH was open, clock_now(); 0: it is not */
    struct timer again;
};

/* Starts for LINK, which is open, to PEER. */
void redial_start(struct redial *r, struct supervisor *s, struct link *link,
                  const struct net_address *peer, const struct redial_events *events,
                  void *context);
void redial_stop(struct redial *r);

/* Records a message from the peer. */
void redial_heard(struct redial *r);

/* Callbacks of the new connection; the context is the redial. */
extern const struct link_events redial_link_events;

#endif
