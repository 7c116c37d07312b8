#include "tests/support/lag.h"
#include "tests/unit/entrypoint/stage.h"

#include "entrypoint/master/state/attempt.h"
#include "entrypoint/master/stop.h"

static struct stage_host host;

static void start(const char *budget, const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    const char *const settings[] = {budget, NULL};
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] ready"));
}

/* Asks for a stop; the job is out SECONDS later. */
static void stop_within(int number, int seconds) {
    struct lag lag;
    lag_begin(&lag);
    (void)kill(host.pid, number);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    ASSERT_WITHIN(&lag, seconds * CLOCK_SECOND);
}

static void a_stopped_job_is_143_whatever_its_program_makes_of_it(void) {
    start("RINGMASTER_STOP_SECONDS=20", "echo ready; exec sleep 60");
    stop_within(SIGTERM, 5);
    start("RINGMASTER_STOP_SECONDS=20",
          "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    stop_within(SIGINT, 5);
    ASSERT_CONTAINS(stage_output(&host), "saved");
}

static void the_program_has_the_whole_budget(void) {
    start("RINGMASTER_STOP_SECONDS=20",
          "trap 'sleep 2; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    int64_t begin = clock_now();
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    CU_ASSERT(clock_now() - begin >= 2 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_output(&host), "saved");
}

static void what_does_not_stop_is_killed_at_its_end(void) {
    start("RINGMASTER_STOP_SECONDS=1", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    int64_t begin = clock_now();
    stop_within(SIGTERM, 4);
    CU_ASSERT(clock_now() - begin >= CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host),
                    "killed, as it had not ended when the time to stop was over");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "memory"));
}

static void a_second_signal_shortens_it(void) {
    start("RINGMASTER_STOP_SECONDS=50", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT(stage_wait_for(&host, "stopping on request"));
    (void)poll(NULL, 0, 1050); /* sooner it would be the same stop */
    stop_within(SIGTERM, 5);
}

/* False where they were half a second apart on a busy machine, which proves nothing. */
static bool one_stop_of(int other) {
    const char *words[] = {"--", "sh", "-c",
                           "trap 'sleep 1.5; echo saved; exit 0' TERM; echo ready; "
                           "while :; do sleep 1 & wait $!; done",
                           NULL};
    stage_start(&host, "moment", NULL, words);
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    int64_t begun = clock_now();
    (void)kill(host.pid, SIGTERM);
    (void)poll(NULL, 0, 50);
    (void)kill(host.pid, other);
    bool at_once = clock_now() - begun < CLOCK_SECOND / 2;
    (void)poll(NULL, 0, 1150);
    (void)kill(host.pid, SIGHUP);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    if (at_once)
        ASSERT_CONTAINS(stage_output(&host), "] saved");
    return at_once;
}

/* A closing terminal, or a wrapper with its group, says it several times at once. */
static void signals_of_one_moment_are_one_stop(void) {
    static const int others[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < 3; i++)
        for (int tries = 0; tries < 3 && !one_stop_of(others[i]); tries++)
            ;
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

STAGE_SUITE("master.stop", UNIT(a_stop_waits_for_the_start_half_of_its_time),
            UNIT(a_stopped_job_is_143_whatever_its_program_makes_of_it),
            UNIT(the_program_has_the_whole_budget), UNIT(what_does_not_stop_is_killed_at_its_end),
            UNIT(a_second_signal_shortens_it), UNIT(signals_of_one_moment_are_one_stop))
