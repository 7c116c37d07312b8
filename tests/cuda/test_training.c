/* The device's step (app/device_stepper.h) on the emulated device, against the host's step on the
 * reference: same losses, same parameters. */
#include "app/network.h"
#include "app/stepper.h"
#include "cuda/emulated.h"
#include "ref/ref.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, SIDE = 32, CLASSES = 4, STEPS = 3, PIXELS = BATCH * SIDE * SIDE * 3 };

struct outcome {
    double losses[STEPS];
    float *weights; /* owned */
    size_t count;
};

static void fill(struct batch *batch, unsigned char *images, int32_t *labels, float *weights,
                 int step, int micro) {
    for (int i = 0; i < PIXELS; i++)
        images[i] = (unsigned char)((i * 31 + step * 17 + micro * 101) % 251);
    for (int i = 0; i < BATCH; i++) {
        labels[i] = (step + i + micro) % CLASSES;
        weights[i] = 1;
    }
    batch->images = images;
    batch->labels = labels;
    batch->weights = weights;
    batch->micro = micro;
}

static void train(struct backend *backend, int accumulate, bool decay_all, struct outcome *ret) {
    struct network net;
    struct stepper stepper;
    struct comm *comm = NULL;
    struct error err = {0};
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "resnet20",
                                .mean = mean,
                                .std = mean,
                                .batch = BATCH,
                                .image_size = SIDE,
                                .classes = CLASSES,
                                .dtype = DTYPE_F32,
                                .fusion = FUSION_NORM,
                                .label_smoothing = 0.1};
    struct stepper_options how = {.accumulate = accumulate,
                                  .sgd = {.momentum = 0.9F, .weight_decay = 1e-3F, .nesterov = 1},
                                  .decay_all = decay_all};
    static unsigned char images[PIXELS];
    int32_t labels[BATCH];
    float weights[BATCH];
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&comm, &err), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&net, backend, &o, true, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&net.store, 7, &err), 0);
    CU_ASSERT_EQUAL_FATAL(network_refresh(&net, &err), 0);
    CU_ASSERT_EQUAL_FATAL(stepper_open(&stepper, &net, comm, &how, &err), 0);
    for (int step = 0; step < STEPS; step++) {
        struct step_outcome outcome = {0};
        for (int micro = 0; micro < accumulate; micro++) {
            struct batch batch = {0};
            fill(&batch, images, labels, weights, step, micro);
            CU_ASSERT_EQUAL_FATAL(stepper_micro(&stepper, &batch, &err), 0);
        }
        CU_ASSERT_EQUAL_FATAL(stepper_finish(&stepper, 0.01, &outcome, &err), 0);
        CU_ASSERT(outcome.applied && !outcome.stop);
        ret->losses[step] = outcome.loss;
    }
    void *values = NULL;
    CU_ASSERT_EQUAL_FATAL(store_pull(&net.store, STORE_PARAMETERS, &values, &err), 0);
    ret->count = net.store.count[STORE_PARAMETERS];
    ret->weights = malloc(ret->count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ret->weights);
    memcpy(ret->weights, values, ret->count * sizeof(float));
    stepper_done(&stepper);
    network_done(&net);
    comm_close(comm);
}

static void compare(int accumulate, bool decay_all) {
    struct backend *ref = NULL, *device = NULL;
    struct error err = {0};
    struct outcome on_host = {0}, on_device = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    train(ref, accumulate, decay_all, &on_host);
    train(device, accumulate, decay_all, &on_device);
    for (int i = 0; i < STEPS; i++)
        CU_ASSERT_DOUBLE_EQUAL(on_device.losses[i], on_host.losses[i],
                               1e-3 * fabs(on_host.losses[i]));
    double worst = 0, largest = 0;
    for (size_t i = 0; i < on_host.count; i++) {
        worst = fmax(worst, fabs((double)on_device.weights[i] - (double)on_host.weights[i]));
        largest = fmax(largest, fabs((double)on_host.weights[i]));
    }
    CU_ASSERT(worst <= 1e-3 * largest);
    free(on_host.weights);
    free(on_device.weights);
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
