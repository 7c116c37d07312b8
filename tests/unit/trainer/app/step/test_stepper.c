#include "tests/support/unit.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/data/dataset/labelled.h"

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

static const struct comm_driver pretending = {.sum_start = pretend_sum, .wait = pretend_wait};

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
    struct stepper_options how = {
        .accumulate = accumulate,
        .optimizer = {.momentum = 0.9F, .weight_decay = 1e-3F, .nesterov = 1},
        .decay_all = true};
    memset(w, 0, sizeof(*w));
    CU_ASSERT_EQUAL_FATAL(ref_open(&w->backend, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&w->net, w->backend, &o, true, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&w->net.store, 5, NULL), 0);
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
    static struct batch_layout layout;
    layout = labelled_layout(BATCH, SIDE, false);
    batch = (struct batch){
        .micro = micro, .layout = &layout, .fields = {images, labels, weights}, .count = BATCH};
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

/* Takes a step with NaN in the parameter NAME. */
static int bad_step(struct world *w, const char *name, struct step_outcome *ret,
                    struct error *err) {
    float *value = store_at(&w->net.store, store_find(&w->net.store, name), STORE_PARAMETERS);
    float before = *value;
    *value = NAN;
    store_changed(&w->net.store);
    CU_ASSERT_EQUAL(stepper_micro(&w->stepper, make_batch(0, 0), NULL), 0);
    int result = stepper_finish(&w->stepper, 0.1, ret, err);
    *value = before;
    store_changed(&w->net.store);
    return result;
}

static void good_step(struct world *w) {
    struct step_outcome outcome;
    CU_ASSERT_EQUAL(stepper_micro(&w->stepper, make_batch(1, 0), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w->stepper, 0.1, &outcome, NULL), 0);
    CU_ASSERT(outcome.applied && !outcome.skipped);
}

static void a_step_that_is_not_finite_changes_nothing(void) {
    static const char *const names[] = {"fc.bias", "conv1.weight", "layer3.2.conv2.weight"};
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct world w;
        struct step_outcome outcome;
        open_world(&w, self, 1);
        good_step(&w);
        float *kept[STORE_ARENAS] = {0};
        static const enum store_arena arenas[] = {STORE_PARAMETERS, STORE_MOMENTUM, STORE_STATE};
        for (size_t a = 0; a < 3; a++)
            kept[arenas[a]] = copy_of(&w, arenas[a]);
        CU_ASSERT_EQUAL(bad_step(&w, names[i], &outcome, NULL), 0);
        CU_ASSERT(outcome.known && outcome.applied && outcome.skipped);
        CU_ASSERT_FALSE(isfinite(outcome.loss));
        for (size_t a = 0; a < 3; a++) {
            CU_ASSERT(same(&w, arenas[a], kept[arenas[a]]));
            free(kept[arenas[a]]);
        }
        good_step(&w);
        close_world(&w);
    }
}

