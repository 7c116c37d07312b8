#include "tests/gpu/gpu.h"

#include "tests/support/unit.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

bool gpu_here(void) {
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0)
        return true;
    (void)cudaGetLastError();
    char reason[128];
    snprintf(reason, sizeof(reason), "no device: %s",
             status == cudaSuccess ? "CUDA shows none" : cudaGetErrorString(status));
    if (getenv("RINGMASTER_NEED_GPU") != NULL) {
        printf("%s\n", reason);
        CU_FAIL("RINGMASTER_NEED_GPU is set, and there is no device");
    } else {
        unit_skip(reason);
    }
    return false;
}

struct backend *gpu_open(struct cuda_options options) {
    struct backend *backend = NULL;
    struct error err = {0};
    if (cuda_open(&backend, &options, &err) != 0) {
        printf("%s\n", err.text);
        CU_FAIL_FATAL("the device could not be opened");
    }
    return backend;
}
