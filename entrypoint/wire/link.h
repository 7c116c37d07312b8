/* Connection for messages (frame.h) in both directions, non-blocking: a unix socket to a shim or
 * agent, or TCP with TLS (tls.h) between supervisors.
 *
 * Messages are queued up to a maximum; a peer that lets the queue fill up is disconnected.
 *
 * A link with TLS may continue over another connection to the same peer. Each side keeps what it
 * has sent until the other acknowledges it (send_queue.h), so that no message is lost or
 * duplicated.
 *
 * A link with TLS that its owner frees ends with a farewell (close_notify), or with a reset if that
 * cannot be sent. Only the kernel ends the connection in order and without a farewell: that of a
 * process that has ended.
 *
 * The owner is informed by callbacks and finally calls link_free(), also from within a callback. */
#ifndef ENTRYPOINT_WIRE_LINK_H
#define ENTRYPOINT_WIRE_LINK_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/link_events.h"
#include "entrypoint/wire/passed_fds.h"

#include <jansson.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    LINK_QUEUE_MAX = 8 * 1024 * 1024,
    LINK_HANDSHAKE_SECONDS = 5,
    LINK_SILENCE_SECONDS = 10, /* until link_set_silence() */
    LINK_FDS_MAX = PASSED_FDS_MAX,
};

struct link;

/* Creates a link and takes over FD (connected or connecting), also on failure. TLS is NULL for a
 * plain link. */
struct link *link_new(struct loop *loop, int fd, SSL_CTX *tls, bool is_server,
                      const struct link_events *events, void *context, struct error *err);
void link_free(struct link *l);
/* Hands the link to another owner. */
void link_own(struct link *l, const struct link_events *events, void *context);

/* Sets how long data or keepalives may stay unacknowledged until TCP gives up; no effect on a unix
 * socket. */
void link_set_silence(struct link *l, int64_t seconds);

/* Queues MESSAGE and takes over its reference; NULL (out of memory) closes the link. */
void link_send(struct link *l, json_t *message);
/* Plain links: likewise, with a copy of FD. Only one can be under way: another one before it has
 * been sent closes the link. */
void link_send_fd(struct link *l, json_t *message, int fd);
/* Writes at once what can be written, for last messages before exiting. */
void link_flush(struct link *l);
/* Sends MESSAGE and takes over the reference, as far as the socket accepts it at once, and frees
 * the link; also from within its callbacks. */
void link_part(struct link *l, json_t *message);
/* Returns this end's address as this host sees it; 0.0.0.0 on a unix socket. */
struct net_address link_own_address(const struct link *l);
/* Returns which version of the messages the peer of an open link speaks (tls_peer_version). */
int64_t link_peer_version(const struct link *l);
/* Links with TLS that have closed: returns true if the peer's process has ended, by the way in
 * which the connection did. False proves nothing. */
bool link_peer_exited(const struct link *l);
/* Returns how many bytes are queued. */
size_t link_queued(const struct link *l);

/* Returns true if the socket has not reached its peer yet. */
bool link_is_connecting(const struct link *l);
/* Returns true if TCP has retransmitted its oldest data repeatedly: the peer, or the path to it, is
 * silent. */
bool link_is_stuck(const struct link *l);

/* Returns the name of an open TLS link: the same at both ends and known to no other process. */
const char *link_name(const struct link *l);
/* Returns how many messages it has received so far. */
uint64_t link_taken(const struct link *l);
/* Suspends the link: it neither reads nor writes nor notices the end of the connection until it is
 * released or resumed. Not from within its own callbacks. */
void link_hold(struct link *l, bool held);
/* Continues L over the connection of FRESH, an open link with no message left to write, and frees
 * FRESH. TAKEN is the peer's link_taken(). Returns false and leaves L unchanged if the peer's
 * number does not fit or L is broken. Callbacks of L may run before it returns. */
bool link_resume(struct link *l, struct link *fresh, uint64_t taken, int64_t silence_seconds);

/* Plain links: returns a descriptor that came with a message, owned by the caller; -1 if none is
 * left. */
int link_take_fd(struct link *l);
/* Sender's side, on a blocking socket: sends MESSAGE together with COUNT descriptors. */
int link_send_fds(int socket, const json_t *message, const int *fds, size_t count,
                  struct error *err);

#endif
