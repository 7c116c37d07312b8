#include "trainer/comm/tcp/comm_tcp.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "trainer/comm/comm_thread.h"
#include "trainer/comm/tcp/collectives.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ADDRESS_SIZE = 256,
    /* Less than the caller waits, so that the error says which ranks are missing. */
    MEET_SECONDS = COMM_OPEN_SECONDS - 5,
    /* After the failure of another rank this one holds its own report back, so that the launcher
     * sees the failure that came first, and ends this one. */
    HOLD_BACK_MS = 2000,
};

struct tcp_comm {
    struct comm_thread thread; /* must be first: the two are cast into each other */
    struct comm_tcp_plan plan;
    char address[ADDRESS_SIZE];
    struct mesh mesh;
    struct collectives collectives;
};

static int tcp_begin(struct comm_thread *t, struct error *err) {
    struct tcp_comm *c = (struct tcp_comm *)t;
    if (mesh_open(&c->mesh, &c->plan.mesh, clock_now() + MEET_SECONDS * CLOCK_SECOND, err) != 0)
        return -1;
    if (collectives_init(&c->collectives, &c->mesh, err) != 0) {
        mesh_done(&c->mesh);
        return -1;
    }
    return 0;
}

static void release(struct tcp_comm *c) {
    collectives_done(&c->collectives);
    mesh_done(&c->mesh);
}

/* The ranks of MADE are those of its mesh. */
static void take_places(struct tcp_comm *made) {
    struct comm *base = &made->thread.base;
    base->rank = made->mesh.rank;
    base->size = made->mesh.size;
    base->local_rank = mesh_neighbours_before(&made->mesh, base->rank);
    base->local_size = mesh_neighbours_before(&made->mesh, base->size);
}

static int split(struct tcp_comm *c, const struct work *work, int64_t deadline, struct error *err) {
    struct tcp_comm *made = work->data;
    const int32_t own = work->root;
    cleanup_free int32_t *groups = calloc((size_t)c->mesh.size, sizeof(*groups));
    if (groups == NULL)
        return error_no_memory(err, "groups of ranks");
    const struct work tell = {
        .kind = WORK_GATHER, .input = &own, .data = groups, .count = sizeof(own)};
    if (collectives_perform(&c->collectives, &tell, deadline, err) != 0)
        return -1;
    if (own < 0)
        return 0;
    if (mesh_part(&made->mesh, &c->mesh, groups, err) != 0 ||
        collectives_init(&made->collectives, &made->mesh, err) != 0)
        return -1;
    take_places(made);
    return 0;
}

/* Makes the communicator that of the ranks which are left, over the connections between them. */
static int narrow(struct tcp_comm *c, const unsigned char *gone, struct error *err) {
    struct mesh left;
    cleanup_free int32_t *groups = calloc((size_t)c->mesh.size, sizeof(*groups));
    if (groups == NULL)
        return error_no_memory(err, "groups of ranks");
    for (int i = 0; i < c->mesh.size; i++)
        groups[i] = gone[i] != 0 ? 1 : 0;
    if (!c->mesh.borrows)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "ranks can be left out only of a communicator that comm_split made");
    if (groups[c->mesh.rank] != 0)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "rank %d leaves itself out; expected only other ranks", c->mesh.rank);
    if (mesh_part(&left, &c->mesh, groups, err) != 0)
        return -1;
    release(c);
    c->mesh = left;
    take_places(c);
    return collectives_init(&c->collectives, &c->mesh, err);
}

static int carry_out(struct tcp_comm *c, const struct work *work, struct error *err) {
    const int64_t deadline = comm_thread_deadline(&c->thread);
    if (work->kind == WORK_SPLIT)
        return split(c, work, deadline, err);
    if (work->kind == WORK_NARROW)
        return narrow(c, work->input, err);
    if (work->kind == WORK_RELEASE) {
        release(c);
        return 0;
    }
    return collectives_perform(&c->collectives, work, deadline, err);
}

static int tcp_perform(struct comm_thread *t, const struct work *work, struct error *err) {
    if (carry_out((struct tcp_comm *)t, work, err) == 0)
        return 0;
    (void)poll(NULL, 0, HOLD_BACK_MS);
    return -1;
}

static void tcp_end(struct comm_thread *t, bool failed) {
    (void)failed;
    release((struct tcp_comm *)t);
}

static int tcp_socket_of(const struct comm_thread *t, int rank) {
    return ((const struct tcp_comm *)t)->mesh.peers[rank].fd;
}

int comm_tcp_open(struct comm **ret, const struct comm_tcp_plan *plan, struct error *err) {
    static const struct comm_thread_works works = {
        .name = "tcp",
        .size = sizeof(struct tcp_comm),
        .begin = tcp_begin,
        .perform = tcp_perform,
        .socket = tcp_socket_of,
        .end = tcp_end,
    };
    struct tcp_comm *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return error_no_memory(err, "communicator");
    c->plan = *plan;
    (void)snprintf(c->address, sizeof(c->address), "%s", plan->mesh.address);
    c->plan.mesh.address = c->address;
    struct comm *base = &c->thread.base;
    base->rank = plan->mesh.rank;
    base->size = plan->mesh.size;
    base->local_rank = plan->local_rank;
    base->local_size = plan->local_size;
    if (comm_thread_open(&c->thread, &works, err) != 0)
        return -1;
    *ret = base;
    return 0;
}
