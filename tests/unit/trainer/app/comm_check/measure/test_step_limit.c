#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/app/comm_check/measure/step_limit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_step_and_the_whole_have_limits(void) {
    struct error err = {0};
    struct step_limit l = {.begun = 0,
                           .last = 60 * CLOCK_SECOND,
                           .step_begun = 5 * CLOCK_SECOND,
                           .deadline = 15 * CLOCK_SECOND,
                           .step = "the all-reduce between a and b"};
    CU_ASSERT_FALSE(step_limit_over(&l, 15 * CLOCK_SECOND - 1, &err));
    CU_ASSERT_TRUE(step_limit_over(&l, 15 * CLOCK_SECOND, &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_STRING_EQUAL(err.text, "the all-reduce between a and b did not end within 10 s");
    l.deadline = 70 * CLOCK_SECOND;
    CU_ASSERT_FALSE(step_limit_over(&l, 60 * CLOCK_SECOND - 1, &err));
    CU_ASSERT_TRUE(step_limit_over(&l, 60 * CLOCK_SECOND, &err));
    CU_ASSERT_STRING_EQUAL(
        err.text, "the all-reduce between a and b did not end within the whole check's 60 s");
}

static void an_end_in_time_ends_the_thread(void) {
    struct step_limit l;
    CU_ASSERT_EQUAL_FATAL(step_limit_start(&l, 60, NULL), 0);
    step_limit_next(&l, 60, "step %d", 1);
    CU_ASSERT_STRING_EQUAL(l.step, "step 1");
    CU_ASSERT(step_limit_passed(&l) < 60);
    step_limit_end(&l);
}

static void a_step_without_end_ends_the_process(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct step_limit l;
        if (step_limit_start(&l, 60, NULL) == 0)
            step_limit_next(&l, 0, "a step");
        (void)pause();
        _exit(1);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_STALLED);
}

UNIT_SUITE("app.comm_check.measure.step_limit", UNIT(a_step_and_the_whole_have_limits),
           UNIT(an_end_in_time_ends_the_thread), UNIT(a_step_without_end_ends_the_process))
