#include "entrypoint/wire/listener.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/os/run_as.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static const int64_t rest_time = CLOCK_SECOND / 10;

struct pending_link {
    struct listener *listener;
    struct link *link;
    struct timer patience;
    struct net_address peer;
    bool proved; /* the key */
    struct pending_link *next;
};

static void remove_pending(struct pending_link *g) {
    struct pending_link **slot = &g->listener->pending;
    while (*slot != g)
        slot = &(*slot)->next;
    *slot = g->next;
    g->listener->pending_count--;
    loop_cancel(g->listener->loop, &g->patience);
    free(g);
}

static void send_away(void *pending) {
    struct pending_link *g = pending;
    link_free(g->link);
    remove_pending(g);
}

static void pending_message(void *context, const json_t *message) {
    struct pending_link *g = context;
    struct listener *d = g->listener;
    struct link *link = g->link;
    struct net_address peer = g->peer;
    remove_pending(g);
    d->events->arrived(d->context, link, &peer, message);
}

static void pending_foreign(void *context, const json_t *message) {
    struct pending_link *g = context;
    struct listener *d = g->listener;
    struct link *link = g->link;
    struct net_address peer = g->peer;
    remove_pending(g);
    if (d->events->foreign != NULL)
        d->events->foreign(d->context, link, &peer, message);
    else
        link_free(link);
}

static void pending_opened(void *context) {
    struct pending_link *g = context;
    g->proved = true;
}

static void pending_closed(void *context, const struct error *why) {
    struct pending_link *g = context;
    const struct listener *d = g->listener;
    if (!g->proved && d->events->turned_away != NULL)
        d->events->turned_away(d->context, &g->peer, why);
    send_away(g);
}

static const struct link_events pending_events = {.opened = pending_opened,
                                                  .message = pending_message,
                                                  .foreign = pending_foreign,
                                                  .closed = pending_closed};

static bool is_same_user(int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && run_as_is_ours(peer.uid);
}

/* Returns the oldest connection from PEER (NULL: from anywhere) if there are more than LEAST. */
static struct pending_link *oldest(const struct listener *d, const struct net_address *peer,
                                   bool proved, size_t least) {
    struct pending_link *found = NULL;
    size_t count = 0;
    for (struct pending_link *g = d->pending; g != NULL; g = g->next) {
        if (g->proved != proved || (peer != NULL && !net_address_equal(&g->peer, peer)))
            continue;
        found = g;
        count++;
    }
    return count > least ? found : NULL;
}

/* Closes one connection to make room for a newcomer from PEER. There must be one. */
static void send_one_away(struct listener *d, const struct net_address *peer) {
    static const struct error crowd = {.code = EXIT_CODE_NOT_READY, .text = "too many at once"};
    struct pending_link *g = peer != NULL ? oldest(d, peer, false, d->room / 4) : NULL;
    if (g == NULL)
        g = oldest(d, NULL, false, 0);
    if (g == NULL)
        g = oldest(d, NULL, true, 0);
    if (d->events->turned_away != NULL)
        d->events->turned_away(d->context, &g->peer, &crowd);
    send_away(g);
}

static void admit(struct listener *d, int fd, const struct net_address *peer) {
    if (d->pending_count >= d->room)
        send_one_away(d, peer);
    struct pending_link *g = calloc(1, sizeof(*g));
    if (g == NULL || (d->tls == NULL && !is_same_user(fd))) {
        (void)close(fd);
        free(g);
        return;
    }
    g->listener = d;
    g->peer = *peer;
    g->patience = (struct timer){.fire = send_away, .context = g};
    g->link = link_new(d->loop, fd, d->tls, true, &pending_events, g, NULL);
    if (g->link == NULL) {
        free(g);
        return;
    }
    g->next = d->pending;
    d->pending = g;
    d->pending_count++;
    loop_after(d->loop, &g->patience, LISTENER_PENDING_SECONDS * CLOCK_SECOND);
}

static void rest(struct listener *d) {
    loop_unwatch(d->loop, &d->watch);
    loop_after(d->loop, &d->rest, rest_time);
}

static void listen_again(void *context) {
    struct listener *d = context;
    struct error ignored;
    if (d->spare < 0)
        d->spare = fcntl(d->watch.fd, F_DUPFD_CLOEXEC, 0);
    if (loop_watch(d->loop, &d->watch, EPOLLIN, &ignored) != 0)
        loop_after(d->loop, &d->rest, rest_time);
}

/* Nothing can be accepted, and a pending connection stays ready. */
static void make_room(struct listener *d) {
    if (d->pending != NULL) {
        send_one_away(d, NULL);
        return;
    }
    if (d->spare < 0) {
        rest(d);
        return;
    }
    (void)close(d->spare);
    int fd = accept4(d->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        (void)close(fd);
    d->spare = fcntl(d->watch.fd, F_DUPFD_CLOEXEC, 0);
}

static void knock(void *context, uint32_t events) {
    struct listener *d = context;
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    (void)events;
    int fd = accept4(d->watch.fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        make_room(d);
    else if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        rest(d);
    if (fd < 0)
        return;
    struct net_address peer;
    (void)net_address_of((const struct sockaddr *)&from, &peer);
    admit(d, fd, &peer);
}

void listener_set_room(struct listener *d, uint64_t pending) {
    d->room = pending > LISTENER_PENDING_MAX     ? LISTENER_PENDING_MAX
              : pending < LISTENER_PENDING_LEAST ? LISTENER_PENDING_LEAST
                                                 : (size_t)pending;
    while (d->pending_count > d->room)
        send_one_away(d, NULL);
}

int listener_open(struct listener *d, struct loop *loop, int listener, SSL_CTX *tls,
                  const struct listener_events *events, void *context, struct error *err) {
    *d = (struct listener){.loop = loop,
                           .tls = tls,
                           .events = events,
                           .context = context,
                           .room = LISTENER_PENDING_MAX};
    d->spare = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    d->rest = (struct timer){.fire = listen_again, .context = d};
    d->watch = (struct watch){.fd = listener, .ready = knock, .context = d};
    if (loop_watch(loop, &d->watch, EPOLLIN, err) == 0)
        return 0;
    listener_close(d);
    return -1;
}

void listener_close(struct listener *d) {
    if (d->loop == NULL)
        return;
    while (d->pending != NULL)
        send_away(d->pending);
    loop_cancel(d->loop, &d->rest);
    loop_unwatch(d->loop, &d->watch);
    if (d->watch.fd >= 0)
        (void)close(d->watch.fd);
    if (d->watch.fd >= 0 && d->spare >= 0)
        (void)close(d->spare);
    d->watch.fd = d->spare = -1;
}

/* Returns a socket bound to ADDRESS, or to all addresses of both families; -1 with errno. */
static int bound_socket(const struct net_address *address, uint16_t port) {
    struct sockaddr_storage at;
    socklen_t size = net_address_socket(address, port, &at);
    int one = 1, no = 0;
    cleanup_fd int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (at.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    return bind(fd, (const struct sockaddr *)&at, size) == 0 ? take_fd(&fd) : -1;
}

int listener_listen(const struct net_address *address, uint16_t port, const char *what,
                    struct error *err) {
    struct net_address any_v4;
    (void)net_address_parse("0.0.0.0", &any_v4);
    cleanup_fd int fd = bound_socket(address, port);
    /* A kernel without IPv6. */
    if (fd < 0 && errno == EAFNOSUPPORT && !net_address_is_set(address))
        fd = bound_socket(&any_v4, port);
    if (fd < 0 || listen(fd, SOMAXCONN) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "port %u of %s", port, what);
    return take_fd(&fd);
}
