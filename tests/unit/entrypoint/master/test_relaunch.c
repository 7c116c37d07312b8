#include "entrypoint/master/master.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/state/state.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/lag.h"
#include "tests/unit/entrypoint/stage.h"

#include <string.h>
#include <sys/socket.h>

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
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    const char *text = stage_output(&host);
    const char *first = strstr(text, "attempt 1 of ");
    const char *second = strstr(text, "attempt 2 of ");
    CU_ASSERT_FATAL(first != NULL && second != NULL);
    CU_ASSERT_EQUAL(strncmp(first + 13, second + 13, 17), 0); /* one name, and its line's end */
    CU_ASSERT_NOT_EQUAL(first[13], '\n');
    ASSERT_CONTAINS(text, "killed by signal 9");
    ASSERT_CONTAINS(text, "the only rank ended with 0; attempt 2 of 3");
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "");
}

static void the_last_attempt_is_the_jobs_verdict(void) {
    start("RINGMASTER_RESTARTS=1", "echo this is $RINGMASTER_ATTEMPT; kill -SEGV $$");
    CU_ASSERT_EQUAL(stage_end(&host), 139);
    ASSERT_CONTAINS(stage_failure(&host), "signal: ");
    ASSERT_CONTAINS(stage_failure(&host), "(SIGSEGV); attempt 2 of 2\n");
    ASSERT_CONTAINS(stage_failure(&host), "this is 2");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "this is 1"));
}

static void a_code_of_the_programs_own_is_final(void) {
    start("RINGMASTER_RESTARTS=3", "exit 42");
    CU_ASSERT_EQUAL(stage_end(&host), 42);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 42; attempt 1 of 4, no restart after");
}

/* A daemon of the program's that no signal but SIGKILL ends. */
static void nothing_of_the_old_attempt_lives_on(void) {
    start("RINGMASTER_RESTARTS=1",
          "if [ $RINGMASTER_ATTEMPT = 1 ]; then setsid sh -c 'trap \"\" TERM; echo $$ "
          ">$SM_MODEL_DIR; "
          "while :; do sleep 1; done' & while [ ! -s $SM_MODEL_DIR ]; do sleep 0.05; done; "
          "kill -BUS $$; fi; kill -0 $(cat $SM_MODEL_DIR) && exit 9; exit 0");
    CU_ASSERT_EQUAL(stage_end(&host), 0);
}

static void a_stop_between_two_attempts_ends_the_job(void) {
    start("RINGMASTER_RESTARTS=9", "kill -KILL $$");
    CU_ASSERT(stage_wait_for(&host, "attempt 3 is over"));
    struct lag lag;
    lag_begin(&lag);
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    ASSERT_WITHIN(&lag, 3 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request between two attempts");
    ASSERT_CONTAINS(stage_failure(&host), "attempt 3 of 10\nafter signal: ");
    ASSERT_CONTAINS(stage_failure(&host), "killed by signal 9");
}

/* Rank 0 survives the SIGTERM that it gets when the failure is known. After the third attempt there
 * is a pause of four seconds. */
static void a_stop_after_a_failure_is_the_end_too(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                    "RINGMASTER_RESTARTS=9", NULL};
    const char *words[] = {"--", "sh", "-c",
                           "trap \"echo told of attempt $RINGMASTER_ATTEMPT\" TERM; "
                           "ready=$SM_MODEL_DIR.$RINGMASTER_ATTEMPT; [ $RANK = 0 ] || "
                           "{ while [ ! -e $ready ]; do sleep 0.05; done; kill -KILL $$; }; "
                           "echo >$ready; while :; do sleep 0.1; done",
                           NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "host", settings, words);
    CU_ASSERT(stage_wait_for(&host, "] told of attempt 3"));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    /* After the failure, or on a busy machine between two attempts. */
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request ");
    CU_ASSERT_PTR_NULL(strstr(stage_failure(&host), "stopped on request at"));
    ASSERT_CONTAINS(stage_failure(&host), "attempt 3 of 10");
    ASSERT_CONTAINS(stage_failure(&host), "rank 1: killed by signal 9");
}

