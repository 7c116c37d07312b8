/* Use of the own backward pass of 1x1 convolutions between norms. The kernel is that of
 * optional/kernels/launch_backward.h. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_BACKWARD_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_BACKWARD_H

#include "trainer/backend/cuda/base/options.h"
#include "trainer/graph/graph.h"

struct cuda;

/* Resolves WANTED for a GPU of this NAME and compute capability. CUDA_OWN_AUTO enables it if it
 * was measured to be faster than cuDNN: optional/tuned_gpus.h. ON with any compute capability
 * but 9.0 is an error with EXIT_CODE_DEVICE. */
int cuda_backward_choose(enum cuda_own wanted, const char *name, int major, int minor,
                         bool *ret_own, struct error *err);

/* Returns true if OP is supported; true for other operators. */
bool cuda_backward_supports(const struct cuda *cuda, const struct graph *graph,
                            const struct op *op);

#endif
