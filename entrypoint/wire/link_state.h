/* Internal state of a link (link.h), shared by its sources.
 *
 * link.c moves messages, link_end.c ends the link, and link_resume.c replaces the connection under
 * it. */
#ifndef ENTRYPOINT_WIRE_LINK_STATE_H
#define ENTRYPOINT_WIRE_LINK_STATE_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/link_events.h"
#include "entrypoint/wire/passed_fds.h"
#include "entrypoint/wire/send_queue.h"
#include "entrypoint/wire/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint64_t acknowledged; /* of these, known to the peer */
    size_t unacknowledged; /* bytes received since */
    char name[TLS_NAME_SIZE];
    int fds[PASSED_FDS_MAX]; /* received and not yet taken */
    size_t fd_count;
    int gift; /* descriptor to send with the byte at `gift_at` of `out`; -1: none */
    size_t gift_at;
    bool open;   /* messages may pass */
    bool failed; /* closed() was called */
    bool held;   /* suspended until link_resume() or released */
    bool cut;    /* a message was lost: cannot be resumed */
    bool broken; /* the connection failed or ended: no farewell can be sent */
    bool exited; /* see link_peer_exited() */
    bool busy;   /* inside one of its callbacks: link_free waits */
    bool freed;
};

/* Returns true if the link is closed or was freed by its owner. */
bool link_is_gone(const struct link *l);
void link_destroy(struct link *l);

/* Closes the link and tells its owner, once. Each must be the last thing that a function does with
 * the link: its owner may have freed it. */
void link_fail(struct link *l, const struct error *why);
void link_fail_by_errno(struct link *l);
void link_fail_by_end(struct link *l);
/* After a call of OpenSSL's that returned RESULT. */
void link_fail_by_tls(struct link *l, int result);
/* The code for an end of which nothing more is known. */
enum exit_code link_end_code(const struct link *l);

/* Sets the events to wait for next. WANTED is what TLS asks for in its handshake. */
void link_rewatch(struct link *l, uint32_t wanted);
void link_take_messages(struct link *l);
void link_read_all(struct link *l);
void link_write_all(struct link *l);

#endif
