/* How verdict.h judges the end of mpirun and its daemons. */
#include "tests/unit/entrypoint/outcome/verdict_case.h"

#include <signal.h>
#include <string.h>

static void a_tool_was_killed(int64_t time) {
    facts.tool = (struct verdict_tool){.time = time, .host = 1, .signal = SIGKILL};
    facts.tool_words = "algo-2: orted was killed by signal 9 (SIGKILL); out of memory?";
    facts.mpirun_words = "ORTE has lost communication";
}

/* Its ranks are told to end, or end when they notice; none of them is the cause. */
static void a_killed_daemon_or_mpirun_is_the_cause_of_what_follows(void) {
    all_ended_well();
    for (unsigned i = 0; i < 6; i++)
        end_rank(i, RANK_SIGNALLED, SIGTERM, RANK_CAUSE_TEARDOWN, MS(700));
    a_tool_was_killed(MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 137);
    CU_ASSERT(v.transient);
    CU_ASSERT_STRING_EQUAL(v.class_name, "signal");
    CU_ASSERT_STRING_EQUAL(v.text,
                           "algo-2: orted was killed by signal 9 (SIGKILL); out of memory?");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "ORTE has lost communication");
    CU_ASSERT(v.host == 1 && v.rank == -1);
    facts.report_count = 3;
    CU_ASSERT_EQUAL(judged().code, 137);
    all_ended_well();
    a_tool_was_killed(MS(500));
    end_rank(3, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500) - FIRST_FAILURE_TIE_NS);
    CU_ASSERT_EQUAL(judged().code, 137); /* a tie: the rank only noticed the kill */
    end_rank(3, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500) - FIRST_FAILURE_TIE_NS - 1);
    CU_ASSERT_EQUAL(judged().code, 1);
    facts.stop_asked = MS(449);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
}

static void a_tool_that_is_killed_when_all_have_ended_well_changes_nothing(void) {
    all_ended_well();
    a_tool_was_killed(MS(500));
    CU_ASSERT_EQUAL(judged().code, 0);
    end_rank(0, RANK_EXITED, 0, RANK_CAUSE_TEARDOWN, MS(700));
    CU_ASSERT_EQUAL(judged().code, 137);
}

static void a_stop_or_a_stall_may_come_before_the_kill_and_a_loss_explains_it(void) {
    static const struct verdict_loss loss = {2, MS(9000), "no heartbeat for 10 s"};
    all_ended_well();
    facts.report_count = 0;
    a_tool_was_killed(MS(500));
    facts.stop_asked = MS(501);
    CU_ASSERT_EQUAL(judged().code, 137);
    facts.stop_asked = MS(500);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
    facts.stop_asked = 0;
    facts.stalled = MS(499);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STALLED);
    facts.stalled = MS(501);
    CU_ASSERT_EQUAL(judged().code, 137);
    facts.losses = &loss;
    facts.loss_count = 1;
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_HOST_LOST);
}

/* A daemon also exits with a nonzero code after ranks have failed; that means nothing then. */
static void a_daemon_that_left_by_itself_comes_after_what_ranks_say(void) {
    all_ended_well();
    facts.tool = (struct verdict_tool){.time = MS(400), .host = 1};
    facts.tool_words = "algo-2: orted ended with 1";
    CU_ASSERT_EQUAL(judged().code, 0);
    end_rank(0, RANK_SIGNALLED, SIGTERM, RANK_CAUSE_TEARDOWN, MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(v.transient && v.host == 1 && v.rank == -1);
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2: orted ended with 1");
    end_rank(3, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(450));
    CU_ASSERT_EQUAL(judged().code, 42);
}

static void a_launch_that_mpirun_gave_up_may_be_tried_again(void) {
    all_ended_well();
    facts.report_count = 0;
    facts.started = 2;
    facts.mpirun_code = 1;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(v.transient && v.rank == -1);
    CU_ASSERT_STRING_EQUAL(v.text, "mpirun ended with 1 before all ranks had started (2 of 6)");
    facts.mpirun_code = 0; /* as when its daemon could not start them */
    v = judged();
    CU_ASSERT(v.transient);
    CU_ASSERT_STRING_EQUAL(v.text, "mpirun ended with 0 before all ranks had started (2 of 6)");
    facts.started = 6; /* a rank that has started must report */
    CU_ASSERT_FALSE(judged().transient);
    facts.started = 2;
    facts.mpirun_code = -1;
    CU_ASSERT_FALSE(judged().transient);
}

UNIT_SUITE("outcome.verdict_tools", UNIT(a_killed_daemon_or_mpirun_is_the_cause_of_what_follows),
           UNIT(a_tool_that_is_killed_when_all_have_ended_well_changes_nothing),
           UNIT(a_stop_or_a_stall_may_come_before_the_kill_and_a_loss_explains_it),
           UNIT(a_daemon_that_left_by_itself_comes_after_what_ranks_say),
           UNIT(a_launch_that_mpirun_gave_up_may_be_tried_again))
