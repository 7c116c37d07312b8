#include "common/trials/trials_lead.h"

#include "tests/support/alone_group.h"
#include "tests/support/unit.h"
#include "tests/unit/common/trials/plan.h"
#include "tests/unit/common/trials/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

/* The result of a plan on one slot, with its files in FOLDER. */
static int lead(const char *text, char folder[32]) {
    struct trials_plan plan;
    struct trials_state state;
    const struct slot_group group = alone_group();
    cleanup_slots struct slots slots = {0};
    err = (struct error){0};
    (void)snprintf(folder, 32, "/tmp/trials-lead-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    plan_of(&plan, text);
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&state, &plan, &err), 0);
    CU_ASSERT_EQUAL_FATAL(slots_open(&slots, &group, 1, &err), 0);
    slots.read = program_read;
    const struct trials_request request = {.program = &PROGRAM,
                                           .state = &state,
                                           .file = "plan.json",
                                           .folder = folder,
                                           .then_best = true};
    const int result = trials_lead(&request, &slots, &err);
    trials_state_done(&state);
    trials_plan_done(&plan);
    return result;
}

static bool is_there(const char *folder, const char *name) {
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void results_are_written_and_the_best_one_runs(void) {
    char folder[32];
    CU_ASSERT_EQUAL(lead("{\"grid\": {\"do\": [\"a\", \"b\"]}, \"metric\": \"m\"}", folder), 0);
    CU_ASSERT_TRUE(is_there(folder, "trials.html"));
    CU_ASSERT_TRUE(is_there(folder, "trials.txt"));
    CU_ASSERT_TRUE(is_there(folder, "best.recipe"));
    CU_ASSERT_TRUE(is_there(folder, "best/value"));
}

static void a_plan_that_cannot_run_or_succeed_says_so(void) {
    char folder[32];
    CU_ASSERT_EQUAL(lead("{\"grid\": {\"do\": [\"c\"]}, \"metric\": \"m\"}", folder), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "m is missing or not finite"));
    CU_ASSERT_EQUAL(lead("{\"grid\": {\"do\": [\"a\"]}, \"metric\": \"m\", \"ranks\": 2}", folder),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_STRING_EQUAL(
        err.text, "plan.json: \"ranks\" is 2, but the job has 1; start more, or ask for fewer");
}

UNIT_SUITE("common.trials.trials_lead", UNIT(results_are_written_and_the_best_one_runs),
           UNIT(a_plan_that_cannot_run_or_succeed_says_so))
