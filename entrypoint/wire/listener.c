#include "entrypoint/wire/listener.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/os/run_as.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Each new connection becomes a link that a struct pending_link here owns. Its first message hands
 * the link over to the listener's owner; until then a timer and the limits below may close it. A
 * pending link that has proved the key is closed only if there is no other, because a host of the
 * job stands at its other end.
 *
 * Before the key is proved an address is all that is known of a peer. One address with many
 * connections is more likely a flood than a host, so newcomers from it replace its own older ones
 * first. */

/* How long nothing is accepted when even the spare descriptor cannot help. */
static const int64_t rest_time = CLOCK_SECOND / 10;

/* A connection that has not sent its first message yet. It owns its link. */
struct pending_link {
    struct listener *listener;
    struct link *link;
    struct timer patience;
    struct net_address peer;
    bool proved; /* the key */
    struct pending_link *next;
};

/* Frees the entry but not its link, which has a new owner or is freed by the caller. */
static void remove_pending(struct pending_link *g) {
    struct pending_link **slot = &g->listener->pending;
    while (*slot != g)
        slot = &(*slot)->next;
    *slot = g->next;
    g->listener->pending_count--;
    loop_cancel(g->listener->loop, &g->patience);
    free(g);
}

/* Also the timer's callback, for a peer that was too slow with its handshake or first message. */
static void send_away(void *pending) {
    struct pending_link *g = pending;
    link_free(g->link);
    remove_pending(g);
}

/* The link changes its owner: the callee calls link_own() inside this callback, which is
 * allowed. */
static void pending_message(void *context, const json_t *message) {
    struct pending_link *g = context;
    struct listener *d = g->listener;
    struct link *link = g->link;
    struct net_address peer = g->peer;
    remove_pending(g);
    d->events->arrived(d->context, link, &peer, message);
}

/* An owner without a callback for other versions does not want such peers at all. */
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

/* Only links with TLS call this: those of a unix socket never prove a key. */
static void pending_opened(void *context) {
    struct pending_link *g = context;
    g->proved = true;
}

/* A peer that has proved the key and then left is no stranger, and nothing is reported. Others are
 * reported with the link's reason, by which the owner tells a wrong key from noise. */
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

/* A unix socket has no key: its peers are the shims and agents of this container, which the kernel
 * identifies. */
static bool is_same_user(int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && run_as_is_ours(peer.uid);
}

/* Returns the oldest connection from PEER (NULL: from anywhere) if there are more than LEAST. The
 * list is newest first, so the last one found is the oldest. */
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

/* Closes one connection to make room for a newcomer from PEER. There must be one. The order is: of
 * the newcomer's own address, then any stranger, then one that has proved the key. The owner learns
 * of it, since a closed peer may be a host of the job. */
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

/* Closes FD if the connection is not taken. link_new() takes it over even when it fails. */
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

/* The watch is removed meanwhile: a connection that waits would wake the loop without end. New
 * clients wait in the kernel's queue. */
static void rest(struct listener *d) {
    loop_unwatch(d->loop, &d->watch);
    loop_after(d->loop, &d->rest, rest_time);
}

/* The spare descriptor may have been lost in make_room(); it is taken back first. */
static void listen_again(void *context) {
    struct listener *d = context;
    struct error ignored;
    if (d->spare < 0)
        d->spare = fcntl(d->watch.fd, F_DUPFD_CLOEXEC, 0);
    if (loop_watch(d->loop, &d->watch, EPOLLIN, &ignored) != 0)
        loop_after(d->loop, &d->rest, rest_time);
}

/* Nothing can be accepted, and a pending connection stays ready. With no link to close, the spare
 * descriptor is given up for a moment: the newcomer is accepted into its place and closed, so that
 * it learns that it has to come again. */
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

/* One connection for each wake-up; the loop calls again while others wait. ECONNABORTED is a client
 * that has already left. A lack of descriptors is the one failure that a smaller crowd can mend. */
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

/* A number of hosts decides, so the listener is given room for all of them to arrive at once. */
void listener_set_room(struct listener *d, uint64_t pending) {
    d->room = pending > LISTENER_PENDING_MAX     ? LISTENER_PENDING_MAX
              : pending < LISTENER_PENDING_LEAST ? LISTENER_PENDING_LEAST
                                                 : (size_t)pending;
    while (d->pending_count > d->room)
        send_one_away(d, NULL);
}

/* SPARE is a copy of the listener, which costs one descriptor and nothing else. Without it (-1) the
 * listener still works, and rests when descriptors run out. */
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

/* Safe on a zeroed one, and twice. Pending links are freed without telling the owner. */
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

/* Returns a socket bound to ADDRESS, or to all addresses of both families; -1 with errno. The port
 * may be in TIME_WAIT from the master before, which SO_REUSEADDR allows. */
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

/* A port that is taken is a fault of the configuration: WHAT says which setting can change it. */
int listener_listen(const struct net_address *address, uint16_t port, const char *what,
                    struct error *err) {
    struct net_address any_v4;
    (void)net_address_parse("0.0.0.0", &any_v4);
    cleanup_fd int fd = bound_socket(address, port);
    /* A kernel without IPv6 cannot make the socket that serves both families. */
    if (fd < 0 && errno == EAFNOSUPPORT && !net_address_is_set(address))
        fd = bound_socket(&any_v4, port);
    if (fd < 0 || listen(fd, SOMAXCONN) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "port %u of %s", port, what);
    return take_fd(&fd);
}
