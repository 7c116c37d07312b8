#include "trainer/comm/tcp/acceptor.h"

#include "common/clock.h"
#include "common/net/greeting.h"
#include "common/net/tcp_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A loop over poll() for one listener and up to CALLERS_MAX connections that have not said who they
 * are. Anything can connect to an open port, so a caller gets five seconds and GREETING_SIZE bytes,
 * and no place in the mesh before its greeting is in order. On rank 0 mesh_open.c runs it for all
 * others, and on each other rank for those above it.
 *
 * A caller that is refused gets the reason, since it is a rank of a wrong job, number or attempt,
 * and its user needs the reason. One that sends other bytes is closed without an answer. */

enum {
    CALLERS_MAX = 64, /* more wait in the kernel's queue */
    NAMED_MAX = 8     /* missing ranks that an error names */
};
static const int64_t GREETING_TIME = 5 * CLOCK_SECOND;

/* A connection that has not yet said all of its greeting. */
struct caller {
    int fd;
    struct net_address address;
    int64_t deadline; /* for the whole greeting */
    size_t got;       /* bytes of the greeting so far */
    unsigned char bytes[GREETING_SIZE];
};

struct acceptor {
    struct mesh *mesh;
    const char *job; /* that a caller has to name; borrowed */
    int least;       /* the first rank that is awaited */
    uint16_t *ports;
    struct caller callers[CALLERS_MAX];
    int count;
    char refused[256]; /* the last refusal; "" if there was none */
};

/* Returns how many ranks have not connected yet. */
static int missing(const struct acceptor *a) {
    int count = 0;
    for (int i = a->least; i < a->mesh->size; i++)
        count += a->mesh->peers[i].fd < 0;
    return count;
}

/* The last caller takes the free place, so indices above WHICH change. */
static void drop(struct acceptor *a, int which, bool close_it) {
    if (close_it)
        (void)close(a->callers[which].fd);
    a->callers[which] = a->callers[--a->count];
}

/* One byte always fits into the empty buffer of a new connection, so send() does not block. */
static void refuse(struct acceptor *a, const struct caller *caller, unsigned rank,
                   enum greeting_answer answer) {
    const unsigned char byte = (unsigned char)answer;
    char address[NET_ADDRESS_TEXT];
    net_address_text(&caller->address, address);
    (void)snprintf(a->refused, sizeof(a->refused), "; rank %u at %s was refused: %s", rank, address,
                   greeting_refusal(answer));
    (void)send(caller->fd, &byte, 1, MSG_NOSIGNAL);
}

/* Takes a caller with a whole greeting in, or sends it away; true if its descriptor is kept. Rank 0
 * learns from the greeting on which port a rank listens; the address is the one it came from. On
 * other ranks the port is 0 and both are known from the list. */
static bool admit(struct acceptor *a, const struct caller *caller) {
    struct greeting g;
    if (!greeting_read(caller->bytes, &g))
        return false;
    enum greeting_answer answer =
        greeting_answer(&g, a->job, (uint32_t)a->least, (uint32_t)a->mesh->size);
    if (answer == GREETING_WELCOME && a->mesh->peers[g.rank].fd >= 0)
        answer = GREETING_RANK_TAKEN;
    if (answer != GREETING_WELCOME) {
        refuse(a, caller, g.rank, answer);
        return false;
    }
    struct mesh_peer *peer = &a->mesh->peers[g.rank];
    peer->fd = caller->fd;
    if (g.port != 0) {
        peer->address = caller->address;
        a->ports[g.rank] = g.port;
    }
    return true;
}

/* Reads what a caller has sent. Callers that are through with it leave the list. A short read is
 * normal: the rest of the greeting arrives later, and the caller keeps its place. */
static void hear(struct acceptor *a, int which) {
    struct caller *caller = &a->callers[which];
    ssize_t count =
        recv(caller->fd, caller->bytes + caller->got, sizeof(caller->bytes) - caller->got, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        drop(a, which, true);
        return;
    }
    caller->got += (size_t)count;
    if (caller->got == sizeof(caller->bytes))
        drop(a, which, !admit(a, caller));
}

/* Accepts until none is waiting or all places are taken. */
static void accept_callers(struct acceptor *a, int listener) {
    while (a->count < CALLERS_MAX) {
        struct caller *caller = &a->callers[a->count];
        caller->fd = tcp_socket_accept(listener, &caller->address);
        if (caller->fd < 0)
            return;
        caller->got = 0;
        caller->deadline = clock_now() + GREETING_TIME;
        a->count++;
    }
}

/* Closes callers that were too slow. From the last one on, for the reason given in turn(). */
static void drop_late(struct acceptor *a) {
    int64_t now = clock_now();
    for (int i = a->count - 1; i >= 0; i--)
        if (a->callers[i].deadline <= now)
            drop(a, i, true);
}

/* Waits once, until something has happened or the earliest deadline. While all places are taken the
 * listener is not polled, as it would be ready at once each time. */
static void turn(struct acceptor *a, int listener, int64_t deadline) {
    struct pollfd polls[CALLERS_MAX + 1];
    int64_t until = deadline;
    for (int i = 0; i < a->count; i++) {
        polls[i] = (struct pollfd){.fd = a->callers[i].fd, .events = POLLIN};
        until = a->callers[i].deadline < until ? a->callers[i].deadline : until;
    }
    const int callers = a->count;
    polls[callers] = (struct pollfd){.fd = callers < CALLERS_MAX ? listener : -1, .events = POLLIN};
    if (poll(polls, (nfds_t)callers + 1, clock_left_ms(until)) > 0) {
        /* From the last one on, as those that leave are replaced by the last. */
        for (int i = callers - 1; i >= 0; i--)
            if (polls[i].revents != 0)
                hear(a, i);
        if (polls[callers].revents != 0)
            accept_callers(a, listener);
    }
    drop_late(a);
}

/* Returns -1 with the error of the deadline. */
static int late(const struct acceptor *a, struct error *err) {
    char names[128] = "";
    int count = 0;
    for (int i = a->least; i < a->mesh->size; i++) {
        if (a->mesh->peers[i].fd >= 0 || count++ >= NAMED_MAX)
            continue;
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%d", used > 0 ? ", " : "", i);
    }
    return error_set(err, EXIT_CODE_NOT_READY, "%d of %d ranks have not connected: %s%s%s", count,
                     a->mesh->size, names, count > NAMED_MAX ? ", ..." : "", a->refused);
}

int acceptor_run(int listener, struct mesh *mesh, const char *job, int least, uint16_t *ports,
                 int64_t deadline, struct error *err) {
    struct acceptor a = {.mesh = mesh, .job = job, .least = least, .ports = ports};
    while (missing(&a) > 0 && clock_now() < deadline)
        turn(&a, listener, deadline);
    while (a.count > 0)
        drop(&a, a.count - 1, true);
    return missing(&a) == 0 ? 0 : late(&a, err);
}
