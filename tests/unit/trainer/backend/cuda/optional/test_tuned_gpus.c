#include "tests/support/unit.h"
#include "trainer/backend/cuda/optional/tuned_gpus.h"

static bool chosen(enum cuda_own wanted, const char *name, int major) {
    struct error err = {0};
    bool overlap = true;
    CU_ASSERT_EQUAL(cuda_overlap_choose(wanted, name, major, &overlap, &err), 0);
    return overlap;
}

static void nothing_begins_early_that_was_not_measured(void) {
    CU_ASSERT_FALSE(chosen(CUDA_OWN_AUTO, "NVIDIA H200", 9));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_AUTO, "NVIDIA A100-SXM4-80GB", 8));
}

static void who_asks_for_it_gets_it(void) {
    CU_ASSERT_TRUE(chosen(CUDA_OWN_ON, "NVIDIA H200", 9));
    CU_ASSERT_TRUE(chosen(CUDA_OWN_ON, "NVIDIA B200", 10));
    CU_ASSERT_FALSE(chosen(CUDA_OWN_OFF, "NVIDIA H200", 9));
}

static void an_older_gpu_that_cannot_is_an_error(void) {
    struct error err = {0};
    bool overlap = true;
    CU_ASSERT_EQUAL(cuda_overlap_choose(CUDA_OWN_ON, "NVIDIA A100-SXM4-80GB", 8, &overlap, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "--launch-overlap on: NVIDIA A100-SXM4-80GB");
    CU_ASSERT_FALSE(overlap);
}

UNIT_SUITE("cuda.tuned_gpus", UNIT(nothing_begins_early_that_was_not_measured),
           UNIT(who_asks_for_it_gets_it), UNIT(an_older_gpu_that_cannot_is_an_error))
