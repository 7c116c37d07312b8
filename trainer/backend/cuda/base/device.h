/* Selection of a GPU, and CUDA's errors as values. */
#ifndef TRAINER_BACKEND_CUDA_BASE_DEVICE_H
#define TRAINER_BACKEND_CUDA_BASE_DEVICE_H

#include "common/error.h"
#include "trainer/backend/cuda/base/options.h"

#include <cuda_runtime_api.h>

/* Returns the number of the GPU for the local rank of OPTIONS: one each, in order, of those that
 * CUDA_VISIBLE_DEVICES shows; with `share` round-robin. Fails with EXIT_CODE_DEVICE if there is no
 * driver, the driver is older than this build, or there are fewer GPUs than ranks. Does not open
 * the GPU. */
int cuda_device_find(const struct cuda_options *options, int *ret_ordinal, struct error *err);
/* Makes the GPU the calling thread's and opens it. Fails for an architecture that this build has
 * no code for. */
int cuda_device_open(int ordinal, struct cudaDeviceProp *ret, struct error *err);

/* Counts the GPUs, under a usable driver; none is no error. */
int cuda_device_count(int *ret_count, struct error *err);
/* Returns the CUDA version that this host's driver supports, 0 without a driver, and the driver's
 * own version, "" if unknown. */
int cuda_driver_find(char name[32]);

/* Returns 0 if a driver that supports DRIVER (0: there is none) can run a runtime of version
 * RUNTIME. NAME is the driver's own version, "" if unknown. */
int cuda_driver_check(int driver, int runtime, const char *name, struct error *err);
/* Extracts "580.65.06" from the text of /proc/driver/nvidia/version; "" if it is not there. */
void cuda_driver_name(const char *text, char name[32]);

/* Fills ERR from STATUS, clears CUDA's error if possible; returns -1. */
int cuda_error(cudaError_t status, const char *what, struct error *err);
/* Prepends the bytes requested and available to an error. Returns -1. */
int cuda_memory_error(size_t wanted, struct error *err);

/* Formats a CUDA version, "13.0". */
void cuda_version_text(int version, char text[16]);

#endif
