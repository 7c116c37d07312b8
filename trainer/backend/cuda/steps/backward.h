/* Which GPUs take the own backward pass of 1x1 convolutions between norms
 * (kernels/launch_backward.h). */
#ifndef TRAINER_BACKEND_CUDA_STEPS_BACKWARD_H
#define TRAINER_BACKEND_CUDA_STEPS_BACKWARD_H

#include "trainer/backend/cuda/base/options.h"
#include "trainer/graph/graph.h"

struct cuda;

/* What becomes of WANTED on a GPU of this NAME and compute capability. CUDA_OWN_AUTO takes it where
 * it was measured to be faster than cuDNN: base/tuned_gpus.h. ON elsewhere than on compute
 * capability 9.0 is an error with EXIT_CODE_DEVICE. */
int cuda_backward_choose(enum cuda_own wanted, const char *name, int major, int minor,
                         bool *ret_own, struct error *err);

/* Whether OP runs here; true for what is no such operator. */
bool cuda_backward_supports(const struct cuda *cuda, const struct graph *graph,
                            const struct op *op);

#endif
