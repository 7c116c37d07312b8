#include "trainer/comm/tcp/mesh_open.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/net/greeting.h"
#include "common/net/tcp_socket.h"
#include "trainer/comm/tcp/acceptor.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* The order rules out a deadlock. Each rank first connects to all ranks below it, and only then
 * accepts those above. All ranks listen already when rank 0 sends the list. A connection is
 * complete for its maker before the other side accepts it, as the kernel queues it.
 *
 * All waits end at the caller's deadline. The listeners are closed on return: later connections
 * find nothing. */

/* Between two tries to reach rank 0, and for one of them. */
static const int64_t PAUSE = 100 * CLOCK_MILLISECOND;
static const int64_t TRY = 5 * CLOCK_SECOND;

/* Returns the earlier of two times. */
static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Descriptors of -1 mark ranks that are not connected yet; mesh_done closes the others. */
static int mesh_init(struct mesh *mesh, const struct mesh_plan *plan, struct error *err) {
    *mesh = (struct mesh){.rank = plan->rank, .size = plan->size};
    if (plan->size < 1 || plan->size > MESH_RANKS_MAX || plan->rank < 0 || plan->rank >= plan->size)
        return error_set(err, EXIT_CODE_CONFIG,
                         "rank %d of %d: over TCP there are 1 to %d ranks, numbered from 0",
                         plan->rank, plan->size, MESH_RANKS_MAX);
    mesh->peers = calloc((size_t)plan->size, sizeof(*mesh->peers));
    if (mesh->peers == NULL)
        return error_no_memory(err, "connections to the other ranks");
    for (int i = 0; i < plan->size; i++)
        mesh->peers[i].fd = -1;
    return 0;
}

/* Introduces this rank. PORT is that of its listener, or 0 to ranks that know it from the list. */
static int greet(int fd, const struct mesh_plan *plan, uint16_t port, int64_t deadline,
                 struct error *err) {
    unsigned char bytes[GREETING_SIZE];
    struct greeting g = {.rank = (uint32_t)plan->rank, .size = (uint32_t)plan->size, .port = port};
    (void)snprintf(g.job, sizeof(g.job), "%s", plan->job);
    greeting_write(&g, bytes);
    return tcp_socket_write(fd, bytes, sizeof(bytes), deadline, err);
}

/* --- rank 0 ---------------------------------------------------------------------------------- */

/* Tells everyone where all ranks listen. The list is one message: the byte that welcomes, and the
 * place of each rank in order. */
static int publish(const struct mesh *mesh, const uint16_t *ports, int64_t deadline,
                   struct error *err) {
    size_t size = 1 + (size_t)mesh->size * GREETING_PLACE_SIZE;
    cleanup_free unsigned char *list = calloc(1, size);
    if (list == NULL)
        return error_no_memory(err, "the list of ranks");
    list[0] = GREETING_WELCOME;
    for (int i = 0; i < mesh->size; i++)
        greeting_write_place(&mesh->peers[i].address, ports[i], list + 1 + i * GREETING_PLACE_SIZE);
    for (int i = 1; i < mesh->size; i++)
        if (tcp_socket_write(mesh->peers[i].fd, list, size, deadline, err) != 0)
            return error_wrap(err, "%s", mesh_peer_text(mesh, i));
    return 0;
}

/* What rank 0 does: it learns addresses and ports of all others, then tells them. No rank continues
 * before the last one is there. */
static int lead(struct mesh *mesh, const struct mesh_plan *plan, int64_t deadline,
                struct error *err) {
    uint16_t ports[MESH_RANKS_MAX] = {0};
    if (tcp_socket_resolve(plan->address, &mesh->peers[0].address, err) != 0)
        return -1;
    cleanup_fd int listener =
        tcp_socket_listen(&mesh->peers[0].address, plan->port, &ports[0], err);
    if (listener < 0 || acceptor_run(listener, mesh, plan->job, 1, ports, deadline, err) != 0)
        return -1;
    return publish(mesh, ports, deadline, err);
}

/* --- the others ------------------------------------------------------------------------------ */

/* Introduces this rank to rank 0 and waits for its list: the first byte of the answer is read. An
 * answer other than a welcome is final, since a repetition would say the same. The listener is
 * opened on the address of this connection, which the other ranks can reach as well. */
