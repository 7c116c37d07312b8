#include "trainer/backend/cuda/base/device.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "trainer/backend/cuda/base/architectures.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What can keep a GPU from being used, from the outside in: no driver, a driver older than this
 * build, no GPU or too few, a GPU without code for it in this build. Each becomes one line for the
 * user, with EXIT_CODE_DEVICE, and says what to change. None of these checks opens a GPU, except
 * cuda_device_open().
 *
 * CUDA keeps the last error of a thread until it is asked for. Every failed call here is followed
 * by cudaGetLastError(), so that no later call reports it as its own. */

/* The driver's file has two short lines; this is a ceiling against anything else. */
enum { DRIVER_FILE_MAX = 64 * 1024 };

/* CUDA encodes a version as 1000 * major + 10 * minor. */
void cuda_version_text(int version, char text[16]) {
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

/* After these errors a GPU accepts no more work from this process. The error text says so, because
 * later messages of the same process would otherwise look like faults of their own. */
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

/* WHAT is the activity that failed, as in "opening the GPU". */
int cuda_error(cudaError_t status, const char *what, struct error *err) {
    (void)cudaGetLastError();
    return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s: %s%s", what, cudaGetErrorString(status),
                     is_sticky(status) ? " (the GPU takes no more work from this process)" : "");
}

/* The figures are those after the failure: what could not be allocated is still free. WANTED is in
 * bytes. */
int cuda_memory_error(size_t wanted, struct error *err) {
    size_t left = 0, total = 0;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        (void)cudaGetLastError();
    return error_wrap(err, "%.1f MiB needed, %.1f of %.1f MiB free on the GPU",
                      (double)wanted / 1048576, (double)left / 1048576, (double)total / 1048576);
}

/* Returns the oldest driver for a major version of CUDA: all minor ones run on it. The versions are
 * those of NVIDIA's table of minor version compatibility. */
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

/* The line reads "NVRM version: NVIDIA UNIX x86_64 Kernel Module 580.65.06 ..." or "... Open Kernel
 * Module for x86_64 580.65.06 ...": the first number after "Module" that is not part of the
 * architecture. Only that line is searched. */
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

/* Minor versions are not compared: a driver runs all runtimes of its major version. DRIVER and
 * RUNTIME are encoded as cuda_version_text() says. */
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

/* The file of the kernel module is only for the message, so a missing one is no error. Returns the
 * version that the driver supports, not its own. */
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

/* The driver is checked first: with a driver that is too old, CUDA's own error would not name the
 * version. "No device" is a count of 0, not an error. */
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

/* Names CUDA_VISIBLE_DEVICES where it is set, as it may be the reason. */
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

/* Ranks are numbered within this host, so they take GPUs in order and share them in turns. Without
 * `share`, more ranks than GPUs are an error, because NCCL gives each rank a GPU of its own. */
int cuda_device_find(const struct cuda_options *o, int *ret_ordinal, struct error *err) {
    int count = 0;
    if (cuda_device_count(&count, err) != 0)
        return -1;
    if (count == 0 || (o->local_ranks > count && !o->share))
        return too_few(o, count, err);
    *ret_ordinal = o->local_rank % count;
    return 0;
}

/* The first call that creates a context on the GPU, which takes memory there. */
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
