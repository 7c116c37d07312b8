#include "tests/support/unit.h"
#include "trainer/app/task/score.h"
#include "trainer/app/weights/nan_check.h"

#include <math.h>

static void a_tensor_that_is_not_finite_is_named(void) {
    float good[] = {1, -3.4e38F, 0}, bad[] = {NAN, 2, -INFINITY, 3};
    int64_t batches = -1; /* all bits set, and a number */
    struct array arrays[] = {
        {.name = "conv1.weight", .type = ARRAY_F32, .rank = 1, .shape = {3}, .data = good},
        {.name = "bn1.num_batches_tracked", .type = ARRAY_I64, .data = &batches},
        {.name = "bn1.running_var", .type = ARRAY_F32, .rank = 1, .shape = {4}, .data = bad},
        {.name = "fc.weight", .type = ARRAY_F32, .rank = 2, .shape = {2, 2}, .data = bad},
    };
    struct weights w = {.arrays = arrays, .count = 2};
    struct error err = {0};
    CU_ASSERT_EQUAL(nan_check_weights(&w, &err), 0);
    w.count = 4;
    CU_ASSERT_EQUAL(nan_check_weights(&w, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "bn1.running_var: 2 of 4 values are not finite");
    ASSERT_CONTAINS(err.text, "in 2 of 4 tensors");
}

static void scores_of_a_loss_that_is_not_finite_are_none(void) {
    struct evaluation e = {.images = 270};
    evaluation_add(&e, "top1", 0.5);
    evaluation_add(&e, "loss", 2);
    struct error err = {0};
    CU_ASSERT_EQUAL(nan_check_evaluation(&e, "dir", &err), 0);
    e.figures[1].value = (double)NAN;
    CU_ASSERT_EQUAL(nan_check_evaluation(&e, "dir", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "dir gives a non-finite loss (nan) over 270 images");
    e.figures[1].value = (double)INFINITY;
    CU_ASSERT_EQUAL(nan_check_evaluation(&e, "dir", &err), -1);
    ASSERT_CONTAINS(err.text, "(inf)");
}

UNIT_SUITE("app.nan_check", UNIT(a_tensor_that_is_not_finite_is_named),
           UNIT(scores_of_a_loss_that_is_not_finite_are_none))
