/* Choosing a GPU, and CUDA's errors as values. */
#ifndef TRAINER_BACKEND_CUDA_BASE_DEVICE_H
#define TRAINER_BACKEND_CUDA_BASE_DEVICE_H

#include "common/error.h"
#include "trainer/backend/cuda/base/options.h"

#include <cuda_runtime_api.h>

/* The number of the GPU for the local rank of OPTIONS: one each, in order, of those that
 * CUDA_VISIBLE_DEVICES shows; with `share` they go round. Errors, with EXIT_CODE_DEVICE, for no
 * driver, a driver older than this build, and fewer GPUs than ranks. Opens nothing on the GPU. */
int cuda_device_find(const struct cuda_options *options, int *ret_ordinal, struct error *err);
/* Makes the GPU the calling thread's and opens it. An architecture that this build has no code for
 * is an error. */
int cuda_device_open(int ordinal, struct cudaDeviceProp *ret, struct error *err);

/* How many GPUs there are, under a driver that serves; none is no error. */
int cuda_device_count(int *ret_count, struct error *err);
/* The CUDA version that this host's driver supports, 0 where there is none, and the driver's own
 * version, "" where nobody knows. */
int cuda_driver_find(char name[32]);

/* 0 if a driver that supports DRIVER (0: there is none) serves a runtime of version RUNTIME. NAME
 * is the driver's own version, "" where nobody knows. */
int cuda_driver_check(int driver, int runtime, const char *name, struct error *err);
/* "580.65.06" out of what /proc/driver/nvidia/version holds; "" if it is not there. */
void cuda_driver_name(const char *text, char name[32]);

/* Fills ERR from STATUS, clears CUDA's error where that can be done; returns -1. */
int cuda_error(cudaError_t status, const char *what, struct error *err);
/* Puts in front of an error: how much was wanted, how much is free. Returns -1. */
int cuda_memory_error(size_t wanted, struct error *err);

/* A CUDA version in words, "13.0". */
void cuda_version_text(int version, char text[16]);

#endif
