#include "unit/entrypoint/stage.h"

#include "master/attempt.h"
#include "master/stop.h"

static struct stage_host host;

static void start(const char *budget, const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    const char *const settings[] = {budget, NULL};
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] ready", 10));
}

static void a_stopped_job_is_143_whatever_its_program_makes_of_it(void) {
    start("RINGMASTER_STOP_SECONDS=20", "echo ready; exec sleep 60");
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 5), EXIT_CODE_STOPPED);
    start("RINGMASTER_STOP_SECONDS=20",
          "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    (void)kill(host.pid, SIGINT);
    CU_ASSERT_EQUAL(stage_end(&host, 5), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_output(&host), "saved");
}

static void the_program_has_the_whole_budget(void) {
    start("RINGMASTER_STOP_SECONDS=20",
          "trap 'sleep 2; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    int64_t begin = clock_now();
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 10), EXIT_CODE_STOPPED);
    CU_ASSERT(clock_now() - begin >= 2 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_output(&host), "saved");
}

static void what_does_not_stop_is_killed_at_its_end(void) {
    start("RINGMASTER_STOP_SECONDS=1", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    int64_t begin = clock_now();
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 10), EXIT_CODE_STOPPED);
    CU_ASSERT(clock_now() - begin >= CLOCK_SECOND);
    CU_ASSERT(clock_now() - begin < 4 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host),
                    "killed, as it had not ended when the time to stop was over");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "memory"));
}

static void a_second_signal_shortens_it(void) {
    start("RINGMASTER_STOP_SECONDS=50", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT(stage_wait_for(&host, "stopping on request", 5));
    (void)poll(NULL, 0, 1050); /* sooner it would be the same stop */
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 5), EXIT_CODE_STOPPED);
}

/* A closing terminal, or a wrapper with its group, says it several times at once. */
static void signals_of_one_moment_are_one_stop(void) {
    static const int others[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < 3; i++) {
        const char *words[] = {"--", "sh", "-c",
                               "trap 'sleep 1.5; echo saved; exit 0' TERM; echo ready; "
                               "while :; do sleep 1 & wait $!; done",
                               NULL};
        stage_start(&host, "moment", NULL, words);
        CU_ASSERT(stage_wait_for(&host, "] ready", 20));
        (void)kill(host.pid, SIGTERM);
        (void)poll(NULL, 0, 50);
        (void)kill(host.pid, others[i]);
        (void)poll(NULL, 0, 1150);
        (void)kill(host.pid, SIGHUP);
        CU_ASSERT_EQUAL(stage_end(&host, 20), EXIT_CODE_STOPPED);
        ASSERT_CONTAINS(stage_output(&host), "] saved");
    }
}

static void nothing(struct master *m, const struct raised *what) {
    (void)m;
    (void)what;
}

/* Where ranks have not started: half of the budget, and ten seconds at most, the rest is theirs. */
static void a_stop_waits_for_the_start_half_of_its_time(void) {
    static const int64_t rows[][2] = {{100, 10}, {30, 10}, {16, 8}, {3, 1}};
    struct cluster_host alone = {.name = {"algo-1"}, .slots = 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err;
        struct job job = {.settings = {.stop_seconds = rows[i][0]},
                          .cluster = {.hosts = &alone, .count = 1}};
        struct master m = {.s = {.job = &job}, .raise = nothing};
        CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
        CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
        stop_init(&m);
        int64_t begun = clock_now();
        stop_begin(&m);
        int64_t hold = m.stop.hold.deadline - begun, budget = m.stop.budget.deadline - begun;
        int64_t lag = clock_now() - begun;
        CU_ASSERT(budget >= rows[i][0] * CLOCK_SECOND);
        CU_ASSERT(budget <= rows[i][0] * CLOCK_SECOND + lag);
        CU_ASSERT(hold >= rows[i][1] * CLOCK_SECOND);
        CU_ASSERT(hold <= rows[i][0] * CLOCK_SECOND / 2 + lag);
        CU_ASSERT(hold <= 10 * CLOCK_SECOND + lag);
        stop_close(&m);
        attempt_done(&m.attempt);
        loop_done(&m.s.loop);
    }
}

STAGE_MAIN("master.stop", UNIT(a_stop_waits_for_the_start_half_of_its_time),
           UNIT(a_stopped_job_is_143_whatever_its_program_makes_of_it),
           UNIT(the_program_has_the_whole_budget), UNIT(what_does_not_stop_is_killed_at_its_end),
           UNIT(a_second_signal_shortens_it), UNIT(signals_of_one_moment_are_one_stop))
