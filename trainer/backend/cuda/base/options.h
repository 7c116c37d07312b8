/* What the CUDA backend is opened with. */
#ifndef TRAINER_BACKEND_CUDA_BASE_OPTIONS_H
#define TRAINER_BACKEND_CUDA_BASE_OPTIONS_H

#include "trainer/graph/backend.h"

#include <stdbool.h>

/* Whether kernels of our own take the place of cuDNN's. */
enum cuda_own {
    CUDA_OWN_AUTO, /* where they were measured to be faster */
    CUDA_OWN_OFF,
    CUDA_OWN_ON
};

struct cuda_options {
    int local_rank, local_ranks; /* of this host */
    bool share;                  /* ranks may share a GPU: more ranks than GPUs go round */
    bool tune;                   /* time the candidate plans on the real buffers when binding */
    bool decide;                 /* with `tune`: fuse only what is faster fused. A network's shape
                                    hangs on it, so that ranks would differ: for one alone */
    bool tf32;                   /* f32 products may round their inputs to TF32 */
    enum cuda_own own_backward;  /* of 1x1 convolutions between norms (steps/backward.h) */
    enum cuda_own overlap;       /* small kernels begin while others end (overlap.h) */
    enum cuda_own row_choice;    /* rows that count alone are computed (cuda/row_prefix.h) */
    bool deterministic;          /* the same bits in every run; excludes `tune` */
    const char *plan_cache;      /* file of earlier choices, read and extended; NULL: none */
    float loss_scale;            /* of half-precision gradients; 1: none */
    int growth_interval;         /* steps after which a dynamic scale doubles; 0: static */
    /* Memory for what is summed over ranks, as the library that sums wants it; zero: cudaMalloc. */
    struct backend_memory summed;
};

#endif
