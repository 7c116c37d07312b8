#include "cuda/training.h"

#include "app/stepper.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, CLASSES = 4, BATCH_MAX = 16, PIXELS_MAX = BATCH_MAX * SIDE * SIDE * 3 };

struct world {
    struct network net;
    struct stepper stepper;
    struct comm *comm;
};

static void require(int status, const struct error *err) {
    if (status != 0) {
        printf("%s\n", err->text);
        CU_FAIL_FATAL("a step could not be taken");
    }
}

static int side(const struct training *t) {
    return t->size > 0 ? t->size : SIDE;
}

static void open_world(struct world *w, struct backend *backend, const struct training *t) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct error err = {0};
    struct network_options o = {.model = "resnet20",
                                .mean = mean,
                                .std = mean,
                                .batch = t->batch,
                                .image_size = side(t),
                                .classes = CLASSES,
                                .dtype = t->dtype,
                                .fusion = t->fusion,
                                .label_smoothing = 0.1};
    struct stepper_options how = {.accumulate = t->accumulate,
                                  .sgd = {.momentum = 0.9F, .weight_decay = 1e-3F, .nesterov = 1},
                                  .decay_all = t->decay_all};
    require(comm_self_open(&w->comm, &err), &err);
    require(network_open(&w->net, backend, &o, true, &err), &err);
    require(store_start(&w->net.store, 7, &err), &err);
    require(network_refresh(&w->net, &err), &err);
    require(stepper_open(&w->stepper, &w->net, w->comm, &how, &err), &err);
}

static void feed(struct world *w, const struct training *t, int step, int micro) {
    static unsigned char images[PIXELS_MAX];
    static int32_t labels[BATCH_MAX];
    static float weights[BATCH_MAX];
    struct batch batch = {.images = images, .labels = labels, .weights = weights, .micro = micro};
    struct error err = {0};
    for (int i = 0; i < t->batch * side(t) * side(t) * 3; i++)
        images[i] = (unsigned char)((i * 31 + step * 17 + micro * 101) % 251);
    for (int i = 0; i < t->batch; i++) {
        labels[i] = (step + i + micro) % CLASSES;
        weights[i] = 1;
    }
    require(stepper_micro(&w->stepper, &batch, &err), &err);
}

void training_run(struct backend *backend, const struct training *t, struct training_outcome *ret) {
    struct world w = {0};
    struct error err = {0};
    CU_ASSERT_FATAL(t->steps <= TRAINING_STEPS_MAX && t->batch <= BATCH_MAX && t->size <= SIDE);
    open_world(&w, backend, t);
    for (int step = 0; step < t->steps; step++) {
        struct step_outcome outcome = {0};
        for (int micro = 0; micro < t->accumulate; micro++)
            feed(&w, t, step, micro);
        require(stepper_finish(&w.stepper, t->rate, &outcome, &err), &err);
        CU_ASSERT(outcome.applied && !outcome.stop);
        ret->losses[step] = outcome.loss;
        if (t->after_step != NULL)
            t->after_step(t->user, &w.net, step);
    }
    void *values = NULL;
    require(store_pull(&w.net.store, STORE_PARAMETERS, &values, &err), &err);
    ret->count = w.net.store.count[STORE_PARAMETERS];
    ret->weights = malloc(ret->count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ret->weights);
    memcpy(ret->weights, values, ret->count * sizeof(float));
    stepper_done(&w.stepper);
    network_done(&w.net);
    comm_close(w.comm);
}

void training_done(struct training_outcome *outcome) {
    free(outcome->weights);
    *outcome = (struct training_outcome){0};
}

double training_difference(const struct training_outcome *a, const struct training_outcome *b) {
    double worst = 0, largest = 0;
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (size_t i = 0; i < b->count; i++) {
        double apart = fabs((double)a->weights[i] - (double)b->weights[i]);
        if (!(apart <= worst)) /* NaN too */
            worst = apart;
        largest = fmax(largest, fabs((double)b->weights[i]));
    }
    return worst / largest;
}
