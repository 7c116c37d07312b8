#include "common/trials/trials_run.h"

#include "tests/support/alone_group.h"
#include "tests/support/unit.h"
#include "tests/unit/common/trials/plan.h"
#include "tests/unit/common/trials/program.h"

#include <stdlib.h>
#include <string.h>

static struct trials_plan plan;
static struct trials_state state;
static char folder[32];

static void open_plan(const char *text) {
    struct error err = {0};
    plan_of(&plan, text);
    CU_ASSERT_EQUAL_FATAL(trials_state_open(&state, &plan, &err), 0);
    (void)snprintf(folder, sizeof(folder), "/tmp/trials-run-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void run_all(void) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    struct trials_slice slices[2] = {0};
    cleanup_slots struct slots slots = {0};
    CU_ASSERT_EQUAL_FATAL(slots_open(&slots, &group, 2, &err), 0);
    slots.read = program_read;
    struct trials_run run = {.slots = &slots,
                             .state = &state,
                             .folder = folder,
                             .program = &PROGRAM,
                             .slices = slices,
                             .slice_count = 2};
    CU_ASSERT_EQUAL(trials_run_all(&run, &err), 0);
    if (trials_state_best(&state) >= 0)
        CU_ASSERT_EQUAL(trials_run_best(&run, (size_t)trials_state_best(&state), &err), 0);
}

static void close_plan(void) {
    trials_state_done(&state);
    trials_plan_done(&plan);
}

static void whatever_one_does_the_others_go_on(void) {
    open_plan("{\"grid\": {\"do\": [\"a\", \"crash\", \"other\", \"hang\", \"b\"]}, \"metric\": "
              "\"m\", \"stall\": 1}");
    run_all();
    CU_ASSERT_DOUBLE_EQUAL(trials_state_at(&state, 0, 0, 0)->metric, 10, 0);
    CU_ASSERT_DOUBLE_EQUAL(trials_state_at(&state, 0, 4, 0)->metric, 20, 0);
    CU_ASSERT_STRING_EQUAL(trials_state_at(&state, 0, 1, 0)->why, "rank 0 ended with 139");
    CU_ASSERT_STRING_EQUAL(trials_state_at(&state, 0, 2, 0)->why, "m is missing or not finite");
    CU_ASSERT_STRING_EQUAL(trials_state_at(&state, 0, 3, 0)->why, "no output for 1 s (\"stall\")");
    CU_ASSERT_EQUAL(trials_state_best(&state), 4);
    close_plan();
}

static void a_rung_begins_when_the_one_before_is_complete(void) {
    open_plan("{\"grid\": {\"do\": [\"a\", \"b\"]}, \"metric\": \"m\", \"halving\": {\"flag\": "
              "\"n\", \"rungs\": [1, 2], \"factor\": 2}}");
    run_all();
    CU_ASSERT_EQUAL(trials_state_at(&state, 0, 0, 0)->outcome, TRIALS_DONE);
    CU_ASSERT_EQUAL(trials_state_at(&state, 1, 0, 0)->outcome, TRIALS_MISSING);
    CU_ASSERT_EQUAL(trials_state_at(&state, 1, 1, 0)->outcome, TRIALS_DONE);
    close_plan();
}

UNIT_SUITE("common.trials.trials_run", UNIT(whatever_one_does_the_others_go_on),
           UNIT(a_rung_begins_when_the_one_before_is_complete))
