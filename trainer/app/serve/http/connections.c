#include "trainer/app/serve/http/connections.h"

#include "common/clock.h"
#include "common/log/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ends connections that are late. Their descriptors stay open until connections_remove, so none can
 * be another connection's by now. */
static void end_late(struct connections *c) {
    struct connection_deadline *late;
    (void)pthread_mutex_lock(&c->lock);
    while ((late = deadlines_late(&c->deadlines, clock_now())) != NULL) {
        (void)shutdown(late->fd, SHUT_RDWR);
        serve_metrics_closed(&c->server->metrics);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

static void *watch(void *user) {
    struct connections *c = user;
    struct pollfd waits[] = {{.fd = c->changed, .events = POLLIN},
                             {.fd = c->stop, .events = POLLIN}};
    for (;;) {
        (void)pthread_mutex_lock(&c->lock);
        const bool runs = c->runs;
        const int64_t next = deadlines_next(&c->deadlines);
        (void)pthread_mutex_unlock(&c->lock);
        if (!runs)
            return NULL;
        (void)poll(waits, 2, next == INT64_MAX ? -1 : clock_left_ms(next));
        uint64_t count;
        if ((waits[0].revents & POLLIN) != 0 && read(c->changed, &count, sizeof(count)) < 0)
            log_debug("nothing to read from the event: %s", strerror(errno));
        if ((waits[1].revents & POLLIN) != 0) {
            server_stop(c->server);
            waits[1].fd = -1;
        }
        end_late(c);
    }
}

static void wake(struct connections *c) {
    const uint64_t one = 1;
    /* A full counter is readable as well. */
    if (write(c->changed, &one, sizeof(one)) < 0)
        log_debug("the event is full: %s", strerror(errno));
}

int connections_start(struct connections *c, struct server *server, int stop, struct error *err) {
    *c = (struct connections){.server = server, .stop = stop};
    (void)pthread_mutex_init(&c->lock, NULL);
    c->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->changed < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "deadlines of connections");
    c->runs = true; /* which the thread reads */
    if (pthread_create(&c->thread, NULL, watch, c) == 0)
        return 0;
    c->runs = false;
    return error_set(err, EXIT_CODE_INTERNAL, "deadlines of connections: no thread for them");
}

void connections_done(struct connections *c) {
    if (c->server == NULL)
        return;
    if (c->runs) {
        (void)pthread_mutex_lock(&c->lock);
        c->runs = false;
        (void)pthread_mutex_unlock(&c->lock);
        wake(c);
        (void)pthread_join(c->thread, NULL);
    }
    if (c->changed >= 0)
        close(c->changed);
    (void)pthread_mutex_destroy(&c->lock);
    c->server = NULL;
}

void connections_allow(struct connections *c, struct connection_deadline *entry, int64_t deadline) {
    if (entry == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    const bool earlier = deadline < deadlines_next(&c->deadlines);
    entry->at = deadline;
    (void)pthread_mutex_unlock(&c->lock);
    if (earlier)
        wake(c);
}

struct connection_deadline *connections_add(struct connections *c, int fd, int64_t deadline) {
    struct connection_deadline *entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        return NULL;
    entry->fd = fd;
    entry->at = INT64_MAX;
    (void)pthread_mutex_lock(&c->lock);
    deadlines_add(&c->deadlines, entry);
    (void)pthread_mutex_unlock(&c->lock);
    connections_allow(c, entry, deadline);
    return entry;
}

void connections_remove(struct connections *c, struct connection_deadline *entry) {
    if (entry == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    deadlines_remove(&c->deadlines, entry);
    (void)pthread_mutex_unlock(&c->lock);
    free(entry);
}
