#include "tests/support/held_clock.h"
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

/* Long before its time is over, which is more than a test has (STAGE_PATIENCE_SECONDS). */
static void a_stopped_job_is_143_whatever_its_program_makes_of_it(void) {
    start("RINGMASTER_STOP_SECONDS=600", "echo ready; exec sleep 600");
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    start("RINGMASTER_STOP_SECONDS=600",
          "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done");
    (void)kill(host.pid, SIGINT);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_output(&host), "saved");
}

static void what_does_not_stop_is_killed_at_its_end(void) {
    start("RINGMASTER_STOP_SECONDS=1", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&host),
                    "killed, as it had not ended when the time to stop was over");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "memory"));
}

/* --- budgets, on a held clock --------------------------------------------------------------------
 */

static struct cluster_host alone;
static struct job job;
static struct master m;
static int64_t begun;
static int64_t held_until; /* since then, ns; 0: it is held still */
static int64_t spent_at;

static void send_nothing(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void note(struct master *raised, const struct raised *what) {
    *(what->event == EVENT_HOLD_SPENT ? &held_until : &spent_at) = clock_now() - begun;
    if (what->event == EVENT_BUDGET_SPENT)
        loop_end(&raised->s.loop);
}

static void begin_stop(int64_t seconds, int seats) {
    held_clock_begin();
    begun = clock_now();
    held_until = spent_at = 0;
    alone = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    job = (struct job){.settings = {.stop_seconds = seconds},
                       .cluster = {.hosts = &alone, .count = 1}};
    m = (struct master){.s = {.job = &job}, .raise = note};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, send_nothing, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, NULL), 0);
    if (seats > 0)
        (void)attempt_seat(&m.attempt, 0, 0);
    stop_init(&m);
    stop_begin(&m);
}

static void end_stop(void) {
    stop_close(&m);
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
    held_clock_end();
}

/* Where ranks have not started: half of the budget, and ten seconds at most, the rest is theirs. */
static void a_stop_waits_for_the_start_half_of_its_time(void) {
    static const int64_t rows[][2] = {{100, 10 * 1000}, {21, 10 * 1000}, {20, 10 * 1000},
                                      {19, 9500},       {16, 8 * 1000},  {3, 1500}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin_stop(rows[i][0], 0);
        CU_ASSERT_FALSE(m.attempt.stop_sent);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
        CU_ASSERT_EQUAL(held_until, rows[i][1] * CLOCK_MILLISECOND);
        CU_ASSERT_EQUAL(spent_at, rows[i][0] * CLOCK_SECOND);
        end_stop();
    }
}
static void ranks_that_have_started_have_all_of_it(void) {
    begin_stop(120, 1);
    CU_ASSERT(m.attempt.stop_sent);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL(held_until, 0);
    CU_ASSERT_EQUAL(spent_at, 120 * CLOCK_SECOND);
    end_stop();
}

static void end_budget(void *context) {
    stop_end_budget(context);
}

/* Unless the ranks are killed already. */
static void a_second_request_ends_it_at_once(void) {
    for (int64_t killed = 0; killed < 2; killed++) {
        struct timer second = {.fire = end_budget, .context = &m};
        begin_stop(120, 1);
        m.attempt.killed = killed;
        loop_after(&m.s.loop, &second, 7 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
        CU_ASSERT_EQUAL(spent_at, (killed ? 120 : 7) * CLOCK_SECOND);
        end_stop();
    }
}

STAGE_SUITE("master.stop", UNIT(a_stop_waits_for_the_start_half_of_its_time),
            UNIT(ranks_that_have_started_have_all_of_it), UNIT(a_second_request_ends_it_at_once),
            UNIT(a_stopped_job_is_143_whatever_its_program_makes_of_it),
            UNIT(what_does_not_stop_is_killed_at_its_end))
