#include "tests/unit/entrypoint/outcome/verdict_case.h"

#include <signal.h>
#include <string.h>

static bool forgone[6];

static void may_lose(int64_t count) {
    all_ended_well();
    memset(forgone, 0, sizeof(forgone));
    facts.forgone = forgone;
    facts.may_lose = count;
    facts.direct = true;
    facts.mpirun_code = -1;
}

static void lose(unsigned rank, int number, int64_t time) {
    end_rank(rank, RANK_SIGNALLED, number, RANK_CAUSE_NONE, time);
    forgone[rank] = true;
}

static void what_is_lost_is_told_with_the_success(void) {
    may_lose(2);
    lose(2, SIGKILL, MS(500));
    const struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 0);
    CU_ASSERT(v.host == -1 && v.rank == -1);
    CU_ASSERT_STRING_EQUAL(v.text,
                           "5 of 6 ranks ended with 0; 1 was lost, and RINGMASTER_LOST_RANKS is 2: "
                           "rank 2 on algo-2 killed by signal 9 (SIGKILL)");
    CU_ASSERT_STRING_EQUAL(v.evidence, "");
    end_rank(4, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(700));
    forgone[4] = true;
    ASSERT_CONTAINS(judged().text, "4 of 6 ranks ended with 0; 2 were lost");
    CU_ASSERT_EQUAL(judged().code, 0);
}

static void a_missing_report_is_no_loss(void) {
    may_lose(2);
    lose(2, SIGKILL, MS(500));
    facts.report_count = 5;
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_INTERNAL);
    facts.report_count = 6;
    for (unsigned i = 0; i < 6; i++)
        lose(i, SIGKILL, MS(500)); /* which an attempt does not forgo */
    CU_ASSERT_NOT_EQUAL(judged().code, 0);
}

static void one_too_many_ends_it_and_all_are_named(void) {
    may_lose(1);
    lose(2, SIGSEGV, MS(500));
    end_rank(4, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(60500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 42);
    CU_ASSERT(v.rank == 4 && v.host == 2);
    CU_ASSERT_STRING_EQUAL(v.text, "algo-3 rank 4: exited with 42; 2 ranks failed, and "
                                   "RINGMASTER_LOST_RANKS is 1");
    ASSERT_CONTAINS(v.evidence,
                    "lost: rank 2 on algo-2 killed by signal 11 (SIGSEGV), 60.0 s later "
                    "rank 4 on algo-3 exited with 42");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "last words of 4");
    CU_ASSERT(v.transient); /* with all ranks it might not have failed */
    end_rank(2, RANK_EXITED, 3, RANK_CAUSE_NONE, MS(500));
    CU_ASSERT_FALSE(judged().transient);
}

/* Its loss is forgone until those that need it fail. */
static void a_lost_server_is_the_cause_of_those_that_fail_soon_after(void) {
    may_lose(1);
    lose(5, SIGKILL, MS(500));
    for (unsigned i = 0; i < 3; i++)
        end_rank(i, RANK_EXITED, 70, RANK_CAUSE_NONE, MS(3000));
    end_rank(3, RANK_EXITED, 143, RANK_CAUSE_TEARDOWN, MS(3300));
    end_rank(4, RANK_EXITED, 143, RANK_CAUSE_TEARDOWN, MS(3300));
    const struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 137);
    CU_ASSERT(v.rank == 5 && v.host == 2 && v.transient);
    ASSERT_CONTAINS(v.text, "algo-3 rank 5: killed by signal 9 (SIGKILL)");
    ASSERT_CONTAINS(v.text, "; 4 ranks failed, and RINGMASTER_LOST_RANKS is 1");
    ASSERT_CONTAINS(v.evidence, "lost: rank 5 on algo-3 killed by signal 9 (SIGKILL), 2.5 s later "
                                "rank 0 on algo-1 exited with 70");
}

static void other_ends_tell_of_it(void) {
    may_lose(3);
    lose(2, SIGKILL, MS(500));
    facts.stalled = MS(700000);
    facts.stalled_rank = 3;
    facts.stalled_host = 1;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(v.rank, 3);
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2 rank 3: no progress within its limit");
    ASSERT_CONTAINS(v.evidence, "lost: rank 2 on algo-2 killed by signal 9 (SIGKILL)");
    const struct verdict_loss loss = {.host = 2, .time = MS(900), .why = "silence"};
    facts.stalled = 0;
    facts.losses = &loss;
    facts.loss_count = 1;
    v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(v.text, "algo-3: lost: silence; RINGMASTER_LOST_RANKS lets ranks be "
                                   "lost, not hosts");
    ASSERT_CONTAINS(v.evidence, "lost: rank 2 on algo-2");
}

static void a_stop_after_it_is_a_stop(void) {
    may_lose(1);
    lose(2, SIGKILL, MS(500));
    facts.stop_asked = MS(800);
    CU_ASSERT_EQUAL(judged().code, 0);
    for (unsigned i = 3; i < 6; i++)
        end_rank(i, RANK_EXITED, EXIT_CODE_STOPPED, RANK_CAUSE_STOP, MS(900));
    const struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    CU_ASSERT_FALSE(v.transient);
    CU_ASSERT_STRING_EQUAL(v.log_tail, ""); /* the one that is lost was not asked to end */
    ASSERT_CONTAINS(v.evidence, "lost: rank 2 on algo-2 killed by signal 9 (SIGKILL)");
}

UNIT_SUITE("outcome.verdict_lost_ranks", UNIT(what_is_lost_is_told_with_the_success),
           UNIT(a_missing_report_is_no_loss), UNIT(one_too_many_ends_it_and_all_are_named),
           UNIT(a_lost_server_is_the_cause_of_those_that_fail_soon_after),
           UNIT(other_ends_tell_of_it), UNIT(a_stop_after_it_is_a_stop))
