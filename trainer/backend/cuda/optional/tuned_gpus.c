#include "trainer/backend/cuda/optional/tuned_gpus.h"

#include <stddef.h>
#include <string.h>

/* Names as the driver reports them, such as "NVIDIA H200". Each entry needs a report in
 * bench/results that shows a faster training step. The list is empty but for its end, so `auto`
 * takes no optional code on any GPU. */
static const struct {
    enum cuda_choice choice;
    const char *name; /* NULL: the end */
} faster[] = {{CUDA_CHOICE_BACKWARD, NULL}};

/* An exact comparison: variants of a GPU, such as those with other memory, have other names. */
bool cuda_tuned_on(enum cuda_choice choice, const char *name) {
    for (size_t i = 0; faster[i].name != NULL; i++)
        if (faster[i].choice == choice && strcmp(faster[i].name, name) == 0)
            return true;
    return false;
}

/* Launch overlap has no kernels of its own, only another way of launching, so its choice is made
 * here. */
int cuda_overlap_choose(enum cuda_own wanted, const char *name, int major, bool *ret_overlap,
                        struct error *err) {
    bool can = major >= 9;
    *ret_overlap = can && (wanted == CUDA_OWN_ON ||
                           (wanted == CUDA_OWN_AUTO && cuda_tuned_on(CUDA_CHOICE_OVERLAP, name)));
    if (wanted == CUDA_OWN_ON && !can)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--launch-overlap on: %s is older than sm_90, which can", name);
    return 0;
}
