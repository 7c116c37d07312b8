#include "trainer/backend/cuda/base/device.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "trainer/backend/cuda/base/architectures.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER_FILE_MAX = 64 * 1024 };

void cuda_version_text(int version, char text[16]) {
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

/* After these errors a GPU accepts no more work from this process. */
static bool is_sticky(cudaError_t status) {
    switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
        return true;
    default:
        return false;
    }
}

int cuda_error(cudaError_t status, const char *what, struct error *err) {
    (void)cudaGetLastError();
    return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s: %s%s", what, cudaGetErrorString(status),
                     is_sticky(status) ? " (the GPU takes no more work from this process)" : "");
}

int cuda_memory_error(size_t wanted, struct error *err) {
    size_t left = 0, total = 0;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        (void)cudaGetLastError();
    return error_wrap(err, "%.1f MiB needed, %.1f of %.1f MiB free on the GPU",
                      (double)wanted / 1048576, (double)left / 1048576, (double)total / 1048576);
}

/* Returns the oldest driver for a major version of CUDA: all minor ones run on it. */
static const char *oldest_driver(int runtime) {
    switch (runtime / 1000) {
    case 11:
        return ", NVIDIA driver 450.80.02";
    case 12:
        return ", NVIDIA driver 525.60.13";
    case 13:
        return ", NVIDIA driver 580.65.06";
    default:
        return "";
    }
}

void cuda_driver_name(const char *text, char name[32]) {
    const char *at = strstr(text, "Module");
    name[0] = '\0';
    while (at != NULL && *at != '\0' && *at != '\n' && !isdigit((unsigned char)*at)) {
        /* "for x86_64" is not a version */
        if (strncmp(at, "x86_64", 6) == 0)
            at += 6;
        else
            at++;
    }
    if (at != NULL && isdigit((unsigned char)*at))
        snprintf(name, 32, "%.*s", (int)strspn(at, "0123456789."), at);
}

int cuda_driver_check(int driver, int runtime, const char *name, struct error *err) {
    char driver_text[16];
    char runtime_text[16];
    if (driver == 0)
        return error_set(err, EXIT_CODE_DEVICE,
                         "CUDA: no NVIDIA driver on this host (start the container with GPUs: "
                         "docker run --gpus all)");
    if (driver / 1000 >= runtime / 1000)
        return 0;
    cuda_version_text(driver, driver_text);
    cuda_version_text(runtime, runtime_text);
    return error_set(err, EXIT_CODE_DEVICE,
                     "CUDA: the driver is too old: %s%s%sit supports CUDA %s, this build needs "
                     "%s%s or newer",
                     name[0] != '\0' ? "version " : "", name, name[0] != '\0' ? ", " : "",
                     driver_text, runtime_text, oldest_driver(runtime));
}

int cuda_driver_find(char name[32]) {
    int driver = 0;
    cleanup_buf struct buf text;
    buf_init(&text, DRIVER_FILE_MAX);
    if (cudaDriverGetVersion(&driver) != cudaSuccess) {
        (void)cudaGetLastError();
        driver = 0;
    }
    (void)file_read("/proc/driver/nvidia/version", &text, NULL);
    cuda_driver_name(buf_text(&text), name);
    return driver;
}

int cuda_device_count(int *ret_count, struct error *err) {
    char name[32];
    int driver = cuda_driver_find(name);
    if (cuda_driver_check(driver, CUDART_VERSION, name, err) != 0)
        return -1;
    *ret_count = 0;
    cudaError_t status = cudaGetDeviceCount(ret_count);
    if (status == cudaSuccess)
        return 0;
    *ret_count = 0;
    if (status != cudaErrorNoDevice)
        return cuda_error(status, "counting GPUs", err);
    (void)cudaGetLastError();
    return 0;
}

static int too_few(const struct cuda_options *o, int count, struct error *err) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *equals = visible != NULL ? ", CUDA_VISIBLE_DEVICES=" : "";
    visible = visible != NULL ? visible : "";
    if (count == 0)
        return error_set(err, EXIT_CODE_DEVICE, "CUDA: this host shows no GPU%s%.64s", equals,
                         visible);
    return error_set(
        err, EXIT_CODE_DEVICE,
        "CUDA: %d local ranks (0 to %d) and %d GPU%s on this host%s%.64s; start a rank "
        "a GPU, or let ranks share with --comm mpi",
        o->local_ranks, o->local_ranks - 1, count, count == 1 ? "" : "s", equals, visible);
}

int cuda_device_find(const struct cuda_options *o, int *ret_ordinal, struct error *err) {
    int count = 0;
    if (cuda_device_count(&count, err) != 0)
        return -1;
    if (count == 0 || (o->local_ranks > count && !o->share))
        return too_few(o, count, err);
    *ret_ordinal = o->local_rank % count;
    return 0;
}

int cuda_device_open(int ordinal, struct cudaDeviceProp *ret, struct error *err) {
    cudaError_t status = cudaSetDevice(ordinal);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(ret, ordinal);
    if (status != cudaSuccess)
        return cuda_error(status, "opening the GPU", err);
    if (cuda_has_code(ret->major, ret->minor))
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s is sm_%d%d; this build is for %s", ret->name,
                     ret->major, ret->minor, cuda_architectures());
}
