#include "entrypoint/master/standing.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/message.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <string.h>

/* Three hosts with a rank each, of which the first is this one; without links, so that orders go
 * nowhere but to the queue of this host. */
static struct cluster_host hosts[3];
static struct job job;
static struct master m;
static struct member members[3];
static unsigned raised[EVENT_COUNT];
static unsigned ordered;

static void count(struct master *master, const struct raised *what) {
    CU_ASSERT_PTR_EQUAL(master, &m);
    raised[what->event]++;
}

static void order(void *context, const json_t *message) {
    (void)context;
    CU_ASSERT_EQUAL(message_kind(message), MESSAGE_GATHER);
    ordered++;
}

static void begin(void) {
    held_clock_begin();
    memset(raised, 0, sizeof(raised));
    ordered = 0;
    static const char *const names[] = {"algo-1", "algo-2", "algo-3"};
    for (size_t i = 0; i < 3; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "%s", names[i]);
        members[i] = (struct member){.master = &m, .index = i};
    }
    job = (struct job){.settings = {.evidence = true, .stall_seconds = 600},
                       .cluster = {.hosts = hosts, .count = 3}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 2, &job.cluster, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, order, NULL, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        (void)attempt_rank_started(&m.attempt, i, (int64_t)i);
    m.attempt.reported[0] = true; /* this host's rank has ended with 0: it is not looked at */
    standing_open(&m);
}

static void end(void) {
    standing_close(&m);
    message_queue_done(&m.to_self);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
    held_clock_end();
}

static void say(size_t from, int attempt, int64_t still, bool busy) {
    cleanup_json json_t *alive = json_pack("{s:i, s:I, s:b}", "attempt", attempt, "still",
                                           (json_int_t)(still / CLOCK_MILLISECOND), "busy", busy);
    standing_receive(&members[from], alive);
}

static void end_loop(void *context) {
    loop_end(context);
}

/* Both other hosts say for SECONDS that they stand still, STILL at the beginning. */
static void stand(int64_t still, int64_t seconds, bool busy) {
    for (int64_t i = 0; i < seconds; i++) {
        struct timer last = {.fire = end_loop, .context = &m.s.loop};
        say(1, 2, (still + i) * CLOCK_SECOND, busy);
        say(2, 2, (still + i + 5) * CLOCK_SECOND, busy);
        loop_after(&m.s.loop, &last, CLOCK_SECOND);
        CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    }
}

static void answer(size_t from, int number, const char *collective, const char *place) {
    cleanup_json json_t *message =
        json_pack("{s:i, s:[{s:i, s:s, s:s}]}", "number", number, "ranks", "rank", (int)from,
                  "collective", collective, "place", place);
    standing_gathered(&members[from], message);
}

static void answer_after(size_t from, int number, const char *exception, int64_t ago) {
    cleanup_json json_t *message = json_pack(
        "{s:i, s:[{s:i, s:s, s:s, s:s, s:I}]}", "number", number, "ranks", "rank", (int)from,
        "collective", "", "place", "sleep", "exception", exception, "raised", (json_int_t)ago);
    standing_gathered(&members[from], message);
}

static void a_rank_that_has_not_ended_after_its_exception_is_named(void) {
    begin();
    stand(0, 13, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m.standing.ranks);
    answer(1, 1, "MPI_Barrier", "");
    answer_after(2, 1, "KeyError: 7\n(train.py, line 3)", 9000);
    ASSERT_CONTAINS(m.attempt.stuck,
                    "of rank 2, it has not ended after its exception, KeyError: 7");
    end();
}

static void what_had_not_ended_before_a_crash_is_noted(void) {
    begin();
    standing_crashed(&m);
    answer(1, 1, "", "sleep");
    answer_after(1, 1, "KeyError: 8", -1); /* no host says that */
    CU_ASSERT_STRING_EQUAL(m.attempt.lasting, "");
    answer_after(1, 1, "KeyError: 8", 9000);
    answer_after(2, 1, "KeyError: 7 (train.py, line 3)", 9500);
    answer_after(1, 1, "KeyError: 9", 9400);
    CU_ASSERT_STRING_EQUAL(m.attempt.lasting, "rank 2 on algo-3, KeyError: 7 (train.py, line 3)");
    CU_ASSERT_EQUAL(m.attempt.lasting_since, clock_boot() - 9500 * CLOCK_MILLISECOND);
    ASSERT_CONTAINS(m.attempt.others, "rank 1 on algo-2 (sleep)");
    end();
}

