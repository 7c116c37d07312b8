#include "app/stepper.h"
#include "comm/comm_driver.h"
#include "ref/ref.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, SIDE = 32, CLASSES = 3, PIXELS = BATCH * SIDE * SIDE * 3 };

/* A communicator of `size` ranks of which one is here. It keeps what this rank sends, or adds what
 * another one has kept, slice by slice. */
struct pretended {
    struct comm base;
    float *other;
    size_t at;
    bool adds;
};

static int pretend_sum(struct comm *c, void *values, size_t count, enum comm_type type,
                       uint64_t *ret_ticket, struct error *err) {
    struct pretended *p = (struct pretended *)c;
    float *slice = values;
    (void)type, (void)err;
    for (size_t i = 0; i < count; i++) {
        if (p->adds)
            slice[i] += p->other[p->at + i];
        else
            p->other[p->at + i] = slice[i];
    }
    p->at += count;
    *ret_ticket = p->at;
    return 0;
}

static int pretend_wait(struct comm *c, uint64_t ticket, struct error *err) {
    (void)c, (void)ticket, (void)err;
    return 0;
}

static const struct comm_driver pretending = {
    .name = "pretended", .sum_start = pretend_sum, .wait = pretend_wait};

struct world {
    struct backend *backend;
    struct network net;
    struct stepper stepper;
};

static void open_world(struct world *w, struct comm *comm, int accumulate) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "resnet20",
                                .batch = BATCH,
                                .image_size = SIDE,
                                .classes = CLASSES,
                                .dtype = DTYPE_F32,
                                .mean = mean,
                                .std = mean};
    struct stepper_options how = {.accumulate = accumulate,
                                  .sgd = {.momentum = 0.9F, .weight_decay = 1e-3F, .nesterov = 1},
                                  .decay_all = true};
    memset(w, 0, sizeof(*w));
    CU_ASSERT_EQUAL_FATAL(ref_open(&w->backend, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&w->net, w->backend, &o, true, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&w->net.store, 5, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_refresh(&w->net, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(stepper_open(&w->stepper, &w->net, comm, &how, NULL), 0);
}

static void close_world(struct world *w) {
    stepper_done(&w->stepper);
    network_done(&w->net);
    backend_close(w->backend);
}

/* Batch NUMBER, as micro-batch MICRO. */
static const struct batch *make_batch(int number, int micro) {
    static uint8_t images[PIXELS];
    static int32_t labels[BATCH];
    static float weights[BATCH] = {1, 1};
    static struct batch batch;
    for (int i = 0; i < PIXELS; i++)
        images[i] = (uint8_t)((i * 37 + i / 96 * 11 + number * 101) % 251);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (number + i) % CLASSES;
    batch = (struct batch){
        .micro = micro, .images = images, .labels = labels, .weights = weights, .count = BATCH};
    return &batch;
}

static float *copy_of(const struct world *w, enum store_arena arena) {
    size_t bytes = w->net.store.count[arena] * sizeof(float);
    float *copy = malloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, w->net.store.arena[arena], bytes);
    return copy;
}

static bool same(const struct world *w, enum store_arena arena, const float *values) {
    return memcmp(w->net.store.arena[arena], values, w->net.store.count[arena] * sizeof(float)) ==
           0;
}

static void two_ranks_do_the_additions_of_two_micro_batches(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world one;
    struct step_outcome alone;
    open_world(&one, self, 2);
    CU_ASSERT_EQUAL(stepper_micro(&one.stepper, make_batch(0, 0), NULL), 0);
    CU_ASSERT_EQUAL(stepper_micro(&one.stepper, make_batch(1, 1), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&one.stepper, 0.1, &alone, NULL), 0);
    CU_ASSERT(alone.applied && !alone.stop);

    struct pretended two = {.base = {.driver = &pretending, .size = 2, .rank = 1}};
    two.other = calloc(one.net.store.count[STORE_GRADIENTS], sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(two.other);
    struct world rank;
    open_world(&rank, &two.base, 1);
    CU_ASSERT_EQUAL(stepper_micro(&rank.stepper, make_batch(1, 0), NULL), 0);
    close_world(&rank);

    two.base.rank = 0;
    two.adds = true;
    two.at = 0;
    struct step_outcome together;
    open_world(&rank, &two.base, 1);
    CU_ASSERT_EQUAL(stepper_micro(&rank.stepper, make_batch(0, 0), NULL), 0);
    CU_ASSERT_EQUAL(two.at, rank.net.store.count[STORE_GRADIENTS]);
    CU_ASSERT_EQUAL(stepper_finish(&rank.stepper, 0.1, &together, NULL), 0);
    CU_ASSERT(same(&rank, STORE_PARAMETERS, one.net.store.arena[STORE_PARAMETERS]));
    CU_ASSERT(same(&rank, STORE_MOMENTUM, one.net.store.arena[STORE_MOMENTUM]));
    CU_ASSERT_EQUAL(together.loss, alone.loss);
    CU_ASSERT(alone.loss > 0.5 && alone.loss < 5);
    close_world(&rank);
    close_world(&one);
    free(two.other);
}

static void a_step_given_up_changes_nothing_and_leaves_nothing_behind(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world w;
    struct world fresh;
    struct step_outcome outcome;
    open_world(&w, self, 2);
    float *before = copy_of(&w, STORE_PARAMETERS);
    float *states = copy_of(&w, STORE_STATE);
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(2, 0), NULL), 0);
    CU_ASSERT_FALSE(same(&w, STORE_STATE, states));
    CU_ASSERT_EQUAL(stepper_give_up(&w.stepper, NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
    CU_ASSERT_FALSE(outcome.applied);
    CU_ASSERT(same(&w, STORE_PARAMETERS, before));
    CU_ASSERT(same(&w, STORE_STATE, states));

    open_world(&fresh, self, 2);
    struct world *both[] = {&w, &fresh};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(stepper_micro(&both[i]->stepper, make_batch(0, 0), NULL), 0);
        CU_ASSERT_EQUAL(stepper_micro(&both[i]->stepper, make_batch(1, 1), NULL), 0);
        CU_ASSERT_EQUAL(stepper_finish(&both[i]->stepper, 0.1, &outcome, NULL), 0);
        CU_ASSERT(outcome.applied);
    }
    CU_ASSERT(same(&w, STORE_PARAMETERS, fresh.net.store.arena[STORE_PARAMETERS]));
    CU_ASSERT(same(&w, STORE_STATE, fresh.net.store.arena[STORE_STATE]));
    free(states);
    free(before);
    close_world(&fresh);
    close_world(&w);
}

/* What one rank wishes, all ranks hear of with the sums of the same step, and of that step alone.
 */
static void wishes_ride_along_for_one_step(void) {
    struct pretended two = {.base = {.driver = &pretending, .size = 2}};
    struct world w;
    struct step_outcome outcome;
    open_world(&w, &two.base, 1);
    two.other = calloc(w.net.store.count[STORE_GRADIENTS], sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(two.other);
    two.adds = true;
    float *flags = two.other + w.net.store.flags;
    const bool own[] = {false, true, false, false}, others[] = {false, false, true, false};
    for (int i = 0; i < 4; i++) {
        two.at = 0;
        flags[FLAG_SAVE] = others[i] ? 1 : 0;
        w.stepper.save = own[i];
        CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(i, 0), NULL), 0);
        CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
        CU_ASSERT_EQUAL(outcome.save, own[i] || others[i]);
        CU_ASSERT(outcome.applied && !outcome.failed);
    }
    two.at = 0;
    flags[FLAG_FAILED] = 1;
    flags[FLAG_VOID] = 1;
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
    CU_ASSERT(outcome.failed && !outcome.applied && !outcome.stop);
    close_world(&w);
    free(two.other);
}

