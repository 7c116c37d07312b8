/* A connection that carries messages (frame.h) both ways without blocking: a unix socket to a shim
 * or agent, or TCP with TLS (tls.h) between supervisors. What is sent waits in a queue with a
 * ceiling; a peer that lets it fill up is cut off.
 *
 * A link with TLS may go on over another connection to the same peer: each side keeps what it has
 * sent until the other one acknowledges it (send_queue.h), so that no message is lost or comes
 * twice.
 *
 * The owner hears of everything through callbacks and calls link_free() in the end, also from
 * within a callback. */
#ifndef ENTRYPOINT_WIRE_LINK_H
#define ENTRYPOINT_WIRE_LINK_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/os/loop.h"
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

struct link_events {
    /* The peer has proved the key; nothing can be sent before. Plain links are open at once and do
     * not call it. May be NULL. */
    void (*opened)(void *context);
    void (*message)(void *context, const json_t *message);
    /* A message of another version (frame.h), after which the callee ends the link. NULL: it closes
     * with words about that. */
    void (*foreign)(void *context, const json_t *message);
    /* Once, at the end of the link, unless it was freed before. The code is
     * EXIT_CODE_KEY_REFUSED for a ringmaster with another key, EXIT_CODE_NOT_READY for another end
     * before `opened` (no ringmaster, say), EXIT_CODE_CONFIG for one of another version,
     * EXIT_CODE_HOST_LOST for another end after it. */
    void (*closed)(void *context, const struct error *why);
};

/* Takes over FD (connected or connecting), also when it fails. TLS is NULL for a plain link. */
struct link *link_new(struct loop *loop, int fd, SSL_CTX *tls, bool is_server,
                      const struct link_events *events, void *context, struct error *err);
void link_free(struct link *l);
/* Hands the link to another owner. */
void link_own(struct link *l, const struct link_events *events, void *context);

/* How long data or keepalives may stay unacknowledged until TCP gives up; nothing on a unix socket.
 */
void link_set_silence(struct link *l, int64_t seconds);

/* Queues MESSAGE, of which it takes over the reference; NULL (out of memory) cuts the link. */
void link_send(struct link *l, json_t *message);
/* Plain links: the same, and a copy of FD arrives with the message. One at a time may be under way:
 * until it has been sent, another one cuts the link. */
void link_send_fd(struct link *l, json_t *message, int fd);
/* Writes at once what can be written; for the last words before leaving. */
void link_flush(struct link *l);
/* Says MESSAGE, of which it takes over the reference, as far as the socket takes it at once, and
 * frees the link; also from within its callbacks. */
void link_part(struct link *l, json_t *message);
/* This end's address as this host sees it; 0.0.0.0 on a unix socket. */
struct net_address link_own_address(const struct link *l);
/* Which version of the messages the peer of an open link speaks (tls_peer_version). */
int64_t link_peer_version(const struct link *l);
/* Bytes that still wait to be sent. */
size_t link_queued(const struct link *l);

/* A socket that has not reached its peer yet. */
bool link_is_connecting(const struct link *l);
/* TCP has sent its oldest data again and again: the peer, or the way to it, is silent. */
bool link_is_stuck(const struct link *l);

/* Of an open link with TLS, the same at both ends, and known to nobody else. */
const char *link_name(const struct link *l);
/* Messages that were received over it so far. */
uint64_t link_taken(const struct link *l);
/* Neither reads nor writes, nor notices that the connection ends, until it is let go or resumed.
 * Not from within its own callbacks. */
void link_hold(struct link *l, bool held);
/* L goes on over the connection of FRESH, an open link whose messages have all been written, which
 * is freed. TAKEN is the peer's link_taken(). False, and L stays as it is, where the peer's number
 * does not fit or L is broken. L's callbacks may run before it returns. */
bool link_resume(struct link *l, struct link *fresh, uint64_t taken, int64_t silence_seconds);

/* Plain links: a descriptor that came with a message, the caller's from now on; -1 if none is left.
 */
int link_take_fd(struct link *l);
/* The sender's side, on a blocking socket: MESSAGE together with COUNT descriptors. */
int link_send_fds(int socket, const json_t *message, const int *fds, size_t count,
                  struct error *err);

#endif