static void a_stop_of_the_second_attempt_is_a_stop(void) {
    start("RINGMASTER_RESTARTS=9",
          "[ $RINGMASTER_ATTEMPT = 2 ] || kill -KILL $$; echo ready; exec sleep 60");
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    struct lag lag;
    lag_begin(&lag);
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STOPPED);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host), "stopped on request at ");
    ASSERT_CONTAINS(stage_failure(&host), "attempt 2 of 10");
}

/* The folder for sockets and files, and then the place where it lay is a file. */
static void what_a_program_removed_is_made_again(void) {
    start("RINGMASTER_RESTARTS=1", "rm -rf $(dirname $(dirname $SM_MODEL_DIR))/ringmaster-run-*; "
                                   "[ $RINGMASTER_ATTEMPT = 2 ] || kill -KILL $$");
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_output(&host), "attempt 2 of 2");
}

static void what_cannot_be_made_again_is_reported(void) {
    start("RINGMASTER_RESTARTS=2", "cd $(dirname $(dirname $SM_MODEL_DIR)); "
                                   "for f in ringmaster-run-*; do rm -rf $f; echo >$f; done; "
                                   "kill -KILL $$");
    CU_ASSERT_NOT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_failure(&host), "attempt 1 of 3");
    ASSERT_CONTAINS(stage_failure(&host), "RINGMASTER_RUN");
}

static void hear_nothing(struct master *m, const struct raised *raised) {
    (void)m;
    (void)raised;
}

/* A rank of the first attempt reports its start when the second runs. */
static void late_words_count_for_nothing(void) {
    struct cluster_host hosts[2] = {{.slots = 1}, {.slots = 1}};
    struct job job = {.cluster = {.hosts = hosts, .count = 2}};
    struct master m = {.s = {.job = &job}, .phase = PHASE_RUNNING, .raise = hear_nothing};
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 2, &job.cluster, NULL), 0);
    struct member b = {.master = &m, .index = 1};
    json_t *message = frame_new("rank_started");
    (void)json_object_set_new(message, "rank", json_integer(1));
    master_member_events.message(&b, message);
    (void)json_object_set_new(message, "attempt", json_integer(1));
    master_member_events.message(&b, message);
    CU_ASSERT_EQUAL(m.attempt.started_count, 0);
    (void)json_object_set_new(message, "attempt", json_integer(2));
    master_member_events.message(&b, message);
    CU_ASSERT_EQUAL(m.attempt.started_count, 1);
    json_decref(message);
    attempt_done(&m.attempt);
}

static int begun;

