#include "master/master.h"
#include "master/relaunch.h"
#include "master/state.h"
#include "unit/entrypoint/stage.h"
#include "wire/frame.h"

#include <string.h>

static struct stage_host host;

static void start(const char *restarts, const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    const char *const settings[] = {restarts, NULL};
    stage_start(&host, "host", settings, words);
}

static void a_crash_is_tried_again_until_it_goes_well(void) {
    start("RINGMASTER_RESTARTS=2",
          "echo attempt $RINGMASTER_ATTEMPT of $RINGMASTER_RUN_ID; [ $RINGMASTER_ATTEMPT = 2 ] || "
          "{ mkdir -p $SM_OUTPUT_DIR; echo x >$SM_OUTPUT_DIR/failure; kill -KILL $$; }");
    CU_ASSERT_EQUAL(stage_end(&host, 20), 0);
    const char *text = stage_output(&host);
    const char *first = strstr(text, "attempt 1 of ");
    const char *second = strstr(text, "attempt 2 of ");
    CU_ASSERT_FATAL(first != NULL && second != NULL);
    CU_ASSERT_EQUAL(strncmp(first + 13, second + 13, 17), 0); /* one name, and its line's end */
    CU_ASSERT_NOT_EQUAL(first[13], '\n');
    ASSERT_CONTAINS(text, "killed by signal 9");
    ASSERT_CONTAINS(text, "all 1 ranks ended with 0; attempt 2 of 3");
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "");
}

static void the_last_attempt_is_the_jobs_verdict(void) {
    start("RINGMASTER_RESTARTS=1", "echo this is $RINGMASTER_ATTEMPT; kill -SEGV $$");
    CU_ASSERT_EQUAL(stage_end(&host, 20), 139);
    ASSERT_CONTAINS(stage_failure(&host), "signal: ");
    ASSERT_CONTAINS(stage_failure(&host), "(SIGSEGV); attempt 2 of 2\n");
    ASSERT_CONTAINS(stage_failure(&host), "this is 2");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "this is 1"));
}

static void a_code_of_the_programs_own_is_final(void) {
    start("RINGMASTER_RESTARTS=3", "exit 42");
    CU_ASSERT_EQUAL(stage_end(&host, 20), 42);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 42; attempt 1 of 4, no restart after");
}

/* A daemon of the program's that no signal but SIGKILL ends. */
static void nothing_of_the_old_attempt_lives_on(void) {
    start("RINGMASTER_RESTARTS=1",
          "if [ $RINGMASTER_ATTEMPT = 1 ]; then setsid sh -c 'trap \"\" TERM; echo $$ "
          ">$SM_MODEL_DIR; "
          "while :; do sleep 1; done' & while [ ! -s $SM_MODEL_DIR ]; do sleep 0.05; done; "
          "kill -BUS $$; fi; kill -0 $(cat $SM_MODEL_DIR) && exit 9; exit 0");
    CU_ASSERT_EQUAL(stage_end(&host, 20), 0);
}

static void a_stop_between_two_attempts_ends_the_job(void) {
    start("RINGMASTER_RESTARTS=9", "kill -KILL $$");
    CU_ASSERT(stage_wait_for(&host, "attempt 3 is over", 20));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 3), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request between two attempts");
    ASSERT_CONTAINS(stage_failure(&host), "attempt 3 of 10\nafter signal: ");
    ASSERT_CONTAINS(stage_failure(&host), "killed by signal 9");
}

/* mpirun takes two seconds to end a rank that ignores SIGTERM; the failure is known before that. */
static void a_stop_after_a_failure_is_the_end_too(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                    "RINGMASTER_RESTARTS=9", NULL};
    const char *words[] = {"--", "sh", "-c",
                           "trap '' TERM; [ $RANK = 0 ] || { echo dying; kill -KILL $$; }; "
                           "while :; do sleep 0.1; done",
                           NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] dying", 20));
    (void)poll(NULL, 0, 1000);
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 15), EXIT_CODE_STOPPED);
    /* After the failure, or on a busy machine between two attempts. */
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request ");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "stopped on request at"));
    ASSERT_CONTAINS(stage_failure(&host), "attempt 1 of 10");
    ASSERT_CONTAINS(stage_failure(&host), "rank 1: killed by signal 9");
}

static void a_stop_of_the_second_attempt_is_a_stop(void) {
    start("RINGMASTER_RESTARTS=9",
          "[ $RINGMASTER_ATTEMPT = 2 ] || kill -KILL $$; echo ready; exec sleep 60");
    CU_ASSERT(stage_wait_for(&host, "] ready", 20));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 5), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request at ");
    ASSERT_CONTAINS(stage_failure(&host), "attempt 2 of 10");
}

