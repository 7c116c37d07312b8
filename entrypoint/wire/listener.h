/* TCP or unix listener and its unauthenticated connections.
 *
 * Each connection has a few seconds for the handshake (TCP: TLS with the job's key) and its first
 * message. Their number is limited. When it is reached the oldest is closed, first of those that
 * have not proved the key, and of the newcomer's own address if that holds a quarter of the room: a
 * flood of strangers cannot keep out peers with the key.
 *
 * If descriptors run out, pending connections are closed too, and newcomers are accepted and closed
 * at once with a descriptor kept for that. If neither is possible the listener rests, so that it
 * never spins. */
#ifndef ENTRYPOINT_WIRE_LISTENER_H
#define ENTRYPOINT_WIRE_LISTENER_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/link.h"

#include <jansson.h>
#include <openssl/types.h>

#define LISTENER_CONTROL "the control link (RINGMASTER_PORT)"

enum { LISTENER_PENDING_MAX = 512, LISTENER_PENDING_LEAST = 4, LISTENER_PENDING_SECONDS = 10 };

struct pending_link;

struct listener_events {
    /* A connection's first message. LINK passes to the callee, which calls link_own() or
     * link_free(). PEER is 0.0.0.0 on a unix socket. */
    void (*arrived)(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message);
    /* The same for a message of another version (frame.h). NULL: the connection is closed. */
    void (*foreign)(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message);
    /* A connection ended without a message: EXIT_CODE_KEY_REFUSED for a ringmaster with another
     * key, else EXIT_CODE_NOT_READY for a stranger. May be NULL. */
    void (*turned_away)(void *context, const struct net_address *peer, const struct error *why);
};

struct listener {
    struct loop *loop;
    struct watch watch; /* fd -1: closed */
    SSL_CTX *tls;
    const struct listener_events *events;
    void *context;
    struct pending_link *pending; /* newest first */
    size_t pending_count;
    size_t room;       /* for pending connections */
    int spare;         /* a descriptor for accepting and closing newcomers; -1: gone */
    struct timer rest; /* then it listens again */
};

/* Opens it and takes over LISTENER, also on failure. TLS is NULL for a unix socket, where peers
 * must belong to this process's user. */
int listener_open(struct listener *d, struct loop *loop, int listener, SSL_CTX *tls,
                  const struct listener_events *events, void *context, struct error *err);
void listener_close(struct listener *d);

/* Sets how many connections may be pending, within LISTENER_PENDING_LEAST and LISTENER_PENDING_MAX,
 * the initial value. */
void listener_set_room(struct listener *d, uint64_t pending);

/* Returns a listening TCP socket, or -1: at ADDRESS, or at all addresses of both families if that
 * is unset. The error names the port and WHAT it is: "the control link (RINGMASTER_PORT)". */
int listener_listen(const struct net_address *address, uint16_t port, const char *what,
                    struct error *err);

#endif