static void a_job_that_stands_still_is_asked_about_and_named(void) {
    begin();
    stand(0, 9, false);
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    stand(9, 4, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m.standing.ranks);
    CU_ASSERT_EQUAL(m.standing.waiting, 2); /* no question to the host of the rank that has ended */
    CU_ASSERT_EQUAL(ordered, 0);
    answer(1, 7, "MPI_Barrier", ""); /* of another question */
    answer(1, 1, "MPI_Barrier", "");
    answer(1, 1, "MPI_Barrier", "");
    CU_ASSERT_EQUAL(m.standing.waiting, 1);
    answer(2, 1, "", "main\n\x1b");
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck,
                           "1 of 3 ranks wait in MPI_Barrier; ranks 0 and 2 on algo-1, algo-3 have "
                           "not come: of rank 0, its program has ended");
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    stand(0, 3, false); /* it goes on: what was found is no longer true */
    CU_ASSERT_STRING_EQUAL(m.attempt.stuck, "");
    end();
}

static void hosts_that_do_not_answer_are_reported(void) {
    begin();
    m.attempt.reported[0] = false;
    (void)attempt_report(&m.attempt, &(struct rank_report){.rank = 0, .host = 0});
    stand(0, 13, false);
    answer(2, 1, "all_reduce", "");
    stand(13, 13, false);
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    ASSERT_CONTAINS(m.attempt.stuck, "1 of 3 ranks wait in all_reduce");
    end();
}

static void busy_hosts_and_silent_ones_are_not_suspect(void) {
    begin();
    stand(0, 60, true);
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    end();
    begin();
    say(1, 2, 60 * CLOCK_SECOND, false); /* nothing is heard of the other one */
    say(2, 1, 60 * CLOCK_SECOND, false); /* of another attempt */
    struct timer last = {.fire = end_loop, .context = &m.s.loop};
    loop_after(&m.s.loop, &last, 5 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    end();
}

/* A limit that is the user's own ends the job; the default does not. */
static void only_the_users_limit_ends_the_job(void) {
    for (int set = 0; set < 2; set++) {
        begin();
        job.settings.stall_seconds = 30;
        job.settings.stall_is_set = set == 1;
        stand(0, 13, false);
        answer(1, 1, "MPI_Barrier", "");
        answer(2, 1, "", "main");
        stand(13, 10, false);
        CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
        stand(23, 12, false);
        CU_ASSERT_EQUAL(raised[EVENT_FAILURE], (unsigned)set);
        CU_ASSERT_EQUAL(m.attempt.stalled != 0, set == 1);
        end();
    }
}

static void a_stall_waits_for_evidence(void) {
    begin();
    standing_fail(&m);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    answer(1, 1, "MPI_Barrier", "");
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    answer(2, 1, "MPI_Barrier", "");
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    end();
    begin();
    standing_fail(&m);
    struct timer last = {.fire = end_loop, .context = &m.s.loop};
    loop_after(&m.s.loop, &last, 13 * CLOCK_SECOND); /* no host answers */
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    end();
    begin();
    job.settings.evidence = false;
    standing_fail(&m);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    end();
}

static void an_attempt_that_is_over_is_forgotten(void) {
    begin();
    stand(0, 13, false);
    CU_ASSERT_PTR_NOT_NULL(m.standing.ranks);
    standing_reset(&m);
    CU_ASSERT_PTR_NULL(m.standing.ranks);
    answer(1, 1, "MPI_Barrier", "");
    CU_ASSERT_FALSE(m.standing.deadline.active);
    end();
}

UNIT_SUITE("master.standing", UNIT(a_job_that_stands_still_is_asked_about_and_named),
           UNIT(a_rank_that_has_not_ended_after_its_exception_is_named),
           UNIT(what_had_not_ended_before_a_crash_is_noted),
           UNIT(hosts_that_do_not_answer_are_reported),
           UNIT(busy_hosts_and_silent_ones_are_not_suspect),
           UNIT(only_the_users_limit_ends_the_job), UNIT(a_stall_waits_for_evidence),
           UNIT(an_attempt_that_is_over_is_forgotten))
