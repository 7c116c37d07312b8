#include "trainer/backend/cuda/cuda.h"

#include "trainer/backend/cuda/base/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int cuda_probe(char name[CUDA_NAME_SIZE], struct error *why) {
    int count = 0;
    name[0] = '\0';
    if (!RINGMASTER_CUDA_CONVS) {
        (void)error_set(why, EXIT_CODE_DEVICE, "CUDA: this build has no cuDNN, so no convolutions");
        return 0;
    }
    if (cuda_device_count(&count, why) != 0)
        return 0;
    if (count == 0)
        (void)error_set(why, EXIT_CODE_DEVICE, "CUDA: this host shows no GPU");
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp properties;
        cudaError_t status = cudaGetDeviceProperties(&properties, i);
        if (status != cudaSuccess) {
            (void)cuda_error(status, "asking a GPU for its name", why);
            return 0;
        }
        if (!cuda_has_code(properties.major, properties.minor)) {
            (void)error_set(why, EXIT_CODE_DEVICE, "CUDA: %s is sm_%d%d; this build is for %s",
                            properties.name, properties.major, properties.minor,
                            cuda_architectures());
            return 0;
        }
        if (i == 0)
            (void)snprintf(name, CUDA_NAME_SIZE, "%s", properties.name);
    }
    return count;
}

/* A report is named MODEL-GPU.md, with dashes for all characters of the GPU's name but letters and
 * digits. */
static bool is_report_on(const char *file, size_t size, const char *name) {
    static const char suffix[] = ".md";
    size_t length = strlen(name), end = sizeof(suffix) - 1;
    if (size < length + end + 1 || strncmp(file + size - end, suffix, end) != 0)
        return false;
    const char *gpu = file + size - end - length;
    for (size_t i = 0; i < length; i++)
        if (gpu[i] != (isalnum((unsigned char)name[i]) ? name[i] : '-'))
            return false;
    return gpu[-1] == '-';
}

bool cuda_results_hold(const char *results, const char *name) {
    while (*results != '\0') {
        size_t size = strcspn(results, ":");
        if (is_report_on(results, size, name))
            return true;
        results += size + (results[size] == ':');
    }
    return false;
}

bool cuda_is_measured(const char *name) {
    return cuda_results_hold(RINGMASTER_CUDA_RESULTS, name);
}
