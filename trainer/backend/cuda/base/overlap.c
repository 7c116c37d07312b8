#include "trainer/backend/cuda/base/overlap.h"

#include "trainer/backend/cuda/base/tuned_gpus.h"

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
