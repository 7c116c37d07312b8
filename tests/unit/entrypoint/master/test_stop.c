#include "tests/support/held_clock.h"
#include "tests/unit/entrypoint/stage.h"

#include "entrypoint/master/state/attempt.h"
#include "entrypoint/master/stop.h"
#include "entrypoint/wire/message.h"

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

/* Its program needs no handler of the stop signal. */
static void the_stop_signal_is_the_users_choice(void) {
    const char *words[] = {"--", "sh", "-c", "trap 'echo no' TERM; echo ready; exec sleep 600",
                           NULL};
    const char *const settings[] = {"RINGMASTER_STOP_SECONDS=600", "RINGMASTER_STOP_SIGNAL=USR2",
                                    NULL};
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    CU_ASSERT_PTR_NULL(strstr(stage_output(&host), "] no"));
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "USR2"));
}

static void a_warning_comes_before_the_stop_signal(void) {
    const char *words[] = {"--", "sh", "-c",
                           "trap 'echo warned' USR1; trap 'echo stopped; exit 0' TERM; echo ready; "
                           "while :; do sleep 0.05; done",
                           NULL};
    const char *const settings[] = {"RINGMASTER_STOP_SECONDS=600", "RINGMASTER_WARN_SIGNAL=USR1@1",
                                    NULL};
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    int64_t began = clock_now();
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    CU_ASSERT(clock_now() - began >= CLOCK_SECOND);
    const char *warned = strstr(stage_output(&host), "] warned");
    const char *stopped = strstr(host.text, "] stopped");
    CU_ASSERT(warned != NULL && stopped != NULL && warned < stopped);
}

/* Nothing stops the job here: the platform would. A program that the signal kills is no crash that
 * another attempt could mend. */
static void the_end_of_the_time_is_reported_before_it_comes(void) {
    const char *heeds[] = {
        "--", "sh", "-c",
        "trap 'echo warned; exit 7' USR1; echo ready; while :; do sleep 0.05; done", NULL};
    const char *heedless[] = {"--", "sh", "-c", "echo ready; exec sleep 600", NULL};
    const char *const settings[] = {"RINGMASTER_TIME_LIMIT=33", "RINGMASTER_WARN_SIGNAL=USR1@30",
                                    "RINGMASTER_RESTARTS=5", NULL};
    stage_start(&host, "host", settings, heeds);
    CU_ASSERT_EQUAL(stage_end(&host), 7);
    ASSERT_CONTAINS(stage_output(&host), "the platform ends the job in 30 s: all ranks are sent "
                                         "SIGUSR1");
    ASSERT_CONTAINS(stage_output(&host), "] warned");
    stage_start(&host, "host", settings, heedless);
    CU_ASSERT_EQUAL(stage_end(&host), 128 + SIGUSR1);
    ASSERT_CONTAINS(stage_failure(&host),
                    "which warned it of the end and which it does not handle");
    CU_ASSERT_PTR_NULL(strstr(stage_output(&host), "attempt 2"));
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
static int64_t warned_at; /* since the stop, ns; 0: never */
static int64_t signalled_at;
static struct stop_warning warning;

static void take_order(void *context, const json_t *message) {
    const char *type = json_string_value(json_object_get(message, "type"));
    (void)context;
    if (strcmp(type, "warn") == 0)
        warned_at = clock_now() - begun + 1;
    if (strcmp(type, "stop") == 0)
        signalled_at = clock_now() - begun + 1;
}

static void note(struct master *raised, const struct raised *what) {
    *(what->event == EVENT_HOLD_SPENT ? &held_until : &spent_at) = clock_now() - begun;
    if (what->event == EVENT_BUDGET_SPENT)
        loop_end(&raised->s.loop);
}

static void begin_stop(int64_t seconds, int seats) {
    held_clock_begin();
    begun = clock_now();
    held_until = spent_at = warned_at = signalled_at = 0;
    alone = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    job = (struct job){
        .settings = {.stop_seconds = seconds, .stop_signal = SIGTERM, .warning = warning},
        .cluster = {.hosts = &alone, .count = 1}};
    m = (struct master){.s = {.job = &job}, .raise = note};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, take_order, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, NULL), 0);
    if (seats > 0)
        (void)attempt_rank_started(&m.attempt, 0, 0);
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

