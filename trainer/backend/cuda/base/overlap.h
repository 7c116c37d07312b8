/* Launch overlap: GPUs on which small kernels begin before the preceding ones end
 * (kernels/vec.cuh). */
#ifndef TRAINER_BACKEND_CUDA_BASE_OVERLAP_H
#define TRAINER_BACKEND_CUDA_BASE_OVERLAP_H

#include "trainer/backend/cuda/base/options.h"

/* Resolves WANTED for a GPU of this NAME and compute capability MAJOR. CUDA_OWN_AUTO enables it if
 * it was measured to be faster: base/tuned_gpus.h. ON below compute capability 9.0 is an error
 * with EXIT_CODE_DEVICE. */
int cuda_overlap_choose(enum cuda_own wanted, const char *name, int major, bool *ret_overlap,
                        struct error *err);

#endif
