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
    struct comm *base = &made->thread.base;
    base->rank = made->mesh.rank;
    base->size = made->mesh.size;
    base->local_rank = mesh_neighbours_before(&made->mesh, base->rank);
    base->local_size = mesh_neighbours_before(&made->mesh, base->size);
    return 0;
}

static int carry_out(struct tcp_comm *c, const struct work *work, struct error *err) {
    const int64_t deadline = comm_thread_deadline(&c->thread);
    if (work->kind == WORK_SPLIT)
        return split(c, work, deadline, err);
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

int comm_tcp_open(struct comm **ret, const struct comm_tcp_plan *plan, struct error *err) {
    static const struct comm_thread_works works = {
        .name = "tcp",
        .size = sizeof(struct tcp_comm),
        .begin = tcp_begin,
        .perform = tcp_perform,
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