static void a_loss_that_is_not_finite_ends_the_run_before_the_update(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world w;
    struct step_outcome outcome;
    struct error err = {0};
    open_world(&w, self, 1);
    float *bias = store_at(&w.net.store, store_find(&w.net.store, "fc.bias"), STORE_PARAMETERS);
    bias[0] = NAN;
    CU_ASSERT_EQUAL(network_refresh(&w.net, NULL), 0);
    float *before = copy_of(&w, STORE_MOMENTUM);
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "diverged");
    CU_ASSERT(same(&w, STORE_MOMENTUM, before));
    free(before);
    close_world(&w);
}

static void decay_counts_in_the_penalty(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world w;
    open_world(&w, self, 1);
    double all = 0;
    double weights = 0;
    CU_ASSERT_EQUAL(stepper_penalty(&w.stepper, &all, NULL), 0);
    w.stepper.decay_all = false;
    CU_ASSERT_EQUAL(stepper_penalty(&w.stepper, &weights, NULL), 0);
    CU_ASSERT(all > weights && weights > 0);
    struct step_outcome outcome;
    for (int i = 0; i < 2; i++) {
        w.stepper.penalty = i == 0;
        CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
        CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
        CU_ASSERT_EQUAL(stepper_penalty(&w.stepper, &weights, NULL), 0);
        CU_ASSERT_EQUAL(outcome.penalty, i == 0 ? weights : 0);
        CU_ASSERT(outcome.known && stepper_pending(&w.stepper) == 0);
    }
    CU_ASSERT_EQUAL(stepper_settle(&w.stepper, &outcome, NULL), 0);
    CU_ASSERT_FALSE(outcome.known);
    close_world(&w);
}

UNIT_MAIN("app.stepper", UNIT(two_ranks_do_the_additions_of_two_micro_batches),
          UNIT(a_step_given_up_changes_nothing_and_leaves_nothing_behind),
          UNIT(wishes_ride_along_for_one_step),
          UNIT(a_loss_that_is_not_finite_ends_the_run_before_the_update),
          UNIT(decay_counts_in_the_penalty))