static void count_begun(struct master *m, const struct raised *raised) {
    (void)m;
    begun += raised->event == EVENT_VIEW_ACCEPTED;
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

/* Three hosts between two attempts, the third of which may be lost. */
static struct {
    struct cluster_host hosts[3];
    struct job job;
    struct role_state role_state;
    struct member members[3];
    struct master m;
    int all_clear;
    unsigned handed_over;
    unsigned ended;
    int unfit[3];
    char why[128];
} between;

static void note_between(struct master *m, const struct raised *raised) {
    (void)m;
    between.all_clear += raised->event == EVENT_CLEANUP_DONE;
    between.handed_over += raised->event == EVENT_UNFIT;
    between.ended += raised->event == EVENT_ENDED;
    if (raised->event == EVENT_CLEANUP_FAILED) {
        between.unfit[raised->member->index]++;
        (void)snprintf(between.why, sizeof(between.why), "%s", raised->why);
    }
}

static void ignore_order(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void end_turn(void *context) {
    loop_end(context);
}

/* All that is due. */
static void turn(void) {
    struct loop *loop = &between.m.s.loop;
    struct timer soon = {.fire = end_turn, .context = loop};
    loop_after(loop, &soon, 0);
    CU_ASSERT_EQUAL(loop_run(loop, NULL), 0);
}

static void begin_clearing(bool followed, bool lost) {
    held_clock_begin();
    memset(&between, 0, sizeof(between));
    between.job = (struct job){.settings = {.dead_seconds = 10},
                               .cluster = {.hosts = between.hosts, .count = 3}};
    between.role_state.on = followed;
    struct master *m = &between.m;
    *m = (struct master){.s = {.job = &between.job, .role_state = &between.role_state},
                         .members = between.members,
                         .phase = PHASE_CLEARING,
                         .raise = note_between,
                         .attempt = {.number = 2}};
    for (size_t i = 0; i < 3; i++) {
        between.hosts[i].slots = 1;
        between.members[i] =
            (struct member){.master = m, .index = i, .cleared = 1, .lost = lost && i == 2};
    }
    CU_ASSERT_EQUAL_FATAL(loop_init(&m->s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m->to_self, &m->s.loop, ignore_order, NULL, NULL), 0);
    relaunch_init(m);
    relaunch_clear(m);
    turn(); /* there is no pause */
}

static void says_it_is_ready(size_t who, const char *fault) {
    json_t *message = frame_new("cleared");
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string(fault));
    relaunch_cleared(&between.members[who], message);
    json_decref(message);
}

static void end_clearing(void) {
    held_clock_end();
    relaunch_close(&between.m);
    message_queue_done(&between.m.to_self);
    loop_done(&between.m.s.loop);
}

static void who_is_not_ready_after_thirty_seconds_is_unfit(void) {
    begin_clearing(false, true);
    says_it_is_ready(0, NULL);
    held_clock_pass(30 * CLOCK_SECOND - 1);
    turn();
    CU_ASSERT_EQUAL(between.unfit[1], 0);
    held_clock_pass(1);
    turn();
    CU_ASSERT_EQUAL(between.unfit[0], 0);
    CU_ASSERT_EQUAL(between.unfit[1], 1);
    CU_ASSERT_EQUAL(between.unfit[2], 0); /* it is lost already */
    CU_ASSERT_EQUAL(between.all_clear, 0);
    ASSERT_CONTAINS(between.why, "it did not end the last attempt's processes in time");
    end_clearing();
}

static void who_says_that_it_cannot_be_ready_is_unfit(void) {
    begin_clearing(false, false);
    says_it_is_ready(0, NULL);
    says_it_is_ready(1, "a port is busy");
    says_it_is_ready(2, NULL);
    CU_ASSERT_EQUAL(between.unfit[0] + between.unfit[2], 0);
    CU_ASSERT_EQUAL(between.unfit[1], 1);
    CU_ASSERT_EQUAL(between.all_clear, 0);
    CU_ASSERT_STRING_EQUAL(between.why, "a port is busy");
    end_clearing();
}

/* To a host that may be the next master. Our own is in another attempt, and leaves it alone. */
static void an_attempts_order_says_how_far_those_before_came(void) {
    static const struct link_events events = {0};
    char bytes[4096];
    int ends[2];
    struct member *b = &between.members[1];
    json_t *order = NULL;
    cleanup_buf struct buf text;
    buf_init(&text, sizeof(bytes));
    begin_clearing(false, true);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    b->link = link_new(&between.m.s.loop, ends[0], NULL, true, &events, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->link);
    between.m.s.host.rank_set.attempt = 1;
    between.m.relaunch.progress = (struct restart_progress){.best_step = 50, .fruitless = 2};
    CU_ASSERT_EQUAL(relaunch_next(&between.m, NULL), 0);
    link_flush(b->link);
    ssize_t size = read(ends[1], bytes, sizeof(bytes));
    CU_ASSERT_FATAL(size > 0);
    CU_ASSERT_EQUAL(buf_add(&text, bytes, (size_t)size, NULL), 0);
    CU_ASSERT_FATAL(frame_take(&text, &order, NULL) > 0);
    CU_ASSERT_STRING_EQUAL(frame_type(order), "attempt");
    role_state_take_progress(&between.role_state, order);
    CU_ASSERT_EQUAL(between.role_state.progress.best_step, 50);
    CU_ASSERT_EQUAL(between.role_state.progress.fruitless, 2);
    json_decref(order);
    link_free(b->link);
    (void)close(ends[1]);
    attempt_done(&between.m.attempt);
    end_clearing();
}

/* With failover or without, as long as outcome/fence.h says. */
static void the_end_of_a_lost_host_is_waited_for(void) {
    for (int64_t left = 1; left <= 60; left += 59)
        for (int followed = 0; followed < 2; followed++) {
            begin_clearing(followed != 0, true);
            const struct timer *pause = &between.m.relaunch.pause;
            between.m.lease.fence = clock_boot() + left * CLOCK_SECOND;
            says_it_is_ready(0, NULL);
            says_it_is_ready(1, NULL);
            CU_ASSERT_EQUAL(between.all_clear, 0);
            CU_ASSERT_FATAL(pause->active);
            CU_ASSERT_EQUAL(pause->deadline, clock_now() + left * CLOCK_SECOND);
            held_clock_pass(left * CLOCK_SECOND - 1);
            turn();
            CU_ASSERT_EQUAL(between.all_clear, 0);
            held_clock_pass(1);
            turn();
            CU_ASSERT_EQUAL(between.all_clear, 1);
            CU_ASSERT_FALSE(between.m.relaunch.deadline.active);
            end_clearing();
        }
}

/* Its own GPU cannot be used. Where another host may lead, this one leaves before the verdict. */
static void an_unfit_first_host_leaves_the_job_to_another(void) {
    for (int followed = 0; followed < 2; followed++) {
        begin_clearing(followed != 0, false);
        between.job.settings.restarts = 2;
        between.job.settings.shrink = true;
        between.m.failed = (struct verdict){.code = 137, .transient = true, .rank = 0};
        between.members[0].lost = true; /* as the row of the table has it */
        relaunch_decide_on_loss(&between.members[0], "GPU A is gone");
        CU_ASSERT_EQUAL(between.handed_over, (unsigned)followed);
        CU_ASSERT_EQUAL(between.ended, (unsigned)!followed);
        if (followed) {
            CU_ASSERT_EQUAL((int)between.m.fault.code, EXIT_CODE_DEVICE);
            CU_ASSERT_STRING_EQUAL(between.m.fault.text,
                                   "GPU A is gone; this host leaves the job to the others");
        } else {
            ASSERT_CONTAINS(between.m.verdict.text, "lost between two attempts: GPU A is gone");
        }
        end_clearing();
    }
}

static void nothing_is_waited_for_where_no_host_is_lost(void) {
    begin_clearing(false, false);
    for (size_t i = 0; i < 3; i++)
        says_it_is_ready(i, NULL);
    CU_ASSERT_EQUAL(between.all_clear, 1);
    CU_ASSERT_FALSE(between.m.relaunch.pause.active);
    end_clearing();
}

STAGE_SUITE("master.relaunch", UNIT(a_crash_is_tried_again_until_it_goes_well),
            UNIT(the_last_attempt_is_the_jobs_verdict), UNIT(a_code_of_the_programs_own_is_final),
            UNIT(nothing_of_the_old_attempt_lives_on),
            UNIT(a_stop_between_two_attempts_ends_the_job),
            UNIT(a_stop_after_a_failure_is_the_end_too),
            UNIT(a_stop_of_the_second_attempt_is_a_stop), UNIT(late_words_count_for_nothing),
            UNIT(a_roll_is_taken_once), UNIT(who_is_not_ready_after_thirty_seconds_is_unfit),
            UNIT(who_says_that_it_cannot_be_ready_is_unfit),
            UNIT(the_end_of_a_lost_host_is_waited_for),
            UNIT(nothing_is_waited_for_where_no_host_is_lost),
            UNIT(an_unfit_first_host_leaves_the_job_to_another),
            UNIT(an_attempts_order_says_how_far_those_before_came),
            UNIT(what_a_program_removed_is_made_again), UNIT(what_cannot_be_made_again_is_reported))
