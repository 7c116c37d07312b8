/* On which GPUs a choice that `auto` may take was measured to be the faster one. */
#ifndef TRAINER_BACKEND_CUDA_BASE_TUNED_GPUS_H
#define TRAINER_BACKEND_CUDA_BASE_TUNED_GPUS_H

#include <stdbool.h>

enum cuda_choice {
    CUDA_CHOICE_BACKWARD, /* the own backward pass of 1x1 convolutions (steps/backward.h) */
    CUDA_CHOICE_OVERLAP,  /* small kernels begin while others end (base/overlap.h) */
    CUDA_CHOICE_ROWS      /* of a recorded step, only the rows that count (cuda/graph_switch.h) */
};

/* Whether a report in bench/results shows a training step that is faster with CHOICE than without
 * on a GPU of this NAME, as its driver tells it. */
bool cuda_tuned_on(enum cuda_choice choice, const char *name);

#endif
