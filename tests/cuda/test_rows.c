/* Operators of which only some leading rows count, on the emulated device: the kernel that chooses
 * the body of a switch node, and what the bodies do (ops/rows.h). Only a real device can show how
 * the node works in a recording. */
#include "tests/cuda/emulated.h"
#include "tests/ops/rows.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/optional/graph_switch.h"

static void check(void (*rows_of)(struct backend *backend)) {
    struct backend *device = NULL;
    int chosen[ROW_PARTS] = {0};
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, NULL), 0);
    emulated_choose_rows(device, chosen);
    rows_of(device);
    for (int i = 0; i < ROW_PARTS; i++)
        CU_ASSERT(chosen[i] > 0);
    backend_close(device);
}

ROWS_OF(ROWS_CASE)
ROWS_CASE(masked_data_gradients)

static void nothing_is_chosen_that_was_not_asked_for(void) {
    struct error err = {0};
    cuda_switch *choose = NULL;
    CU_ASSERT_EQUAL(cuda_graph_switch_choose(CUDA_OWN_OFF, "NVIDIA H200", false, &choose, &err), 0);
    CU_ASSERT_PTR_NULL(choose);
    CU_ASSERT_EQUAL(cuda_graph_switch_choose(CUDA_OWN_AUTO, "NVIDIA H200", false, &choose, &err),
                    0);
    CU_ASSERT_PTR_NULL(choose);
    CU_ASSERT_EQUAL(cuda_graph_switch_choose(CUDA_OWN_ON, "NVIDIA H200", true, &choose, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "--deterministic");
    CU_ASSERT_PTR_NULL(choose);
}

UNIT_SUITE("cuda.rows", ROWS_OF(ROWS_UNIT) UNIT(masked_data_gradients),
           UNIT(nothing_is_chosen_that_was_not_asked_for))
