/* A listening socket and those who have knocked but not yet said who they are. Each guest has a
 * few seconds for the handshake (TCP: TLS with the job's key) and its first message. There is room
 * for so many of them; when it is full the one who has waited longest goes, first of those who have
 * not proved the key, and of the newcomer's own address where that holds a quarter of the room: a
 * flood of strangers cannot keep those with the key outside.
 *
 * Where descriptors run out, guests go too, and then newcomers are taken in and sent away at once
 * by a descriptor kept for that; a door that can do neither rests, so that it never turns in
 * circles. */
#ifndef ENTRYPOINT_WIRE_LISTENER_H
#define ENTRYPOINT_WIRE_LISTENER_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/link.h"

#include <jansson.h>
#include <openssl/types.h>

#define LISTENER_CONTROL "the control link (RINGMASTER_PORT)"

enum { LISTENER_GUESTS_MAX = 512, LISTENER_GUESTS_LEAST = 4, LISTENER_GUEST_SECONDS = 10 };

struct guest;

struct listener_events {
    /* A guest's first message. LINK becomes the callee's: it calls link_own() or link_free(). PEER
     * is 0.0.0.0 on a unix socket. */
    void (*arrived)(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message);
    /* The same for a guest whose message is of another version (frame.h). NULL: it is sent away. */
    void (*foreign)(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message);
    /* A guest that went without a message: EXIT_CODE_KEY_REFUSED for a ringmaster with another key,
     * else EXIT_CODE_NOT_READY, for a stranger. May be NULL. */
    void (*turned_away)(void *context, const struct net_address *peer, const struct error *why);
};

struct listener {
    struct loop *loop;
    struct watch watch; /* fd -1: closed */
    SSL_CTX *tls;
    const struct listener_events *events;
    void *context;
    struct guest *guests; /* newest first */
    size_t guest_count;
    size_t room;       /* for guests */
    int spare;         /* a descriptor to turn newcomers away by; -1: gone */
    struct timer rest; /* then it listens again */
};

/* Takes over LISTENER, also when it fails. TLS is NULL for a unix socket, whose peers must be of
 * this process's user. */
int listener_open(struct listener *d, struct loop *loop, int listener, SSL_CTX *tls,
                  const struct listener_events *events, void *context, struct error *err);
void listener_close(struct listener *d);

/* Room for so many guests from now on, within LISTENER_GUESTS_LEAST and LISTENER_GUESTS_MAX, which
 * is what a door begins with. */
void listener_set_room(struct listener *d, uint64_t guests);

/* A listening TCP socket, or -1: at ADDRESS, or where that is none at all of both families. The
 * error names the port and WHAT it is: "the control link (RINGMASTER_PORT)". */
int listener_listen(const struct net_address *address, uint16_t port, const char *what,
                    struct error *err);

#endif
