/* The CUDA backend: cuDNN for convolutions, cuBLASLt for the classifier, own kernels for the
 * rest. A step is enqueued on two streams, its input on a third; nothing in it waits for the
 * device. Open it on the thread that will run it. */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include "backend/backend.h"

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
    enum cuda_own own_backward;  /* of 1x1 convolutions between norms (backward.h) */
    enum cuda_own overlap;       /* small kernels begin while others end (overlap.h) */
    enum cuda_own row_choice;    /* rows that count alone are computed (rows.h) */
    bool deterministic;          /* the same bits in every run; excludes `tune` */
    const char *plan_cache;      /* file of earlier choices, read and extended; NULL: none */
    float loss_scale;            /* of half-precision gradients; 1: none */
    int growth_interval;         /* steps after which a dynamic scale doubles; 0: static */
    /* Memory for what is summed over ranks, as the library that sums wants it; zero: cudaMalloc. */
    struct backend_memory summed;
};

enum { CUDA_NAME_SIZE = 256 };

/* Fails with EXIT_CODE_DEVICE and one line that says why this host cannot (device.h). */
int cuda_open(struct backend **ret, const struct cuda_options *options, struct error *err);

/* What this build has code for, "sm 80 89 90 100", and whether a GPU of compute capability
 * MAJOR.MINOR can run it. */
const char *cuda_architectures(void);
bool cuda_has_code(int major, int minor);

/* Where the GPU that these options lead to stands on the PCI bus, "0000:0A:00.0". Opens nothing on
 * it, so that the process can move beside it first. */
int cuda_address(const struct cuda_options *options, char address[16], struct error *err);

/* How many GPUs answer, where this build can train on all of them, and the first one's name; 0 with
 * the reason in WHY. Opens nothing on them. */
int cuda_usable(char name[CUDA_NAME_SIZE], struct error *why);
/* Whether bench/results held a report on such a GPU when this was built. */
bool cuda_is_measured(const char *name);
/* The same of the names of files in RESULTS, "resnet50-NVIDIA-H200.md:...". */
bool cuda_results_hold(const char *results, const char *name);

/* "CUDA 13.0, cuDNN 9.19.0", what this build was made with; needs no GPU. */
const char *cuda_build_text(void);

#endif