/* A stop waits half of the budget, and ten seconds at most, for ranks to start. The rest of the
 * budget is the ranks'. */
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

/* A stop that finds all ranks started. */
static void stop_late(void *context) {
    struct master *at = context;
    stop_begin(at);
    stop_send(at);
    loop_after(&at->s.loop, &at->stop.budget, CLOCK_SECOND);
}

/* As long before as was asked for, but with a quarter of the time left for the stop signal. */
static void the_stop_signal_waits_for_what_the_warning_asked_for(void) {
    static const int64_t rows[][3] = {{120, 60, 60 * 1000},
                                      {100, 75, 75 * 1000},
                                      {100, 76, 75 * 1000},
                                      {25, 60, 18750},
                                      {8, 1, 1000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        warning = (struct stop_warning){SIGUSR1, rows[i][1]};
        begin_stop(rows[i][0], 1);
        CU_ASSERT(m.attempt.stop_sent);
        CU_ASSERT(m.attempt.warned == SIGUSR1 && m.attempt.stop_signal == 0);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
        CU_ASSERT_EQUAL(warned_at, 1);
        CU_ASSERT_EQUAL(signalled_at, rows[i][2] * CLOCK_MILLISECOND + 1);
        CU_ASSERT_EQUAL(m.attempt.stop_signal, SIGTERM);
        CU_ASSERT_EQUAL(spent_at, rows[i][0] * CLOCK_SECOND);
        end_stop();
    }
    warning = (struct stop_warning){0};
}

/* Ranks that were warned before the platform's end are stopped at once. */
static void ranks_are_warned_once(void) {
    warning = (struct stop_warning){SIGUSR1, 60};
    begin_stop(100, 0);
    stop_close(&m);
    m.phase = PHASE_RUNNING;
    job.cluster.ends = clock_wall() / CLOCK_SECOND + 100;
    int64_t expected = (job.cluster.ends - 60) * CLOCK_SECOND - clock_wall();
    struct timer then = {.fire = stop_late, .context = &m};
    stop_await_end(&m);
    loop_after(&m.s.loop, &then, 50 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT(warned_at >= expected && warned_at <= expected + 2 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(signalled_at, 50 * CLOCK_SECOND + 1);
    end_stop();
    warning = (struct stop_warning){0};
}

static void an_attempt_that_begins_too_late_is_not_warned(void) {
    warning = (struct stop_warning){SIGUSR1, 60};
    begin_stop(100, 0);
    stop_close(&m);
    job.cluster.ends = clock_wall() / CLOCK_SECOND + 60;
    stop_await_end(&m);
    CU_ASSERT_FALSE(m.stop.end.active);
    job.cluster.ends = 0;
    stop_await_end(&m);
    CU_ASSERT_FALSE(m.stop.end.active);
    end_stop();
    warning = (struct stop_warning){0};
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
            UNIT(ranks_that_have_started_have_all_of_it),
            UNIT(the_stop_signal_waits_for_what_the_warning_asked_for), UNIT(ranks_are_warned_once),
            UNIT(an_attempt_that_begins_too_late_is_not_warned),
            UNIT(the_stop_signal_is_the_users_choice), UNIT(a_warning_comes_before_the_stop_signal),
            UNIT(the_end_of_the_time_is_reported_before_it_comes),
            UNIT(a_second_request_ends_it_at_once),
            UNIT(a_stopped_job_is_143_whatever_its_program_makes_of_it),
            UNIT(what_does_not_stop_is_killed_at_its_end))
