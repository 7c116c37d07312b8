#include "cuda/device.h"

#include <stdio.h>

void cuda_version_text(int version, char text[16]) {
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

int cuda_error(cudaError_t status, const char *what, struct error *err) {
    (void)cudaGetLastError();
    return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s: %s", what, cudaGetErrorString(status));
}

/* Whether there is a driver that this build's runtime can work with. */
static int check_driver(struct error *err) {
    int driver = 0;
    int built = CUDART_VERSION;
    char driver_text[16];
    char built_text[16];
    cudaError_t status = cudaDriverGetVersion(&driver);
    if (status != cudaSuccess || driver == 0) {
        (void)cudaGetLastError();
        return error_set(err, EXIT_CODE_DEVICE,
                         "CUDA: no NVIDIA driver on this host (start the container with GPUs)");
    }
    if (driver / 1000 >= built / 1000)
        return 0;
    cuda_version_text(driver, driver_text);
    cuda_version_text(built, built_text);
    return error_set(err, EXIT_CODE_DEVICE,
                     "CUDA: the driver supports CUDA %s, this build needs %s or newer", driver_text,
                     built_text);
}

int cuda_device_choose(int local_rank, bool share, struct cudaDeviceProp *ret, int *ret_ordinal,
                       struct error *err) {
    if (check_driver(err) != 0)
        return -1;
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess)
        return cuda_error(status, "counting GPUs", err);
    if (count == 0 || (local_rank >= count && !share))
        return error_set(err, EXIT_CODE_DEVICE,
                         "CUDA: local rank %d has no GPU: this host shows %d", local_rank, count);
    int ordinal = local_rank % count;
    status = cudaSetDevice(ordinal);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(ret, ordinal);
    if (status != cudaSuccess)
        return cuda_error(status, "opening the GPU", err);
    if (ret->major < 8)
        return error_set(err, EXIT_CODE_DEVICE,
                         "CUDA: %s is sm_%d%d; this build needs sm_80 or newer", ret->name,
                         ret->major, ret->minor);
    *ret_ordinal = ordinal;
    return 0;
}
