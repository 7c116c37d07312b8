/* A worker's way to its master: looks the name up, tries its addresses one after another and, from
 * the start again, until one of them proves the job's key. The name is looked up anew each time: a
 * container that was started again has another address, and in SageMaker's local mode another job's
 * host may answer to the same name, with another key. */
#ifndef ENTRYPOINT_WIRE_DIAL_H
#define ENTRYPOINT_WIRE_DIAL_H

#include "common/net_address.h"
#include "entrypoint/wire/link.h"
#include "entrypoint/wire/resolve.h"

#include <stdint.h>

/* So long a name with one address may have another key. Where it has several, another job's host
 * may be the one that answers, until ours comes: that never ends the dialling. */
enum { DIAL_REFUSED_SECONDS = 30 };

struct dial_events {
    /* LINK is open and becomes the callee's: it calls link_own(). PEER is who proved the key. */
    void (*opened)(void *context, struct link *link, const struct net_address *peer);
    /* Somebody there has another key, for the first time: the dialling goes on. */
    void (*told)(void *context, const struct net_address *peer, const struct error *why);
    /* No use to go on: nobody there has this job's key. */
    void (*refused)(void *context, const struct error *why);
    /* All addresses were tried; they are tried again. May be NULL. */
    void (*missed)(void *context);
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
    int64_t pause;         /* before the next round */
    int64_t refused_since; /* all rounds since then met another key; 0: the last one did not */
    int64_t patience;      /* DIAL_REFUSED_SECONDS */
    bool refused;          /* in this round */
    int64_t absent_since;  /* nobody listened in any round since; 0: in the last one */
    bool absent;           /* so far in this round */
    struct error refusal;  /* the last one */
    struct error why;      /* the last reason that it did not work; text "" at first */
};

/* A link to ADDRESS that is on its way there, for whoever tries one address once. NULL where that
 * cannot begin. */
struct link *dial_address(struct loop *loop, const struct net_address *address, uint16_t port,
                          SSL_CTX *tls, const struct link_events *events, void *context,
                          struct error *err);

/* Takes NAME by reference. */
void dial_start(struct dial *d, struct loop *loop, struct reaper *reaper, SSL_CTX *tls,
                const char *name, uint16_t port, const struct dial_events *events, void *context);
void dial_stop(struct dial *d);

/* For how long all that answered was that nobody listens there, ns; 0: the last time it was not. */
int64_t dial_absent(const struct dial *d);
/* Why there is no link yet: another key, where one was ever met, else the last reason. */
const struct error *dial_why(const struct dial *d);

#endif
