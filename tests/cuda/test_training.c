/* The device's step (app/device_stepper.h) on the emulated device, against the host's step on the
 * reference: same losses, same parameters. */
#include "cuda/emulated.h"
#include "cuda/training.h"
#include "ref/ref.h"
#include "support/unit.h"

#include <math.h>

enum { STEPS = 3 };

static void compare(int accumulate, bool decay_all) {
    struct backend *ref = NULL, *device = NULL;
    struct error err = {0};
    struct training_outcome on_host = {0}, on_device = {0};
    struct training t = {.dtype = DTYPE_F32,
                         .fusion = FUSION_NORM,
                         .batch = 2,
                         .accumulate = accumulate,
                         .steps = STEPS,
                         .decay_all = decay_all,
                         .rate = 0.01};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    training_run(ref, &t, &on_host);
    training_run(device, &t, &on_device);
    for (int i = 0; i < STEPS; i++)
        CU_ASSERT_DOUBLE_EQUAL(on_device.losses[i], on_host.losses[i],
                               1e-3 * fabs(on_host.losses[i]));
    CU_ASSERT(training_difference(&on_device, &on_host) <= 1e-3);
    training_done(&on_host);
    training_done(&on_device);
    backend_close(device);
    backend_close(ref);
}

static void the_devices_step_is_the_hosts(void) {
    compare(1, true);
}

static void micro_batches_add_up_on_the_device_and_norms_may_go_without_decay(void) {
    compare(2, false);
}

UNIT_MAIN("cuda.training", UNIT(the_devices_step_is_the_hosts),
          UNIT(micro_batches_add_up_on_the_device_and_norms_may_go_without_decay))
