/* GPUs for which an optional choice was measured to be faster. There `auto` uses it. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_TUNED_GPUS_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_TUNED_GPUS_H

#include "trainer/backend/cuda/base/options.h"

#include <stdbool.h>

enum cuda_choice {
    CUDA_CHOICE_BACKWARD, /* the own backward pass of 1x1 convolutions (optional/backward.h) */
    CUDA_CHOICE_OVERLAP,  /* small kernels begin before preceding ones end (cuda_overlap_choose) */
    CUDA_CHOICE_ROWS /* in a recorded step, only the rows that count (optional/graph_switch.h) */
};

/* Returns true if a report in bench/results shows a training step that is faster with CHOICE than
 * without on a GPU of this NAME, as reported by its driver. */
bool cuda_tuned_on(enum cuda_choice choice, const char *name);

/* Resolves WANTED for launch overlap (kernels/vec.cuh) on a GPU of this NAME and compute capability
 * MAJOR. CUDA_OWN_AUTO enables it if it was measured to be faster. ON below compute capability 9.0
 * is an error with EXIT_CODE_DEVICE. */
int cuda_overlap_choose(enum cuda_own wanted, const char *name, int major, bool *ret_overlap,
                        struct error *err);

#endif
