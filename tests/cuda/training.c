#include "tests/cuda/training.h"

#include "tests/support/unit.h"
#include "trainer/app/step/stepper.h"
#include "trainer/data/dataset/labelled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, CLASSES = 4, BATCH_MAX = 16, PIXELS_MAX = BATCH_MAX * SIDE * SIDE * 3 };

struct world {
    struct network net;
    struct stepper stepper;
    struct comm *alone;
};

/* The size of the pictures of STEP. */
static int side(const struct training *t, int step) {
    if (t->other_size > 0 && step % 2 == 1)
        return t->other_size;
    return t->size > 0 ? t->size : SIDE;
}

static int open_world(struct world *w, struct backend *backend, const struct training *t,
                      struct error *err) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "resnet20",
                                .mean = mean,
                                .std = mean,
                                .batch = t->batch,
                                .image_size = side(t, 0),
                                .canvases = {{side(t, 0), side(t, 0)}, {side(t, 1), side(t, 1)}},
                                .canvas_count = t->other_size > 0 ? 2 : 1,
                                .classes = CLASSES,
                                .dtype = t->dtype,
                                .fusion = t->fusion,
                                .keeps = step_keeps(t->kind, t->averages),
                                .label_smoothing = 0.1};
    struct stepper_options how = {.accumulate = t->accumulate,
                                  .optimizer = {.kind = (int)t->kind,
                                                .momentum = 0.9F,
                                                .weight_decay = 1e-3F,
                                                .nesterov = 1,
                                                .trust = 0.01F,
                                                .second = 0.99F,
                                                .epsilon = 1e-3F,
                                                .average = t->averages ? 0.5F : 0},
                                  .decay_all = t->decay_all,
                                  .device_sum = t->sums,
                                  .check_operators = t->check_operators};
    if (comm_self_open(&w->alone, err) != 0 || network_open(&w->net, backend, &o, true, err) != 0 ||
        store_start(&w->net.store, 7, err) != 0)
        return -1;
    return stepper_open(&w->stepper, &w->net, t->comm != NULL ? t->comm : w->alone, &how, err);
}

static void close_world(struct world *w) {
    stepper_done(&w->stepper);
    network_done(&w->net);
    comm_close(w->alone);
}

static bool is_bad(const struct training *t, int step) {
    return t->bad_from > 0 && step >= t->bad_from && step < t->bad_to;
}

/* Batches take turns in two places: as soon as the next one has been fed, one is overwritten. */
static int feed(struct world *w, const struct training *t, int step, int micro, struct error *err) {
    static unsigned char places[2][PIXELS_MAX];
    static int32_t label_places[2][BATCH_MAX];
    static float weight_places[2][BATCH_MAX];
    int turn = (step * t->accumulate + micro) % 2;
    unsigned char *images = places[turn];
    int32_t *labels = label_places[turn];
    float *weights = weight_places[turn];
    const struct batch_layout layout = labelled_layout(t->batch, side(t, step), false);
    struct batch batch = {.layout = &layout,
                          .fields = {images, labels, weights},
                          .micro = micro,
                          .canvas = t->other_size > 0 ? step % 2 : 0};
    micro += t->first_micro;
    for (int i = 0; i < t->batch * side(t, step) * side(t, step) * 3; i++)
        images[i] = (unsigned char)((i * 31 + step * 17 + micro * 101) % 251);
    for (int i = 0; i < t->batch; i++) {
        labels[i] = (step + i + micro) % CLASSES;
        weights[i] = 1;
    }
    if (is_bad(t, step))
        weights[0] = INFINITY;
    return stepper_micro(&w->stepper, &batch, err);
}

static bool is_skipped(const struct training *t, int step) {
    return is_bad(t, step) || (t->overflows_from > 0 && step >= t->overflows_from);
}

static void keep_outcome(const struct training *t, const struct step_outcome *outcome,
                         struct training_outcome *ret) {
    if (!outcome->known)
        return;
    CU_ASSERT_EQUAL(outcome->applied, t->give_up_from == 0 || ret->told < t->give_up_from);
    CU_ASSERT(!outcome->stop);
    CU_ASSERT_EQUAL(outcome->skipped, outcome->applied && is_skipped(t, ret->told));
    if (outcome->applied) {
        ret->losses[ret->told] = outcome->loss;
        ret->penalties[ret->told] = outcome->penalty;
    }
    ret->told++;
}

static int settle(struct world *w, const struct training *t, struct training_outcome *ret,
                  struct error *err) {
    struct step_outcome outcome;
    if (stepper_settle(&w->stepper, &outcome, err) != 0)
        return -1;
    keep_outcome(t, &outcome, ret);
    CU_ASSERT_EQUAL(w->stepper.pending, 0);
    return 0;
}

static int take_step(struct world *w, const struct training *t, int step,
                     struct training_outcome *ret, struct error *err) {
    struct step_outcome outcome = {0};
    bool gives_up = t->give_up_from > 0 && step >= t->give_up_from;
    for (int micro = 0; micro < t->accumulate && !gives_up; micro++)
        if (feed(w, t, step, micro, err) != 0)
            return -1;
    if (gives_up && stepper_give_up(&w->stepper, err) != 0)
        return -1;
    w->stepper.penalty = true;
    if (stepper_finish(&w->stepper, t->rate, &outcome, err) != 0)
        return -1;
    keep_outcome(t, &outcome, ret);
    CU_ASSERT_EQUAL(ret->told + w->stepper.pending, step + 1);
    if (t->after_step == NULL && step + 1 < t->steps)
        return 0;
    if (settle(w, t, ret, err) != 0)
        return -1;
    if (t->after_step != NULL)
        t->after_step(t->user, &w->net, step);
    return 0;
}

static int keep_arena(struct world *w, enum store_arena arena, float **ret, size_t *ret_count,
                      struct error *err) {
    void *values = NULL;
    if (store_pull(&w->net.store, arena, &values, err) != 0)
        return -1;
    *ret_count = w->net.store.count[arena];
    *ret = malloc(*ret_count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(*ret);
    memcpy(*ret, values, *ret_count * sizeof(float));
    return 0;
}

static int keep_weights(struct world *w, struct training_outcome *ret, struct error *err) {
    if (keep_arena(w, STORE_PARAMETERS, &ret->weights, &ret->count, err) != 0)
        return -1;
    return keep_arena(w, STORE_STATE, &ret->states, &ret->state_count, err);
}

int training_try(struct backend *backend, const struct training *t, struct training_outcome *ret,
                 struct error *err) {
    struct world w = {0};
    CU_ASSERT_FATAL(t->steps <= TRAINING_STEPS_MAX && t->batch <= BATCH_MAX && t->size <= SIDE &&
                    t->other_size <= SIDE);
    int result = open_world(&w, backend, t, err);
    for (int step = 0; step < t->steps && result == 0; step++)
        result = take_step(&w, t, step, ret, err);
    if (result == 0)
        result = keep_weights(&w, ret, err);
    close_world(&w);
    return result;
}

void training_run(struct backend *backend, const struct training *t, struct training_outcome *ret) {
    struct error err = {0};
    if (training_try(backend, t, ret, &err) == 0)
        return;
    printf("%s\n", err.text);
    CU_FAIL_FATAL("a step could not be taken");
}

void training_done(struct training_outcome *outcome) {
    free(outcome->weights);
    free(outcome->states);
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
