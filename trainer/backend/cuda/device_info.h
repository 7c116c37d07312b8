/* Information on driver, libraries and GPUs for `ringtrain inspect --cuda`. Needs neither driver
 * nor GPU, and does not use a GPU except to query its properties. */
#ifndef TRAINER_BACKEND_CUDA_DEVICE_INFO_H
#define TRAINER_BACKEND_CUDA_DEVICE_INFO_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A GPU that this process may use. */
struct cuda_gpu {
    char name[128];
    char address[16]; /* "0000:0A:00.0" */
    int major, minor; /* compute capability */
    int multiprocessors;
    size_t memory;
    bool fits; /* this build has code for it */
};

enum { CUDA_GPUS_MAX = 64 };

/* Appends lines for driver, runtime, cuBLASLt and cuDNN, each with the version this build was made
 * with and the one found, and for the architectures that the build has code for. */
int cuda_device_info_libraries(struct buf *out, struct error *err);
/* Fills GPUS and *RET_COUNT. No driver, or one that is too old, is an error with EXIT_CODE_DEVICE.
 */
int cuda_device_info_gpus(struct cuda_gpu gpus[CUDA_GPUS_MAX], int *ret_count, struct error *err);
/* Returns 0 if a network can train on one of the COUNT GPUS; else fails with the first reason why
 * not. */
int cuda_device_info_verdict(const struct cuda_gpu *gpus, int count, struct error *err);

#endif
