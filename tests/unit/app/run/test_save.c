/* What a job with nothing in it can tell of saving; whole runs are in test_command_train.c. */
#include "run/save.h"

#include "support/unit.h"

#include <string.h>

/* An epoch has ended with a checkpoint, and a stop comes before the next step is done. */
static void a_step_is_saved_once(void) {
    struct job job = {.keeping = {.asked = true, .saved_step = 5}, .state = {.step = 5}};
    struct error err = {0};
    CU_ASSERT_EQUAL(save_checkpoint(&job, &err), 0);
    CU_ASSERT_FALSE(job.keeping.asked);
    CU_ASSERT_EQUAL(job.keeping.saved_step, 5);
}

/* They leave all to the first one. */
static void other_ranks_write_nothing(void) {
    struct job job = {.first = false};
    struct error err = {0};
    CU_ASSERT_EQUAL(save_check(&job, &err), 0);
    CU_ASSERT_EQUAL(save_model(&job, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

UNIT_MAIN("app.save", UNIT(a_step_is_saved_once), UNIT(other_ranks_write_nothing))
