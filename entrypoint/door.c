#include "entrypoint/door.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct guest {
    struct door *door;
    struct link *link;
    struct timer patience;
    struct in_addr peer;
    struct guest *next;
};

static void remove_guest(struct guest *g) {
    struct guest **slot = &g->door->guests;
    while (*slot != g)
        slot = &(*slot)->next;
    *slot = g->next;
    g->door->guest_count--;
    loop_cancel(g->door->loop, &g->patience);
    free(g);
}

static void send_away(void *guest) {
    struct guest *g = guest;
    link_free(g->link);
    remove_guest(g);
}

static void guest_message(void *context, const json_t *message) {
    struct guest *g = context;
    struct door *d = g->door;
    struct link *link = g->link;
    struct in_addr peer = g->peer;
    remove_guest(g);
    d->events->arrived(d->context, link, peer, message);
}

static void guest_closed(void *context, const struct error *why) {
    struct guest *g = context;
    const struct door *d = g->door;
    if (why->code == EXIT_CODE_KEY_REFUSED && d->events->refused != NULL)
        d->events->refused(d->context, g->peer, why);
    send_away(g);
}

static const struct link_events guest_events = {.message = guest_message, .closed = guest_closed};

static bool is_same_user(int fd) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void send_oldest_away(struct door *d) {
    struct guest *g = d->guests;
    while (g->next != NULL)
        g = g->next;
    send_away(g);
}

static void admit(struct door *d, int fd, struct in_addr peer) {
    if (d->guest_count >= DOOR_GUESTS_MAX)
        send_oldest_away(d);
    struct guest *g = calloc(1, sizeof(*g));
    if (g == NULL || (d->tls == NULL && !is_same_user(fd))) {
        (void)close(fd);
        free(g);
        return;
    }
    g->door = d;
    g->peer = peer;
    g->patience = (struct timer){.fire = send_away, .context = g};
    g->link = link_new(d->loop, fd, d->tls, true, &guest_events, g, NULL);
    if (g->link == NULL) {
        free(g);
        return;
    }
    g->next = d->guests;
    d->guests = g;
    d->guest_count++;
    loop_after(d->loop, &g->patience, DOOR_GUEST_SECONDS * CLOCK_SECOND);
}

static void knock(void *context, uint32_t events) {
    struct door *d = context;
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    (void)events;
    int fd = accept4(d->watch.fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && d->guests != NULL)
        send_oldest_away(d);
    if (fd < 0)
        return;
    struct in_addr peer = {0};
    if (from.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &from, sizeof(in));
        peer = in.sin_addr;
    }
    admit(d, fd, peer);
}

int door_open(struct door *d, struct loop *loop, int listener, SSL_CTX *tls,
              const struct door_events *events, void *context, struct error *err) {
    *d = (struct door){.loop = loop, .tls = tls, .events = events, .context = context};
    d->watch = (struct watch){.fd = listener, .ready = knock, .context = d};
    if (loop_watch(loop, &d->watch, EPOLLIN, err) == 0)
        return 0;
    door_close(d);
    return -1;
}

void door_close(struct door *d) {
    if (d->loop == NULL)
        return;
    while (d->guests != NULL)
        send_away(d->guests);
    loop_unwatch(d->loop, &d->watch);
    if (d->watch.fd >= 0)
        (void)close(d->watch.fd);
    d->watch.fd = -1;
}

int door_listen(struct in_addr address, uint16_t port, struct error *err) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
    int one = 1;
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the control link");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, SOMAXCONN) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG,
                               "port %u of the control link (RINGMASTER_PORT)", port);
    return take_fd(&fd);
}
