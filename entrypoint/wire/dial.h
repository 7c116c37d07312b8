/* Connecting to the master: resolves its name and tries the addresses one after another, again and
 * again, until one of them proves the job's key.
 *
 * The name is resolved anew in each round: a restarted container has another address, and in
 * SageMaker's local mode a host of another job, with another key, may answer to the same name. */
#ifndef ENTRYPOINT_WIRE_DIAL_H
#define ENTRYPOINT_WIRE_DIAL_H

#include "common/net_address.h"
#include "entrypoint/wire/link.h"
#include "entrypoint/wire/resolve.h"

#include <stdint.h>

/* How long a name with a single address may have another key. If it has several, a host of another
 * job may answer until the right one does: that never ends the dialling. */
enum { DIAL_REFUSED_SECONDS = 30 };

struct dial_events {
    /* LINK is open and passes to the callee, which calls link_own(). PEER is the address that
     * proved the key. */
    void (*opened)(void *context, struct link *link, const struct net_address *peer);
    /* A peer has another key, for the first time: dialling continues. */
    void (*refused_once)(void *context, const struct net_address *peer, const struct error *why);
    /* Gives up: no peer there has this job's key. */
    void (*refused)(void *context, const struct error *why);
    /* All addresses were tried and will be tried again. May be NULL. */
    void (*round_failed)(void *context);
};

struct dial {
    struct loop *loop;
    struct reaper *reaper;
    SSL_CTX *tls;
    const char *name;
    uint16_t port;
    const struct dial_events *events;
    void *context;
    struct resolve resolve;
    struct timer again;
    struct net_address addresses[RESOLVE_MAX];
    size_t count;
    size_t next;
    struct link *link;
    int64_t pause;             /* before the next round */
    int64_t refused_since;     /* all rounds since then met another key; 0: the last one did not */
    int64_t patience;          /* DIAL_REFUSED_SECONDS */
    bool refused;              /* in this round */
    int64_t unreachable_since; /* no peer listened in any round since; 0: one did in the last */
    bool unreachable;          /* so far in this round */
    struct error refusal;      /* the last one */
    struct error why;          /* why the last try failed; "" at first */
};

/* Starts a single connection to ADDRESS. Returns NULL if that is impossible. */
struct link *dial_address(struct loop *loop, const struct net_address *address, uint16_t port,
                          SSL_CTX *tls, const struct link_events *events, void *context,
                          struct error *err);

/* Starts; NAME is borrowed. */
void dial_start(struct dial *d, struct loop *loop, struct reaper *reaper, SSL_CTX *tls,
                const char *name, uint16_t port, const struct dial_events *events, void *context);
void dial_stop(struct dial *d);

/* Returns for how long every try was refused because nothing listens there, in ns; 0 if the last
 * one was not. */
int64_t dial_unreachable(const struct dial *d);
/* Returns why there is no link yet: another key if one was ever met, else the last reason. */
const struct error *dial_why(const struct dial *d);

#endif
