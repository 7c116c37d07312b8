/* Choosing a GPU, and CUDA's errors as values. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "common/error.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* The GPU for LOCAL_RANK among the ranks of this host: one each, in order; with SHARE they go
 * round. Errors, with EXIT_CODE_DEVICE, for no driver, a driver older than this build, fewer GPUs
 * than ranks, and an architecture that this build has no code for. Makes it the calling thread's
 * device. */
int cuda_device_choose(int local_rank, bool share, struct cudaDeviceProp *ret, int *ret_ordinal,
                       struct error *err);

/* Fills ERR from STATUS, clears CUDA's sticky error where that can be done; returns -1. */
int cuda_error(cudaError_t status, const char *what, struct error *err);

/* What a described build needs: the CUDA version in words, "13.0". */
void cuda_version_text(int version, char text[16]);

#endif
