/* Optimizer steps of a small ResNet-20, on any backend.
 *
 * They run by step/stepper.h. Asserts (CUnit) that everything worked. */
#ifndef TESTS_CUDA_TRAINING_H
#define TESTS_CUDA_TRAINING_H

#include "trainer/app/step/network.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/device_sum.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"

#include <stdbool.h>

enum { TRAINING_STEPS_MAX = 64 };

struct training {
    enum dtype dtype;
    enum fusion fusion;
    int batch;
    int size;       /* of the pictures in px; 0: 32 */
    int other_size; /* of those of every second step, which another program takes; 0: the same */
    int accumulate;
    int steps;
    bool decay_all;
    int give_up_from; /* steps from this one on are given up; 0: none */
    int bad_from; /* steps from this one on, up to bad_to, have a loss that is not finite; 0: none
                   */
    int bad_to;
    int overflows_from; /* steps from this one on have gradients that are not finite; 0: none */
    double rate;
    enum optimizer_kind kind;
    bool averages; /* also keeps an average of the weights, with its values stored after the
                      weights' */
    bool check_operators;
    struct comm *comm;       /* borrowed; NULL: alone */
    struct device_sum *sums; /* borrowed; as in stepper_options */
    int first_micro;         /* the first micro-batch gets the pictures of this one */
    /* Called after each step; NULL: nothing is called, and a device runs on. */
    void (*after_step)(void *user, struct network *net, int step);
    void *user;
};

struct training_outcome {
    double losses[TRAINING_STEPS_MAX]; /* of those that were not given up */
    double penalties[TRAINING_STEPS_MAX];
    int told;
    float *weights; /* after the last step; owned */
    size_t count;
    float *states; /* running statistics then; owned */
    size_t state_count;
};

/* BACKEND is borrowed. Step and micro-batch alone decide the pictures. */
void training_run(struct backend *backend, const struct training *t, struct training_outcome *ret);
/* The same, but a step or a network that fails is no failure of the test: -1 with its error. */
int training_try(struct backend *backend, const struct training *t, struct training_outcome *ret,
                 struct error *err);
void training_done(struct training_outcome *outcome);
/* max|a - b| / max|b| of the weights. */
double training_difference(const struct training_outcome *a, const struct training_outcome *b);

#endif
