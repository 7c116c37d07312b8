/* Everything that a link (link.h) knows, and what its sources call of each other: link.c moves
 * messages, link_resume.c changes the connection under them. */
#ifndef ENTRYPOINT_WIRE_LINK_STATE_H
#define ENTRYPOINT_WIRE_LINK_STATE_H

#include "common/buf.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/passed_fds.h"
#include "entrypoint/wire/send_queue.h"
#include "entrypoint/wire/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_events;

struct link {
    struct loop *loop;
    struct watch watch;
    struct timer handshake; /* its deadline; set until the link is open */
    SSL *ssl;               /* NULL: plain */
    const struct link_events *events;
    void *context;
    struct buf in;
    struct send_queue out;
    uint64_t taken;        /* frames received so far */
    uint64_t acknowledged; /* of these the peer knows */
    size_t unacknowledged; /* bytes received since */
    char name[TLS_NAME_SIZE];
    int fds[PASSED_FDS_MAX]; /* received and not yet taken */
    size_t fd_count;
    int gift; /* to be sent with the byte at `gift_at` of `out`; -1: none */
    size_t gift_at;
    bool open;   /* messages may pass */
    bool failed; /* closed() was called */
    bool held;   /* not read or written until link_resume(), or until it is let go again */
    bool cut;    /* a message was lost: it cannot be resumed */
    bool busy;   /* inside one of its callbacks: link_free waits */
    bool freed;
};

/* Closed, or freed by its owner. */
bool link_is_gone(const struct link *l);
void link_destroy(struct link *l);

/* What the socket is waited for next. WANTED is what TLS asks in its handshake. */
void link_rewatch(struct link *l, uint32_t wanted);
void link_take_messages(struct link *l);
void link_read_all(struct link *l);
void link_write_all(struct link *l);

#endif
