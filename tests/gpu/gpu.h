/* Tests that need a CUDA device: each begins with gpu_here(), and ends as skipped where there is
 * none, saying why. With RINGMASTER_NEED_GPU in the environment that is a failure. */
#ifndef TESTS_GPU_GPU_H
#define TESTS_GPU_GPU_H

#include "trainer/backend/cuda/cuda.h"
#include "trainer/graph/backend.h"

#include <stdbool.h>

bool gpu_here(void);

/* What most tests want: all bits of f32, the same ones in every run. */
#define GPU_EXACT                                                                                  \
    (struct cuda_options) {                                                                        \
        .local_ranks = 1, .deterministic = true, .loss_scale = 1                                   \
    }

/* Asserts (CUnit) that it worked. */
struct backend *gpu_open(struct cuda_options options);

#endif
