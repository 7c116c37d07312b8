/* Messages if a GPU is missing or unsuitable. This file replaces the driver: its functions take
 * precedence over those of the runtime. */
#include "tests/support/unit.h"
#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

/* Most users meet these messages before anything else: on a host without a driver, with an old one,
 * or with fewer GPUs than ranks. None of it needs a GPU, so functions of CUDA's runtime are defined
 * here and answer what each test sets. The texts are checked by the words that help: names,
 * versions, numbers, and what to do. */

/* Answers of the replaced functions. CAPABILITY 75 is a GPU that no build has code for. */
static int driver_version, device_count, devices_opened, capability = 75;

cudaError_t cudaDriverGetVersion(int *version) {
    *version = driver_version;
    return cudaSuccess;
}

/* CUDA reports no GPU as an error, not as a count of 0. */
cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count;
    return device_count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

/* Counted, since looking for a GPU must not open one. */
cudaError_t cudaSetDevice(int ordinal) {
    (void)ordinal;
    devices_opened++;
    return cudaSuccess;
}

/* Names contain the number, so that messages show which GPU was looked at. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int ordinal) {
    memset(ret, 0, sizeof(*ret));
    (void)snprintf(ret->name, sizeof(ret->name), "GPU %d", ordinal);
    ret->major = capability / 10;
    ret->minor = capability % 10;
    return cudaSuccess;
}

/* 512 MiB of an 80 GB GPU are free. */
cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    *left = (size_t)512 << 20;
    *total = (size_t)81559 << 20;
    return cudaSuccess;
}

/* Clears ERR first, as tests call it several times. ORDINAL is left alone on failure. */
static int find(int local_rank, int local_ranks, bool share, int *ordinal, struct error *err) {
    struct cuda_options o = {.local_rank = local_rank, .local_ranks = local_ranks, .share = share};
    *err = (struct error){0};
    return cuda_device_find(&o, ordinal, err);
}

/* One line, without a line break, as it goes into a log. */
static void a_host_without_a_driver_is_told_so(void) {
    struct error err;
    int ordinal = 0;
    driver_version = 0;
    device_count = 0;
    CU_ASSERT_EQUAL(find(0, 1, false, &ordinal, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no NVIDIA driver"));
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
}

/* The driver's own version may be unknown; then the text leaves it out. Versions are given as CUDA
 * encodes them. */
static void an_old_driver_is_named_with_what_is_needed(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(cuda_driver_check(12040, 13000, "550.54.14", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "version 550.54.14, it supports CUDA 12.4"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "needs 13.0, NVIDIA driver 580.65.06 or newer"));
    CU_ASSERT_EQUAL(cuda_driver_check(12040, 13000, "", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "too old: it supports CUDA 12.4"));
    /* Minor versions run on any driver of their major version, and on newer ones. */
    CU_ASSERT_EQUAL(cuda_driver_check(13000, 13010, "", &err), 0);
    CU_ASSERT_EQUAL(cuda_driver_check(14000, 13000, "", &err), 0);
}

/* Both kernel modules of NVIDIA have their own wording. A line without a version must not take a
 * number from the next line. */
static void the_drivers_own_version_is_read_in_both_forms(void) {
    char name[32];
    cuda_driver_name("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n"
                     "GCC version:  gcc version 12.2.0\n",
                     name);
    CU_ASSERT_STRING_EQUAL(name, "535.129.03");
    cuda_driver_name("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release "
                     "Build\n",
                     name);
    CU_ASSERT_STRING_EQUAL(name, "580.65.06");
    cuda_driver_name("NVRM version: NVIDIA UNIX Open Kernel Module for\nGCC 12\n", name);
    CU_ASSERT_STRING_EQUAL(name, "");
    cuda_driver_name("", name);
    CU_ASSERT_STRING_EQUAL(name, "");
}

/* Rank numbers are those within the host. No GPU is opened by that, as the process may still move
 * to other cores. */
static void ranks_get_a_gpu_each_in_order(void) {
    struct error err;
    int ordinal = -1;
    driver_version = CUDART_VERSION;
    device_count = 4;
    for (int rank = 0; rank < 4; rank++) {
        CU_ASSERT_EQUAL(find(rank, 4, false, &ordinal, &err), 0);
        CU_ASSERT_EQUAL(ordinal, rank);
    }
    CU_ASSERT_EQUAL(devices_opened, 0);
}

/* With `share` ranks take GPUs in turns, so rank 3 of 4 has the second of two. The variable's value
 * is in the text because it may hide GPUs that exist. */
static void too_few_gpus_are_counted_for_every_rank(void) {
    struct error err;
    int ordinal = -1;
    driver_version = CUDART_VERSION;
    device_count = 2;
    CU_ASSERT_EQUAL(setenv("CUDA_VISIBLE_DEVICES", "0,1", 1), 0);
    /* A rank that could have a GPU fails as well, because the job cannot run. */
    CU_ASSERT_EQUAL(find(0, 4, false, &ordinal, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "4 local ranks (0 to 3) and 2 GPUs"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "CUDA_VISIBLE_DEVICES=0,1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--comm mpi"));
    CU_ASSERT_EQUAL(find(3, 4, true, &ordinal, &err), 0);
    CU_ASSERT_EQUAL(ordinal, 1);
    device_count = 0;
    CU_ASSERT_EQUAL(find(0, 1, true, &ordinal, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "shows no GPU, CUDA_VISIBLE_DEVICES=0,1"));
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

/* Newer GPUs run code of older entries, which a driver compiles for them. The list of this build is
 * part of the message. */
static void a_gpu_that_is_too_old_is_named(void) {
    struct error err = {0};
    struct cudaDeviceProp properties;
    CU_ASSERT_EQUAL(cuda_device_open(1, &properties, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "GPU 1 is sm_75; this build is for sm "));
    CU_ASSERT(cuda_has_code(10, 3));
    CU_ASSERT(!cuda_has_code(7, 5));
}

/* cuda_probe() counts GPUs for `--backend auto`: all must be usable, and the reason is given if one
 * is not. Each early return of cuda_probe() is reached once. */
static void gpus_are_usable_where_all_of_them_are(void) {
    struct error why = {0};
    char name[CUDA_NAME_SIZE];
    driver_version = 0;
    device_count = 2;
    CU_ASSERT_EQUAL(cuda_probe(name, &why), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "no NVIDIA driver"));
    driver_version = CUDART_VERSION;
    CU_ASSERT_EQUAL(cuda_probe(name, &why), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "GPU 0 is sm_75"));
    capability = 90;
    CU_ASSERT_EQUAL(cuda_probe(name, &why), 2);
    CU_ASSERT_STRING_EQUAL(name, "GPU 0");
    capability = 75;
    device_count = 0;
    CU_ASSERT_EQUAL(cuda_probe(name, &why), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "no GPU"));
}

