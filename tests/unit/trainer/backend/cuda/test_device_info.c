/* The report on GPUs, with this file in place of the driver. */
#include "trainer/backend/cuda/device_info.h"

#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/convs.h"

#include <cuda_runtime_api.h>
#include <string.h>

/* What the functions below answer; they stand in for those of the CUDA runtime. */
static int driver_version, device_count, capability;

cudaError_t cudaDriverGetVersion(int *version) {
    *version = driver_version;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count;
    return device_count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int ordinal) {
    memset(ret, 0, sizeof(*ret));
    (void)snprintf(ret->name, sizeof(ret->name), "NVIDIA H100 %d", ordinal);
    ret->major = capability / 10;
    ret->minor = capability % 10;
    ret->multiProcessorCount = 132;
    ret->totalGlobalMem = (size_t)81559 << 20;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int ordinal) {
    (void)snprintf(text, (size_t)size, "0000:%02X:00.0", ordinal + 10);
    return cudaSuccess;
}

static struct cuda_gpu gpus[CUDA_GPUS_MAX];

/* A build is asked for its libraries on a host without GPUs, too. */
static void without_a_driver_the_libraries_are_reported_all_the_same(void) {
    struct error err = {0};
    cleanup_buf struct buf text = {0};
    int count = -1;
    driver_version = device_count = 0;
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(cuda_device_info_libraries(&text, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&text), "driver     none on this host\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&text), "runtime    made with CUDA "));
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&text), "code for   sm "));
    CU_ASSERT_EQUAL(cuda_device_info_gpus(gpus, &count, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_EQUAL(count, 0);
}

static void every_gpu_is_described_and_one_that_fits_is_enough(void) {
    struct error err = {0};
    int count = 0;
    driver_version = CUDART_VERSION;
    device_count = 2;
    capability = 90;
    CU_ASSERT_EQUAL(cuda_device_info_gpus(gpus, &count, &err), 0);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_STRING_EQUAL(gpus[1].name, "NVIDIA H100 1");
    CU_ASSERT_STRING_EQUAL(gpus[1].address, "0000:0B:00.0");
    CU_ASSERT(gpus[1].fits && gpus[1].multiprocessors == 132 && gpus[1].major == 9);
    /* A build without cuDNN cannot train anywhere. */
    CU_ASSERT_EQUAL(cuda_device_info_verdict(gpus, count, &err), convs_loaded() != NULL ? 0 : -1);
}

/* A GPU that is too old, then none at all. */
static void a_host_that_cannot_train_says_why(void) {
    struct error err = {0};
    int count = 0;
    driver_version = CUDART_VERSION;
    device_count = 1;
    capability = 70;
    CU_ASSERT_EQUAL(cuda_device_info_gpus(gpus, &count, &err), 0);
    CU_ASSERT_EQUAL(cuda_device_info_verdict(gpus, count, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    if (convs_loaded() != NULL)
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is sm_70; this build is for sm "));
    CU_ASSERT_EQUAL(cuda_device_info_verdict(gpus, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
}

UNIT_SUITE("cuda.device_info", UNIT(without_a_driver_the_libraries_are_reported_all_the_same),
           UNIT(every_gpu_is_described_and_one_that_fits_is_enough),
           UNIT(a_host_that_cannot_train_says_why))
