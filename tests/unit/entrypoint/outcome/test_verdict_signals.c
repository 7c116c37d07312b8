/* Signals of the user's choice: verdict.c. */
#include "tests/unit/entrypoint/outcome/verdict_case.h"

#include <signal.h>
#include <string.h>

/* Whatever signal it is: a rank that dies of it ended as asked. */
static void dying_of_the_stop_signal_is_an_end_as_asked(void) {
    all_ended_well();
    facts.stop_asked = MS(100);
    facts.stop_host = 1;
    for (unsigned i = 0; i < 6; i++)
        end_rank(i, RANK_SIGNALLED, SIGUSR2, RANK_CAUSE_STOP, MS(200));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(v.log_tail, "rank 0: killed by signal 12");
    facts.stop_signal = SIGUSR2;
    v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(v.log_tail, "");
}

static void dying_of_the_warning_is_not_worth_another_attempt(void) {
    all_ended_well();
    end_rank(2, RANK_SIGNALLED, SIGUSR1, RANK_CAUSE_NONE, MS(500));
    struct verdict v = judged();
    CU_ASSERT(v.transient && v.code == 128 + SIGUSR1);
    facts.warned = SIGUSR1;
    v = judged();
    CU_ASSERT(!v.transient && v.code == 128 + SIGUSR1);
    ASSERT_CONTAINS(v.text, "which warned it of the end");
    reports[2].value = SIGSEGV;
    v = judged();
    CU_ASSERT(v.transient);
}

UNIT_SUITE("outcome.verdict_signals", UNIT(dying_of_the_stop_signal_is_an_end_as_asked),
           UNIT(dying_of_the_warning_is_not_worth_another_attempt))
