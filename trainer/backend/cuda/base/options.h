/* Options of the CUDA backend. */
#ifndef TRAINER_BACKEND_CUDA_BASE_OPTIONS_H
#define TRAINER_BACKEND_CUDA_BASE_OPTIONS_H

#include "trainer/graph/backend.h"

#include <stdbool.h>

/* Choice between own kernels and cuDNN's. */
enum cuda_own {
    CUDA_OWN_AUTO, /* if measured to be faster */
    CUDA_OWN_OFF,
    CUDA_OWN_ON
};

struct cuda_options {
    int local_rank, local_ranks; /* of this host */
    bool share;                  /* ranks may share a GPU: assigned round-robin if there are more
                                  * ranks than GPUs */
    bool tune;                   /* time the candidate plans on the real buffers when binding */
    bool decide;                 /* with `tune`: only fuse where that is faster. Changes the
                                  * network's graph, which would differ between ranks: for a single
                                  * rank only */
    bool tf32;                   /* f32 products may round their inputs to TF32 */
    enum cuda_own own_backward;  /* for 1x1 convolutions between norms (optional/backward.h) */
    enum cuda_own overlap;    /* small kernels begin before preceding ones end (kernels/vec.cuh) */
    enum cuda_own row_choice; /* only rows that count are computed (optional/row_prefix.h) */
    bool deterministic;       /* the same bits in every run; excludes `tune` */
    const char *plan_cache;   /* file of earlier choices, read and extended; NULL: none */
    float loss_scale;         /* of half-precision gradients; 1: none */
    int growth_interval;      /* steps after which a dynamic scale doubles; 0: static */
    /* Allocator of memory that is all-reduced, as the communication library needs it; zero:
     * cudaMalloc. */
    struct backend_memory summed;
};

#endif
