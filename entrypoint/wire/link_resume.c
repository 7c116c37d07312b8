#include "entrypoint/wire/link.h"
#include "entrypoint/wire/link_state.h"
#include "entrypoint/wire/tcp.h"

bool link_is_connecting(const struct link *l) {
    return tcp_is_connecting(l->watch.fd);
}

bool link_is_stuck(const struct link *l) {
    return tcp_is_stuck(l->watch.fd);
}

const char *link_name(const struct link *l) {
    return l->name;
}

uint64_t link_taken(const struct link *l) {
    return l->taken;
}

void link_hold(struct link *l, bool held) {
    if (link_is_gone(l))
        return;
    l->held = held;
    if (held)
        loop_unwatch(l->loop, &l->watch);
    else
        link_rewatch(l, 0);
}

/* Afterwards FRESH has the old connection, which is closed with it. */
static void swap_connections(struct link *l, struct link *fresh) {
    SSL *ssl = l->ssl;
    int fd = l->watch.fd;
    loop_unwatch(l->loop, &l->watch);
    loop_unwatch(fresh->loop, &fresh->watch);
    l->ssl = fresh->ssl;
    l->watch.fd = fresh->watch.fd;
    fresh->ssl = ssl;
    fresh->watch.fd = fd;
}

bool link_resume(struct link *l, struct link *fresh, uint64_t taken, int64_t silence_seconds) {
    bool whole = !link_is_gone(l) && l->open && !l->cut && fresh->open && link_queued(fresh) == 0 &&
                 send_queue_rewind(&l->out, taken);
    if (whole) {
        struct buf in = l->in;
        swap_connections(l, fresh);
        l->in = fresh->in; /* what followed the message that resumes it */
        fresh->in = in;
        l->held = false;
        tcp_set_silence(l->watch.fd, silence_seconds);
    }
    link_free(fresh);
    if (!whole)
        return false;
    bool inside = l->busy;
    l->busy = true;
    link_take_messages(l);
    if (!link_is_gone(l))
        link_read_all(l); /* TLS may hold some of it, which the socket does not report */
    if (!link_is_gone(l))
        link_write_all(l);
    l->busy = inside;
    if (l->freed && !inside)
        link_destroy(l);
    return true;
}
