#include "trainer/backend/cuda/steps/backward.h"

#include "trainer/backend/cuda/base/tuned_gpus.h"

int cuda_backward_choose(enum cuda_own wanted, const char *name, int major, int minor,
                         bool *ret_own, struct error *err) {
    bool can = major == 9 && minor == 0;
    *ret_own = can && (wanted == CUDA_OWN_ON ||
                       (wanted == CUDA_OWN_AUTO && cuda_tuned_on(CUDA_CHOICE_BACKWARD, name)));
    if (wanted == CUDA_OWN_ON && !can)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--own-backward on: %s is sm_%d%d; the kernel is for sm_90", name, major,
                         minor);
    return 0;
}
