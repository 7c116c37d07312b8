#include "trainer/backend/cuda/device_info.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/cuda.h"
#include "trainer/backend/cuda/dnn/convs.h"

#include <cublasLt.h>
#include <stdio.h>

enum { VERSION_TEXT = 32 };

/* cuBLAS encodes 13.0.2 as 130002. */
static void cublas_text(size_t version, char text[VERSION_TEXT]) {
    (void)snprintf(text, VERSION_TEXT, "%zu.%zu.%zu", version / 10000, version / 100 % 100,
                   version % 100);
}

static int report_driver(struct buf *out, struct error *err) {
    char name[32], version[16];
    int driver = cuda_driver_find(name);
    cuda_version_text(driver, version);
    if (driver == 0)
        return buf_printf(out, err, "driver     none on this host\n");
    return buf_printf(out, err, "driver     %s%ssupports CUDA %s\n", name,
                      name[0] != '\0' ? ", " : "", version);
}

/* Versions are printed in pairs, the one compiled with and the one found, since a mismatch of the
 * two explains many failures. */
int cuda_device_info_libraries(struct buf *out, struct error *err) {
    char built[VERSION_TEXT], found[VERSION_TEXT];
    int runtime = 0;
    if (report_driver(out, err) != 0)
        return -1;
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess)
        (void)cudaGetLastError();
    cuda_version_text(CUDART_VERSION, built);
    cuda_version_text(runtime, found);
    if (buf_printf(out, err, "runtime    made with CUDA %s, found %s\n", built, found) != 0)
        return -1;
    cublas_text(CUBLAS_VERSION, built);
    cublas_text(cublasLtGetVersion(), found);
    if (buf_printf(out, err, "cuBLASLt   made with %s, found %s\n", built, found) != 0)
        return -1;
    const char *loaded = convs_loaded();
    if (loaded == NULL && buf_printf(out, err, "no cuDNN   %s\n", convs_text()) != 0)
        return -1;
    if (loaded != NULL &&
        buf_printf(out, err, "library    made with %s, found %s\n", convs_text(), loaded) != 0)
        return -1;
    return buf_printf(out, err, "code for   %s\n", cuda_architectures());
}

/* The address is what identifies a GPU among equal ones. */
static int describe(struct cuda_gpu *gpu, int ordinal, struct error *err) {
    struct cudaDeviceProp p;
    cudaError_t status = cudaGetDeviceProperties(&p, ordinal);
    if (status == cudaSuccess)
        status = cudaDeviceGetPCIBusId(gpu->address, (int)sizeof(gpu->address), ordinal);
    if (status != cudaSuccess)
        return cuda_error(status, "asking for a GPU's properties", err);
    (void)snprintf(gpu->name, sizeof(gpu->name), "%.120s", p.name);
    gpu->major = p.major;
    gpu->minor = p.minor;
    gpu->multiprocessors = p.multiProcessorCount;
    gpu->memory = p.totalGlobalMem;
    gpu->fits = cuda_has_code(p.major, p.minor);
    return 0;
}

int cuda_device_info_gpus(struct cuda_gpu gpus[CUDA_GPUS_MAX], int *ret_count, struct error *err) {
    *ret_count = 0;
    if (cuda_device_count(ret_count, err) != 0)
        return -1;
    if (*ret_count > CUDA_GPUS_MAX)
        *ret_count = CUDA_GPUS_MAX;
    for (int i = 0; i < *ret_count; i++)
        if (describe(&gpus[i], i, err) != 0)
            return -1;
    return 0;
}

/* One GPU that fits is enough. */
int cuda_device_info_verdict(const struct cuda_gpu *gpus, int count, struct error *err) {
    if (convs_loaded() == NULL)
        return error_set(err, EXIT_CODE_DEVICE, "CUDA: this build is %s", convs_text());
    for (int i = 0; i < count; i++)
        if (gpus[i].fits)
            return 0;
    if (count == 0)
        return error_set(err, EXIT_CODE_DEVICE, "CUDA: this host shows no GPU");
    return error_set(err, EXIT_CODE_DEVICE, "CUDA: %s is sm_%d%d; this build is for %s",
                     gpus[0].name, gpus[0].major, gpus[0].minor, cuda_architectures());
}
