#include "common/clock.h"
#include "host/supervisor.h"
#include "support/lag.h"
#include "support/ports.h"
#include "support/reaping.h"
#include "support/unit.h"

/* What a supervisor has of it when it comes to its tools. */
struct world {
    struct cluster_host hosts[2];
    struct job job;
    struct supervisor s;
    struct timer later;
    int held;
    int started;
};

static void start(void *state) {
    struct world *w = state;
    w->started++;
    loop_end(&w->s.loop);
}

static const struct role role = {.start = start};
static char path[] = "PATH=/usr/bin:/bin", no_path[] = "PATH=/nowhere";
static char *environment[] = {path, NULL};

static void begin(void *context) {
    struct world *w = context;
    start(w);
}

static void open_world(struct world *w, size_t hosts, void (*later)(void *context)) {
    struct error err;
    *w = (struct world){.hosts = {{.slots = 1}, {.slots = 1}}, .held = -1};
    w->job.cluster = (struct cluster){.hosts = w->hosts, .count = hosts};
    CU_ASSERT_EQUAL_FATAL(ports_plan(ports_own(), 1, &w->job.ports, &err), 0);
    w->s =
        (struct supervisor){.job = &w->job, .environment = environment, .role = &role, .state = w};
    w->s.begin = (struct timer){.fire = begin, .context = w};
    w->later = (struct timer){.fire = later, .context = w};
    reaping_open(&w->s.loop, &w->s.reaper);
    w->held = ports_occupy(w->job.ports.daemons_v4);
    CU_ASSERT_FATAL(w->held >= 0);
}

static void run(struct world *w) {
    loop_after(&w->s.loop, &w->later, 300 * CLOCK_MILLISECOND);
    supervisor_find_tools(&w->s);
    CU_ASSERT_EQUAL(w->started, 0);
    CU_ASSERT_EQUAL(loop_run(&w->s.loop, NULL), 0);
}

static void close_world(struct world *w) {
    loop_cancel(&w->s.loop, &w->later);
    vacancy_cancel(&w->s.vacancy);
    tools_done(&w->s.tools);
    argv_done(&w->s.tools_environment);
    if (w->held >= 0)
        (void)close(w->held);
    loop_done(&w->s.loop);
}

static void release(void *context) {
    struct world *w = context;
    CU_ASSERT_EQUAL(w->started, 0);
    (void)close(w->held);
    w->held = -1;
}

static void a_port_is_busy_for_a_moment(void) {
    struct world w;
    open_world(&w, 2, release);
    run(&w);
    CU_ASSERT_EQUAL(w.started, 1);
    CU_ASSERT_EQUAL(w.s.fault.code, 0);
    CU_ASSERT_PTR_NOT_NULL(w.s.tools.mpirun);
    close_world(&w);
}

/* What cannot be found is the role's to tell. */
static void a_port_that_stays_busy_is_the_fault(void) {
    struct world w;
    open_world(&w, 2, NULL);
    w.later = (struct timer){0};
    struct lag lag;
    int64_t begun = clock_now();
    lag_begin(&lag);
    supervisor_find_tools(&w.s);
    CU_ASSERT_EQUAL(loop_run(&w.s.loop, NULL), 0);
    CU_ASSERT(clock_now() - begun >= 5 * CLOCK_SECOND);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(w.started, 1);
    CU_ASSERT_EQUAL(w.s.fault.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(w.s.fault.text, "RINGMASTER_PORT");
    close_world(&w);
}

static void no_mpirun_is_the_fault(void) {
    static char *nowhere[] = {no_path, NULL};
    struct world w;
    open_world(&w, 2, release);
    w.s.environment = nowhere;
    run(&w);
    CU_ASSERT_EQUAL(w.started, 1);
    ASSERT_CONTAINS(w.s.fault.text, "mpirun");
    close_world(&w);
}

static void judge(void *context) {
    struct world *w = context;
    release(w);
    w->s.judged = true;
    w->later = (struct timer){.fire = begin, .context = w};
    loop_after(&w->s.loop, &w->later, CLOCK_SECOND);
}

/* A stop came: the one start that is seen is the test's own. */
static void nothing_begins_once_the_job_is_judged(void) {
    struct world w;
    open_world(&w, 2, judge);
    run(&w);
    CU_ASSERT_EQUAL(w.started, 1);
    CU_ASSERT_PTR_NULL(w.s.tools.mpirun);
    close_world(&w);
}

static void one_rank_needs_neither(void) {
    struct world w;
    open_world(&w, 1, NULL);
    supervisor_find_tools(&w.s);
    CU_ASSERT_EQUAL(w.started, 0);
    CU_ASSERT_EQUAL(loop_run(&w.s.loop, NULL), 0);
    CU_ASSERT_EQUAL(w.started, 1);
    CU_ASSERT_EQUAL(w.s.fault.code, 0);
    close_world(&w);
}

UNIT_MAIN("host.supervisor_tools", UNIT(a_port_is_busy_for_a_moment),
          UNIT(a_port_that_stays_busy_is_the_fault), UNIT(no_mpirun_is_the_fault),
          UNIT(nothing_begins_once_the_job_is_judged), UNIT(one_rank_needs_neither))