static int join(struct mesh *mesh, const struct mesh_plan *plan, int *ret_listener,
                int64_t deadline, struct error *err) {
    uint16_t port = 0;
    unsigned char answer = GREETING_ANSWERS;
    struct mesh_peer *first = &mesh->peers[0];
    struct net_address *own = &mesh->peers[mesh->rank].address;
    if (tcp_socket_resolve(plan->address, &first->address, err) != 0)
        return -1;
    cleanup_fd int fd =
        tcp_socket_dial(&first->address, plan->port, sooner(deadline, clock_now() + TRY), err);
    if (fd < 0 || tcp_socket_own(fd, own, err) != 0)
        return -1;
    cleanup_fd int listener = tcp_socket_listen(own, 0, &port, err);
    if (listener < 0 || greet(fd, plan, port, deadline, err) != 0 ||
        tcp_socket_read(fd, &answer, 1, deadline, err) != 0)
        return -1;
    if (answer != GREETING_WELCOME)
        return error_set(err, EXIT_CODE_CONFIG, "rank 0 at %s port %u refuses rank %d: %s",
                         plan->address, plan->port, plan->rank, greeting_refusal(answer));
    first->fd = take_fd(&fd);
    *ret_listener = take_fd(&listener);
    return 0;
}

/* Rank 0 may start later than this one, or be about to end with an earlier attempt. A refusal
 * (EXIT_CODE_CONFIG) ends the attempts. At the deadline the latest error is reported as "not
 * ready". */
static int join_at_last(struct mesh *mesh, const struct mesh_plan *plan, int *ret_listener,
                        int64_t deadline, struct error *err) {
    struct error latest = {0};
    while (join(mesh, plan, ret_listener, deadline, &latest) != 0) {
        if (latest.code == EXIT_CODE_CONFIG || clock_now() + PAUSE >= deadline) {
            if (err != NULL)
                *err = latest;
            if (latest.code != EXIT_CODE_CONFIG && err != NULL)
                err->code = EXIT_CODE_NOT_READY;
            return error_wrap(err, "rank 0 at %s port %u", plan->address, plan->port);
        }
        (void)poll(NULL, 0, (int)(PAUSE / CLOCK_MILLISECOND));
    }
    return 0;
}

/* Reads the places of all ranks, this one's and rank 0's included. */
static int read_list(struct mesh *mesh, uint16_t *ports, int64_t deadline, struct error *err) {
    for (int i = 0; i < mesh->size; i++) {
        unsigned char bytes[GREETING_PLACE_SIZE];
        struct net_address address;
        if (tcp_socket_read(mesh->peers[0].fd, bytes, sizeof(bytes), deadline, err) != 0)
            return error_wrap(err, "the list of ranks, from %s", mesh_peer_text(mesh, 0));
        greeting_read_place(bytes, &address, &ports[i]);
        /* The address by which this rank reached rank 0 is known already. */
        if (i > 0 && i != mesh->rank)
            mesh->peers[i].address = address;
    }
    return 0;
}

/* What the other ranks do. The connection to rank 0 stays, and becomes part of the mesh like all
 * others. */
static int follow(struct mesh *mesh, const struct mesh_plan *plan, int64_t deadline,
                  struct error *err) {
    uint16_t ports[MESH_RANKS_MAX] = {0};
    cleanup_fd int listener = -1;
    if (join_at_last(mesh, plan, &listener, deadline, err) != 0 ||
        read_list(mesh, ports, deadline, err) != 0)
        return -1;
    for (int i = 1; i < mesh->rank; i++) {
        struct mesh_peer *peer = &mesh->peers[i];
        peer->fd = tcp_socket_dial(&peer->address, ports[i], deadline, err);
        if (peer->fd < 0 || greet(peer->fd, plan, 0, deadline, err) != 0)
            return error_wrap(err, "rank %d", i);
    }
    return acceptor_run(listener, mesh, plan->job, mesh->rank + 1, ports, deadline, err);
}

/* A single rank needs neither a listener nor an address. */
int mesh_open(struct mesh *mesh, const struct mesh_plan *plan, int64_t deadline,
              struct error *err) {
    int result = mesh_init(mesh, plan, err);
    if (result == 0 && plan->size > 1)
        result =
            plan->rank == 0 ? lead(mesh, plan, deadline, err) : follow(mesh, plan, deadline, err);
    if (result != 0)
        mesh_done(mesh);
    return result;
}