/* A gradient of another rank that is not finite, with a loss that is. */
static void a_gradient_that_is_not_finite_is_seen_in_the_sum(void) {
    struct pretended two = {.base = {.driver = &pretending, .size = 2, .rank = 0}, .adds = true};
    struct world w;
    struct step_outcome outcome;
    open_world(&w, &two.base, 1);
    two.other = calloc(w.net.store.count[STORE_GRADIENTS], sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(two.other);
    two.other[store_find(&w.net.store, "layer2.0.conv1.weight")->first + 5] = -INFINITY;
    float *before = copy_of(&w, STORE_PARAMETERS), *states = copy_of(&w, STORE_STATE);
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
    CU_ASSERT(outcome.skipped && isfinite(outcome.loss));
    CU_ASSERT(same(&w, STORE_PARAMETERS, before));
    CU_ASSERT(same(&w, STORE_STATE, states));
    free(before);
    free(states);
    free(two.other);
    close_world(&w);
}

/* What an update reports: FINITE or not, and the loss scale SCALE after it. */
static int tell(struct stepper *s, bool finite, float loss, float scale, struct error *err) {
    const float flags[STORE_FLAGS] = {[FLAG_LOSS] = loss, [FLAG_IMAGES] = 2};
    struct backend_optimizer_state state = {.finite = finite, .loss_scale = scale, .good_steps = 3};
    struct step_outcome outcome;
    int result = step_read_outcome(s, flags, &state, 0.1, &outcome, err);
    CU_ASSERT(outcome.applied && outcome.skipped == !finite);
    CU_ASSERT(s->loss_scale == scale && s->good_steps == 3);
    return result;
}

static void twenty_steps_in_a_row_that_are_not_finite_end_the_run(void) {
    struct network net = {.model = model_find("resnet20")};
    struct stepper s = {.net = &net, .loss_scale = 1}, fresh = {.net = &net, .loss_scale = 1};
    struct error err = {0};
    for (int i = 0; i < 19; i++) {
        CU_ASSERT_EQUAL(tell(&s, false, NAN, 1, &err), 0);
        CU_ASSERT_EQUAL(tell(&fresh, false, NAN, 1, &err), 0);
    }
    CU_ASSERT_EQUAL(tell(&fresh, false, NAN, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "never started: the loss of the first 20 steps");
    CU_ASSERT_EQUAL(tell(&s, true, 1, 1, &err), 0);
    for (int i = 0; i < 19; i++)
        CU_ASSERT_EQUAL(tell(&s, false, INFINITY, 1, &err), 0);
    CU_ASSERT_EQUAL(tell(&s, false, NAN, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "diverged: in 20 steps in a row the loss was not finite");
}

static void a_step_without_pictures_is_no_divergence(void) {
    struct network net = {.model = model_find("resnet20")};
    struct stepper s = {.net = &net, .loss_scale = 1};
    const struct backend_optimizer_state state = {.finite = 1, .loss_scale = 1};
    float flags[STORE_FLAGS] = {0};
    struct step_outcome outcome;
    for (int i = 0; i < 2 * STEP_BAD_MAX; i++) {
        CU_ASSERT_EQUAL(step_read_outcome(&s, flags, &state, 0.1, &outcome, NULL), 0);
        CU_ASSERT(outcome.empty && outcome.skipped && outcome.applied);
    }
    flags[FLAG_VOID] = 1;
    CU_ASSERT_EQUAL(step_read_outcome(&s, flags, &state, 0.1, &outcome, NULL), 0);
    CU_ASSERT(!outcome.empty && !outcome.skipped && !outcome.applied);
    flags[FLAG_VOID] = 0;
    flags[FLAG_IMAGES] = 1;
    CU_ASSERT_EQUAL(step_read_outcome(&s, flags, &state, 0.1, &outcome, NULL), 0);
    CU_ASSERT(!outcome.empty && !outcome.skipped && outcome.applied);
}

static struct backend_optimizer_state given;

static int keep_state(struct backend *backend, const struct backend_optimizer_state *state,
                      struct error *err) {
    (void)backend, (void)err;
    given = *state;
    return 0;
}

static void a_loss_scale_goes_on_where_it_stood(void) {
    static const struct backend_device device = {.set_optimizer_state = keep_state};
    static const struct backend_table table = {.device = &device};
    struct backend backend = {&table};
    struct network net = {.backend = &backend};
    struct stepper s = {.net = &net, .loss_scale = 1024};
    CU_ASSERT_EQUAL(step_resume(&s, 4096, 17, 3, NULL), 0);
    CU_ASSERT(given.loss_scale == 4096 && given.good_steps == 17);
    CU_ASSERT(s.loss_scale == 4096 && s.good_steps == 17);
}

static void a_loss_scale_that_comes_down_is_waited_for(void) {
    struct network net = {.model = model_find("resnet20")};
    struct stepper growing = {.net = &net, .loss_scale = 65536};
    struct stepper fixed = {.net = &net, .loss_scale = 1024};
    struct error err = {0};
    float scale = 65536;
    while (scale > 1) {
        scale /= 2;
        CU_ASSERT_EQUAL(tell(&growing, false, 4, scale, &err), 0);
    }
    for (int i = 0; i < 19; i++) {
        CU_ASSERT_EQUAL(tell(&growing, false, 4, 1, &err), 0);
        CU_ASSERT_EQUAL(tell(&fixed, false, 4, 1024, &err), 0);
    }
    CU_ASSERT_EQUAL(tell(&growing, false, 4, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "diverged: in 20 steps in a row a gradient");
    CU_ASSERT_EQUAL(tell(&fixed, false, 4, 1024, &err), -1);
    ASSERT_CONTAINS(err.text, "--loss-scale of 1024");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

/* Here the last parameters have no gradient. */
static void what_has_no_gradient_is_neither_decayed_nor_moved(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    for (int all = 0; all < 2; all++) {
        struct world w;
        double penalty = 0, less = 0;
        open_world(&w, self, 1);
        w.stepper.decay_all = all == 1;
        CU_ASSERT_EQUAL(step_penalty(&w.stepper, &penalty, NULL), 0);
        struct store *store = &w.net.store;
        size_t frozen = store_find(store, "conv1.weight")->first;
        for (int i = 0; i < store->slot_count; i++)
            if (store->slots[i].home == STORE_PARAMETERS && store->slots[i].first >= frozen)
                store->slots[i].trained = false;
        CU_ASSERT_EQUAL(store->trained, store->count[STORE_PARAMETERS]);
        store->trained = frozen;
        CU_ASSERT_EQUAL(step_penalty(&w.stepper, &less, NULL), 0);
        CU_ASSERT(less > 0 && less < penalty);
        float *before = copy_of(&w, STORE_PARAMETERS);
        size_t bytes = (store->count[STORE_PARAMETERS] - frozen) * sizeof(float);
        good_step(&w);
        float *now = store->arena[STORE_PARAMETERS], *momentum = store->arena[STORE_MOMENTUM];
        CU_ASSERT_EQUAL(memcmp(now + frozen, before + frozen, bytes), 0);
        CU_ASSERT_NOT_EQUAL(memcmp(now, before, frozen * sizeof(float)), 0);
        for (size_t i = frozen; i < store->count[STORE_PARAMETERS]; i++)
            CU_ASSERT_EQUAL(momentum[i], 0);
        free(before);
        close_world(&w);
    }
}

static void decay_counts_in_the_penalty(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world w;
    open_world(&w, self, 1);
    double all = 0;
    double weights = 0;
    CU_ASSERT_EQUAL(step_penalty(&w.stepper, &all, NULL), 0);
    w.stepper.decay_all = false;
    CU_ASSERT_EQUAL(step_make_groups(&w.stepper, w.stepper.rule.step.weight_decay, 1, NULL), 0);
    CU_ASSERT_EQUAL(step_penalty(&w.stepper, &weights, NULL), 0);
    CU_ASSERT(all > weights && weights > 0);
    struct step_outcome outcome;
    for (int i = 0; i < 2; i++) {
        w.stepper.penalty = i == 0;
        CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
        CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 0.1, &outcome, NULL), 0);
        CU_ASSERT_EQUAL(step_penalty(&w.stepper, &weights, NULL), 0);
        CU_ASSERT_EQUAL(outcome.penalty, i == 0 ? weights : 0);
        CU_ASSERT(outcome.known && w.stepper.pending == 0);
    }
    CU_ASSERT_EQUAL(stepper_settle(&w.stepper, &outcome, NULL), 0);
    CU_ASSERT_FALSE(outcome.known);
    close_world(&w);
}

static struct optimizer_group group_of(const struct world *w, const char *name) {
    const struct store *store = &w->net.store;
    const struct store_slot *slot = store_find(store, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
    return w->stepper.rule.groups[w->stepper.group_of[slot - store->slots]];
}

static void biases_and_norms_have_groups_of_their_own(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    struct world w;
    open_world(&w, self, 1);
    static const struct {
        bool all, biases;
        float decay_weight, decay_norm, decay_bias;
    } rows[] = {
        {true, false, 0.5F, 0.5F, 0.5F}, {false, false, 0.5F, 0, 0}, {false, true, 0.5F, 0, 0.5F}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        w.stepper.decay_all = rows[i].all;
        w.stepper.decay_biases = rows[i].biases;
        CU_ASSERT_EQUAL(step_make_groups(&w.stepper, 0.5F, 2, NULL), 0);
        struct optimizer_group weight = group_of(&w, "fc.weight");
        struct optimizer_group gamma = group_of(&w, "bn1.weight");
        struct optimizer_group beta = group_of(&w, "bn1.bias");
        struct optimizer_group bias = group_of(&w, "fc.bias");
        CU_ASSERT(weight.rate == 1 && weight.decay == rows[i].decay_weight);
        CU_ASSERT(gamma.rate == 1 && gamma.decay == rows[i].decay_norm);
        CU_ASSERT(beta.rate == 1 && beta.decay == rows[i].decay_norm);
        CU_ASSERT(bias.rate == 2 && bias.decay == rows[i].decay_bias);
    }
    close_world(&w);
}

/* A first step from zero momentum without decay is the mean gradient times the rate. */
static void a_step_is_as_long_as_the_norm_allows(void) {
    cleanup_comm struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    double moved[3];
    for (int i = 0; i < 3; i++) {
        struct world w;
        struct step_outcome outcome;
        open_world(&w, self, 2);
        CU_ASSERT_EQUAL(step_make_groups(&w.stepper, 0, 1, NULL), 0);
        w.stepper.rule.step.nesterov = 0;
        w.stepper.rule.clip_norm = i == 0 ? 0 : (float)moved[0] * (i == 1 ? 0.25F : 4);
        float *before = copy_of(&w, STORE_PARAMETERS);
        CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 0), NULL), 0);
        CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(0, 1), NULL), 0);
        CU_ASSERT_EQUAL(stepper_finish(&w.stepper, 1, &outcome, NULL), 0);
        const float *now = w.net.store.arena[STORE_PARAMETERS];
        double squares = 0;
        for (size_t k = 0; k < w.net.store.trained; k++)
            squares += pow((double)now[k] - (double)before[k], 2);
        moved[i] = sqrt(squares);
        free(before);
        close_world(&w);
    }
    CU_ASSERT(moved[0] > 0);
    CU_ASSERT_DOUBLE_EQUAL(moved[1], moved[0] / 4, 1e-5 * moved[0]);
    CU_ASSERT_EQUAL(moved[2], moved[0]);
}

UNIT_SUITE("app.stepper", UNIT(two_ranks_do_the_additions_of_two_micro_batches),
           UNIT(a_step_given_up_changes_nothing_and_leaves_nothing_behind),
           UNIT(wishes_ride_along_for_one_step), UNIT(a_step_that_is_not_finite_changes_nothing),
           UNIT(a_gradient_that_is_not_finite_is_seen_in_the_sum),
           UNIT(twenty_steps_in_a_row_that_are_not_finite_end_the_run),
           UNIT(a_step_without_pictures_is_no_divergence),
           UNIT(a_loss_scale_that_comes_down_is_waited_for),
           UNIT(a_loss_scale_goes_on_where_it_stood),
           UNIT(what_has_no_gradient_is_neither_decayed_nor_moved),
           UNIT(decay_counts_in_the_penalty), UNIT(biases_and_norms_have_groups_of_their_own),
           UNIT(a_step_is_as_long_as_the_norm_allows))