/* The folder for sockets and files is gone when the second attempt needs it. */
static void a_launch_that_fails_is_told_with_its_own_attempt(void) {
    start("RINGMASTER_RESTARTS=2",
          "rm -rf $(dirname $(dirname $SM_MODEL_DIR))/ringmaster-run-*; kill -KILL $$");
    CU_ASSERT_NOT_EQUAL(stage_end(&host, 20), 0);
    ASSERT_CONTAINS(stage_failure(&host), "attempt 2 of 3");
}

static void hear_nothing(struct master *m, const struct raised *raised) {
    (void)m;
    (void)raised;
}

/* A rank of the first attempt takes its seat when the second runs. */
static void late_words_count_for_nothing(void) {
    struct cluster_host hosts[2] = {{.slots = 1}, {.slots = 1}};
    struct job job = {.cluster = {.hosts = hosts, .count = 2}};
    struct master m = {.s = {.job = &job}, .phase = PHASE_RUNNING, .raise = hear_nothing};
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 2, &job.cluster, NULL), 0);
    struct member b = {.master = &m, .index = 1};
    json_t *message = frame_new("seated");
    (void)json_object_set_new(message, "rank", json_integer(1));
    master_member_events.message(&b, message);
    (void)json_object_set_new(message, "attempt", json_integer(1));
    master_member_events.message(&b, message);
    CU_ASSERT_EQUAL(m.attempt.seated_count, 0);
    (void)json_object_set_new(message, "attempt", json_integer(2));
    master_member_events.message(&b, message);
    CU_ASSERT_EQUAL(m.attempt.seated_count, 1);
    json_decref(message);
    attempt_done(&m.attempt);
}

/* Hosts that have cleared wait until a lost one has ended by itself. */
static void what_is_lost_has_its_time_to_end(void) {
    for (int64_t dead = 5; dead <= 60; dead += 55) {
        struct cluster_host hosts[2] = {{.slots = 1}, {.slots = 1}};
        struct job job = {.settings = {.dead_seconds = dead},
                          .cluster = {.hosts = hosts, .count = 2}};
        struct succession succession = {.on = true};
        struct member members[2];
        struct master m = {.s = {.job = &job, .succession = &succession},
                           .members = members,
                           .phase = PHASE_CLEARING,
                           .raise = hear_nothing,
                           .attempt = {.number = 2},
                           .lease = {.last_loss = clock_now()}};
        json_t *cleared = frame_new("cleared");
        for (size_t i = 0; i < 2; i++)
            members[i] = (struct member){.master = &m, .index = i, .lost = i == 1};
        CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
        relaunch_init(&m);
        relaunch_cleared(&members[0], cleared);
        int64_t left = m.relaunch.pause.deadline - clock_now();
        CU_ASSERT_TRUE(m.relaunch.pause.active);
        CU_ASSERT(left > (dead + 3) * CLOCK_SECOND && left <= (dead + 4) * CLOCK_SECOND);
        relaunch_close(&m);
        loop_done(&m.s.loop);
        json_decref(cleared);
    }
}

static int begun;

static void count_begun(struct master *m, const struct raised *raised) {
    (void)m;
    begun += raised->event == EVENT_ALL_BEGUN;
}

/* mpirun is started once, whatever a host says again. */
static void a_roll_is_taken_once(void) {
    struct cluster_host hosts[3] = {{.slots = 1}, {.slots = 1}, {.slots = 1}};
    struct job job = {.cluster = {.hosts = hosts, .count = 3}};
    struct member members[3];
    struct master m = {.s = {.job = &job},
                       .members = members,
                       .phase = PHASE_RUNNING,
                       .raise = count_begun,
                       .attempt = {.number = 2}};
    for (size_t i = 0; i < 3; i++)
        members[i] = (struct member){.master = &m, .index = i, .begun = 1, .lost = i == 2};
    begun = 0;
    relaunch_begun(&members[1]);
    relaunch_begun(&members[1]);
    relaunch_begun(&members[2]); /* it is lost */
    CU_ASSERT_EQUAL(begun, 0);
    relaunch_begun(&members[0]);
    CU_ASSERT_EQUAL(begun, 1);
    relaunch_begun(&members[0]);
    relaunch_begun(&members[1]);
    relaunch_begun(&members[2]);
    CU_ASSERT_EQUAL(begun, 1);
}

STAGE_MAIN("master.relaunch", UNIT(a_crash_is_tried_again_until_it_goes_well),
           UNIT(the_last_attempt_is_the_jobs_verdict), UNIT(a_code_of_the_programs_own_is_final),
           UNIT(nothing_of_the_old_attempt_lives_on),
           UNIT(a_stop_between_two_attempts_ends_the_job),
           UNIT(a_stop_after_a_failure_is_the_end_too),
           UNIT(a_stop_of_the_second_attempt_is_a_stop), UNIT(late_words_count_for_nothing),
           UNIT(what_is_lost_has_its_time_to_end), UNIT(a_roll_is_taken_once),
           UNIT(a_launch_that_fails_is_told_with_its_own_attempt))