/* Spaces are dashes in file names, and a name must match whole: neither its beginning nor its end.
 * The list is made by CMake from the files in bench/results. */
static void reports_are_found_by_the_gpus_name(void) {
    static const char results[] = "README.md:resnet50-NVIDIA-H200.md:resnet50-NVIDIA-A100-80GB.md";
    CU_ASSERT(cuda_results_hold(results, "NVIDIA H200"));
    CU_ASSERT(cuda_results_hold(results, "NVIDIA A100 80GB"));
    CU_ASSERT_FALSE(cuda_results_hold(results, "NVIDIA H20"));
    CU_ASSERT_FALSE(cuda_results_hold(results, "NVIDIA A100"));
    CU_ASSERT_FALSE(cuda_results_hold(results, "VIDIA H200"));
    CU_ASSERT_FALSE(cuda_results_hold("", "NVIDIA H200"));
    CU_ASSERT_FALSE(cuda_results_hold("NVIDIA-H200.md", "NVIDIA H200"));
}

/* Some errors leave the context unusable; running out of memory does not. After such an error every
 * later call fails as well. */
static void faults_that_stay_say_so(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(cuda_error(cudaErrorIllegalAddress, "layer1 [2,8,8,16]", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "layer1 [2,8,8,16]: an illegal memory access"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "takes no more work"));
    CU_ASSERT_EQUAL(cuda_error(cudaErrorMemoryAllocation, "memory", &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "takes no more work"));
    CU_ASSERT_EQUAL(cuda_memory_error((size_t)1 << 30, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "1024.0 MiB needed, 512.0 of 81559.0 MiB free"));
}

UNIT_SUITE("cuda.device", UNIT(a_host_without_a_driver_is_told_so),
           UNIT(an_old_driver_is_named_with_what_is_needed),
           UNIT(the_drivers_own_version_is_read_in_both_forms), UNIT(ranks_get_a_gpu_each_in_order),
           UNIT(too_few_gpus_are_counted_for_every_rank), UNIT(a_gpu_that_is_too_old_is_named),
           UNIT(gpus_are_usable_where_all_of_them_are), UNIT(reports_are_found_by_the_gpus_name),
           UNIT(faults_that_stay_say_so))
