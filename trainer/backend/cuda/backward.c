#include "cuda/backward.h"

#include <string.h>

/* Names of GPUs, as their driver tells them, on which a report in bench/results shows a training
 * step faster with the own backward pass than without: an entry comes with its report. */
static const char *const faster_on[] = {NULL};

static bool is_faster_on(const char *name) {
    for (size_t i = 0; faster_on[i] != NULL; i++)
        if (strcmp(faster_on[i], name) == 0)
            return true;
    return false;
}

int cuda_backward_choose(enum cuda_own wanted, const char *name, int major, int minor,
                         bool *ret_own, struct error *err) {
    bool can = major == 9 && minor == 0;
    *ret_own = can && (wanted == CUDA_OWN_ON || (wanted == CUDA_OWN_AUTO && is_faster_on(name)));
    if (wanted == CUDA_OWN_ON && !can)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--own-backward on: %s is sm_%d%d; the kernel is for sm_90", name, major,
                         minor);
    return 0;
}
