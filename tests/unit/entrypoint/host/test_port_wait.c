#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/host/port_wait.h"
#include "tests/support/held_clock.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

static const int64_t patience = 20; /* s */

struct world {
    struct loop loop;
    struct job job;
    struct services services;
    struct port_wait port_wait;
    struct timer leaver;
    int held; /* the process that listens on the daemons' port; -1: none */
    int told;
    struct error failure;
};

static void told(void *context, const struct error *failure) {
    struct world *w = context;
    w->told++;
    if (failure != NULL)
        w->failure = *failure;
    loop_end(&w->loop);
}

static void leave(void *context) {
    struct world *w = context;
    CU_ASSERT_EQUAL(w->told, 0);
    close(take_fd(&w->held));
}

/* HOSTS of one rank each, and somebody on the port of Open MPI's daemons. */
static void open_world(struct world *w, struct cluster_host *hosts, size_t count) {
    const uint16_t port = ports_own();
    *w = (struct world){.job.cluster = {.hosts = hosts, .count = count}};
    for (size_t i = 0; i < count; i++)
        hosts[i].slots = 1;
    w->services = (struct services){.loop = &w->loop, .job = &w->job};
    w->leaver = (struct timer){.fire = leave, .context = w};
    CU_ASSERT_EQUAL_FATAL(loop_init(&w->loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ports_plan(port, 1, &w->job.ports, NULL), 0);
    w->held = ports_occupy(w->job.ports.daemons_v4);
    CU_ASSERT_FATAL(w->held >= 0);
}

static void close_world(struct world *w) {
    port_wait_cancel(&w->port_wait);
    cleanup_fd_at(&w->held);
    loop_done(&w->loop);
}

static void who_leaves_in_time_is_no_fault(void) {
    struct cluster_host hosts[2] = {0};
    struct world w;
    open_world(&w, hosts, 2);
    loop_after(&w.loop, &w.leaver, 10 * CLOCK_MILLISECOND);
    port_wait_await(&w.port_wait, &w.services, patience, told, &w);
    CU_ASSERT_EQUAL(w.told, 0);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(w.told, 1);
    CU_ASSERT_EQUAL(w.failure.code, 0);
    close_world(&w);
}

static void who_stays_is_named(void) {
    struct cluster_host hosts[2] = {0};
    struct world w;
    open_world(&w, hosts, 2);
    held_clock_begin();
    const int64_t start = clock_now();
    port_wait_await(&w.port_wait, &w.services, 1, told, &w);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(clock_now() - start, CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT_EQUAL(w.told, 1);
    CU_ASSERT_EQUAL(w.failure.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(w.failure.text, "RINGMASTER_PORT");
    close_world(&w);
}

static void one_rank_needs_no_port(void) {
    struct cluster_host hosts[1] = {0};
    struct world w;
    open_world(&w, hosts, 1);
    port_wait_await(&w.port_wait, &w.services, patience, told, &w);
    CU_ASSERT_EQUAL(w.told, 1);
    CU_ASSERT_EQUAL(w.failure.code, 0);
    close_world(&w);
}

/* Nothing is reported of a wait that was given up, nor twice of one that began anew. */
static void a_wait_can_be_given_up(void) {
    struct cluster_host hosts[2] = {0};
    struct world w;
    open_world(&w, hosts, 2);
    port_wait_cancel(&w.port_wait);
    port_wait_await(&w.port_wait, &w.services, 0, told, &w);
    CU_ASSERT_EQUAL(w.told, 1);
    port_wait_await(&w.port_wait, &w.services, patience, told, &w);
    port_wait_await(&w.port_wait, &w.services, patience, told, &w);
    port_wait_cancel(&w.port_wait);
    CU_ASSERT_EQUAL(w.told, 1);
    CU_ASSERT_PTR_NULL(w.loop.timers);
    close_world(&w);
}

UNIT_SUITE("host.port_wait", UNIT(who_leaves_in_time_is_no_fault), UNIT(who_stays_is_named),
           UNIT(one_rank_needs_no_port), UNIT(a_wait_can_be_given_up))
