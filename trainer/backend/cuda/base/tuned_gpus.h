/* GPUs on which an optional choice was measured to be faster, so that `auto` uses it. */
#ifndef TRAINER_BACKEND_CUDA_BASE_TUNED_GPUS_H
#define TRAINER_BACKEND_CUDA_BASE_TUNED_GPUS_H

#include <stdbool.h>

enum cuda_choice {
    CUDA_CHOICE_BACKWARD, /* our own backward pass of 1x1 convolutions (steps/backward.h) */
    CUDA_CHOICE_OVERLAP,  /* small kernels begin before preceding ones end (base/overlap.h) */
    CUDA_CHOICE_ROWS      /* in a recorded step, only the rows that count (cuda/graph_switch.h) */
};

/* Returns true if a report in bench/results shows a training step that is faster with CHOICE than
 * without on a GPU of this NAME, as reported by its driver. */
bool cuda_tuned_on(enum cuda_choice choice, const char *name);

#endif
