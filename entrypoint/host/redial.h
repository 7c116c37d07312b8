/* A second connection for a link (link.h) whose peer has fallen silent.
 *
 * TCP sends lost data again after pauses that double, so that an outage of some seconds lasts up to
 * twice as long for a connection. A worker does not wait for that: while nothing is heard from its
 * master, or nothing gets through to it, it dials anew several times a second, proves that it is
 * the other end of the link (link_name), and the link goes on over the new connection. Whether the
 * peer counts as lost is for the link's owner to decide, by its own clock.
 *
 *   to the master     resume link taken
 *   from the master   resumed taken, or refuse code text
 *
 * Zeroed it looks after nothing. */
#ifndef ENTRYPOINT_HOST_REDIAL_H
#define ENTRYPOINT_HOST_REDIAL_H

#include "common/net_address.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>
#include <stdint.h>

struct redial_events {
    /* The peer has taken the link up again. It may call redial_stop(). */
    void (*resumed)(void *context);
    /* It knows the link no more: that has ended. */
    void (*refused)(void *context, const struct error *why);
};

struct redial {
    struct supervisor *s;
    struct net_address peer;
    const struct redial_events *events;
    void *context;
    struct link *link;  /* that is looked after, its owner's; NULL: none */
    struct link *fresh; /* on its way to the peer, or NULL */
    struct link *late;  /* one before it that the peer did not answer in time, or NULL */
    int64_t asked;      /* when FRESH was open, clock_now(); 0: it is not */
    struct timer again;
};

/* Looks after LINK, which is open, to PEER. */
void redial_start(struct redial *r, struct supervisor *s, struct link *link,
                  const struct net_address *peer, const struct redial_events *events,
                  void *context);
void redial_stop(struct redial *r);

/* There was a message from the peer. */
void redial_heard(struct redial *r);

/* Of the connection that is dialled, whose context is the redial. */
extern const struct link_events redial_link_events;

#endif
