#include "common/clock.h"
#include "entrypoint/host/supervisor.h"
#include "tests/support/lag.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct cluster_host hosts[3];
static struct job job;
static struct role_state role_state;
static struct supervisor s;
static int busy = -1;

static void on_signal(void *context, int number) {
    (void)context;
    (void)number;
    process_tree_reaped(&s.sweep, reaper_run(&s.reaper));
}

static void set_up(uint16_t port) {
    struct error err;
    sigset_t set;
    for (size_t i = 0; i < 3; i++)
        hosts[i] = (struct cluster_host){.slots = 1};
    job = (struct job){.cluster = {.hosts = hosts, .count = 3, .self = 1}};
    CU_ASSERT_EQUAL_FATAL(ports_plan(port, 1, &job.ports, &err), 0);
    role_state = (struct role_state){.on = true};
    s = (struct supervisor){.job = &job, .role_state = &role_state};
    supervisor_share(&s);
    s.host.services = &s.services;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    CU_ASSERT_EQUAL_FATAL(loop_init(&s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&s.loop, &set, on_signal, NULL, &err), 0);
}

/* One that does not hear SIGTERM. */
static pid_t start_program(void) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        for (;;)
            (void)pause();
    }
    return pid;
}

static void a_life_ends_with_all_that_ran_and_without_a_verdict(void) {
    struct error err;
    set_up(ports_own());
    pid_t program = start_program();
    struct lag lag;
    lag_begin(&lag);
    supervisor_follow(&s);
    supervisor_follow(&s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    ASSERT_WITHIN(&lag, 2 * CLOCK_SECOND);
    CU_ASSERT(kill(program, 0) != 0);
    CU_ASSERT(role_state.over);
    CU_ASSERT_EQUAL(s.verdict.code, 0);
    CU_ASSERT_PTR_NULL(s.host.rank_set.slots);
    loop_done(&s.loop);
}

static void release(void *context) {
    (void)context;
    (void)close(busy);
}

/* The next attempt needs the ports of the last one. */
static void ports_that_are_busy_are_awaited(void) {
    struct error err;
    uint16_t port = ports_own();
    struct timer timer = {.fire = release};
    struct lag lag;
    set_up(port);
    busy = ports_occupy(port + 1U);
    CU_ASSERT(busy >= 0);
    loop_after(&s.loop, &timer, CLOCK_SECOND);
    int64_t began = clock_now();
    lag_begin(&lag);
    supervisor_follow(&s);
    CU_ASSERT_EQUAL(loop_run(&s.loop, &err), 0);
    CU_ASSERT(clock_now() - began >= CLOCK_SECOND);
    /* It looks four times a second, and would have for 15 s. */
    ASSERT_WITHIN(&lag, CLOCK_SECOND + CLOCK_SECOND / 4);
    CU_ASSERT(s.port_wait.deadline >= began + 15 * CLOCK_SECOND);
    CU_ASSERT(s.port_wait.deadline <= clock_now() + 14 * CLOCK_SECOND);
    CU_ASSERT(role_state.over);
    loop_done(&s.loop);
}

UNIT_SUITE("host.supervisor_follow", UNIT(a_life_ends_with_all_that_ran_and_without_a_verdict),
           UNIT(ports_that_are_busy_are_awaited))
