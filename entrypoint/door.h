/* A listening socket and those who have knocked but not yet said who they are. Each guest has a
 * few seconds for the handshake (TCP: TLS with the job's key) and its first message; there is room
 * for a fixed number of them, and when it is full the one who has waited longest goes, so that a
 * flood of strangers cannot keep those with the key outside. */
#ifndef ENTRYPOINT_DOOR_H
#define ENTRYPOINT_DOOR_H

#include "common/error.h"
#include "entrypoint/link.h"
#include "entrypoint/loop.h"

#include <jansson.h>
#include <netinet/in.h>
#include <openssl/types.h>

enum { DOOR_GUESTS_MAX = 512, DOOR_GUEST_SECONDS = 10 };

struct guest;

struct door_events {
    /* A guest's first message. LINK becomes the callee's: it calls link_own() or link_free(). PEER
     * is 0.0.0.0 on a unix socket. */
    void (*arrived)(void *context, struct link *link, struct in_addr peer, const json_t *message);
    /* A guest without the key. May be NULL. */
    void (*refused)(void *context, struct in_addr peer, const struct error *why);
};

struct door {
    struct loop *loop;
    struct watch watch; /* fd -1: closed */
    SSL_CTX *tls;
    const struct door_events *events;
    void *context;
    struct guest *guests; /* newest first */
    size_t guest_count;
};

/* Takes over LISTENER, also when it fails. TLS is NULL for a unix socket, whose peers must be of
 * this process's user. */
int door_open(struct door *d, struct loop *loop, int listener, SSL_CTX *tls,
              const struct door_events *events, void *context, struct error *err);
void door_close(struct door *d);

/* A listening TCP socket, or -1. The error names the port. */
int door_listen(struct in_addr address, uint16_t port, struct error *err);

#endif
