#include "entrypoint/wire/dial.h"

#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t first_pause = 100 * CLOCK_MILLISECOND;
static const int64_t longest_pause = CLOCK_SECOND;

static void try_next(struct dial *d);

static void opened(void *context) {
    struct dial *d = context;
    struct link *link = d->link;
    d->link = NULL;
    d->events->opened(d->context, link, &d->addresses[d->next - 1]);
}

static void closed(void *context, const struct error *why) {
    struct dial *d = context;
    d->why = *why;
    d->unreachable = d->unreachable && why->os_errno == ECONNREFUSED;
    link_free(d->link);
    d->link = NULL;
    if (why->code == EXIT_CODE_KEY_REFUSED) {
        bool first = d->refused_since == 0 && !d->refused;
        d->refused = true;
        d->refusal = *why;
        if (first)
            d->events->refused_once(d->context, &d->addresses[d->next - 1], why);
    }
    try_next(d);
}

static void too_early(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

/* The master speaks only when spoken to, so no message arrives before another owner has the link.
 */
static const struct link_events events = {.opened = opened, .message = too_early, .closed = closed};

static void end_round(struct dial *d) {
    int64_t now = clock_now();
    if (!d->unreachable)
        d->unreachable_since = 0;
    else if (d->unreachable_since == 0)
        d->unreachable_since = now;
    if (!d->refused)
        d->refused_since = 0;
    else if (d->refused_since == 0)
        d->refused_since = now;
    else if (d->count == 1 && now - d->refused_since >= d->patience) {
        d->events->refused(d->context, &d->refusal);
        return;
    }
    loop_after(d->loop, &d->again, d->pause);
    d->pause = d->pause * 2 < longest_pause ? d->pause * 2 : longest_pause;
    if (d->events->round_failed != NULL)
        d->events->round_failed(d->context);
}

struct link *dial_address(struct loop *loop, const struct net_address *address, uint16_t port,
                          SSL_CTX *tls, const struct link_events *link_events, void *context,
                          struct error *err) {
    struct sockaddr_storage to;
    socklen_t size = net_address_socket(address, port, &to);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (connect(fd, (const struct sockaddr *)&to, size) == 0 || errno == EINPROGRESS))
        return link_new(loop, fd, tls, false, link_events, context, err);
    (void)error_set_errno(err, EXIT_CODE_NOT_READY, "connecting");
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static void try_next(struct dial *d) {
    while (d->next < d->count) {
        d->link =
            dial_address(d->loop, &d->addresses[d->next++], d->port, d->tls, &events, d, &d->why);
        if (d->link != NULL)
            return;
        d->unreachable = d->unreachable && d->why.os_errno == ECONNREFUSED;
    }
    end_round(d);
}

static void found(void *context, const struct net_address *addresses, size_t count) {
    struct dial *d = context;
    memcpy(d->addresses, addresses, count * sizeof(*addresses));
    d->count = count;
    d->unreachable = count > 0;
    if (count == 0)
        (void)error_set(&d->why, EXIT_CODE_NOT_READY,
                        "its name does not resolve: neither DNS nor /etc/hosts has it yet");
    try_next(d);
}

static void look_up(void *context) {
    struct dial *d = context;
    d->count = 0;
    d->next = 0;
    d->refused = d->unreachable = false;
    if (resolve_start(&d->resolve, d->loop, d->reaper, d->name, found, d, &d->why) != 0)
        end_round(d);
}

void dial_start(struct dial *d, struct loop *loop, struct reaper *reaper, SSL_CTX *tls,
                const char *name, uint16_t port, const struct dial_events *dial_events,
                void *context) {
    *d = (struct dial){.loop = loop,
                       .reaper = reaper,
                       .tls = tls,
                       .name = name,
                       .port = port,
                       .events = dial_events,
                       .context = context,
                       .pause = first_pause,
                       .patience = DIAL_REFUSED_SECONDS * CLOCK_SECOND};
    d->again = (struct timer){.fire = look_up, .context = d};
    (void)error_set(&d->why, EXIT_CODE_NOT_READY, "no answer yet");
    look_up(d);
}

int64_t dial_unreachable(const struct dial *d) {
    return d->unreachable_since != 0 ? clock_now() - d->unreachable_since : 0;
}

const struct error *dial_why(const struct dial *d) {
    return d->refusal.code != 0 ? &d->refusal : &d->why;
}

void dial_stop(struct dial *d) {
    if (d->loop == NULL)
        return;
    loop_cancel(d->loop, &d->again);
    resolve_cancel(&d->resolve);
    link_free(d->link);
    d->link = NULL;
}
